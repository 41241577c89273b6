"""Volcano's own scheduler and podium for the same pods, on a real server: it must be said, and do no harm.

Both are given work for a while.  Nothing may be lost or bound twice, and podium says within seconds that somebody
else serves its name.  Volcano's scheduler is built for long runs only.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import msgspec
import pytest
from bench.population import READY_NODES
from bench.schedulers import VOLCANO, running

from podium.client.checkup import Level, check_up
from podium.engine.clashes import ANOTHER_SCHEDULER
from podium.kube.resources import EVENTS
from tests.controlplane import build
from tests.controlplane.fixtures import ensure, ensure_real
from tests.controlplane.server import ControlPlane
from tests.stories.field import all_bound, field, scheduler

SOAK = bool(os.environ.get("PODIUM_SOAK"))
SECONDS = 60.0
NODES, GANGS, MEMBERS = 200, 12, 4
SAID_WITHIN = 10.0
# Volcano looks once a second, when podium has long bound what came.  Even looking this often it loses every race:
# so podium is held up for a moment again and again, and has to find what was bound behind its back.
HELD_UP, FREE = 1.5, 6.0
EAGER = msgspec.structs.replace(
    VOLCANO,
    command=lambda kubeconfig, directory: [*VOLCANO.command(kubeconfig, directory), "--schedule-period=20ms"],
)


async def hold_up(process: subprocess.Popen[bytes]) -> None:
    while True:
        await asyncio.sleep(FREE)
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(HELD_UP)
        process.send_signal(signal.SIGCONT)


@pytest.mark.timeout(600)
@pytest.mark.skipif(not SOAK, reason="Volcano's scheduler is built for long runs only")
async def test_two_schedulers_for_one_name(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ensure_real(request.config)
    ensure(request.config, build.VC_SCHEDULER)
    log = tmp_path / "podium.log"
    with ControlPlane(tmp_path / "plane", flags=[READY_NODES]) as plane:
        async with field(plane.kubeconfig) as cluster:
            await cluster.prepare(NODES)
            flags = ("--leader-elect=false", "--listen-address=:0")
            with contextlib.ExitStack() as stack:
                podium = stack.enter_context(scheduler(plane.kubeconfig, log, *flags))
                await cluster.gangs("before", GANGS, MEMBERS)
                await cluster.until(all_bound)  # podium is at work when the other one comes
                stack.enter_context(running(EAGER, plane.kubeconfig, tmp_path))
                held_up = asyncio.create_task(hold_up(podium))
                stack.callback(held_up.cancel)
                homes: dict[str, str] = {}
                said = first = 0.0
                count, begin = 0, time.monotonic()
                while time.monotonic() < begin + SECONDS:
                    if (count + 2) * GANGS * MEMBERS <= NODES * 8:
                        await cluster.gangs(f"r{count:03}", GANGS, MEMBERS)
                        count += 1
                    await asyncio.sleep(1.0)
                    for pod in await cluster.pods():
                        node = pod["spec"].get("nodeName", "")
                        foreign = node and "podium.dev/gang-plan" not in pod["metadata"].get("annotations", {})
                        first = first or (time.monotonic() if foreign else 0.0)
                        if node:
                            assert homes.setdefault(pod["metadata"]["uid"], node) == node, "bound twice"
                    if not said and "another scheduler serves" in await asyncio.to_thread(log.read_text):
                        said = time.monotonic()
                held_up.cancel()
                podium.send_signal(signal.SIGCONT)
                pods = await cluster.until(all_bound, 60.0)
                assert len(pods) == (count + 1) * GANGS * MEMBERS, "a pod is lost"
                events = await cluster.client.list(EVENTS, "default")
                findings = await check_up(cluster.client)
            assert first, "Volcano has bound nothing: there was no clash"
            assert said
            assert said - first < SAID_WITHIN
            assert any(each["reason"] == ANOTHER_SCHEDULER for each in events)
            broken = [each.sentence for each in findings if each.level is Level.BROKEN]
            assert any("another scheduler serves the scheduler name volcano" in each for each in broken)
    by_volcano = sum("podium.dev/gang-plan" not in pod["metadata"].get("annotations", {}) for pod in pods)
    with capsys.disabled():
        print(
            f"\n{len(pods)} pods, {by_volcano} bound by Volcano: none lost, none bound twice; "
            f"said {max(0.0, said - first):.1f} s after the first one",
            end="",
        )
