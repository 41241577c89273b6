"""A user of Arranger on podium: TYJobs through kubectl, on both servers."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import PODIUM
from tests.compat import kubelets
from tests.compat.client import Server, eventually
from tests.controlplane import build
from tests.controlplane.fixtures import ensure
from tests.controlplane.server import ControlPlane, write_kubeconfig
from tests.processes import end

Document = dict[str, Any]

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "arranger" / "01-learner.yaml"
PATIENCE = 60.0


def path(ns: str, name: str = "") -> str:
    return f"/apis/arranger.taiyi.io/v1alpha1/namespaces/{ns}/tyjobs/{name}".rstrip("/")


def template(run: str = "", gpu: int = 0) -> Document:
    limits = {"nvidia.com/gpu": str(gpu)} if gpu else {}
    resources = {"requests": {"cpu": "1"}, "limits": limits}
    container = {"name": "main", "image": "busybox:1.36", "resources": resources}
    annotations = {"podium.dev/run-seconds": run} if run else {}
    return {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}


def job(name: str, workers: int = 2, run: str = "", **spec: Any) -> Document:
    return {
        "apiVersion": "arranger.taiyi.io/v1alpha1",
        "kind": "TYJob",
        "metadata": {"name": name},
        "spec": {
            "leader": {"name": "learner", "template": template(run)},
            "workerSets": [{"name": "actor", "counts": workers, "template": template()}],
            **spec,
        },
    }


def until(server: Server, ns: str, name: str, wanted: Callable[[Document], bool], what: str) -> Document:
    """The job's status as soon as something is so."""

    def look() -> Document | None:
        now: Document = server.get(path(ns, name)).get("status", {})
        return now if wanted(now) else None

    try:
        return eventually(look, f"{name}: {what}", PATIENCE)
    except AssertionError as late:
        shown = server.kubectl("get", "tyjobs,pods,events", "-n", ns, "-o", "wide", check=False)
        raise AssertionError(f"{late}\n{server.get(path(ns, name)).get('status')}\n{shown.out}") from None


def pods(server: Server, ns: str) -> dict[str, Document]:
    return {each["metadata"]["name"]: each for each in server.get(f"/api/v1/namespaces/{ns}/pods")["items"]}


def _status(event: Document) -> Document:
    found: Document = event["object"].get("status", {})
    return found


@pytest.mark.timeout(300)
def test_the_example_runs_to_its_end(server: Server, ns: str) -> None:
    """A leader with a GPU and two worker sets; a watch sees every stage, and the places before the pods."""
    manifest = EXAMPLE.read_text()
    room = [each["status"]["allocatable"] for each in server.get("/api/v1/nodes")["items"]]
    if not any("nvidia.com/gpu" in each for each in room):
        manifest = manifest.replace('            limits: {nvidia.com/gpu: "1"}\n', "")
    with server.watch(path(ns)) as watch:
        server.kubectl("apply", "-n", ns, "-f", "-", input=manifest)
        events = watch.until(
            lambda each: each["object"].get("status", {}).get("stage") == "Succeeded", 2 * PATIENCE
        )
    seen = [each["object"].get("status", {}) for each in events]
    stages = list(dict.fromkeys(each["stage"] for each in seen if each.get("stage")))
    assert stages == ["Pending", "Starting", "Running", "Succeeded"]
    first = next(each for each in seen if each.get("allocations"))
    assert len(first["allocations"]) == 5, "all places stand there before the first pod"
    assert not first.get("leaderAddress")
    last = seen[-1]
    assert (last["scheduleState"], last["restarts"], last["totalWorkers"]) == ("ScheduledSucceed", 0, 4)
    eventually(lambda: not pods(server, ns) or None, "the pods are cleaned away", PATIENCE)
    table = server.kubectl("get", "tyj", "-n", ns).lines
    assert table[0].split() == ["NAME", "STAGE", "STATE", "READY", "RESTARTS", "LEADER", "AGE"]
    assert table[1].split()[:3] == ["pong", "Succeeded", "ScheduledSucceed"]


@pytest.mark.timeout(300)
def test_leader_workers_scale_and_end(server: Server, ns: str) -> None:
    server.create(path(ns), job("run"))
    now = until(server, ns, "run", lambda each: each.get("stage") == "Running", "runs")
    found = pods(server, ns)
    assert sorted(found) == ["run-actor-0", "run-actor-1", "run-learner"]
    nodes = {each["name"]: each["node"] for each in now["allocations"]}
    assert {name: pod["spec"]["nodeName"] for name, pod in found.items()} == nodes
    env = {each["name"]: each.get("value") for each in found["run-actor-0"]["spec"]["containers"][0]["env"]}
    assert env["LEADER_ADDRESS"] == found["run-learner"]["status"]["podIP"] == now["leaderAddress"]
    labels = found["run-actor-1"]["metadata"]["labels"]
    assert {key.removeprefix("arranger.taiyi.io/"): value for key, value in labels.items()} == {
        "job": "run", "role": "worker", "set": "actor", "index": "1",
    }  # fmt: skip

    server.kubectl("scale", "tyjob/run", "-n", ns, "--replicas=3")
    until(server, ns, "run", lambda each: each.get("ready") == "3/3", "has three workers")
    server.kubectl("scale", "tyjob/run", "-n", ns, "--replicas=1")
    until(server, ns, "run", lambda each: each.get("ready") == "1/1", "has one worker")
    eventually(lambda: len(pods(server, ns)) == 2 or None, "two pods are left", PATIENCE)

    # A leader that is gone is made again, and so are the workers if its address is another one.
    server.kubectl("delete", "pod", "run-learner", "-n", ns, "--grace-period=0", "--force")
    until(server, ns, "run", lambda each: each.get("restarts") == 1 and each.get("ready") == "1/1", "is led again")

    server.merge(path(ns, "run"), {"spec": {"terminating": True}})
    until(server, ns, "run", lambda each: each.get("stage") == "Succeeded", "has ended")
    eventually(lambda: not pods(server, ns) or None, "the pods are cleaned away", PATIENCE)


@pytest.mark.timeout(300)
def test_what_cannot_be_is_refused_with_its_field(server: Server, ns: str) -> None:
    for change, field in (
        ({"workerSets": []}, "spec.workerSets"),
        ({"priority": 0}, "spec.priority"),
        ({"priority": 11}, "spec.priority"),
        ({"cleanPodPolicy": "Done"}, "spec.cleanPodPolicy"),
        ({"minWorkersNum": 9}, "spec.minWorkersNum"),
        ({"schedulerPolicy": {"basicPolicy": "Best"}}, "spec.schedulerPolicy.basicPolicy"),
        ({"leader": {"template": template()}}, "spec.leader.name"),
        ({"leader": {"name": "l"}}, "spec.leader.template"),
    ):
        answer = server.http("POST", path(ns), {**job("bad"), "spec": {**job("bad")["spec"], **change}})
        assert answer.status == 422, change
        assert field in answer.json["message"], answer.json["message"]
    server.create(path(ns), job("held", terminating=True))
    renamed = {"spec": {"workerSets": [{"name": "critic", "template": template()}]}}
    answer = server.http("PATCH", path(ns, "held"), renamed, content_type="application/merge-patch+json")
    assert answer.status == 422
    assert "neither be added nor removed" in answer.json["message"]


@pytest.mark.timeout(300)
def test_a_job_that_no_node_can_take_fails_with_the_reason(server: Server, ns: str) -> None:
    large = job("large")
    large["spec"]["workerSets"][0]["template"]["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": "4000"}
    }
    server.create(path(ns), large)
    now = until(server, ns, "large", lambda each: each.get("stage") == "Failed", "fails")
    assert now["scheduleState"] == "ScheduledFailed"
    assert "cpu" in now["conditions"][0]["message"]
    assert not pods(server, ns)


AUDIT = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  resources: [{group: arranger.taiyi.io, resources: [tyjobs/status]}]
- level: None
"""


@pytest.mark.timeout(300)
def test_no_field_of_the_status_has_two_writers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Scheduler and controllers as two users of a real server, whose audit log says who wrote what."""
    ensure(request.config, *build.FOR_TESTS)
    directory = tmp_path_factory.mktemp("arranger-audit")
    log, rules = directory / "audit.log", directory / "audit.yaml"
    rules.write_text(AUDIT)
    plane = ControlPlane(
        directory / "plane",
        controllers=True,
        flags=[f"--audit-log-path={log}", f"--audit-policy-file={rules}", "--audit-log-mode=blocking-strict"],
    )
    users = ("scheduler", "controllers")
    tokens = plane.directory / "tokens.csv"
    tokens.write_text(tokens.read_text() + "".join(f'{user},{user},{user},"system:masters"\n' for user in users))
    with plane, contextlib.ExitStack() as running:
        server = Server("real", plane.kubeconfig, plane.url, plane.token, plane.ca, directory)
        definitions = subprocess.run([*PODIUM, "crds"], capture_output=True, text=True, check=True).stdout
        server.kubectl("apply", "-f", "-", input=definitions)
        server.established("crd", "--all")
        running.enter_context(kubelets.attached(server, 3, directory / "kubelets", scheduled=False))
        for user in users:
            own = directory / f"{user}.kubeconfig"
            write_kubeconfig(own, plane.url, plane.ca, user)
            command = [*PODIUM, user, f"--kubeconfig={own}", "--leader-elect=false", "--listen-address=:0"]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            running.callback(end, process, 20.0)
        server.create(path("default"), job("run"))
        until(server, "default", "run", lambda each: each.get("stage") == "Running", "runs")
        server.merge(path("default", "run"), {"spec": {"terminating": True}})
        until(server, "default", "run", lambda each: each.get("stage") == "Succeeded", "has ended")
    written: dict[str, set[str]] = {user: set() for user in users}
    for line in log.read_text().splitlines():
        entry = json.loads(line)
        written[entry["user"]["username"]] |= set(entry["requestObject"].get("status") or ())
    assert written["scheduler"] == {"scheduleState", "allocations", "conditions"}
    assert {"stage", "readyWorkers", "leaderAddress"} <= written["controllers"]
    assert not written["scheduler"] & written["controllers"]
