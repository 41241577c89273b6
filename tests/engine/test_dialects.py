"""API families beside each other: shares are among the queues of one, and of the others counts what they hold."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.stage import PROFILE, Stage

GPU = "nvidia.com/gpu"
CAPACITY = PROFILE.replace("proportion", "capacity")
TREE = CAPACITY.replace("name: capacity", "name: capacity\n    enableHierarchy: true")


def gpus(count: int) -> dict[str, Any]:
    amounts = {"cpu": "1", GPU: str(count)}
    resources = {"requests": amounts, "limits": amounts}
    return {"containers": [{"name": "main", "image": "app:1", "resources": resources}]}


@pytest.fixture(params=[PROFILE, CAPACITY, TREE], ids=["proportion", "capacity", "tree"])
def stage(request: pytest.FixtureRequest) -> Stage:
    """64 GPUs."""
    stage = Stage(request.param)
    for number in range(8):
        stage.node(f"n{number}", **{GPU: "8"})
    return stage


def gang(stage: Stage, name: str, members: int) -> None:
    stage.group(name, members)
    for number in range(members):
        stage.pod(f"{name}-{number}", name, **gpus(1))


@pytest.mark.parametrize("count", [1, 20])
def test_what_others_merely_wait_for_takes_nothing_from_a_gang(stage: Stage, count: int) -> None:
    """Pods of another scheduler name, without a queue, that can never run."""
    for number in range(count):
        nowhere: dict[str, Any] = {"nodeSelector": {"no": "where"}, "schedulerName": "default-scheduler"}
        stage.pod(f"never-{number}", **gpus(8), **nowhere)
    stage.settle()
    gang(stage, "g", 60)
    stage.settle(40)
    assert len(stage.placed) == 60


def test_nor_does_it_the_other_way_round(stage: Stage) -> None:
    gang(stage, "g", 100)
    stage.settle()
    for number in range(8):
        stage.pod(f"p{number}", **gpus(8), schedulerName="default-scheduler")
    stage.settle(40)
    assert sorted(stage.placed) == [f"p{number}" for number in range(8)]


def test_what_others_hold_counts(stage: Stage) -> None:
    stage.pod("p", **gpus(8), schedulerName="default-scheduler")
    stage.settle()
    gang(stage, "small", 50)
    stage.settle()
    assert len(stage.placed) == 51
    gang(stage, "large", 7)
    stage.settle(40)
    assert len(stage.placed) == 51
