"""The scheduler is killed while it binds gangs, or the API server goes away: nothing is torn, nothing doubled."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.controlplane.fixtures import ensure_real
from tests.controlplane.server import ControlPlane
from tests.stories.field import all_bound, check_room, field, scheduler, some_bound, standing

SOAK = bool(os.environ.get("PODIUM_SOAK"))
KILLS = 20 if SOAK else 3
AWAY = 10.0 if SOAK else 3.0

# Gangs that fill the nodes to the last GPU: one place too many would show.
GANGS, MEMBERS, NODES = 50, 4, 25


@pytest.fixture
def plane(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ControlPlane]:
    ensure_real(request.config)
    with ControlPlane(tmp_path / "plane", flags=["--disable-admission-plugins=TaintNodesByCondition"]) as running:
        yield running


@pytest.mark.timeout(900)
async def test_a_killed_scheduler_leaves_no_gang_torn(plane: ControlPlane, tmp_path: Path) -> None:
    dice = random.Random(7)
    async with field(plane.kubeconfig) as cluster:
        await cluster.prepare(NODES)
        for number in range(KILLS):
            enough = dice.randrange(1, GANGS * MEMBERS - MEMBERS)
            with scheduler(plane.kubeconfig, tmp_path / "log") as process:
                creating = asyncio.create_task(cluster.gangs(f"k{number}", GANGS, MEMBERS))
                await cluster.until(partial(some_bound, enough))
                process.kill()
                process.wait()
            await creating
            left = await cluster.pods()
            check_room(left)
            with scheduler(plane.kubeconfig, tmp_path / "log"):
                pods = await cluster.until(all_bound)
            check_room(pods)
            assert set(standing(pods).values()) == {f"{MEMBERS}/{MEMBERS}"}
            await cluster.clear()


@pytest.mark.timeout(600)
async def test_an_api_server_that_goes_away_and_comes_back(plane: ControlPlane, tmp_path: Path) -> None:
    async with field(plane.kubeconfig) as cluster:
        await cluster.prepare(NODES)
        await cluster.gangs("g", GANGS, MEMBERS)
        with scheduler(plane.kubeconfig, tmp_path / "log") as process:
            await cluster.until(partial(some_bound, MEMBERS))
            plane.kill()
            await asyncio.sleep(AWAY)
            plane.start()
            pods = await cluster.until(all_bound)
            assert process.poll() is None
        check_room(pods)
        assert set(standing(pods).values()) == {f"{MEMBERS}/{MEMBERS}"}
        assert len({pod["metadata"]["uid"] for pod in pods}) == GANGS * MEMBERS
