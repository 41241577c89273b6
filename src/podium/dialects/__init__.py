"""The API families that podium speaks.  A further one is a folder, and a line here.

The order is the order in which a pod's marks are read.
"""

from __future__ import annotations

from podium.dialects.dialect import Dialect
from podium.dialects.volcano.dialect import VOLCANO

DIALECTS: tuple[Dialect, ...] = (VOLCANO,)
