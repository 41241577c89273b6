"""Pools as a user of Ai-Scheduler knows them, on both servers: its own YAML, lending, and taking back."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.cli.main import run
from podium.embedded.nodes.shapes import Shape, node_document
from tests.cli.running import PODIUM
from tests.compat.client import Server, eventually
from tests.controlplane import build
from tests.controlplane.fixtures import ensure
from tests.processes import end
from tests.stories import clusters

Document = dict[str, Any]

PAGE = Path(__file__).with_name("pools.yaml")
PATIENCE = 120.0
POOLS = "/apis/resource.aibee.cn/v1alpha1/pools"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


@pytest.fixture(scope="module", params=["embedded", "real"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    directory = tmp_path_factory.mktemp(f"pools-{request.param}")
    if request.param == "embedded":
        ensure(request.config, build.KUBECTL)
        with clusters.embedded(directory) as running:
            yield running
    else:
        ensure(request.config, *build.FOR_TESTS)
        with clusters.real(directory) as running, webhook(running, directory):
            yield running


@contextlib.contextmanager
def webhook(server: Server, directory: Path) -> Iterator[None]:
    """Admission, which the embedded server has built in."""
    with open(directory / "webhook.log", "wb") as output:
        command = [*PODIUM, "webhook", f"--kubeconfig={server.kubeconfig}", "--listen-address=:0"]
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    try:
        eventually(lambda: server.get(WEBHOOKS)["items"] or None, "the webhook is registered", PATIENCE)
        yield
    finally:
        end(process, 20.0)


def add_node(server: Server, name: str, labels: dict[str, str], cpus: int, gpus: int = 0) -> None:
    shape = Shape(cpu=cpus, gpus=gpus, memory="64Gi", labels=labels)
    server.create("/api/v1/nodes", node_document(shape, name, 100 + abs(hash(name)) % 100, time.time()))


def pool(server: Server, name: str, **labels: str) -> None:
    document = {"metadata": {"name": name}, "spec": {"nodeSelector": {"matchLabels": labels}}}
    server.create(POOLS, {"apiVersion": "resource.aibee.cn/v1alpha1", "kind": "Pool", **document})


def job(name: str, home: str, pods: int, cpu: int, gpus: int = 0) -> Document:
    amounts = {"cpu": str(cpu), **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    container = {"name": "pi", "image": "perl", "resources": {"requests": amounts, "limits": amounts}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "completions": pods,
            "parallelism": pods,
            "backoffLimit": 3,
            "template": {
                "metadata": {"annotations": {"resource.aibee.cn/pool": home}},
                "spec": {"schedulerName": "ai-scheduler", "restartPolicy": "Never", "containers": [container]},
            },
        },
    }


def start(server: Server, document: Document) -> None:
    server.create("/apis/batch/v1/namespaces/default/jobs", document)


def pods_of(server: Server, name: str) -> list[Document]:
    query = f"/api/v1/namespaces/default/pods?labelSelector=job-name%3D{name}"
    return [each for each in server.get(query)["items"] if "deletionTimestamp" not in each["metadata"]]


def running(server: Server, name: str) -> Counter[str]:
    """The pods of a Job that run, by node."""
    return Counter(
        each["spec"]["nodeName"] for each in pods_of(server, name) if each["status"].get("phase") == "Running"
    )


def stands(server: Server, wanted: dict[str, dict[str, int]]) -> None:
    """Until the pods of Jobs run on these nodes, and nowhere else."""

    def look() -> bool | None:
        return all(running(server, name) == where for name, where in wanted.items()) or None

    try:
        eventually(look, f"Jobs stand as {wanted}", PATIENCE)
    except AssertionError as late:
        stood = server.kubectl("get", "pools,nodes,jobs,pods", "--show-labels", "-o", "wide", check=False).out
        happened = server.kubectl("get", "events", "--sort-by=.metadata.creationTimestamp", check=False).out
        raise AssertionError(f"{late}\n{stood}\n{happened[-6000:]}") from None


def clear(server: Server, *names: str) -> None:
    for name in names:
        server.kubectl("delete", "job", name, "--cascade=foreground", "--wait=true", check=False)
        for each in pods_of(server, name):
            path = f"/api/v1/namespaces/default/pods/{each['metadata']['name']}?gracePeriodSeconds=0"
            server.http("DELETE", path)


def owns(server: Server, **wanted: list[str]) -> None:
    """Until the scheduler has spoken about every pool, and says that these nodes are theirs.

    Watches of two kinds have no order between them.  A pod that is seen before its pool is the Default pool's, and
    so is a node that is seen before the pool which selects it; who has got a place there keeps it.
    """

    def look() -> bool | None:
        status = {each["metadata"]["name"]: each.get("status", {}) for each in server.get(POOLS)["items"]}
        said = all(each.get("conditions") for each in status.values())
        return said and all(status[name.replace("_", "-")].get("nodes") == nodes for name, nodes in wanted.items())

    eventually(look, f"pools own {wanted}", PATIENCE)


def _page() -> tuple[str, str]:
    """The page's documents as they are: its pools (and the class that a Job names), and its Jobs."""
    documents = PAGE.read_text().split("\n---\n")
    jobs = [each for each in documents if "\nkind: Job\n" in each]
    return "\n---\n".join(each for each in documents if each not in jobs), "\n---\n".join(jobs)


@pytest.mark.timeout(400)
def test_the_page_as_it_is(server: Server) -> None:
    add_node(server, "page-c", {"cpu": "true"}, 8)
    add_node(server, "m1", {"kubernetes.io/role": "master"}, 8)
    pools, jobs = _page()
    server.kubectl("apply", "-f", "-", input=pools)
    owns(server, masters=["m1"], cpu_pool=["page-c"])
    server.kubectl("apply", "-f", "-", input=jobs)

    # 4 nodes of the cluster are the Default pool's, which lends; those of the masters pool are nobody else's.
    eventually(lambda: sum(running(server, "test-job").values()) == 130 or None, "the high Job runs", PATIENCE)
    assert not running(server, "test-job")["m1"]
    assert not running(server, "test-job-cpu")["m1"]
    listed = server.kubectl("get", "pool").out.splitlines()
    assert listed[0].split() == ["NAME", "NODES", "CPU", "USED", "SHARED", "PENDING", "AGE"]
    assert [line.split()[0] for line in listed[1:]] == ["cpu-pool", "demo", "masters"]
    described = server.kubectl("describe", "pool", "cpu-pool").out
    for line in ("Disable Borrowing:   false", "Disable Preemption:  false", "Disable Sharing:     false"):
        assert line in described or line.replace("  ", " ") in described
    by_hand = "sed -i 's/disableSharing: false/disableSharing: true/'"
    server.kubectl("edit", "pool", "cpu-pool", env={"KUBE_EDITOR": by_hand})
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run(["pools", "-o", "json", "--kubeconfig", str(server.kubeconfig)]) == 0
    by_name = {each["name"]: each for each in json.loads(out.getvalue())["pools"]}
    assert by_name["cpu-pool"]["flags"] == {"preemption": True, "borrowing": True, "sharing": False}
    assert by_name["cpu-pool"]["nodes"] == ["page-c"]
    assert by_name["Default"]["nodeCount"] == 4
    assert server.kubectl("delete", "pool", "cpu-pool").out.split()[-1] == "deleted"
    owns(server, masters=["m1"])
    clear(server, "test-job", "test-job-cpu")
    server.kubectl("delete", "pool", "--all")
    server.kubectl("delete", "node", "page-c", "m1")


# A Job of its own name for each: the Job controller counts failures by name, and a Job that is made as soon as
# another one of its name is gone waits for as long as that one would have (up to ten minutes).
@pytest.mark.parametrize(
    ("guests", "guest", "owner"),
    [
        ("cpu-jobs", {"cpu": 2}, {"cpu": 2, "gpus": 2}),
        ("one-card", {"cpu": 1, "gpus": 1}, {"cpu": 4, "gpus": 8}),
        ("a-team", {"cpu": 2}, {"cpu": 4}),
    ],
    ids=["cpu jobs on gpu servers", "one card on eight", "two teams"],
)
@pytest.mark.timeout(400)
def test_lent_used_and_taken_back(
    server: Server, guests: str, guest: dict[str, int], owner: dict[str, int]
) -> None:
    pool(server, "small", of="small")
    pool(server, "large", of="large")
    server.create(POOLS, {**_default_pool(), "spec": {"disableSharing": True}})
    add_node(server, "s1", {"of": "small"}, guest["cpu"], guest.get("gpus", 0))
    add_node(server, "l1", {"of": "large"}, 4, 8)
    owns(server, small=["s1"], large=["l1"])
    fits = 4 // guest["cpu"]
    start(server, job(guests, "small", 1 + fits, **guest))
    stands(server, {guests: {"s1": 1, "l1": fits}})
    owners = f"owners-beside-{guests}"
    start(server, job(owners, "large", 1, **owner))
    left = fits - -(-owner["cpu"] // guest["cpu"])
    stands(server, {owners: {"l1": 1}, guests: {"s1": 1, **({"l1": left} if left else {})}})

    def waiting() -> bool | None:
        unplaced = [each for each in pods_of(server, guests) if not each["spec"].get("nodeName")]
        return len(unplaced) == fits - left or None

    eventually(waiting, "who was taken back waits at home", PATIENCE)
    clear(server, owners)
    stands(server, {guests: {"s1": 1, "l1": fits}})
    clear(server, guests)
    server.kubectl("delete", "pool", "--all")
    server.kubectl("delete", "node", "s1", "l1")


def _default_pool() -> Document:
    return {"apiVersion": "resource.aibee.cn/v1alpha1", "kind": "Pool", "metadata": {"name": "default"}}


TAKE_BACKS = 5


@pytest.mark.timeout(400)
def test_a_job_survives_five_take_backs(server: Server) -> None:
    """With backoffLimit 3, and the server's own Job controller.

    A failed pod is made again after 10 s, and after twice as long each further time until one of the Job succeeds;
    Kubernetes counts those that a podFailurePolicy ignores as well.  So the Job works: one of its pods completes
    between two take-backs.
    """
    pool(server, "cpu-pool", of="cpu")
    pool(server, "gpu-pool", of="gpu")
    server.create(POOLS, {**_default_pool(), "spec": {"disableSharing": True}})
    add_node(server, "c1", {"of": "cpu"}, 1)
    add_node(server, "g1", {"of": "gpu"}, 2, 2)
    owns(server, cpu_pool=["c1"], gpu_pool=["g1"])
    guests = job("guests", "cpu-pool", 2, 1)
    guests["spec"]["completions"] = TAKE_BACKS + 2
    start(server, guests)
    stands(server, {"guests": {"c1": 1, "g1": 1}})
    for number in range(TAKE_BACKS):
        name = f"train-{number}"
        borrower = next(each for each in pods_of(server, "guests") if each["spec"]["nodeName"] == "g1")
        start(server, job(name, "gpu-pool", 1, 2, 2))
        stands(server, {name: {"g1": 1}, "guests": {"c1": 1}})
        assert borrower["metadata"]["uid"] not in [each["metadata"]["uid"] for each in pods_of(server, "guests")]
        complete(server, "guests", "c1")
        stands(server, {name: {"g1": 1}, "guests": {"c1": 1}})
        clear(server, name)
        stands(server, {"guests": {"c1": 1, "g1": 1}})
    complete(server, "guests", "c1", "g1")

    def ended() -> Document | None:
        status: Document = server.get("/apis/batch/v1/namespaces/default/jobs/guests")["status"]
        return status if any(each["type"] == "Complete" for each in status.get("conditions", ())) else None

    status = eventually(ended, "the Job is complete", PATIENCE)
    assert (status["succeeded"], status.get("failed", 0)) == (TAKE_BACKS + 2, 0)
    clear(server, "guests")
    server.kubectl("delete", "pool", "--all")
    server.kubectl("delete", "node", "c1", "g1")


def complete(server: Server, name: str, *nodes: str) -> None:
    """Ends the pods of a Job that run on some nodes, with success."""
    running = [each for each in pods_of(server, name) if each["status"].get("phase") == "Running"]
    ending = [each["metadata"]["name"] for each in running if each["spec"]["nodeName"] in nodes]
    assert len(ending) == len(nodes), ending
    for pod in ending:
        server.kubectl("annotate", "pod", pod, "podium.dev/exit-code=0")
    succeeded = (
        f"/api/v1/namespaces/default/pods?labelSelector=job-name%3D{name}&fieldSelector=status.phase%3DSucceeded"
    )

    def over() -> bool | None:
        return {each["metadata"]["name"] for each in server.get(succeeded)["items"]} >= set(ending) or None

    eventually(over, f"{ending} succeed", PATIENCE)
