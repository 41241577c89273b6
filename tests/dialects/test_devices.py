"""Shared GPUs as nodes offer them and pods ask for them."""

from __future__ import annotations

import msgspec
import pytest

from podium.core.model.constraints import DeviceRequest
from podium.dialects.kubernetes.devices import GPU_INDEX, GPU_MILLI, index_of
from podium.dialects.kubernetes.nodes import read_node
from podium.kube.wire import Node
from tests.dialects.objects import pod, read


def node(allocatable: dict[str, object], **labels: str) -> Node:
    names = {key.replace("__", "/").replace("_", "-"): value for key, value in labels.items()}
    return msgspec.convert(
        {"metadata": {"name": "n", "labels": names}, "status": {"allocatable": allocatable}}, Node
    )


def test_a_node_that_shares_its_gpus_gives_them_out_by_thousandths() -> None:
    labels = {"podium.dev__gpu_sharing": "true", "nvidia.com__gpu.product": "T4"}
    facts = read_node(node({"cpu": "8", "nvidia.com/gpu": 4}, **labels)).facts
    assert (facts.devices, facts.device_model) == (4, "T4")
    assert facts.allocatable == {"cpu": 8000, GPU_MILLI: 4000}


def test_a_node_of_the_openb_simulator() -> None:
    allocatable: dict[str, object] = {"alibabacloud.com/gpu-count": 2, "alibabacloud.com/gpu-milli": 2000}
    facts = read_node(node(allocatable, **{"alibabacloud.com__gpu_card_model": "V100M16"})).facts
    assert (facts.devices, facts.device_model, facts.allocatable) == (2, "V100M16", {GPU_MILLI: 2000})


def test_other_nodes_give_out_whole_gpus_as_ever() -> None:
    facts = read_node(node({"nvidia.com/gpu": 8}, **{"nvidia.com__gpu.product": "H100"})).facts
    assert (facts.devices, facts.device_model, facts.allocatable) == (0, "", {"nvidia.com/gpu": 8})


@pytest.mark.parametrize(
    ("marks", "wanted"),
    [
        ({"podium.dev/gpu-milli": "250"}, DeviceRequest(1, 250)),
        ({"podium.dev/gpu-count": "2"}, DeviceRequest(2)),
        ({"podium.dev/gpu-milli": "1000", "podium.dev/gpu-count": "8"}, DeviceRequest(8)),
        (
            {"alibabacloud.com/gpu-milli": "460", "alibabacloud.com/gpu-card-model": "T4 | A10"},
            DeviceRequest(1, 460, ("T4", "A10")),
        ),
    ],
)
def test_a_pod_asks_for_a_share_or_for_whole_gpus(marks: dict[str, str], wanted: DeviceRequest) -> None:
    facts = read(pod(annotations=marks))
    assert facts.refusal is None
    assert facts.task.constraints.devices == wanted
    assert facts.task.amounts[GPU_MILLI] == wanted.count * wanted.share


@pytest.mark.parametrize(
    ("marks", "sentence"),
    [
        (
            {"podium.dev/gpu-milli": "half"},
            "metadata.annotations[podium.dev/gpu-milli]: want a whole number from 1 to 1000, got 'half'",
        ),
        (
            {"podium.dev/gpu-milli": "1500"},
            "metadata.annotations[podium.dev/gpu-milli]: want a whole number from 1 to 1000, got '1500'",
        ),
        (
            {"podium.dev/gpu-count": "0"},
            "metadata.annotations[podium.dev/gpu-count]: want a whole number from 1 to 256, got '0'",
        ),
        (
            {"podium.dev/gpu-milli": "500", "podium.dev/gpu-count": "2"},
            "metadata.annotations[podium.dev/gpu-milli]: 500 thousandths of 2 GPUs each cannot be had: "
            "a share is of one GPU",
        ),
    ],
)
def test_a_pod_that_asks_nonsense_is_told(marks: dict[str, str], sentence: str) -> None:
    facts = read(pod(annotations=marks))
    assert str(facts.refusal) == sentence
    assert facts.task.gated


def test_a_pod_tells_which_gpus_it_was_given() -> None:
    marks = {"podium.dev/gpu-count": "3", **index_of((0, 2, 5))}
    assert marks[GPU_INDEX] == "0,2,5"
    assert read(pod(annotations=marks)).task.devices == (0, 2, 5)
    assert read(pod(annotations={**marks, GPU_INDEX: "2-0-5"})).task.devices == (0, 2, 5)
    assert read(pod(annotations={**marks, GPU_INDEX: "0,x"})).task.devices == ()
    assert read(pod(annotations={GPU_INDEX: "1"})).task.devices == ()
    assert index_of(()) == {}
