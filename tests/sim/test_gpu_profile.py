"""podium-gpu on a whole cluster in virtual time: shared GPUs with gangs, preemption and reclaim."""

from __future__ import annotations

from typing import Any

from podium.dialects import DIALECTS
from podium.dialects.kubernetes.devices import GPU_INDEX, GPU_MILLI, SHARING
from podium.dialects.volcano.names import GROUP_NAME
from podium.embedded.nodes.shapes import Shape, node_documents
from podium.kube.pod_script import RUN_SECONDS
from podium.kube.resources import PODS, Resource
from podium.kube.wire import Object, Pod
from podium.runtime.configuration import default_profiles
from podium.sim.virtual import VirtualCluster

GROUPS = "scheduling.volcano.sh/v1beta1"


class Shared:
    """A cluster whose nodes share their GPUs."""

    def __init__(self, nodes: int, gpus: int) -> None:
        self.cluster = VirtualCluster({"podium": default_profiles()["podium-gpu"]}, DIALECTS, quiet=True)
        self.pods: dict[str, Pod] = {}
        self.cluster.listeners.append(self._heard)
        shape = Shape(name="node", count=nodes, gpus=gpus, labels={SHARING: "true"})
        for document in node_documents([shape], self.cluster.now):
            self.cluster.server.apply(document)

    def _heard(self, resource: Resource, obj: Object, gone: bool) -> None:
        if resource == PODS and isinstance(obj, Pod):
            self.pods[obj.name] = obj
            if gone:
                del self.pods[obj.name]

    def put(self, api: str, kind: str, name: str, **more: Any) -> None:
        self.cluster.server.apply({"apiVersion": api, "kind": kind, "metadata": {"name": name}, **more})

    def gang(self, name: str, pods: int, milli: int, **spec: Any) -> None:
        self.put(GROUPS, "PodGroup", name, spec={"minMember": pods, **spec})
        for number in range(pods):
            marks = {RUN_SECONDS: "1000", GPU_MILLI: str(milli), GROUP_NAME: name}
            container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1"}}}
            metadata = {"name": f"{name}-{number}", "namespace": "default", "annotations": marks}
            document = {"schedulerName": "podium", "restartPolicy": "Never", "containers": [container]}
            if "priorityClassName" in spec:
                document["priorityClassName"] = spec["priorityClassName"]
            self.cluster.server.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": document})

    def running(self, seconds: float) -> dict[str, str]:
        """Which GPU each pod has that runs after so many seconds."""
        self.cluster.run(seconds)
        return {
            name: f"{pod.spec.node_name}/{pod.annotations[GPU_INDEX]}"
            for name, pod in sorted(self.pods.items())
            if pod.status.phase == "Running" and not pod.deleting
        }


def test_a_gang_of_shares_starts_as_a_whole_and_fills_gpus_up() -> None:
    shared = Shared(nodes=1, gpus=2)
    shared.gang("a", 3, 400)
    assert sorted(shared.running(5).values()) == ["node-000/0", "node-000/0", "node-000/1"]
    shared.gang("b", 2, 600)
    assert len(shared.running(10)) == 3  # one would fit, both do not
    shared.gang("c", 1, 600)
    assert shared.running(15)["c-0"] == "node-000/1"
    assert len(shared.running(1100)) == 2  # those of b, once the others have ended
    shared.cluster.world.cluster.validate()


def test_an_urgent_gang_takes_the_gpus_of_another() -> None:
    shared = Shared(nodes=2, gpus=2)
    shared.put("scheduling.k8s.io/v1", "PriorityClass", "urgent", value=1000)
    shared.gang("low", 4, 1000)
    assert len(shared.running(5)) == 4
    shared.gang("high", 2, 1000, priorityClassName="urgent")
    assert [name for name in shared.running(120) if name.startswith("high")] == ["high-0", "high-1"]
    shared.cluster.world.cluster.validate()


def test_a_queue_gets_back_what_it_deserves() -> None:
    shared = Shared(nodes=2, gpus=2)
    for queue in ("red", "blue"):
        shared.put(GROUPS, "Queue", queue, spec={"weight": 1, "deserved": {GPU_MILLI: "2000"}})
    for number in range(4):
        shared.gang(f"red{number}", 1, 1000, queue="red")
    assert len(shared.running(5)) == 4
    shared.gang("blue", 2, 1000, queue="blue")
    assert [name for name in shared.running(120) if name.startswith("blue")] == ["blue-0", "blue-1"]
    shared.cluster.world.cluster.validate()
