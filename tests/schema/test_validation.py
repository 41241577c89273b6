"""Validation where the recorded refusals do not reach: public entrances, metadata, and any well-typed input."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.kube import resources as r
from podium.kube.fields import FieldError
from podium.kube.resources import Resource
from podium.schema import defaults
from podium.schema.builtin import schema_of
from podium.schema.model import Schema
from podium.schema.pod_defaults import qos_class
from podium.schema.validation import (
    validate_metadata,
    validate_pod_spec,
    validate_pod_template,
)
from podium.schema.validation.pod_update import check_pod_update
from tests.schema.served import default_object, validate_create, validate_update

Document = dict[str, Any]

KINDS = [value for value in vars(r).values() if isinstance(value, Resource)]


def paths(errors: list[FieldError]) -> list[str]:
    return [error.path for error in errors]


def pod(**spec: Any) -> Document:
    document: Document = {
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }
    default_object(r.PODS, document)
    return document


def test_a_good_pod_passes() -> None:
    assert validate_create(r.PODS, pod()) == []


def test_specs_and_templates_anywhere_are_checked_under_their_own_path() -> None:
    spec = pod(restartPolicy="Sometimes", volumes=[{"name": "Bad"}])["spec"]
    assert paths(validate_pod_spec(spec, "spec.tasks[0].template.spec")) == [
        "spec.tasks[0].template.spec.volumes[0].name",
        "spec.tasks[0].template.spec.restartPolicy",
    ]
    template = {"metadata": {"labels": {"a b": "c"}}, "spec": pod()["spec"]}
    assert paths(validate_pod_template(template, "spec.leader")) == ["spec.leader.labels"]
    assert paths(validate_pod_template({}, "spec.leader"))[0] == "spec.leader.spec.terminationGracePeriodSeconds"


def test_a_template_may_not_have_ephemeral_containers() -> None:
    spec = pod(ephemeralContainers=[{"name": "e", "image": "i"}])["spec"]
    assert "spec.template.spec.ephemeralContainers" in paths(validate_pod_template({"spec": spec}))


def test_annotations_are_counted_in_bytes() -> None:
    def reported(text: str) -> list[str]:
        return [str(error) for error in validate_metadata({"name": "x", "annotations": {"a": text}})]

    limit = 256 * 1024
    assert reported("x" * (limit - 1)) == []
    assert reported("x" * limit) == ["metadata.annotations: Too long: may not be more than 262144 bytes"]
    assert reported("ü" * (limit // 2 - 1)) == []
    assert reported("ü" * (limit // 2)) != []


@pytest.mark.parametrize(
    ("prefix", "good"), [("job-", True), ("job.", False), ("Job-", False), ("a", True), ("-", False), ("", True)]
)
def test_generate_name_is_checked_as_the_beginning_of_a_name(prefix: str, good: bool) -> None:
    errors = validate_metadata({"name": "x", "generateName": prefix})
    # A dash alone would become one letter.
    assert (errors == []) is (good or prefix == "-")


def test_a_name_is_required() -> None:
    assert [str(error) for error in validate_metadata({})] == [
        "metadata.name: Required value: name or generateName is required"
    ]


def test_rbac_names_need_only_fit_into_a_path() -> None:
    role: Document = {"metadata": {"name": "system:Node/x", "namespace": "default"}}
    assert [str(error) for error in validate_create(r.ROLES, role)] == [
        "metadata.name: Invalid value: \"system:Node/x\": may not contain '/'"
    ]
    role["metadata"]["name"] = "system:Node"
    assert validate_create(r.ROLES, role) == []


@pytest.mark.parametrize("field", ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"])
def test_identity_cannot_change(field: str) -> None:
    old = {"name": "x", "namespace": "n", "uid": "u", "creationTimestamp": "t"}
    new = {**old, field: "other"}
    assert [str(error) for error in validate_metadata(new, old)] == [
        f'metadata.{field}: Invalid value: "other": field is immutable'
    ]


def test_no_new_finalizers_on_the_way_out() -> None:
    old = {"name": "x", "deletionTimestamp": "t", "finalizers": ["a.b/one", "a.b/two"]}
    assert validate_metadata({**old, "finalizers": ["a.b/two"]}, old) == []
    errors = validate_metadata({**old, "finalizers": ["a.b/one", "a.b/three"]}, old)
    assert [error.reason for error in errors] == ["FieldValueForbidden"]
    assert 'found new finalizers []string{"a.b/three"}' in errors[0].detail


def test_a_change_of_labels_does_not_look_into_the_spec_again() -> None:
    old = pod()
    old["spec"]["restartPolicy"] = "Sometimes"  # as if an older server had let it in
    new = copy.deepcopy(old)
    new["metadata"]["labels"] = {"a": "b"}
    assert validate_update(r.PODS, new, old) == []


def test_the_forbidden_change_of_a_pod_is_shown() -> None:
    old = pod()
    new = copy.deepcopy(old)
    new["spec"]["containers"][0]["command"] = ["other"]
    (error,) = validate_update(r.PODS, new, old)
    assert (error.path, error.reason) == ("spec", "FieldValueForbidden")
    first, *changes = error.detail.splitlines()
    assert first.startswith("Forbidden: pod updates may not change fields other than `spec.containers[*].image`,")
    assert [line[:14] for line in changes] == ["- containers: ", "+ containers: "]


def test_a_negative_grace_period_may_become_one() -> None:
    old = pod(terminationGracePeriodSeconds=-1)
    new = copy.deepcopy(old)
    new["spec"]["terminationGracePeriodSeconds"] = 1
    assert validate_update(r.PODS, new, old) == []
    new["spec"]["terminationGracePeriodSeconds"] = 2
    assert paths(validate_update(r.PODS, new, old)) == ["spec"]


def test_the_template_of_a_job_that_has_started_is_fixed_even_when_suspended() -> None:
    spec: Document = {"suspend": True, "template": {"spec": {**pod()["spec"], "restartPolicy": "Never"}}}
    old: Document = {"metadata": {"name": "x", "uid": "u"}, "spec": spec}
    default_object(r.JOBS, old)
    defaults.job_selector(old, "u")
    new = copy.deepcopy(old)
    new["spec"]["template"]["spec"]["nodeSelector"] = {"gpu": "a100"}
    assert validate_update(r.JOBS, new, old) == []
    old["status"] = new["status"] = {"startTime": "2026-01-01T00:00:00Z"}
    assert paths(validate_update(r.JOBS, new, old)) == ["spec.template"]


def test_claims_may_grow_when_they_are_bound() -> None:
    def claim(size: str, phase: str) -> Document:
        document: Document = {
            "metadata": {"name": "x"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
            "status": {"phase": phase, "capacity": {"storage": "1Gi"}},
        }
        default_object(r.PERSISTENTVOLUMECLAIMS, document)
        return document

    kind = r.PERSISTENTVOLUMECLAIMS
    assert validate_update(kind, claim("2Gi", "Bound"), claim("1Gi", "Bound")) == []
    assert paths(validate_update(kind, claim("2Gi", "Pending"), claim("1Gi", "Pending"))) == ["spec"]
    assert paths(validate_update(kind, claim("1Gi", "Bound"), claim("2Gi", "Bound"))) == [
        "spec.resources.requests.storage"
    ]


@pytest.mark.parametrize(
    "schedule",
    ["* * * * *", "*/5 0-6 1,15 jan-mar MON-FRI", "@hourly", "@every 1h", "0 0 ? * 0", "5/15 * * * *"],
)
def test_schedules_that_cron_knows(schedule: str) -> None:
    assert _schedule_errors(schedule) == []


@pytest.mark.parametrize(
    "schedule", ["* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "1-2-3 * * * *", "@never"]
)
def test_schedules_that_cron_does_not_know(schedule: str) -> None:
    assert _schedule_errors(schedule) == ["spec.schedule"]


def _schedule_errors(schedule: str) -> list[str]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    document: Document = {
        "metadata": {"name": "x"},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": template}}},
    }
    default_object(r.CRONJOBS, document)
    return paths(validate_create(r.CRONJOBS, document))


# --- any input ---------------------------------------------------------------------------------------------------

WORDS = [
    "",
    "a",
    "x",
    "Bad_Name",
    "1.2.3.4",
    "10.0.0.0/8",
    "Always",
    "In",
    "5%",
    "-1",
    "2",
    "1Gi",
    "/p",
    "..",
    "*",
]
NUMBERS = [-1, 0, 1, 2, 70000, 2**31 - 1]


def documents(schema: Schema, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of the schema's type: well-typed, hardly ever sensible."""
    if schema.int_or_string or schema.format == "quantity":
        return st.sampled_from([*WORDS, *NUMBERS])
    match schema.type:
        case "string":
            return st.sampled_from([*WORDS, *schema.enum])
        case "integer":
            return st.sampled_from(NUMBERS)
        case "number":
            return st.sampled_from([0.5, 1])
        case "boolean":
            return st.booleans()
        case "array" if schema.items is not None:
            return st.lists(documents(schema.items, depth + 1), max_size=2 if depth < 7 else 0)
        case "object" if schema.properties is not None:
            if depth > 9:
                return st.just({})
            inner = {
                key: st.deferred(lambda field=field: documents(field, depth + 1))  # type: ignore[misc]
                for key, field in schema.properties.items()
                if key not in ("managedFields", "openAPIV3Schema", "status")
            }
            return _some(inner, schema.required)
        case "object" if schema.values is not None:
            return st.dictionaries(st.sampled_from(WORDS), documents(schema.values, depth + 1), max_size=2)
    return st.just({})


@st.composite
def _some(draw: st.DrawFn, fields: dict[str, st.SearchStrategy[Any]], required: tuple[str, ...]) -> Document:
    """An object with few of the many fields, so that the walk gets deep before it gets wide."""
    chosen = draw(st.lists(st.sampled_from(sorted(fields)), max_size=4, unique=True)) if fields else []
    likely = [name for name in ("spec", "template", "containers", *required) if name in fields]
    return {name: draw(fields[name]) for name in dict.fromkeys([*likely, *chosen])}


@pytest.mark.parametrize("resource", KINDS, ids=lambda each: each.group_resource)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_well_typed_object_breaks_defaulting_or_validation(resource: Resource, data: st.DataObject) -> None:
    document = data.draw(documents(schema_of(resource)))
    document["metadata"] = {"name": "x", **document.get("metadata", {})}
    old = copy.deepcopy(document)
    default_object(resource, document)
    once = copy.deepcopy(document)
    default_object(resource, document)
    assert document == once
    if resource == r.PODS:
        assert qos_class(document) in ("BestEffort", "Burstable", "Guaranteed")
    if resource == r.JOBS:
        defaults.job_selector(document, "u")
    for error in validate_create(resource, document):
        assert error.path
        assert error.detail
    default_object(resource, old)
    other = data.draw(documents(schema_of(resource)))
    other["metadata"] = old["metadata"]
    default_object(resource, other)
    validate_update(resource, other, old)


def test_an_empty_list_of_containers_is_none() -> None:
    """A client that writes back what it read may leave out what is empty, or write it out."""
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "a"}], "activeDeadlineSeconds": 9}
    old: dict[str, Any] = {"metadata": {"name": "a", "namespace": "default"}, "spec": spec}
    new = {**old, "spec": {**spec, "initContainers": [], "activeDeadlineSeconds": 8}}
    errors: list[FieldError] = []
    check_pod_update(errors, new, old)
    assert not [error for error in errors if error.path == "spec"]
