"""A user of Volcano on podium: YAML as it is, vcctl's commands, on both servers."""

from __future__ import annotations

import contextlib
import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from podium.cli.main import run
from tests.compat.client import Result, Server, eventually

Document = dict[str, Any]

TENSORFLOW = Path(__file__).with_name("tensorflow.yaml")  # as Volcano's own example has it
NAME = "tensorflow-benchmark"
PODS = [f"{NAME}-ps-0", f"{NAME}-worker-0", f"{NAME}-worker-1"]
PATIENCE = 60.0


def job_path(ns: str, name: str = "") -> str:
    return f"/apis/batch.volcano.sh/v1alpha1/namespaces/{ns}/jobs/{name}".rstrip("/")


def status(server: Server, ns: str, name: str = NAME) -> Document:
    found: Document = server.get(job_path(ns, name)).get("status", {})
    return found


def reaches(server: Server, ns: str, phase: str, name: str = NAME) -> Document:
    """The job's status as soon as it is in a phase."""

    def look() -> Document | None:
        now = status(server, ns, name)
        return now if now.get("state", {}).get("phase") == phase else None

    try:
        return eventually(look, f"{name} is {phase}", PATIENCE)
    except AssertionError as late:
        reported = server.kubectl("get", "vcjob,podgroup,pods,events", "-n", ns, "-o", "wide", check=False)
        raise AssertionError(f"{late}\n{status(server, ns, name)}\n{reported.out}") from None


def running(server: Server, ns: str) -> dict[str, Document]:
    """The pods that run, by name."""
    pods = server.get(f"/api/v1/namespaces/{ns}/pods")["items"]
    return {
        pod["metadata"]["name"]: pod
        for pod in pods
        if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
    }


def vc(server: Server, *arguments: str) -> Result:
    """Runs a command of `podium vc`, in this process: starting one takes longer than the command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["vc", *arguments, "--kubeconfig", str(server.kubeconfig)])
    return Result(code, out.getvalue(), err.getvalue())


def plain_job(name: str, queue: str = "default") -> Document:
    container = {"name": "main", "image": "busybox:1.36", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "minAvailable": 2,
            "queue": queue,
            "schedulerName": "volcano",
            "tasks": [{"name": "main", "replicas": 2, "template": template}],
        },
    }


@pytest.mark.timeout(300)
def test_tensorflow_as_it_is(server: Server, ns: str) -> None:
    groups = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{ns}/podgroups"
    with server.watch(groups) as watch:
        server.kubectl("apply", "-n", ns, "-f", str(TENSORFLOW))
        events = watch.until(lambda event: event["object"].get("status", {}).get("phase") == "Running", PATIENCE)
    phases = list(dict.fromkeys(event["object"].get("status", {}).get("phase", "") for event in events))
    assert phases[-2:] == ["Inqueue", "Running"]

    now = reaches(server, ns, "Running")
    assert now["minAvailable"] == 3
    pods = eventually(
        lambda: found if len(found := running(server, ns)) == 3 else None, "three pods run", PATIENCE
    )
    assert sorted(pods) == PODS
    uid = server.get(job_path(ns, NAME))["metadata"]["uid"]
    for name, pod in pods.items():
        index = name.rpartition("-")[2]
        variables = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}
        assert variables["VK_TASK_INDEX"] == variables["VC_TASK_INDEX"] == index
        assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == f"{NAME}-{uid}"
        mounts = {each["mountPath"]: each["name"] for each in pod["spec"]["containers"][0]["volumeMounts"]}
        assert mounts["/etc/volcano"] == f"{NAME}-svc"
    files = server.get(f"/api/v1/namespaces/{ns}/configmaps/{NAME}-svc")["data"]
    assert files["ps.host"] == f"{NAME}-ps-0.{NAME}"
    assert files["worker.host"] == f"{NAME}-worker-0.{NAME}\n{NAME}-worker-1.{NAME}"
    service = server.get(f"/api/v1/namespaces/{ns}/services/{NAME}")["spec"]
    assert service["clusterIP"] == "None"
    table = server.kubectl("get", "vcjob", "-n", ns).lines
    assert table[0].split() == ["NAME", "STATUS", "MINAVAILABLE", "RUNNINGS", "AGE"]
    assert table[1].split()[:4] == [NAME, "Running", "3", "3"]

    # Somebody evicts a worker: the job starts anew, all of it.
    before = {name: pod["metadata"]["uid"] for name, pod in running(server, ns).items()}
    server.kubectl("delete", "pod", "-n", ns, f"{NAME}-worker-0", "--wait=false")

    def anew() -> dict[str, Document] | None:
        found = running(server, ns)
        return found if len(found) == 3 and all(found[p]["metadata"]["uid"] != before[p] for p in PODS) else None

    eventually(anew, "three new pods run", PATIENCE)
    assert reaches(server, ns, "Running")["retryCount"] == 1

    # The workers end well, and with them the job.
    for worker in PODS[1:]:
        server.kubectl("annotate", "pod", "-n", ns, worker, "podium.dev/exit-code=0")
    ended = reaches(server, ns, "Completed")
    assert ended["succeeded"] == 2
    eventually(lambda: not running(server, ns), "the parameter server is gone", PATIENCE)

    listed = vc(server, "job", "list", "-n", ns).lines
    assert listed[0].split() == [
        *("Name", "Creation", "Phase", "JobType", "Replicas", "Min"),
        *("Pending", "Running", "Succeeded", "Failed", "Unknown", "RetryCount"),
    ]
    row = listed[1].split()
    assert (row[0], *row[2:]) == (NAME, "Completed", "Tensorflow", "3", "3", "0", "0", "2", "0", "0", "1")


@pytest.mark.timeout(200)
def test_suspended_and_resumed(server: Server, ns: str) -> None:
    made = vc(server, "job", "run", "-N", "nap", "-n", ns, "-r", "2", "-m", "2")
    assert (made.code, made.out) == (0, "run job nap successfully\n"), made.err
    reaches(server, ns, "Running", "nap")
    assert vc(server, "job", "suspend", "-N", "nap", "-n", ns).code == 0
    reaches(server, ns, "Aborted", "nap")
    eventually(lambda: not running(server, ns), "no pods are left", PATIENCE)
    assert vc(server, "vresume", "-n", "nap", "-N", ns).code == 0
    reaches(server, ns, "Running", "nap")
    eventually(lambda: len(running(server, ns)) == 2, "both pods run again", PATIENCE)
    elsewhere = vc(server, "pod", "list", "-n", ns, "-j", "nap", "-q", "root")
    assert (elsewhere.code, "job nap is not in queue root" in elsewhere.err) == (2, True)
    pods = vc(server, "pod", "list", "-n", ns, "-j", "nap").lines
    assert pods[0].split() == ["Name", "Ready", "Status", "Restart", "Age"]
    assert [line.split()[1:4] for line in pods[1:]] == [["1/1", "Running", "0"]] * 2
    assert "Phase:\tRunning" in vc(server, "job", "view", "-N", "nap", "-n", ns).out
    assert vc(server, "job", "delete", "-N", "nap", "-n", ns).out == "delete job nap successfully\n"
    eventually(lambda: server.http("GET", job_path(ns, "nap")).status == 404, "the job is gone", PATIENCE)
    gone = vc(server, "job", "view", "-N", "nap", "-n", ns)
    assert (gone.code, gone.err) == (1, 'podium: jobs.batch.volcano.sh "nap" not found\n')


def run_so_many(server: Server, ns: str, count: int) -> bool:
    return len(running(server, ns)) == count


@pytest.mark.timeout(200)
def test_scaled_to_nothing_and_back_a_job_is_the_gang_that_it_was(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=plain_job("gang"))
    reaches(server, ns, "Running", "gang")
    for replicas in (0, 3):
        server.kubectl("scale", "vcjob/gang", "-n", ns, f"--replicas={replicas}")
        eventually(partial(run_so_many, server, ns, replicas), f"{replicas} pods run", PATIENCE)
        spec = server.get(job_path(ns, "gang"))["spec"]
        assert (spec["minAvailable"], spec["tasks"][0]["replicas"]) == (min(2, replicas), replicas)

    def reported() -> bool:
        events = server.kubectl("describe", "vcjob", "gang", "-n", ns).out
        return (
            "minAvailable is 0 until there are 2 pods again" in events
            and "the Job has 3 pods: minAvailable is 2 again" in events
        )

    eventually(reported, "events say what became of the minimum", PATIENCE)


def test_a_file_with_a_field_that_nobody_reads(server: Server, ns: str, tmp_path: Path) -> None:
    job = plain_job("typo")
    job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"]["limit"] = {"nvidia.com/gpu": 8}
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job))
    reported = vc(server, "job", "run", "-f", str(file), "-n", ns)
    assert (reported.code, reported.err.count("\n")) == (1, 1)
    assert 'unknown field "spec.tasks[0].template.spec.containers[0].resources.limit"' in reported.err


def test_a_job_that_nests_five_thousand_deep_stops_nobody(server: Server, ns: str) -> None:
    """A real server takes ten thousand levels where a definition lets any fields through."""
    job = plain_job("deep")
    job["spec"]["tasks"][0]["template"]["metadata"] = {"managedFields": [{"manager": "m", "fieldsV1": "DEEP"}]}
    body = json.dumps(job).replace('"DEEP"', '{"a":' * 5000 + "{}" + "}" * 5000)
    answer = server.http("POST", job_path(ns), body.encode())
    if server.kind == "embedded":
        assert answer.status == 400
        assert "exceeded max depth" in answer.json["message"]
    else:
        assert answer.status == 201
        phase = ("get", "vcjob", "deep", "-n", ns, "-o", "jsonpath={.status.state.phase}")
        eventually(lambda: server.kubectl(*phase).out == "Running", "it runs itself", PATIENCE)
    server.kubectl("apply", "-n", ns, "-f", "-", input=plain_job("beside"))
    reaches(server, ns, "Running", "beside")
    assert "beside" in vc(server, "job", "list", "-n", ns).out
    server.kubectl("delete", "vcjob", "--all", "-n", ns)


def queue_state(server: Server, name: str) -> str:
    table = vc(server, "queue", "get", "-n", name).lines
    return table[1].split()[2]


@pytest.mark.timeout(200)
def test_a_closed_queue_takes_no_jobs_and_says_so(server: Server, ns: str) -> None:
    queue = f"team-of-{ns}"
    assert vc(server, "queue", "create", "-n", queue, "-w", "2").code == 0
    table = vc(server, "queue", "list").lines
    columns = ["Name", "Weight", "State", "Parent", "Inqueue", "Pending", "Running", "Unknown", "Completed"]
    assert table[0].split() == columns
    server.kubectl("apply", "-n", ns, "-f", "-", input=plain_job("first", queue))
    reaches(server, ns, "Running", "first")
    used = vc(server, "queue", "delete", "-n", queue)
    assert (used.code, used.err.count("\n")) == (1, 1)
    assert f"queue {queue} has a pod group that has not ended ({ns}/first-" in used.err
    assert "close it, and delete it when it is empty" in used.err

    assert vc(server, "queue", "operate", "-n", queue, "--action", "close").code == 0
    eventually(lambda: queue_state(server, queue) == "Closing", "the queue is closing", PATIENCE)
    late = server.kubectl("apply", "-n", ns, "-f", "-", input=plain_job("late", queue), check=False)
    if late.code:  # refused before it was created, as admission does it
        assert queue in late.err
        assert "Closing" in late.err
    else:
        reported = reaches(server, ns, "Failed", "late")["state"]["message"]
        assert queue in reported
    assert len(running(server, ns)) == 2

    server.kubectl("delete", "vcjob", "-n", ns, "--all")
    eventually(lambda: queue_state(server, queue) == "Closed", "the queue is closed", PATIENCE)
    assert vc(server, "queue", "operate", "-n", queue, "-a", "open").code == 0
    eventually(lambda: queue_state(server, queue) == "Open", "the queue is open", PATIENCE)
    server.kubectl("apply", "-n", ns, "-f", "-", input=plain_job("again", queue))
    reaches(server, ns, "Running", "again")
    server.kubectl("delete", "vcjob", "-n", ns, "--all")
    eventually(lambda: vc(server, "queue", "delete", "-n", queue).code == 0, "the queue is deleted", PATIENCE)
