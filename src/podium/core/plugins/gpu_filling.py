"""gpufilling: a task goes where it leaves most of the free devices within reach of those that usually come.

    score = weight * (50 + gain in fifths of a device - a fraction that grows with the node's devices)

The gain is by how much less is out of reach when the node is filled up (`fragmentation.Filling`): a device is of
use to a shape of the usual workload if it has room for its share and if the CPU that is left serves it.  `fgd`
asks for the next task only.  It lets the CPU of a node go to whoever comes as long as one more task fits, and ends
with devices that no CPU is left for; or it keeps CPU where a few tasks will have used up all devices.

Gains are rounded to fifths of a device: what is less than a tenth, either way, is nothing by which to choose.  Of
equal nodes that with the fewest devices comes first, so that the large ones stay free for large tasks, and
tasks without devices go where there are none.  What is equal then goes by name, as everywhere, which fills one
node after the other.
"""

from __future__ import annotations

import numpy as np

from podium.core.cluster.fragmentation import Amounts, Target, filling_of
from podium.core.framework.plugin import MAX_NODE_SCORE, Argument, Arguments, Scores
from podium.core.framework.session import Session
from podium.core.model.constraints import WHOLE
from podium.core.model.model import TaskClass
from podium.core.placement.rows import Rows
from podium.core.plugins.gradient import Gradient

_STEP = WHOLE / 5
_DIGITS = 6


class GpuFilling(Gradient):
    name = "gpufilling"
    EXACT = True  # gains are rounded
    ARGUMENTS = (Argument("gpufilling.weight", 1, "how much the score counts beside those of other plugins"),)

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._more_than_any = 1

    def measure(self, session: Session) -> Target | None:
        self._more_than_any = session.cluster.nodes.devices.largest + 1
        return filling_of(session.cluster)

    def worth(self, gain: Amounts) -> Amounts:
        # Half a step is common, and how many rows were looked at together must not decide on which side of it a
        # sum comes to lie.
        result: Amounts = MAX_NODE_SCORE / 2 + np.rint(np.round(gain, _DIGITS) / _STEP)
        return result

    def score_rows(self, cls: TaskClass, rows: Rows) -> Scores:
        return super().score_rows(cls, rows) - self._weight * rows.device_counts() / self._more_than_any
