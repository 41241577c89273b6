"""What is noted of tasks and objects while the model is kept in step with the API."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from podium.core.model.model import State, Task, TaskClass
from podium.kube.resources import Resource
from podium.kube.wire import Object
from podium.reasons import Refusal


class Standing(msgspec.Struct, frozen=True):
    """What others, or its own gang, may mind about a task."""

    state: State
    row: int
    cls: TaskClass
    gang: str
    role: str
    labels: Mapping[str, str]
    priority: int
    gated: bool


def standing_of(task: Task | None) -> Standing | None:
    if task is None:
        return None
    return Standing(
        task.state, task.row, task.cls, task.gang.id, task.role, task.labels, task.priority, task.gated
    )


class Bound(msgspec.Struct, frozen=True):
    """A bind under way: where to, and for which plan."""

    node: str
    plan: str


class Fault(msgspec.Struct, frozen=True):
    """An object that cannot be worked with, or not wholly."""

    resource: Resource
    obj: Object
    refusal: Refusal
