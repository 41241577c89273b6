"""fgd: fragmentation gradient descent.  A task goes where it leaves the free devices of most use to others.

    score = 100 * weight / (1 + exp((F after - F before) / 1000))

F is the fragmentation of the node (see `fragmentation`), so 50 is no change.  A share goes on the device for which
that score is highest.  As published, scores are cut to whole numbers, so that differences below some 40
thousandths of a device are left to the order of names.

What usually comes to a cluster is what is on it and waits for it, unless the workload is given.
"""

from __future__ import annotations

import numpy as np

from podium.core.cluster.fragmentation import Amounts, Target, target_of
from podium.core.framework.plugin import MAX_NODE_SCORE, Argument
from podium.core.framework.session import Session
from podium.core.plugins.gradient import Gradient

_SCALE = 1000.0


class Fgd(Gradient):
    name = "fgd"
    ARGUMENTS = (Argument("fgd.weight", 1, "how much the score counts beside those of other plugins"),)

    def measure(self, session: Session) -> Target | None:
        return target_of(session.cluster)

    def worth(self, gain: Amounts) -> Amounts:
        result: Amounts = np.trunc(MAX_NODE_SCORE / (1.0 + np.exp(-gain / _SCALE)))
        return result
