"""What a TYJob may not be: refused by the definition alone, by admission, and by the controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from podium.dialects import DIALECTS
from podium.dialects.arranger.checks import errors_of
from podium.dialects.arranger.names import TYJOBS
from podium.dialects.arranger.types import TYJob
from podium.errors import ApiError
from podium.kube.changes import Patch
from podium.kube.wire import Object
from podium.sim.server import Server
from tests.dialects.arranger_stage import NOW, job, template

Document = dict[str, Any]


def server(*, hooks: bool) -> Server:
    dialects = DIALECTS if hooks else [msgspec.structs.replace(each, hooks=()) for each in DIALECTS]
    return Server(dialects, lambda: NOW)


def at(path: str, value: Any) -> Callable[[Document], None]:
    """A change of a good job: a value in place of another one, or none."""

    def change(document: Document) -> None:
        *parents, last = path.split(".")
        here: Any = document
        for part in parents:
            here = here[int(part)] if part.isdigit() else here[part]
        if value is None:
            del here[last]
        else:
            here[last] = value

    return change


# What is wrong, where it is said to be, and whether any server says so by the definition alone.
BAD = [
    (at("spec.workerSets", []), "spec.workerSets", True),
    (at("spec.workerSets", None), "spec.workerSets", True),
    (at("spec.leader", None), "spec.leader", True),
    (at("spec.leader.name", None), "spec.leader.name", True),
    (at("spec.leader.name", ""), "spec.leader.name", True),
    (at("spec.leader.name", "Learner"), "spec.leader.name", True),
    (at("spec.leader.template", None), "spec.leader.template", True),
    (at("spec.leader.template", {}), "spec.leader.template", False),
    (at("spec.leader.template.spec.containers", []), "spec.leader.template.spec.containers", False),
    (at("spec.workerSets.0.name", None), "spec.workerSets[0].name", True),
    (at("spec.workerSets.0.template", None), "spec.workerSets[0].template", True),
    (at("spec.workerSets.0.counts", 0), "spec.workerSets[0].counts", True),
    (at("spec.workerSets.1.name", "a"), "spec.workerSets[1]", True),
    (at("spec.cleanPodPolicy", "Done"), "spec.cleanPodPolicy", True),
    (at("spec.priority", 0), "spec.priority", True),
    (at("spec.priority", 11), "spec.priority", True),
    (at("spec.minWorkersNum", 4), "spec.minWorkersNum", True),
    (at("spec.minWorkersNum", -1), "spec.minWorkersNum", True),
    (at("spec.restartLimit", -1), "spec.restartLimit", True),
    (at("spec.schedulerPolicy", {"basicPolicy": "Best"}), "spec.schedulerPolicy.basicPolicy", True),
    (at("spec.schedulerPolicy", {"jobQueuePolicy": "Fifo"}), "spec.schedulerPolicy.jobQueuePolicy", True),
    (at("spec.replicas", 2), "spec.replicas", True),
    (at("spec.leader.name", "a-0"), "spec.leader.name", False),
    (at("spec.volumes", [{"emptyDir": {}}]), "spec.volumes[0].name", False),
    (at("spec.volumes", [{"name": "x", "emptyDir": {}}] * 2), "spec.volumes[1].name", False),
    (at("spec.volumes", [{"name": "X_", "emptyDir": {}}]), "spec.volumes[0].name", False),
    (at("spec.volumes", [{"name": "x", "emptyDir": {}, "hostPath": {"path": "/x"}}]), "spec.volumes[0]", False),
    (at("spec.volumes", [{"name": "x", "emptyDir": {"sizeLimit": "much"}}]), "spec.volumes[0]", False),
]
IDS = [f"{path}-{number}" for number, (_, path, _) in enumerate(BAD)]


def good() -> Document:
    return job("bad", workers={"a": (2, template()), "b": (1, template())})


def refusal(on: Server, document: Document) -> str:
    with pytest.raises(ApiError) as caught:
        on.apply(document)
    assert caught.value.code == 422
    return str(caught.value)


@pytest.mark.parametrize(("change", "path", "by_definition"), BAD, ids=IDS)
def test_a_bad_job_is_refused_with_the_path(
    change: Callable[[Document], None], path: str, by_definition: bool
) -> None:
    document = good()
    change(document)
    assert path in refusal(server(hooks=True), document)
    if by_definition:
        assert path in refusal(server(hooks=False), document)
    view = msgspec.json.decode(msgspec.json.encode(document), type=TYJob)
    errors = errors_of(view)
    assert errors, "the controller finds it as well"
    if path != "spec.leader":
        assert any(each.path.startswith(path) for each in errors), errors


def test_a_bad_volume_is_said_once_and_not_of_every_template() -> None:
    document = good()
    document["spec"]["volumes"] = [{"name": "x", "emptyDir": {}, "hostPath": {"path": "/x"}}]
    for each in (document["spec"]["leader"], *document["spec"]["workerSets"]):
        container = each["template"]["spec"]["containers"][0]
        container["volumeMounts"] = [{"name": "x", "mountPath": "/x"}]
    view = msgspec.json.decode(msgspec.json.encode(document), type=TYJob)
    assert [each.path for each in errors_of(view)] == ["spec.volumes[0].hostPath"]


def test_a_container_mounts_a_volume_that_is_not_there() -> None:
    document = good()
    container = document["spec"]["leader"]["template"]["spec"]["containers"][0]
    container["volumeMounts"] = [{"name": "replay", "mountPath": "/replay"}]
    assert "volumeMounts[0].name" in refusal(server(hooks=True), document)
    document["spec"]["volumes"] = [{"name": "replay"}]  # of no kind: an empty directory, as in a pod
    server(hooks=True).apply(document)


@pytest.mark.parametrize("hooks", [True, False])
def test_defaults_are_filled_in(hooks: bool) -> None:
    on = server(hooks=hooks)
    document = job()
    del document["spec"]["workerSets"][0]["counts"]
    stored = on.apply(document)
    assert stored is not None
    spec = _document(on)["spec"]
    assert {
        key: spec[key] for key in ("restartLimit", "cleanPodPolicy", "terminating", "minWorkersNum", "priority")
    } == {
        "restartLimit": 3,
        "cleanPodPolicy": "All",
        "terminating": False,
        "minWorkersNum": 1,
        "priority": 5,
    }
    assert spec["workerSets"][0]["counts"] == 1
    assert spec["schedulerPolicy"] == {"jobQueuePolicy": "Priority", "basicPolicy": "BinPack"}


@pytest.mark.parametrize("priority", [1, 10])
def test_both_ends_of_priorities_are_good(priority: int) -> None:
    server(hooks=True).apply(job(priority=priority))


@pytest.mark.parametrize("hooks", [True, False])
def test_counts_may_change_and_sets_may_not(hooks: bool) -> None:
    on = server(hooks=hooks)
    on.apply(good())
    sets = good()["spec"]["workerSets"]
    sets[0]["counts"] = 5
    _patch(on, {"workerSets": sets})
    with pytest.raises(ApiError, match="neither be added nor removed"):
        _patch(on, {"workerSets": sets[:1]})
    with pytest.raises(ApiError, match="neither be added nor removed"):
        _patch(on, {"workerSets": [sets[0], {**sets[1], "name": "c"}]})
    _patch(on, {"workerSets": sets[::-1]})
    sets[0]["counts"], sets[1]["counts"] = 1, 1
    with pytest.raises(ApiError, match="minWorkersNum"):
        _patch(on, {"workerSets": sets, "minWorkersNum": 3})


def _patch(on: Server, spec: Document) -> Object | None:
    return on.carry_out(Patch(TYJOBS, "default", "bad", {"spec": spec}))


def _document(on: Server) -> Document:
    found: Document = msgspec.json.decode(next(iter(on.bucket(TYJOBS).objects.values())).data)  # type: ignore[union-attr]
    return found
