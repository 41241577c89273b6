"""Two schedulers on one real cluster: one works, and the other goes on when it dies, hangs or is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest
from bench.population import READY_NODES

from tests.controlplane.fixtures import ensure_real
from tests.controlplane.server import ControlPlane
from tests.stories.field import Field, all_bound, check_room, field, scheduler, some_bound, standing

Process = subprocess.Popen[bytes]

GANGS, MEMBERS, NODES = 40, 4, 20

DURATION = 4.0
TERMS = (
    "--listen-address=:0",
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=2500ms",
    "--leader-elect-retry-period=500ms",
)


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    ensure_real(request.config)
    with ControlPlane(tmp_path_factory.mktemp("plane"), flags=[READY_NODES]) as running:
        asyncio.run(prepare(running))
        yield running


async def prepare(plane: ControlPlane) -> None:
    async with field(plane.kubeconfig) as cluster:
        await cluster.prepare(NODES)


async def until_told(log: Path, sentence: str, within: float = 30.0) -> None:
    async with asyncio.timeout(within):
        while sentence not in await asyncio.to_thread(log.read_text):  # noqa: ASYNC110 - it happens elsewhere
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def two_schedulers(plane: ControlPlane, one: Path, two: Path) -> AsyncIterator[tuple[Process, Process]]:
    """The first leads, the second stands by."""
    with scheduler(plane.kubeconfig, one, *TERMS) as first:
        await until_told(one, "leading: this process")
        with scheduler(plane.kubeconfig, two, *TERMS) as second:
            await until_told(two, "standing by: ")
            yield first, second


async def finished(cluster: Field) -> None:
    """All gangs are whole, and no node has more than it can hold."""
    pods = await cluster.until(all_bound)
    check_room(pods)
    assert set(standing(pods).values()) == {f"{MEMBERS}/{MEMBERS}"}
    await cluster.clear()


@pytest.mark.timeout(300)
async def test_the_other_goes_on_when_the_leader_is_killed(plane: ControlPlane, tmp_path: Path) -> None:
    one, two = tmp_path / "one.log", tmp_path / "two.log"
    async with field(plane.kubeconfig) as cluster, two_schedulers(plane, one, two) as (leader, _):
        creating = asyncio.create_task(cluster.gangs("killed", GANGS, MEMBERS))
        await cluster.until(partial(some_bound, MEMBERS * 3))
        leader.kill()
        begin = time.monotonic()
        await until_told(two, "leading: this process")
        assert time.monotonic() - begin < DURATION
        await creating
        await finished(cluster)


@pytest.mark.timeout(300)
async def test_the_other_goes_on_when_the_leader_hangs(plane: ControlPlane, tmp_path: Path) -> None:
    """A process that is stopped and goes on later believes that it leads; it must find out before it writes."""
    one, two = tmp_path / "one.log", tmp_path / "two.log"
    async with field(plane.kubeconfig) as cluster, two_schedulers(plane, one, two) as (leader, successor):
        creating = asyncio.create_task(cluster.gangs("hung", GANGS, MEMBERS))
        await cluster.until(partial(some_bound, MEMBERS * 3))
        leader.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        await until_told(two, "leading: this process")
        assert time.monotonic() - begin < DURATION + 2.0
        leader.send_signal(signal.SIGCONT)
        await until_told(one, "is lost: it could not be renewed for 2.5 s")
        await creating
        await finished(cluster)
        # In order again: the successor is told to stop, and the first one, which stands by, leads at once.
        begin = time.monotonic()
        successor.terminate()
        await asyncio.to_thread(successor.wait)
        await cluster.gangs("back", 2, MEMBERS)
        await finished(cluster)
        assert time.monotonic() - begin < DURATION
        assert leader.poll() is None
