"""A rolling upgrade on a real server: an older version leads, is stopped amid gangs, and this one goes on.

The older one is taken from the repository's own history, a hundred commits back.
"""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from bench.population import READY_NODES, create_nodes

from tests.compat.client import Server
from tests.controlplane.fixtures import ensure_real
from tests.controlplane.server import ControlPlane
from tests.processes import end
from tests.stories.field import all_bound, check_room, field, some_bound, standing

ROOT = Path(__file__).parent.parent.parent
BACK = 100  # commits
GANGS, MEMBERS, NODES = 50, 4, 25
NEW = ROOT / "src"

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the older version."""

    def git(*words: str) -> bytes:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"there is no history here: {done.stderr.decode().strip()[:200]}")
        return done.stdout

    found = git("rev-list", "--max-count=1", f"--skip={BACK}", "HEAD").decode().strip()
    if not found:
        pytest.skip("the history is too short")
    directory = tmp_path_factory.mktemp("old")
    with tarfile.open(fileobj=io.BytesIO(git("archive", found, "src"))) as archive:
        archive.extractall(directory, filter="data")
    return directory / "src"


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    ensure_real(request.config)
    directory = tmp_path_factory.mktemp("plane")
    with ControlPlane(directory / "plane", flags=[READY_NODES]) as plane:
        yield Server("real", plane.kubeconfig, plane.url, plane.token, plane.ca, directory)


def podium(source: Path, *words: str) -> tuple[list[str], dict[str, str]]:
    return [sys.executable, "-m", "podium.cli.main", *words], {**os.environ, "PYTHONPATH": str(source)}


def define(server: Server, source: Path) -> None:
    command, environment = podium(source, "crds")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    server.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=done.stdout)
    server.established("crd", "--all")


async def led(log: Path, sentence: str) -> None:
    async with asyncio.timeout(60):
        while sentence not in await asyncio.to_thread(log.read_text):  # noqa: ASYNC110 - it happens elsewhere
            await asyncio.sleep(0.05)


def start(server: Server, source: Path, log: Path) -> subprocess.Popen[bytes]:
    flags = ("scheduler", "--kubeconfig", str(server.kubeconfig), "--listen-address=:0")
    command, environment = podium(source, *flags)
    with open(log, "ab") as output:
        return subprocess.Popen(command, env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("way", ["forward", "forward, killed"])
async def test_the_other_version_goes_on(server: Server, old: Path, tmp_path: Path, way: str) -> None:
    before, after = old, NEW
    one, two = tmp_path / "before.log", tmp_path / "after.log"
    define(server, before)
    async with field(server.kubeconfig) as cluster:
        if way == "forward":
            await create_nodes(cluster.transport, NODES)
        leader = start(server, before, one)
        standby = None
        try:
            await led(one, "leading: this process")
            define(server, after)  # as a chart does: definitions first, then the pods one by one
            standby = start(server, after, two)
            await led(two, "standing by: ")
            creating = asyncio.create_task(cluster.gangs(way.replace(", ", "-"), GANGS, MEMBERS))
            await cluster.until(partial(some_bound, MEMBERS * 5 + 1))
            if way.endswith("killed"):
                leader.kill()
            else:
                leader.terminate()
            await creating
            pods = await cluster.until(all_bound)
            assert standby.poll() is None
        finally:
            for process in (leader, standby):
                if process is not None:
                    end(process, 15)
        check_room(pods)
        assert set(standing(pods).values()) == {f"{MEMBERS}/{MEMBERS}"}
        assert len(pods) == GANGS * MEMBERS
        await cluster.clear()
