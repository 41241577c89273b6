"""A user who is stuck: `podium why` names the cause, and what it proposes, typed as it stands, unblocks it."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.cli.main import run
from tests.compat.client import Server, eventually
from tests.compat.cluster import server_of
from tests.controlplane import build
from tests.controlplane.fixtures import ensure
from tests.stories import clusters
from tests.up import podium_up

Document = dict[str, Any]

PATIENCE = 60.0
NODES = 4
CONFIG = """
profiles:
  volcano:
    actions: "enqueue, allocate, preempt, backfill"
    tiers:
    - plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}, {name: pdb}]
    - plugins: [{name: predicates}, {name: proportion}, {name: resourcequota}, {name: nodeorder}]
"""


class Cluster:
    """A server, and the commands as a user types them."""

    def __init__(self, server: Server, config: Path | None) -> None:
        self.server = server
        self.config = config
        cpu = server.get("/api/v1/nodes")["items"][0]["status"]["allocatable"]["cpu"]
        self.cpus = int(cpu)

    def podium(self, *words: str, code: int = 0) -> str:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            got = run([*words, "--kubeconfig", str(self.server.kubeconfig)])
        assert got == code, f"podium {' '.join(words)} -> {got}: {err.getvalue()}{out.getvalue()}"
        return out.getvalue() + err.getvalue()

    def why(self, what: str, ns: str, *flags: str) -> Document:
        """On `podium up` the scheduler is asked, elsewhere the cluster is read."""
        answer: Document = json.loads(self.podium("why", what, "-n", ns, "-o", "json", *flags))
        return answer

    def agreed(self, what: str, ns: str) -> Document | None:
        """The answer; None as long as that of the scheduler and that of a reading of the cluster differ."""
        answer = self.why(what, ns)
        if self.config is not None:
            read = self.why(what, ns, "--config", str(self.config))
            if any(answer.get(key) != read.get(key) for key in ("sentence", "reason", "remedies", "funnel")):
                return None
        return answer

    def type(self, command: str) -> None:
        """What was proposed, typed into a shell whose kubectl talks to this cluster."""
        path = f"{build.KUBECTL.path.parent}:/usr/bin:/bin"
        env = self.server.environment({"KUBECONFIG": str(self.server.kubeconfig), "PATH": path})
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=env, timeout=60)
        assert done.returncode == 0, f"{command}: {done.stderr}{done.stdout}"

    def apply(self, ns: str, *documents: Document) -> None:
        for document in documents:
            self.server.kubectl("apply", "-n", ns, "-f", "-", input=document)

    def scheduled(self, ns: str, name: str) -> bool:
        return bool(self.server.get(f"/api/v1/namespaces/{ns}/pods/{name}")["spec"].get("nodeName"))

    def stuck(self, what: str, ns: str, says: str) -> Document:
        """The answer, as soon as the cause is to be seen."""

        def look() -> Document | None:
            answer = self.agreed(what, ns)
            return answer if answer and says in answer["sentence"] and answer.get("remedies") else None

        try:
            return eventually(look, f"{what} says {says!r}", PATIENCE)
        except AssertionError as late:
            read = self.why(what, ns, "--config", str(self.config)) if self.config is not None else None
            raise AssertionError(f"{late}: {self.why(what, ns)}; as it is read: {read}") from None

    def unblocks(self, what: str, ns: str, says: str, pods: list[str]) -> str:
        """Asks why, types the first proposal, and waits for the pods; returns the proposal."""
        answer = self.stuck(what, ns, says)
        remedy = answer["remedies"][0]
        for command in remedy["commands"]:
            self.type(command)
        eventually(lambda: all(self.scheduled(ns, pod) for pod in pods) or None, remedy["sentence"], PATIENCE)
        return str(remedy["sentence"])


@pytest.fixture(scope="module", params=["embedded", "real"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp(f"front-{request.param}")
    if request.param == "embedded":
        ensure(request.config, build.KUBECTL)
        config = directory / "config.yaml"
        config.write_text(CONFIG)
        data = directory / "data"
        with podium_up(data, "--nodes", str(NODES), "--config", str(config)):
            yield Cluster(server_of(data / "kubeconfig", directory), config)
    else:
        ensure(request.config, *build.FOR_TESTS)
        with clusters.real(directory) as running:
            yield Cluster(running, None)


@pytest.fixture
def ns(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"front-{abs(hash(request.node.name)) % 100_000}"
    cluster.server.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    cluster.server.kubectl("delete", "pods,podgroups", "--all", "-n", name, "--grace-period=0", "--force")
    cluster.server.http("DELETE", f"/api/v1/namespaces/{name}")


def pod(name: str, cpu: int = 1, *, group: str = "", **spec: Any) -> Document:
    metadata: Document = {"name": name, "labels": {"app": name.rpartition("-")[0] or name}}
    if group:
        metadata["annotations"] = {"scheduling.k8s.io/group-name": group}
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": str(cpu)}}}
    body = {"schedulerName": "volcano", "containers": [container], "terminationGracePeriodSeconds": 0, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def group(name: str, minimum: int, **spec: Any) -> Document:
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name}}
    return {**kind, "spec": {"minMember": minimum, "queue": "default", **spec}}


def queue(name: str, **spec: Any) -> Document:
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}
    return {**kind, "spec": {"weight": 1, **spec}}


# --- on both servers ---------------------------------------------------------------------------------------------


def test_a_label_that_no_node_has(cluster: Cluster, ns: str) -> None:
    cluster.apply(ns, pod("asked", nodeSelector={"gpu.product": "H100"}))
    said = cluster.unblocks("pod/asked", ns, f"{NODES} of {NODES} nodes lack gpu.product=H100", ["asked"])
    assert said.startswith("label ")
    cluster.server.kubectl("label", "nodes", "--all", "gpu.product-")


def test_a_taint_on_every_node(cluster: Cluster, ns: str) -> None:
    cluster.server.kubectl("taint", "nodes", "--all", "team=blue:NoSchedule")
    try:
        cluster.apply(ns, pod("asked"))
        says = f"{NODES} node(s) had untolerated taint {{team: blue}}"
        assert cluster.unblocks("pod/asked", ns, says, ["asked"]).startswith("remove the taint team=blue from ")
    finally:
        cluster.server.kubectl("taint", "nodes", "--all", "team-", check=False)


def test_a_queue_at_its_limit(cluster: Cluster, ns: str) -> None:
    name = f"small-{ns}"
    cluster.apply(
        ns, queue(name, capability={"cpu": "2"}), group("asked", 1, queue=name), pod("asked-0", 4, group="asked")
    )
    said = cluster.unblocks(
        "podgroup/asked", ns, f"queue {name} holds 0 of its capability of 2 cpu, and 4 more", ["asked-0"]
    )
    assert said == f"raise the capability of queue {name} to 4 cpu"


def test_a_gang_that_is_one_place_short(cluster: Cluster, ns: str) -> None:
    members = [f"asked-{number}" for number in range(NODES + 1)]
    large = cluster.cpus - 2
    cluster.apply(ns, group("asked", len(members)), *(pod(name, large, group="asked") for name in members))
    answer = cluster.stuck("podgroup/asked", ns, f"{NODES} of {len(members)} members could be placed")
    assert answer["remedies"][0]["sentence"] == f"let asked start with {NODES} of {len(members)} members"
    for command in answer["remedies"][0]["commands"]:
        cluster.type(command)
    eventually(
        lambda: sum(cluster.scheduled(ns, name) for name in members) == NODES or None, "four of five run", PATIENCE
    )


def test_affinity_to_nothing(cluster: Cluster, ns: str) -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z9"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    cluster.apply(ns, pod("asked", affinity={"nodeAffinity": required}))
    assert cluster.unblocks("pod/asked", ns, "nodes lack zone=z9", ["asked"]).startswith("label ")
    cluster.server.kubectl("label", "nodes", "--all", "zone-")


def test_no_room_until_somebody_ends(cluster: Cluster, ns: str) -> None:
    cluster.server.kubectl("label", "nodes", "--all", "spare=no")
    cluster.server.kubectl(
        "label",
        "nodes",
        cluster.server.get("/api/v1/nodes")["items"][0]["metadata"]["name"],
        "spare=yes",
        "--overwrite",
    )
    cluster.apply(ns, pod("other", cluster.cpus - 2, nodeSelector={"spare": "yes"}))
    eventually(lambda: cluster.scheduled(ns, "other") or None, "the other one runs", PATIENCE)
    cluster.apply(ns, pod("asked", cluster.cpus - 2, nodeSelector={"spare": "yes"}))
    answer = cluster.stuck(
        "pod/asked", ns, f"needs {cluster.cpus - 2} cpu on one node: 1 node matches, the largest free block is"
    )
    remedy = next(each for each in answer["remedies"] if each["sentence"].startswith("wait until 1 pod"))
    for command in remedy["commands"]:
        cluster.type(command)
    eventually(lambda: cluster.scheduled(ns, "asked") or None, remedy["sentence"], PATIENCE)
    cluster.server.kubectl("label", "nodes", "--all", "spare-")


def test_a_job_waits_is_seen_in_the_queue_held_and_released(cluster: Cluster, ns: str) -> None:
    template = {"spec": pod("x", 1, restartPolicy="Never")["spec"]}
    spec = {"parallelism": 2, "completions": 2, "template": template}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": spec}
    path = Path(cluster.server.home) / "job.yaml"
    path.write_text(json.dumps(job))
    assert cluster.podium("submit", str(path), "-n", ns).strip() == "job.batch/train"
    eventually(lambda: "train" in cluster.podium("queue", "-n", ns, "--state", "R") or None, "it runs", PATIENCE)
    assert "it does not wait: 2 pods on" in cluster.podium("why", "job/train", "-n", ns)
    cluster.podium("hold", "job/train", "-n", ns)
    assert cluster.server.get(f"/apis/batch/v1/namespaces/{ns}/jobs/train")["spec"]["suspend"] is True

    def suspended() -> bool | None:
        return "is suspended" in cluster.podium("why", "job/train", "-n", ns) or None

    eventually(suspended, "its pods have ended", PATIENCE)
    cluster.podium("release", "job/train", "-n", ns)
    eventually(
        lambda: "train" in cluster.podium("queue", "-n", ns, "--state", "R") or None, "it goes on", PATIENCE
    )
    cluster.podium("cancel", "job.batch/train", "-n", ns)
    gone = f"/apis/batch/v1/namespaces/{ns}/jobs/train"
    eventually(lambda: cluster.server.http("GET", gone).status == 404 or None, "it is gone", PATIENCE)


def test_the_doctor_finds_nothing_broken(cluster: Cluster) -> None:
    text = cluster.podium("doctor")
    assert "FAIL" not in text
    assert "ok    server: Kubernetes v" in text
    assert "ok    definitions of volcano: all 4 are there" in text


# --- where the scheduler has a file of its own -------------------------------------------------------------------


@pytest.fixture
def embedded(cluster: Cluster) -> Cluster:
    if cluster.config is None:
        pytest.skip("the scheduler there has no file")
    return cluster


def test_a_quota_that_is_too_small(embedded: Cluster, ns: str) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team"}}
    embedded.apply(
        ns, {**quota, "spec": {"hard": {"requests.cpu": "1"}}}, group("asked", 2, minResources={"cpu": "2"})
    )
    says = "needs 2 of requests.cpu, and quota team of its namespace has 0 of 1 in use"
    answer = embedded.stuck("podgroup/asked", ns, says)
    assert answer["remedies"][0]["sentence"] == "raise requests.cpu of quota team to 2"
    for command in answer["remedies"][0]["commands"]:
        embedded.type(command)
    path = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{ns}/podgroups/asked"

    def let_in() -> bool | None:
        return embedded.server.get(path).get("status", {}).get("phase") == "Inqueue" or None

    eventually(let_in, "it is let in", PATIENCE)


def test_a_budget_that_forbids_preemption(embedded: Cluster, ns: str) -> None:
    classes = [("low", 1), ("high", 100)]
    for name, value in classes:
        kind = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": f"{name}-{ns}"},
        }
        embedded.apply(ns, {**kind, "value": value})
    low = [f"low-{number}" for number in range(NODES)]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep"},
        "spec": {"minAvailable": NODES, "selector": {"matchLabels": {"app": "low"}}},
    }
    embedded.apply(ns, budget, *(pod(name, embedded.cpus - 2, priorityClassName=f"low-{ns}") for name in low))
    eventually(lambda: all(embedded.scheduled(ns, name) for name in low) or None, "the others run", PATIENCE)
    path = f"/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets/keep"
    eventually(
        lambda: embedded.server.get(path)["status"].get("currentHealthy") == NODES or None,
        "all are well",
        PATIENCE,
    )
    high = f"high-{ns}"
    asked = pod("asked-0", embedded.cpus - 2, group="asked", priorityClassName=high)
    embedded.apply(ns, group("asked", 1, priorityClassName=high), asked)
    said = embedded.unblocks("pod/asked-0", ns, f"budget {ns}/keep allows 0 disruptions", ["asked-0"])
    assert said == f"let budget {ns}/keep allow 1 disruption instead of 0"


def test_a_pool_that_is_closed_for_borrowing(embedded: Cluster, ns: str) -> None:
    names = [each["metadata"]["name"] for each in embedded.server.get("/api/v1/nodes")["items"]]
    embedded.server.kubectl("label", "node", names[0], f"pool=mine-{ns}")
    embedded.server.kubectl("label", "node", names[1], f"pool=other-{ns}")
    for name, spec in (("mine", {"disableBorrowing": True}), ("other", {})):
        selector = {"matchLabels": {"pool": f"{name}-{ns}"}}
        kind = {"apiVersion": "resource.aibee.cn/v1alpha1", "kind": "Pool", "metadata": {"name": f"{name}-{ns}"}}
        embedded.apply(ns, {**kind, "spec": {"nodeSelector": selector, **spec}})
    for name in ("first", "asked"):
        document = pod(name, embedded.cpus - 2, schedulerName="ai-scheduler")
        document["metadata"]["annotations"] = {"resource.aibee.cn/pool": f"mine-{ns}"}
        embedded.apply(ns, document)
        if name == "first":
            eventually(lambda: embedded.scheduled(ns, "first") or None, "the first one is at home", PATIENCE)
    said = embedded.unblocks("pod/asked", ns, f"mine-{ns} does not borrow nodes of others", ["asked"])
    assert said == f"let mine-{ns} borrow idle nodes of others"
    assert f"pool/mine-{ns}" in embedded.podium("why", f"pool/mine-{ns}")
    embedded.server.kubectl("delete", "pool", f"mine-{ns}", f"other-{ns}")
    embedded.server.kubectl("label", "nodes", "--all", "pool-")
