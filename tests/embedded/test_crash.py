"""kill -9 in the middle of thousands of creates: what was acknowledged is there afterwards, and nothing twice."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.errors import PodiumError
from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import CONFIGMAPS

CREATES = 5_000
CLIENTS = 64
KILLS = 20 if os.environ.get("PODIUM_SOAK") else 3
START_SECONDS = 60.0


@contextlib.contextmanager
def podium_up(directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The cluster in a process of its own, ready; gone at the end of the block, one way or another."""
    kubeconfig = directory / "kubeconfig"
    kubeconfig.unlink(missing_ok=True)  # its return says that the server is there
    command = [
        sys.executable,
        "-m",
        "podium.cli.main",
        "up",
        "--nodes",
        "0",
        "--port",
        "0",
        "--data-dir",
        str(directory),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not kubeconfig.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                assert process.stderr is not None
                pytest.fail(f"podium up did not start: {process.stderr.read().decode(errors='replace')[-2000:]}")
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


async def create_until_killed(
    directory: Path, process: subprocess.Popen[bytes], batch: str, after: int
) -> dict[str, str]:
    """Creates as fast as it can and kills the server after `after` answers.  Name and UID of all that came."""
    transport = HttpTransport(resolve(directory / "kubeconfig"), width=CLIENTS)
    client = Client(transport)
    numbers = iter(range(CREATES))
    answered: dict[str, str] = {}

    async def work() -> None:
        for number in numbers:
            body = {"metadata": {"generateName": "c-", "labels": {"batch": batch, "number": str(number)}}}
            try:
                made = await client.create(CONFIGMAPS, "default", body)
            except PodiumError:
                return  # dead, or dying: this one's fate is unknown, which is allowed
            answered[made["metadata"]["name"]] = made["metadata"]["uid"]
            if len(answered) == after:
                os.kill(process.pid, signal.SIGKILL)

    await asyncio.gather(*(work() for _ in range(CLIENTS)))
    await transport.close()
    return answered


async def kept(directory: Path, batch: str) -> list[tuple[str, str, str]]:
    transport = HttpTransport(resolve(directory / "kubeconfig"))
    found = await Client(transport).list(CONFIGMAPS, "default", label_selector=f"batch={batch}")
    await transport.close()
    return [
        (each["metadata"]["name"], each["metadata"]["uid"], each["metadata"]["labels"]["number"]) for each in found
    ]


@pytest.mark.timeout(60 * KILLS)
def test_acknowledged_writes_survive_kill_9(tmp_path: Path) -> None:
    chance = random.Random(os.environ.get("PODIUM_SEED", "9"))
    acknowledged: dict[str, dict[str, str]] = {}
    for kill in range(KILLS):
        batch = f"batch-{kill}"
        with podium_up(tmp_path) as process:
            after = chance.randrange(50, CREATES - CLIENTS)
            acknowledged[batch] = asyncio.run(create_until_killed(tmp_path, process, batch, after))
            assert process.wait(timeout=10) == -signal.SIGKILL
        assert len(acknowledged[batch]) >= after
        with podium_up(tmp_path):
            for earlier, answers in acknowledged.items():
                found = asyncio.run(kept(tmp_path, earlier))
                there = {name: uid for name, uid, _ in found}
                lost = {name for name, uid in answers.items() if there.get(name) != uid}
                assert not lost, f"{len(lost)} of {len(answers)} acknowledged objects of {earlier} are lost"
                twice = [number for number, count in Counter(n for _, _, n in found).items() if count > 1]
                assert not twice, f"created once and there twice: {twice[:5]}"
                assert len(found) <= len(answers) + CLIENTS, (
                    "no more than what was under way may be there beyond that"
                )
