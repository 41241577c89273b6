"""The API families that podium speaks.  A further one is a folder, and a line here.

The order is the order in which a pod's marks are read.
"""

from __future__ import annotations

from collections.abc import Iterable

from podium.dialects.dialect import Dialect
from podium.dialects.upstream.dialect import UPSTREAM
from podium.dialects.volcano.dialect import VOLCANO, volcano

DIALECTS: tuple[Dialect, ...] = (UPSTREAM, VOLCANO)


def speaking(
    default_queue: str, schedulers: Iterable[str], *, with_controllers: bool = True
) -> tuple[Dialect, ...]:
    """All families, where Volcano's default queue has another name, or its scheduler has others beside its own.

    A scheduler without controllers beside it does not wait for what these would make.
    """
    other = volcano(default_queue, schedulers, grouped=with_controllers)
    return tuple(other if each is VOLCANO else each for each in DIALECTS)
