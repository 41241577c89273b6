"""Node documents, and the file that describes them."""

from __future__ import annotations

import msgspec
import pytest

from podium.embedded.nodes.nodes_file import read_shapes
from podium.embedded.nodes.shapes import Shape, node_document, node_documents
from podium.errors import UsageError
from podium.kube.resources import NODES
from podium.kube.wire import Node
from tests.embedded.world import World


def test_a_plain_node() -> None:
    node = node_document(Shape(), "node-7", 7, 0.0)
    assert node["metadata"]["labels"] == {
        "kubernetes.io/hostname": "node-7",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "podium-64cpu-256gi",
    }
    assert node["spec"] == {"podCIDR": "10.128.7.0/24", "podCIDRs": ["10.128.7.0/24"]}
    assert node["status"]["capacity"]["cpu"] == "64"
    assert node["status"]["addresses"] == [
        {"type": "InternalIP", "address": "172.16.0.9"},
        {"type": "Hostname", "address": "node-7"},
    ]
    assert msgspec.convert(node, Node).status.node_info.kubelet_version == "v1.36.3"


def test_a_node_with_gpus() -> None:
    node = node_document(Shape(gpus=8, gpu_model="NVIDIA-H100-80GB-HBM3", zone="a", rack="r1"), "g", 0, 0.0)
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert node["status"]["allocatable"]["cpu"] == "96"
    labels = node["metadata"]["labels"]
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert labels["topology.kubernetes.io/zone"] == "a"
    assert labels["podium.dev/rack"] == "r1"
    assert labels["node.kubernetes.io/instance-type"] == "podium-96cpu-768gi-8gpu"


FILE = """
- name: gpu
  count: 2
  gpus: 4
  gpuModel: NVIDIA-A100-SXM4-80GB
  zone: zone-a
  rack: r7
  resources: {rdma/hca: 1}
- name: cpu
  count: 1
  cpu: 8
  memory: 32Gi
  pods: 30
  ephemeralStorage: 100Gi
  labels: {team: vision}
  annotations: {podium.dev/note: spare}
  taints:
  - {key: dedicated, value: batch, effect: NoSchedule}
  instanceType: small
"""


def test_a_file_of_groups() -> None:
    nodes = list(node_documents(read_shapes(FILE, "nodes.yaml"), 0.0))
    assert [node["metadata"]["name"] for node in nodes] == ["gpu-000", "gpu-001", "cpu-000"]
    assert len({node["spec"]["podCIDR"] for node in nodes}) == 3
    assert nodes[0]["status"]["capacity"]["rdma/hca"] == "1"
    last = nodes[2]
    assert last["status"]["capacity"] == {
        "cpu": "8",
        "memory": "32Gi",
        "ephemeral-storage": "100Gi",
        "pods": "30",
    }
    assert last["metadata"]["labels"]["team"] == "vision"
    assert last["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "small"
    assert last["spec"]["taints"] == [{"key": "dedicated", "effect": "NoSchedule", "value": "batch"}]


def test_a_larger_count_later_only_adds_and_no_range_is_given_twice() -> None:
    before = {node["metadata"]["name"]: node["spec"]["podCIDR"] for node in node_documents([Shape(count=3)], 0.0)}
    del before["node-001"]
    added = list(node_documents([Shape(count=5)], 0.0, before))
    assert [node["metadata"]["name"] for node in added] == ["node-001", "node-003", "node-004"]
    ranges = [*before.values(), *(node["spec"]["podCIDR"] for node in added)]
    assert len(set(ranges)) == len(ranges)


def test_the_server_takes_them() -> None:
    world = World()
    for node in node_documents(read_shapes(FILE, "nodes.yaml"), world.now):
        world.create(NODES.path(), node)
    world.settle()
    assert world.writes == []


def test_an_empty_file_means_no_nodes() -> None:
    assert read_shapes("", "nodes.yaml") == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [", "nodes.yaml, line 2, column 1: it is not YAML"),
        ("name: gpu", "Expected `array`, got `object`"),
        ("- {name: gpu, cpus: 4}", "unknown field `cpus`"),
        ("- {count: many}", r"\[0\].count"),
        ("- {count: -1}", r"\[0\].count: -1 is less than 0"),
        ("- {name: Gpu}", r"\[0\].name: "),
        ("- {cpu: lots}", r"\[0\].cpu: 'lots' is not a quantity"),
        ("- {memory: -1Gi}", r"\[0\].memory: -1Gi is less than 0"),
        ("- {resources: {a b: 1}}", r"\[0\].resources\[a b\]: "),
        ("- {labels: {a: 'b c'}}", r"\[0\].labels\[a\]: "),
        ("- {zone: 'b c'}", r"\[0\].zone: "),
        ("- {taints: [{key: a, effect: Never}]}", r"\[0\].taints\[0\].effect: 'Never' is none of"),
        ("- {name: a}\n- {name: a}", r"\[1\].name: 'a' is used by two groups"),
        ("- {count: 100000}", "100000 nodes are more than the 32768"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_sentence(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        read_shapes(text, "nodes.yaml")
    assert str(caught.value).startswith("nodes.yaml")
    assert "\n" not in str(caught.value)
