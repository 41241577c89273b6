"""Leader election on the embedded API: standing by, taking over, giving back, and being cut off."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator

import pytest

from podium.errors import TransportError
from podium.kube.lease import Terms
from podium.kube.resources import LEASES
from podium.kube.transport import Request, Stream, Transport
from podium.runtime.electing import Leadership, lead
from podium.runtime.identity import is_dead, process_identity
from tests.runtime.cluster import Cluster, Cut

TERMS = Terms(duration=1.0, renew_deadline=0.6, retry=0.1)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def candidate(transport: Transport, identity: str, namespace: str = "kube-system") -> Leadership:
    return Leadership(transport, namespace, "podium-scheduler", TERMS, identity=identity)


def identity_of_another() -> str:
    """The name of a process that has been and is no more."""
    code = "from podium.runtime.identity import process_identity; print(process_identity())"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


async def forever() -> None:
    await asyncio.Event().wait()


async def test_one_leads_and_the_other_stands_by(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "podium.runtime")
    first, second = candidate(cluster.transport, "a"), candidate(cluster.transport, "b")
    await first.campaign()
    assert first.may_write()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.gather(first.keep(), second.campaign()), 0.5)
    assert not second.may_write()
    assert caplog.text.count("standing by: a holds the lease kube-system/podium-scheduler") == 1


async def test_a_leader_that_stops_hands_over_at_once(cluster: Cluster) -> None:
    stop, done = asyncio.Event(), []
    first, second = candidate(cluster.transport, "a"), candidate(cluster.transport, "b")

    async def work() -> None:
        await stop.wait()
        done.append("finished")

    leading = asyncio.create_task(lead(first, work, stop))
    await asyncio.sleep(0.1)
    standing_by = asyncio.create_task(second.campaign())
    await asyncio.sleep(0.2)
    stop.set()
    await leading
    begin = time.monotonic()
    await standing_by
    assert time.monotonic() - begin < 0.5 < TERMS.duration
    assert done == ["finished"]
    lease = await cluster.client.get(LEASES, "kube-system", "podium-scheduler")
    assert lease["spec"]["holderIdentity"] == "b"
    assert lease["spec"]["leaseTransitions"] == 1
    assert lease["spec"]["leaseDurationSeconds"] == 1


class Unwatched(Cut):
    """Whoever watches through it is refused."""

    @contextlib.asynccontextmanager
    async def stream(self, request: Request, *, timeout: float = 30.0) -> AsyncIterator[Stream]:
        raise TransportError("no watch")
        yield


@pytest.mark.parametrize("watched", [True, False])
async def test_a_lease_that_is_given_back_is_taken_before_the_next_look(cluster: Cluster, watched: bool) -> None:
    seldom = Terms(duration=6.0, renew_deadline=4.0, retry=2.0)
    first, second = (
        Leadership(transport, "kube-system", "podium-scheduler", seldom, identity=identity)
        for transport, identity in (
            (cluster.transport, "a"),
            (cluster.transport if watched else Unwatched(cluster.transport), "b"),
        )
    )
    await first.campaign()
    standing_by = asyncio.create_task(second.campaign())
    await asyncio.sleep(0.2)
    await first.release()
    begin = time.monotonic()
    async with asyncio.timeout(5):
        await standing_by
    took = time.monotonic() - begin
    assert took < 0.5 if watched else 1.0 < took < 2.5


async def test_a_leader_that_is_cut_off_stops_before_another_leads(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cut = Cut(cluster.transport)
    first, second = candidate(cut, "a"), candidate(cluster.transport, "b")
    stopped_at = []

    async def work() -> None:
        try:
            await forever()
        finally:
            stopped_at.append(time.monotonic())

    stop = asyncio.Event()
    leading = asyncio.create_task(lead(first, work, stop))
    await asyncio.sleep(0.1)
    standing_by = asyncio.create_task(second.campaign())
    await asyncio.sleep(0.2)
    cut.cut = True
    await standing_by
    assert stopped_at[0] < time.monotonic() - (TERMS.duration - TERMS.renew_deadline) / 2
    assert not first.may_write()
    assert "the lease kube-system/podium-scheduler is lost: it could not be renewed for 0.6 s" in caplog.text
    # Where it was before, it is a candidate again.
    cut.cut = False
    await second.release()
    await asyncio.sleep(0.8)
    assert first.may_write()
    stop.set()
    leading.cancel()


async def test_a_leader_that_finds_another_stands_by(cluster: Cluster) -> None:
    first, begun = candidate(cluster.transport, "a"), []

    async def work() -> None:
        begun.append(first.election)
        await forever()

    leading = asyncio.create_task(lead(first, work, asyncio.Event()))
    await asyncio.sleep(0.1)
    spec = {"holderIdentity": "another", "leaseDurationSeconds": 60}
    await cluster.client.patch(LEASES, "kube-system", "podium-scheduler", {"spec": spec})
    await asyncio.sleep(0.3)
    assert not first.may_write()
    assert len(begun) == 1
    await cluster.client.patch(LEASES, "kube-system", "podium-scheduler", {"spec": {"holderIdentity": ""}})
    await asyncio.sleep(0.3)
    assert first.may_write()
    assert len(begun) == 2
    leading.cancel()


async def test_stopped_while_standing_by(cluster: Cluster) -> None:
    first, second = candidate(cluster.transport, "a"), candidate(cluster.transport, "b")
    await first.campaign()
    stop = asyncio.Event()
    waiting = asyncio.create_task(lead(second, forever, stop))
    await asyncio.sleep(0.1)
    stop.set()
    async with asyncio.timeout(1):
        await waiting


async def test_an_error_of_the_work_is_told_and_the_lease_given_back(cluster: Cluster) -> None:
    async def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await lead(candidate(cluster.transport, "a"), work, asyncio.Event())
    lease = await cluster.client.get(LEASES, "kube-system", "podium-scheduler")
    assert lease["spec"]["holderIdentity"] == ""


async def test_a_namespace_that_is_missing_is_told_once(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(candidate(cluster.transport, "a", "nowhere").campaign(), 0.5)
    assert caplog.text.count("namespace nowhere does not exist: create it") == 1


async def test_a_dead_process_of_this_machine_is_not_waited_for(cluster: Cluster) -> None:
    dead = await asyncio.to_thread(identity_of_another)
    long = Terms(duration=60.0, renew_deadline=40.0, retry=0.1)
    await Leadership(cluster.transport, "kube-system", "podium-scheduler", long, identity=dead).campaign()
    async with asyncio.timeout(2):
        await candidate(cluster.transport, "b").campaign()


def test_a_process_that_was_not_buried_yet_is_dead() -> None:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    parts = process_identity().split("_")
    identity = "_".join([*parts[:-2], str(process.pid), "x"])
    deadline = time.monotonic() + 10
    while not is_dead(identity):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert process.wait() == 0
    assert is_dead(identity)


_HIDING = """
import os, subprocess, sys
subprocess.run(["mount", "-t", "proc", "-o", "hidepid=2", "proc", "/proc"], check=True)
os.setgroups([]); os.setgid(65534); os.setuid(65534)
assert not os.path.exists(f"/proc/{sys.argv[2]}")
# What was imported before the rights were given up still works.
print(is_dead(sys.argv[1]), is_dead(sys.argv[1].replace(f"_{sys.argv[2]}_", "_4194305_")))
"""


def test_a_living_process_that_proc_hides_is_not_dead() -> None:
    """As where /proc is mounted with hidepid, and the two processes are different users'."""
    code = "from podium.runtime.identity import is_dead, process_identity; process_identity()\n" + _HIDING
    command = ["unshare", "--mount", sys.executable, "-c", code, process_identity(), str(os.getpid())]
    try:
        probe = subprocess.run(["unshare", "--mount", "mount", "-t", "proc", "proc", "/proc"], capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if probe.returncode:
        pytest.skip("only root can mount a /proc that hides processes")
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["False", "True"], found.stderr


@pytest.mark.parametrize(
    ("identity", "dead"),
    [
        ("", False),
        ("somebody", False),
        ("elsewhere_abc_4194305_x", False),
        (process_identity(), False),
        ("_".join([*process_identity().split("_")[:-2], "4194305", "x"]), True),
        (process_identity().split("_")[0] + "__4194305_x", False),
        (process_identity().split("_")[0] + "_anotherboot_4194305_x", False),
    ],
)
def test_who_is_known_to_be_dead(identity: str, dead: bool) -> None:
    assert is_dead(identity) is dead
