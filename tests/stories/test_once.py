"""`podium scheduler --once` on a real cluster: exactly one turn, and its results are in the API."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.population import NAMESPACE, READY_NODES, create_all, group, waiting_pod

from podium.dialects.volcano.names import PODGROUPS, QUEUES
from podium.kube.resources import LEASES, PODS
from tests.controlplane.fixtures import ensure_real
from tests.controlplane.server import ControlPlane
from tests.stories.field import Field, field
from tests.volcano_files import BUILT_IN, HELM


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    ensure_real(request.config)
    with ControlPlane(tmp_path_factory.mktemp("plane"), flags=[READY_NODES]) as running:
        yield running


def once(plane: ControlPlane, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "podium.cli.main",
        "scheduler",
        "--once",
        "--kubeconfig",
        str(plane.kubeconfig),
    ]
    return subprocess.run([*command, *flags], capture_output=True, text=True, timeout=60, check=False)


def condition(document: dict[str, Any], type: str) -> dict[str, Any]:
    found = [each for each in document["status"].get("conditions", ()) if each["type"] == type]
    return found[0] if found else {}


async def make(cluster: Field, name: str, members: int) -> None:
    await create_all(cluster.transport, PODGROUPS, [group(name, members)])
    pods = (waiting_pod(f"{name}-{number}", "volcano", name) for number in range(members))
    await create_all(cluster.transport, PODS, pods)


@pytest.mark.timeout(300)
async def test_one_turn_and_its_results(plane: ControlPlane, tmp_path: Path) -> None:
    async with field(plane.kubeconfig) as cluster:
        # Without the definitions there is nothing to do, which is said and is no failure.
        done = await asyncio.to_thread(once, plane)
        assert done.returncode == 0, done.stderr
        assert "`podium crds | kubectl apply -f -` installs it" in done.stderr
        await cluster.prepare(2)
        for text in (BUILT_IN, HELM):
            file = tmp_path / "volcano-scheduler.conf"
            file.write_text(text)
            await make(cluster, "fits", 3)
            await make(cluster, "large", 40)
            done = await asyncio.to_thread(once, plane, "--config", str(file))
            assert done.returncode == 0, done.stderr
            lines = done.stderr.splitlines()  # only Volcano's kinds are installed
            assert [line for line in lines if "the server does not have this kind" not in line] == []
            await look(cluster)
            await cluster.clear()
        queues = {queue["metadata"]["name"] for queue in await cluster.client.list(QUEUES)}
        assert queues == {"root", "default"}
        assert (
            await cluster.client.list(LEASES, "kube-system", field_selector="metadata.name=podium-scheduler") == []
        )


async def look(cluster: Field) -> None:
    """What fits has its nodes, what does not says why, and nothing more has happened."""
    pods = {pod["metadata"]["name"]: pod for pod in await cluster.pods()}
    placed = {name for name, pod in pods.items() if "nodeName" in pod["spec"]}
    assert placed == {f"fits-{number}" for number in range(3)}
    for number in range(40):
        reported = condition(pods[f"large-{number}"], "PodScheduled")
        assert (reported["status"], reported["reason"]) == ("False", "Unschedulable")
        assert reported["message"]
    fits = await cluster.client.get(PODGROUPS, NAMESPACE, "fits")
    assert fits["status"]["phase"] == "Running"
    assert condition(fits, "Scheduled")["status"] == "True"
    large = await cluster.client.get(PODGROUPS, NAMESPACE, "large")
    assert large["status"]["phase"] == "Inqueue"
    reported = condition(large, "Unschedulable")
    assert (reported["status"], reported["reason"]) == ("True", "NotEnoughResources")
    assert "tasks in gang unschedulable" in reported["message"]
