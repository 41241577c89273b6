"""Two replicas as the chart starts them, with its terms and roles, on a real server: what becomes of the leader.

Which of the two has sent a bind says the server's audit log: each has a token of its own.  A leader "on another
machine" has a PID namespace of its own, so that nobody can see here that it is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from bench.population import READY_NODES

from tests.chart import NAMESPACE as OWN
from tests.compat.client import Server
from tests.controlplane.fixtures import ensure_real
from tests.controlplane.server import ControlPlane, write_kubeconfig
from tests.stories import accounts
from tests.stories.field import Field, all_bound, check_room, field, some_bound, standing

SOAK = bool(os.environ.get("PODIUM_SOAK"))
SLACK = 1.0 if SOAK else 4.0  # figures are for a machine of one's own; a shared one may be slow
GANGS, MEMBERS, NODES = 40, 4, 20

Process = subprocess.Popen[bytes]


class Plane:
    """A control plane with the chart's account, and what its audit log says."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        self.plane = plane
        self.directory = directory
        self.server = Server("real", plane.kubeconfig, plane.url, plane.token, plane.ca, directory)
        self.log = accounts.audit_log(directory)

    def account(self, name: str, url: str = "") -> Path:
        """A kubeconfig of the chart's account with a token that nobody else has."""
        found = self.server.kubectl("create", "token", accounts.ACCOUNT, "-n", OWN, "--duration=24h")
        path = self.directory / f"{name}.kubeconfig"
        write_kubeconfig(path, url or self.server.url, self.server.ca, found.out.strip())
        return path

    def binds(self, kubeconfig: Path) -> list[float]:
        """When the owner of a token has sent binds, by the server's clock."""
        token = json.loads(kubeconfig.read_text())["users"][0]["user"]["token"]
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        answer = self.server.http("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review).json
        mark = "authentication.kubernetes.io/credential-id"
        (credential,) = answer["status"]["user"]["extra"][mark]
        found = []
        for line in self.log.read_text().splitlines():
            event = json.loads(line)
            sent = event.get("objectRef", {}).get("subresource") == "binding"
            if sent and credential in event["user"].get("extra", {}).get(mark, ()):
                moment = event["requestReceivedTimestamp"]
                found.append(
                    time.mktime(time.strptime(moment[:19], "%Y-%m-%dT%H:%M:%S")) + float("0" + moment[19:-1])
                )
        return found


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    ensure_real(request.config)
    os.environ["TZ"] = "UTC"
    time.tzset()
    directory = tmp_path_factory.mktemp("replicas")
    flags = (READY_NODES, *accounts.audit_flags(directory))
    with ControlPlane(directory / "plane", flags=flags) as running:
        found = Plane(running, directory)
        accounts.install(found.server)
        asyncio.run(_prepare(running))
        yield found


async def _prepare(plane: ControlPlane) -> None:
    async with field(plane.kubeconfig) as cluster:
        await cluster.prepare(NODES)


@contextlib.contextmanager
def replica(
    kubeconfig: Path, log: Path, *flags: str, elsewhere: bool = False, files: int = 0
) -> Iterator[Process]:
    """`podium scheduler` with the chart's account and terms; `files`: it may open no more than that."""
    command = [sys.executable, "-m", "podium.cli.main", "scheduler", "--kubeconfig", str(kubeconfig)]
    command += [f"--leader-elect-resource-namespace={OWN}", "--listen-address=:0", *flags]
    if elsewhere:
        command = ["unshare", "--pid", "--fork", "--kill-child", *command]
    if files:
        command = ["prlimit", f"--nofile={files}:{files}", *command]
    with open(log, "ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def until(told: Callable[[], bool], what: str, within: float = 60.0) -> None:
    deadline = time.monotonic() + within
    while not told():
        assert time.monotonic() < deadline, f"not within {within:g} s: {what}"
        await asyncio.sleep(0.05)


def said(log: Path, sentence: str) -> bool:
    return sentence in log.read_text()


@contextlib.asynccontextmanager
async def two(plane: Plane, tmp: Path, *, elsewhere: bool = False) -> AsyncIterator[tuple[Process, Process]]:
    one, other = tmp / "one.log", tmp / "two.log"
    with replica(plane.account("one"), one, elsewhere=elsewhere) as leader:
        await until(partial(said, one, "leading: this process"), "the first one leads")
        with replica(plane.account("two"), other) as standby:
            await until(partial(said, other, "standing by: "), "the second one stands by")
            yield leader, standby


async def finished(cluster: Field) -> None:
    pods = await cluster.until(all_bound)
    check_room(pods)
    assert set(standing(pods).values()) == {f"{MEMBERS}/{MEMBERS}"}
    await cluster.clear()


async def bound_again(cluster: Field, prefix: str, within: float) -> float:
    """How long it takes until a pod that was made now is bound."""
    began = time.monotonic()
    await cluster.gangs(prefix, 1, MEMBERS)

    def its(pods: list[dict[str, object]]) -> bool:
        return all_bound([pod for pod in pods if str(pod["metadata"]["name"]).startswith(prefix)])  # type: ignore[index]

    await cluster.until(its, within)
    return time.monotonic() - began


@pytest.mark.timeout(300)
@pytest.mark.skipif(shutil.which("unshare") is None or os.geteuid() != 0, reason="no PID namespace of one's own")
async def test_a_leader_that_dies_on_another_machine(
    plane: Plane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with field(plane.plane.kubeconfig) as cluster, two(plane, tmp_path, elsewhere=True) as (leader, _):
        creating = asyncio.create_task(cluster.gangs("dies", GANGS - 1, MEMBERS))
        await cluster.until(partial(some_bound, MEMBERS * 3))
        leader.kill()
        await creating
        took = await bound_again(cluster, "after", 80.0)
        await finished(cluster)
    with capsys.disabled():
        print(f"\nkill -9 of the leader elsewhere: the standby binds after {took:.1f} s", end="")
    assert took < 20.0 * SLACK


@pytest.mark.timeout(300)
async def test_a_leader_that_is_told_to_stop(
    plane: Plane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with field(plane.plane.kubeconfig) as cluster, two(plane, tmp_path) as (leader, _):
        creating = asyncio.create_task(cluster.gangs("stops", GANGS - 1, MEMBERS))
        await cluster.until(partial(some_bound, MEMBERS * 3))
        await creating
        await cluster.until(all_bound)
        leader.terminate()
        stopped = time.time()
        took = await bound_again(cluster, "after", 80.0)
        await asyncio.to_thread(leader.wait)
        await finished(cluster)
        assert len([at for at in plane.binds(plane.directory / "two.kubeconfig") if at >= stopped]) == MEMBERS
    with capsys.disabled():
        print(f"\na graceful stop of the leader: the standby binds after {took:.1f} s", end="")
    assert took < 3.0 * SLACK


@pytest.mark.timeout(300)
async def test_a_leader_that_is_frozen(plane: Plane, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fault 2: frozen for longer than its lease; awake again it believes that it leads, and must write nothing."""
    async with field(plane.plane.kubeconfig) as cluster, two(plane, tmp_path) as (leader, _):
        creating = asyncio.create_task(cluster.gangs("frozen", GANGS - 1, MEMBERS))
        await cluster.until(partial(some_bound, MEMBERS * 3))
        leader.send_signal(signal.SIGSTOP)
        frozen = time.monotonic()
        await creating
        took = await bound_again(cluster, "after", 80.0)
        await asyncio.sleep(max(0.0, 40.0 - (time.monotonic() - frozen)))
        leader.send_signal(signal.SIGCONT)
        woken = time.time()
        await cluster.clear()
        await cluster.gangs("later", GANGS, MEMBERS)
        await finished(cluster)
        await asyncio.sleep(3.0)
        late = [at for at in plane.binds(plane.directory / "one.kubeconfig") if at >= woken]
        successors = [at for at in plane.binds(plane.directory / "two.kubeconfig") if at >= woken]
    with capsys.disabled():
        print(
            f"\nSIGSTOP for 40 s: the standby binds after {took:.1f} s; awake again it sends {len(late)} binds",
            end="",
        )
    assert late == []
    assert len(successors) == GANGS * MEMBERS
    assert took < 20.0 * SLACK


# --- fault 4, live -------------------------------------------------------------------------------------


@pytest.mark.timeout(600)
async def test_a_server_that_dies_in_the_middle_of_binds(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fault 4: killed while binds are in flight, and back later: everything ends bound."""
    gangs, nodes, away = (750, 375, 20.0) if SOAK else (100, 50, 5.0)
    ensure_real(request.config)
    with ControlPlane(tmp_path / "plane", flags=[READY_NODES]) as plane:
        async with field(plane.kubeconfig) as cluster:
            await cluster.prepare(nodes)
            await cluster.gangs("g", gangs, MEMBERS)
            with replica(plane.kubeconfig, tmp_path / "log", "--leader-elect=false") as process:
                await cluster.until(partial(some_bound, MEMBERS))
                plane.kill()
                await asyncio.sleep(away)
                plane.start()
                back = time.monotonic()
                pods = await cluster.until(all_bound, 120.0)
                took = time.monotonic() - back
                assert process.poll() is None
            check_room(pods)
            assert len(pods) == gangs * MEMBERS
    with capsys.disabled():
        print(
            f"\na server away for {away:g} s among {gangs * MEMBERS} binds: all bound {took:.1f} s after it",
            end="",
        )
    assert took < 60.0
