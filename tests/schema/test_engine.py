"""Unknown fields, pruning, types and defaults; the sentences are those of a real API server."""

from __future__ import annotations

import copy
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.kube.resources import CONFIGMAPS, CUSTOMRESOURCEDEFINITIONS, DEPLOYMENTS, LEASES, PODS
from podium.schema import engine
from podium.schema.builtin import schema_of
from podium.schema.model import Schema
from podium.schema.structural import parse

POD = schema_of(PODS)


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "creationTimestamp": None},
        "spec": {"containers": [{"name": "a", "image": "b"}], **spec},
    }


def container(**more: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "a", "image": "b", **more}])


# --- unknown fields ----------------------------------------------------------------------------------------


def test_unknown_fields_of_a_built_in_kind() -> None:
    document = container(zz=1, ports=[{"containerPort": 80, "q": 1}])
    document["spec"]["foo"] = 1
    document["metadata"]["u"] = {"deep": 1}
    document["bar"] = []
    found = engine.unknown_fields(document, POD)
    assert found == ["metadata.u", "spec.containers[0].zz", "spec.containers[0].ports[0].q", "spec.foo", "bar"]
    engine.prune(document, POD)
    assert engine.unknown_fields(document, POD) == []
    assert document == container(ports=[{"containerPort": 80}])


CUSTOM = parse(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "a": {"type": "string"},
                    "list": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"k": {"type": "string"}}},
                    },
                    "map": {
                        "type": "object",
                        "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}},
                    },
                    "open": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                        "properties": {"in": {"type": "object", "properties": {"a": {"type": "string"}}}},
                    },
                    "free": {"type": "object", "additionalProperties": True},
                    "any": {"x-kubernetes-preserve-unknown-fields": True},
                    "closed": {"type": "object"},
                    "port": {"x-kubernetes-int-or-string": True},
                    "embedded": {
                        "type": "object",
                        "x-kubernetes-embedded-resource": True,
                        "properties": {"spec": {"type": "object"}},
                    },
                    "whole": {
                        "type": "object",
                        "x-kubernetes-embedded-resource": True,
                        "x-kubernetes-preserve-unknown-fields": True,
                    },
                },
            }
        },
    }
)


def test_unknown_fields_of_a_custom_resource() -> None:
    document = {
        "apiVersion": "x.io/v1",
        "kind": "T",
        "metadata": {"name": "o", "bad": 1},
        "spec": {
            "a": "x",
            "zz": 1,
            "list": [{"k": "a"}, {"k": "b", "zz": 1}],
            "map": {"k": {"a": "x", "z": 1}},
            "open": {"q": {"deep": 1}, "in": {"a": "x", "z": 1}},
            "free": {"x": {"y": 1}},
            "any": {"x": [{"y": 1}]},
            "closed": {"z": 1},
            "port": 1,
            "embedded": {
                "apiVersion": "v1",
                "kind": "X",
                "metadata": {"name": "q", "foo": 1},
                "spec": {},
                "zz": 1,
            },
            "whole": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "q", "foo": 1}, "zz": 1},
        },
        "top": 1,
    }
    assert engine.unknown_fields(document, CUSTOM) == [
        "metadata.bad",
        "spec.zz",
        "spec.list[1].zz",
        "spec.map.k.z",
        "spec.open.in.z",
        "spec.closed.z",
        "spec.embedded.metadata.foo",
        "spec.embedded.zz",
        "spec.whole.metadata.foo",
        "top",
    ]
    engine.prune(document, CUSTOM)
    assert engine.unknown_fields(document, CUSTOM) == []
    assert document["spec"]["open"] == {"q": {"deep": 1}, "in": {"a": "x"}}  # type: ignore[index]
    assert document["spec"]["whole"]["zz"] == 1  # type: ignore[index]


def test_wrong_types_are_no_unknown_fields() -> None:
    assert engine.unknown_fields({"spec": {"list": {"k": 1}, "map": [1], "a": {"x": 1}}}, CUSTOM) == []
    assert engine.unknown_fields({"spec": 5}, CUSTOM) == []


def test_a_type_may_contain_itself() -> None:
    crd = schema_of(CUSTOMRESOURCEDEFINITIONS)
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(20):
        deep = {"type": "object", "properties": {"x": deep}}
    document = {"metadata": {}, "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": deep}}]}}
    assert engine.is_clean(document, crd)
    document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["x"]["foo"] = 1  # type: ignore[index]
    assert engine.unknown_fields(document, crd) == [
        "spec.versions[0].schema.openAPIV3Schema.properties.x.foo",
    ]


# --- types -------------------------------------------------------------------------------------------------

FIELD = "json: cannot unmarshal {} into Go struct field {} of type {}"


@pytest.mark.parametrize(
    ("document", "given", "field", "wanted"),
    [
        (pod(priority="x"), "string", "PodSpec.spec.priority", "int32"),
        (pod(priority=1.5), "number 1.5", "PodSpec.spec.priority", "int32"),
        (pod(priority=1.0), "number 1.0", "PodSpec.spec.priority", "int32"),
        (pod(priority=3000000000), "number 3000000000", "PodSpec.spec.priority", "int32"),
        (pod(priority=True), "bool", "PodSpec.spec.priority", "int32"),
        (pod(priority=[]), "array", "PodSpec.spec.priority", "int32"),
        (pod(priority={}), "object", "PodSpec.spec.priority", "int32"),
        (pod(activeDeadlineSeconds=10**20), f"number {10**20}", "PodSpec.spec.activeDeadlineSeconds", "int64"),
        (pod(nodeName=1), "number", "PodSpec.spec.nodeName", "string"),
        (pod(hostNetwork="true"), "string", "PodSpec.spec.hostNetwork", "bool"),
        (pod(hostNetwork=1), "number", "PodSpec.spec.hostNetwork", "bool"),
        (pod(containers={}), "object", "PodSpec.spec.containers", "[]v1.Container"),
        (pod(containers=["x"]), "string", "PodSpec.spec.containers", "v1.Container"),
        (pod(nodeSelector=[]), "array", "PodSpec.spec.nodeSelector", "map[string]string"),
        (pod(nodeSelector={"a": 1}), "number", "PodSpec.spec.nodeSelector", "string"),
        (
            pod(tolerations=[{"tolerationSeconds": "x"}]),
            "string",
            "Toleration.spec.tolerations.tolerationSeconds",
            "int64",
        ),
        (
            container(ports=[{"containerPort": "80"}]),
            "string",
            "ContainerPort.spec.containers.ports.containerPort",
            "int32",
        ),
        (
            container(resources={"limits": []}),
            "array",
            "ResourceRequirements.spec.containers.resources.limits",
            "v1.ResourceList",
        ),
        ({**pod(), "spec": "x"}, "string", "Pod.spec", "v1.PodSpec"),
        ({**pod(), "metadata": []}, "array", "Pod.metadata", "v1.ObjectMeta"),
        ({**pod(), "metadata": {"name": 5}}, "number", "ObjectMeta.metadata.name", "string"),
        ({**pod(), "metadata": {"labels": {"a": 5}}}, "number", "ObjectMeta.metadata.labels", "string"),
        (
            {**pod(), "metadata": {"creationTimestamp": 5}},
            "number",
            "ObjectMeta.metadata.creationTimestamp",
            "string",
        ),
    ],
)
def test_wrong_types_of_pods(document: dict[str, Any], given: str, field: str, wanted: str) -> None:
    assert engine.type_error(document, POD) == FIELD.format(given, field, wanted)
    assert engine.prepare(document, POD) == ([], FIELD.format(given, field, wanted))
    assert not engine.is_clean(document, POD)


def test_wrong_types_of_other_kinds() -> None:
    deployment = {"spec": {"template": {"spec": {"containers": [{"env": [{"value": 5}]}]}}}}
    assert engine.type_error(deployment, schema_of(DEPLOYMENTS)) == FIELD.format(
        "number", "EnvVar.spec.template.spec.containers.env.value", "string"
    )
    config = schema_of(CONFIGMAPS)
    assert engine.type_error({"data": {"a": 1}}, config) == FIELD.format("number", "ConfigMap.data", "string")
    assert engine.type_error({"binaryData": {"a": 5}}, config) == FIELD.format(
        "number", "ConfigMap.binaryData", "[]uint8"
    )
    assert engine.type_error({"binaryData": {"a": "!!"}}, config) == "illegal base64 data at input byte 0"
    assert engine.type_error({"binaryData": {"a": "aGk=\n"}}, config) is None


def test_special_scalars() -> None:
    for port in (80, "http"):
        assert engine.type_error(container(livenessProbe={"httpGet": {"port": port}}), POD) is None
    wrong: Any
    for wrong in (True, 1.5, [], 2**40):
        reported = engine.type_error(container(livenessProbe={"httpGet": {"port": wrong}}), POD)
        assert reported is not None
        assert reported.endswith("httpGet.port of type int32")
    for amount in ("1", 1, 0.5, "1Gi", None):
        assert engine.type_error(container(resources={"limits": {"cpu": amount}}), POD) is None
    for wrong in ("1x", [], True):
        reported = engine.type_error(container(resources={"limits": {"cpu": wrong}}), POD)
        assert reported is not None
        assert reported.startswith("quantities must match the regular expression")
    reported = engine.type_error({"metadata": {"creationTimestamp": "bad"}}, POD)
    assert reported == 'parsing time "bad" as "2006-01-02T15:04:05Z07:00": cannot parse "bad" as "2006"'
    lease = {"spec": {"renewTime": "2024-01-01T00:00:00.000000Z"}}
    assert engine.type_error(lease, schema_of(LEASES)) is None


def test_null_is_right_everywhere() -> None:
    assert engine.prepare(pod(nodeName=None, priority=None, containers=None, nodeSelector=None), POD) == ([], None)
    assert engine.prepare({"metadata": None, "spec": None}, POD) == ([], None)
    assert engine.prepare(pod(containers=[None]), POD) == ([], None)


def test_metadata_of_custom_resources() -> None:
    assert engine.metadata_type_error({"name": "x", "labels": {"a": "b"}}) is None
    assert engine.metadata_type_error(None) is None
    assert engine.metadata_type_error(5) == "json: cannot unmarshal number into Go value of type v1.ObjectMeta"
    assert engine.metadata_type_error({"labels": 5}) == FIELD.format(
        "number", "ObjectMeta.labels", "map[string]string"
    )


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "containers", "env", "ports", "metadata", "spec", "x"]), inner)
    ),
    max_leaves=15,
)


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status", "kind", "x"]), _JSON))
def test_the_fast_answer_agrees_with_the_slow_one(document: dict[str, Any]) -> None:
    unknown, wrong = engine.prepare(document, POD)
    assert engine.is_clean(document, POD) == (not unknown and wrong is None)
    assert engine.unknown_fields(document, POD) == unknown
    assert engine.type_error(document, POD) == wrong
    engine.prune(document, POD)
    assert engine.unknown_fields(document, POD) == []


def test_a_pod_is_looked_through_in_microseconds() -> None:
    environment = [{"name": f"VAR_{n}", "value": "some value"} for n in range(20)]
    document = container(env=environment, resources={"limits": {"cpu": "8", "nvidia.com/gpu": "8"}})
    document["metadata"]["annotations"] = {f"a{n}": "x" * 80 for n in range(20)}
    assert len(msgspec.json.encode(document)) > 2500
    assert engine.is_clean(document, POD)
    best = 1.0
    for _ in range(5):
        start = time.process_time()
        for _ in range(100):
            engine.prepare(document, POD)
        best = min(best, (time.process_time() - start) / 100)
    # Five times what it takes on an ordinary machine: only a change of its nature fails here.
    assert best < 120e-6


# --- defaults ----------------------------------------------------------------------------------------------

DEFAULTS = parse(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "a": {"type": "string", "default": "x"},
                    "n": {"type": "string", "nullable": True, "default": "x"},
                    "plain": {"type": "string"},
                    "null": {"type": "string", "nullable": True},
                    "port": {"x-kubernetes-int-or-string": True},
                    "any": {"x-kubernetes-preserve-unknown-fields": True},
                    "deep": {"type": "object", "properties": {"b": {"type": "integer", "default": 1}}},
                    "made": {
                        "type": "object",
                        "default": {},
                        "properties": {"c": {"type": "array", "items": {"type": "string"}, "default": ["y"]}},
                    },
                    "list": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"p": {"type": "string", "default": "TCP"}}},
                    },
                    "map": {
                        "type": "object",
                        "additionalProperties": {"type": "object", "properties": {"q": {"default": 2}}},
                    },
                },
            }
        },
    }
)


@pytest.mark.parametrize(
    ("spec", "result"),
    [
        ({}, {}),
        ({"a": "z"}, {"a": "z"}),
        ({"a": None}, {}),
        ({"a": ""}, {"a": ""}),
        ({"n": None}, {"n": None}),
        ({"plain": None}, {}),
        ({"null": None}, {"null": None}),
        ({"port": None}, {}),
        ({"any": None}, {"any": None}),
        ({"deep": {}}, {"deep": {"b": 1}}),
        ({"deep": {"b": None}}, {"deep": {"b": 1}}),
        ({"made": None}, {}),
        ({"made": {"c": []}}, {"made": {"c": []}}),
        ({"list": [{}, {"p": "UDP"}, None]}, {"list": [{"p": "TCP"}, {"p": "UDP"}, None]}),
        ({"map": {"k": {}, "gone": None}}, {"map": {"k": {"q": 2}}}),
        ({"deep": "wrong", "list": {}, "map": []}, {"deep": "wrong", "list": {}, "map": []}),
    ],
)
def test_defaults(spec: dict[str, Any], result: dict[str, Any]) -> None:
    document = {"spec": copy.deepcopy(spec)}
    engine.apply_defaults(document, DEFAULTS)
    assert document == {"spec": {"a": "x", "n": "x", "made": {"c": ["y"]}, **result}}


def test_defaults_do_not_create_their_parents_and_are_copies() -> None:
    document: dict[str, Any] = {}
    engine.apply_defaults(document, DEFAULTS)
    assert document == {}
    first: dict[str, Any] = {"spec": {}}
    second: dict[str, Any] = {"spec": {}}
    engine.apply_defaults(first, DEFAULTS)
    first["spec"]["made"]["c"].append("changed")
    engine.apply_defaults(second, DEFAULTS)
    assert second["spec"]["made"]["c"] == ["y"]


def test_defaults_of_items_and_values_replace_null() -> None:
    schema = Schema("object", properties={"l": Schema("array", items=Schema("string", default="x"))})
    document = {"l": [None, "y"]}
    engine.apply_defaults(document, schema)
    assert document == {"l": ["x", "y"]}
