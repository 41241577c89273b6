"""The examples of pools, in virtual time: what they say of themselves is what happens."""

from __future__ import annotations

from collections import Counter
from functools import partial

from podium.cli.examples import example_documents
from podium.dialects import speaking
from podium.embedded.nodes.shapes import Shape, node_document
from podium.kube.resources import JOBS, PODS
from podium.kube.wire import Job, Pod, condition
from podium.runtime.configuration import default_profiles
from podium.sim.virtual import VirtualCluster


def apply(cluster: VirtualCluster, file: str) -> None:
    for document in example_documents("aibee", file):
        cluster.server.apply(document)


def where(cluster: VirtualCluster) -> Counter[tuple[str, str]]:
    """Pods by Job and node, and "" for those that wait."""
    pods = [each for each in cluster.server.objects(PODS) if isinstance(each, Pod) and not each.deleting]
    alive = [each for each in pods if each.status.phase in ("Pending", "Running")]
    return Counter((each.labels["job-name"], each.spec.node_name) for each in alive)


def test_pods_borrow_are_taken_back_and_all_jobs_complete() -> None:
    cluster = VirtualCluster(default_profiles(), speaking())
    for number in range(2):
        cluster.server.apply(node_document(Shape(gpus=8), f"node-{number:03}", number, cluster.now))
    apply(cluster, "01-*.yaml")
    seen: list[Counter[tuple[str, str]]] = []
    cluster.at(3.0, lambda: seen.append(where(cluster)))
    cluster.at(4.0, partial(apply, cluster, "02-*.yaml"))
    cluster.at(6.0, lambda: seen.append(where(cluster)))
    cluster.run(until=120.0)
    assert seen == [
        {("pooled-cpu", "node-000"): 4, ("pooled-cpu", "node-001"): 4, ("pooled-cpu", ""): 2},
        {
            ("pooled-cpu", "node-000"): 4,
            ("pooled-cpu", "node-001"): 3,
            ("pooled-cpu", ""): 3,
            ("pooled-gpu", "node-001"): 1,
        },
    ]
    jobs = [each for each in cluster.server.objects(JOBS) if isinstance(each, Job)]
    assert {each.name: bool(condition(each.status.conditions, "Complete")) for each in jobs} == {
        "pooled-cpu": True,
        "pooled-gpu": True,
    }
