"""kill -9 in the middle of thousands of creates: what was acknowledged or seen is there afterwards, and once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from podium.errors import PodiumError
from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import CONFIGMAPS
from podium.kube.transport import Request
from tests.up import podium_up

CREATES = 5_000
CLIENTS = 64
KILLS = 20 if os.environ.get("PODIUM_SOAK") else 3


async def watch_until_killed(transport: HttpTransport, batch: str, seen: dict[str, str]) -> None:
    """Name and UID of all that a watcher sees."""
    query = (("watch", "true"), ("labelSelector", f"batch={batch}"))
    with contextlib.suppress(PodiumError):
        async with transport.stream(Request("GET", CONFIGMAPS.path("default"), query=query)) as stream:
            async for line in stream.lines():
                metadata = msgspec.json.decode(line)["object"]["metadata"]
                seen[metadata["name"]] = metadata["uid"]


async def create_until_killed(
    directory: Path, process: subprocess.Popen[bytes], batch: str, after: int
) -> dict[str, str]:
    """Creates as fast as it can and kills the server after `after` answers.

    Name and UID of all that anybody was told of: in an answer, or by a watch.
    """
    transport = HttpTransport(resolve(directory / "kubeconfig"), width=CLIENTS)
    client = Client(transport)
    numbers = iter(range(CREATES))
    answered: dict[str, str] = {}
    seen: dict[str, str] = {}
    watching = asyncio.create_task(watch_until_killed(transport, batch, seen))

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
    async with asyncio.timeout(20):
        await watching
    await transport.close()
    assert seen
    return seen | answered


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
        with podium_up(tmp_path, "--nodes", "0") as process:
            after = chance.randrange(50, CREATES - CLIENTS)
            acknowledged[batch] = asyncio.run(create_until_killed(tmp_path, process, batch, after))
            assert process.wait(timeout=10) == -signal.SIGKILL
        assert len(acknowledged[batch]) >= after
        with podium_up(tmp_path, "--nodes", "0"):
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
