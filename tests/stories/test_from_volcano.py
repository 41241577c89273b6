"""A Volcano user's way to podium and back, on a real server with Volcano's own definitions and programs.

Volcano's controllers and its scheduler have made and placed 200 jobs, and more wait for room.  They are stopped,
and podium is installed: what runs goes on with the same pods, what waits starts as soon as it can.  Then the
other way.
Volcano's programs are built for long runs only.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from bench.schedulers import VOLCANO, VOLCANO_CONTROLLERS, running

from tests.compat import kubelets
from tests.compat.client import Server, eventually
from tests.controlplane import build
from tests.controlplane.fixtures import ensure, ensure_real
from tests.controlplane.server import ControlPlane
from tests.stories import accounts
from tests.stories.clusters import podium_run

Document = dict[str, Any]

SOAK = bool(os.environ.get("PODIUM_SOAK"))
NODES, MEMBERS, MORE = 25, 2, 10
RUNNING = 200  # jobs; they fill the nodes exactly
CPU = "4"  # of a member: 16 of them on a simulated node
PATIENCE = 120.0
QUIET_SECONDS = 15.0  # in which whoever wants to restart something would have done so

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
QUEUE = "/apis/scheduling.volcano.sh/v1beta1/queues/default"


def job(name: str) -> Document:
    """Two pods, all or none."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": CPU}}}
    template = {"spec": {"restartPolicy": "OnFailure", "containers": [container]}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "volcano",
            "queue": "default",
            "minAvailable": MEMBERS,
            "maxRetry": 3,
            "plugins": {"env": [], "svc": []},
            "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
            "tasks": [{"name": "worker", "replicas": MEMBERS, "template": template}],
        },
    }


def submit(server: Server, prefix: str, count: int) -> list[str]:
    names = [f"{prefix}-{number:03}" for number in range(count)]
    server.kubectl("create", "-f", "-", input=[job(name) for name in names], timeout=PATIENCE)
    return names


def phases(server: Server) -> dict[str, str]:
    found = server.get(JOBS)["items"]
    return {each["metadata"]["name"]: each.get("status", {}).get("state", {}).get("phase", "") for each in found}


def are(server: Server, names: list[str], phase: str) -> bool:
    found = phases(server)
    return all(found.get(name) == phase for name in names)


def marks(server: Server, names: list[str]) -> Document:
    """What would differ if anything of these jobs had been touched: their pods, and how often they started."""
    wanted = set(names)
    pods = {
        pod["metadata"]["name"]: (
            pod["metadata"]["uid"],
            pod["spec"].get("nodeName"),
            pod["status"].get("startTime"),
            [each["restartCount"] for each in pod["status"].get("containerStatuses", ())],
        )
        for pod in server.get(PODS)["items"]
        if pod["metadata"].get("labels", {}).get("volcano.sh/job-name") in wanted
    }
    jobs = {
        each["metadata"]["name"]: (
            each["metadata"]["uid"],
            each["status"]["state"]["phase"],
            each["status"].get("version", 0),
            each["status"].get("retryCount", 0),
            each["status"].get("running", 0),
        )
        for each in server.get(JOBS)["items"]
        if each["metadata"]["name"] in wanted
    }
    return {"pods": pods, "jobs": jobs}


def unharmed(server: Server, before: Document, names: list[str]) -> None:
    after = marks(server, names)
    for kind in ("jobs", "pods"):
        wanted = {key: value for key, value in before[kind].items() if key in after[kind]}
        assert after[kind] == wanted
    assert len(after["jobs"]) == len(names)
    assert len(after["pods"]) == MEMBERS * len(names)


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    ensure_real(request.config)
    ensure(request.config, build.VC_SCHEDULER, build.VC_CONTROLLER_MANAGER)
    directory = tmp_path_factory.mktemp("from-volcano")
    with ControlPlane(directory / "plane", controllers=True, flags=accounts.audit_flags(directory)) as plane:
        found = Server("real", plane.kubeconfig, plane.url, plane.token, plane.ca, directory)
        for folder in ("volcano", "jobflow"):
            found.kubectl(
                *("apply", "--server-side", "-f"),
                str(build.sources(build.VC_SCHEDULER) / "config" / "crd" / folder / "bases"),
            )
        found.established("crd", "--all")
        accounts.install(found)
        with kubelets.attached(found, NODES, directory / "kubelets", scheduled=False):
            yield found


@contextlib.contextmanager
def volcano(server: Server, directory: Path) -> Iterator[None]:
    """What Volcano's deployments run, without its webhooks."""
    with (
        running(VOLCANO_CONTROLLERS, server.kubeconfig, directory),
        running(VOLCANO, server.kubeconfig, directory),
    ):
        yield


def waiting(server: Server, names: list[str]) -> bool:
    """Known to whoever leads, and not started."""
    bound = Counter(
        pod["metadata"]["labels"].get("volcano.sh/job-name")
        for pod in server.get(PODS)["items"]
        if "nodeName" in pod["spec"]
    )
    found = phases(server)
    return all(found.get(name) == "Pending" and not bound[name] for name in names)


def started(server: Server, names: list[str]) -> list[str]:
    found = phases(server)
    return [name for name in names if found.get(name) == "Running"]


def handed_over(
    server: Server, run: Callable[[], contextlib.AbstractContextManager[object]], went: str, jobs: list[str]
) -> tuple[list[str], float]:
    """Somebody else takes the cluster over.  Nothing of what runs is touched; what waits starts when it can.

    Gives back what runs then, and how long those that waited took to start when there was room.
    """
    ending, lasting = jobs[:MORE], jobs[MORE:]
    submit(server, f"{went}-gap", 1)  # while nobody is there
    blocked = [name for name in phases(server) if name not in jobs]
    before = marks(server, jobs)
    with run():
        eventually(partial(waiting, server, blocked), "they are known, and there is no room for them", PATIENCE)
        time.sleep(QUIET_SECONDS)
        unharmed(server, before, jobs)
        assert waiting(server, blocked)
        begin = time.monotonic()
        server.kubectl("delete", "vcjob", *ending, timeout=PATIENCE)
        eventually(lambda: len(started(server, blocked)) >= MORE, "as many as there is room for run", PATIENCE)
        took = time.monotonic() - begin
        time.sleep(QUIET_SECONDS)
        unharmed(server, before, lasting)
        assert len(started(server, blocked)) == MORE
        return lasting + started(server, blocked), took


@pytest.mark.timeout(900)
@pytest.mark.skipif(not SOAK, reason="Volcano's programs are built for long runs only")
def test_over_and_back(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with volcano(server, tmp_path / "first"):
        eventually(lambda: server.http("GET", QUEUE).status == 200, "Volcano has made its queue", PATIENCE)
        jobs = submit(server, "made", RUNNING)
        eventually(partial(are, server, jobs, "Running"), "Volcano runs its jobs", 2 * PATIENCE)
        more = submit(server, "more", 2 * MORE)
        eventually(partial(waiting, server, more), "there is no room for these", PATIENCE)
    lease = "--leader-elect-resource-namespace=podium-system"
    jobs, over = handed_over(server, partial(podium_run, server, tmp_path, lease), "over", jobs)
    jobs, back = handed_over(server, partial(volcano, server, tmp_path / "second"), "back", jobs)
    with capsys.disabled():
        print(
            f"\n{RUNNING} of Volcano's jobs: none touched by podium's coming nor by its going; "
            f"{MORE} that waited ran {over:.1f} s after there was room by podium, {back:.1f} s by Volcano",
            end="",
        )
