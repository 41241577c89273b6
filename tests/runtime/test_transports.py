"""The fence, the limit and the stopwatch between a machine and the API server."""

from __future__ import annotations

import asyncio
import time

import pytest

from podium.engine.counters import Histogram
from podium.errors import TransportError
from podium.kube.transport import Request
from podium.runtime.transports import Fenced, Limited, Timed
from tests.runtime.cluster import Cluster, Cut

READ = Request("GET", "/api/v1/pods")
WRITE = Request("DELETE", "/api/v1/namespaces/default/pods/p")


async def test_nothing_is_written_without_the_lease() -> None:
    cut = Cut(Cluster().transport)
    leading = True
    fenced = Fenced(cut, lambda: leading)
    assert (await fenced.request(WRITE)).status == 404
    leading = False
    with pytest.raises(TransportError, match="nothing is written"):
        await fenced.request(WRITE)
    assert (await fenced.request(READ)).status == 200
    assert len(cut.writes) == 1


async def test_writes_are_spread_after_a_burst() -> None:
    limited = Limited(Cluster().transport, rate=50.0, burst=5)
    begin = time.monotonic()
    await asyncio.gather(*(limited.request(WRITE) for _ in range(5)))
    assert time.monotonic() - begin < 0.1
    await asyncio.gather(*(limited.request(WRITE) for _ in range(10)))
    assert 0.18 <= time.monotonic() - begin < 0.6
    begin = time.monotonic()
    for _ in range(20):
        await limited.request(READ)
    assert time.monotonic() - begin < 0.1


async def test_binds_are_timed() -> None:
    binds = Histogram()
    timed = Timed(Cluster().transport, binds)
    await timed.request(WRITE)
    assert sum(binds.counts) == 0
    await timed.request(Request("POST", "/api/v1/namespaces/default/pods/p/binding", body=b"{}"))
    assert sum(binds.counts) == 1
    assert binds.sum > 0
