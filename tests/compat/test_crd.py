"""The life of a custom resource: defined, used, changed, gone."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.compat.client import Document, Server, eventually
from tests.compat.objects import crd, crd_version

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_numbers = itertools.count(1)


def establish(server: Server, definition: Document) -> None:
    server.kubectl("apply", "-f", "-", input=definition)
    name = definition["metadata"]["name"]
    server.established(f"crd/{name}")
    group, version = definition["spec"]["group"], definition["spec"]["versions"][0]["name"]
    eventually(
        lambda: (
            server.http("GET", f"/apis/{group}/{version}/{definition['spec']['names']['plural']}").status == 200
        ),
        "the new resource is served",
    )


@pytest.fixture
def group(server: Server) -> Iterator[str]:
    """An API group of its own for each story, so that no discovery cache gets in the way."""
    name = f"s{next(_numbers)}.crd.example"
    yield name
    for definition in server.get(DEFINITIONS)["items"]:
        if definition["spec"]["group"] == name:
            server.http("DELETE", f"{DEFINITIONS}/{definition['metadata']['name']}")


def widget(group: str, name: str, spec: Document | None = None, version: str = "v1") -> Document:
    body = {"apiVersion": f"{group}/{version}", "kind": "Widget", "metadata": {"name": name}}
    return {**body, "spec": spec} if spec is not None else body


def widgets(group: str, ns: str, name: str = "", version: str = "v1") -> str:
    return f"/apis/{group}/{version}/namespaces/{ns}/widgets" + (f"/{name}" if name else "")


SIZE: Document = {"size": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3}}


def test_from_definition_to_deletion(server: Server, ns: str, group: str) -> None:
    establish(server, crd("widgets", "Widget", SIZE, group, shortNames=["wd"], categories=["toys"]))
    out = server.kubectl("apply", "-n", ns, "-f", "-", input=widget(group, "a", {"size": 5})).out
    assert out == f"widget.{group}/a created\n"
    out = server.kubectl("apply", "-n", ns, "-f", "-", input=widget(group, "a", {"size": 6})).out
    assert out == f"widget.{group}/a configured\n"
    for word in (f"widgets.{group}", f"wd.{group}", f"widget.v1.{group}"):
        assert server.kubectl("get", word, "-n", ns, "-o", "jsonpath={.items[0].spec.size}").out == "6"
    assert f"widget.{group}/a" in server.kubectl("get", "toys", "-n", ns, "-o", "name").lines
    row = server.kubectl("api-resources", "--api-group", group, "--no-headers").lines[0].split()
    assert row == ["widgets", "wd", f"{group}/v1", "true", "Widget"]
    assert server.kubectl("describe", f"widgets.{group}", "a", "-n", ns).out.startswith("Name:         a\n")
    server.kubectl("delete", "crd", f"widgets.{group}", "--timeout=30s")
    eventually(lambda: server.http("GET", widgets(group, ns)).status == 404, "the resource is gone")
    establish(server, crd("widgets", "Widget", SIZE, group))
    assert server.get(widgets(group, ns))["items"] == [], "its objects went with it"


def test_fields_and_annotations_may_be_called_like_those_of_the_system(
    server: Server, ns: str, group: str
) -> None:
    establish(server, crd("widgets", "Widget", {"deletionTimestamp": {"type": "string"}}, group))
    server.kubectl("annotate", "namespace", ns, "deletionTimestamp=tomorrow")
    made = server.create(widgets(group, ns), widget(group, "a", {"deletionTimestamp": "tomorrow"}))
    assert made["spec"] == {"deletionTimestamp": "tomorrow"}


def test_a_field_that_its_definition_has_lost_is_no_change(server: Server, ns: str, group: str) -> None:
    part = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    establish(server, crd("widgets", "Widget", {**SIZE, "part": part}, group))
    server.create(widgets(group, ns), widget(group, "a", {"part": {"known": 1, "lost": 2}}))
    fixed = {"rule": "self == oldSelf", "message": "it is fixed"}
    part = {"type": "object", "properties": {"known": {"type": "integer"}}, "x-kubernetes-validations": [fixed]}
    establish(server, crd("widgets", "Widget", {**SIZE, "part": part}, group))

    def resized(size: int) -> Document:
        patch = {"spec": {"size": size}}
        merge = "application/merge-patch+json"
        answer = server.http("PATCH", widgets(group, ns, "a"), patch, content_type=merge)
        found: Document = answer.expect(200)["spec"]
        return found

    sizes = itertools.cycle((4, 5))
    # A real server takes a moment to use a changed definition.
    eventually(lambda: resized(next(sizes))["part"] == {"known": 1}, "the field is lost")
    assert resized(6) == {"size": 6, "part": {"known": 1}}


def test_the_status_of_a_definition(server: Server, group: str) -> None:
    establish(server, crd("widgets", "Widget", SIZE, group))
    made = server.get(f"{DEFINITIONS}/widgets.{group}")
    conditions = {condition["type"]: condition["status"] for condition in made["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert made["status"]["storedVersions"] == ["v1"]
    assert made["status"]["acceptedNames"]["listKind"] == "WidgetList"
    assert made["spec"]["names"]["listKind"] == "WidgetList"
    assert made["spec"]["conversion"] == {"strategy": "None"}


def test_defaults_and_pruning(server: Server, ns: str, group: str) -> None:
    properties = {
        **SIZE,
        "mode": {"type": "string", "default": "slow"},
        "nested": {"type": "object", "default": {}, "properties": {"deep": {"type": "boolean", "default": True}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "list": {
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"type": "integer", "default": 7}}},
        },
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "either": {"x-kubernetes-int-or-string": True},
        "maybe": {"type": "string", "nullable": True},
    }
    establish(server, crd("widgets", "Widget", properties, group))
    spec: dict[str, Any] = {
        "unknown": 1,
        "free": {"any": {"thing": [1]}},
        "list": [{}, {"n": 1, "x": 2}],
        "map": {"a": 1},
        "either": "50%",
        "maybe": None,
        "mode": None,  # a null where there is a default counts as absent
    }
    made = server.create(widgets(group, ns), {**widget(group, "a", spec), "extra": True})
    assert "extra" not in made
    assert made["spec"] == {
        "size": 3,
        "mode": "slow",
        "nested": {"deep": True},
        "free": {"any": {"thing": [1]}},
        "list": [{"n": 7}, {"n": 1}],
        "map": {"a": 1},
        "either": "50%",
        "maybe": None,
    }
    assert "spec" not in server.create(widgets(group, ns), widget(group, "bare"))
    strict = server.http(
        "POST", widgets(group, ns), widget(group, "b", {"unknown": 1}), query={"fieldValidation": "Strict"}
    )
    assert (strict.status, strict.reason) == (400, "BadRequest")
    assert 'unknown field "spec.unknown"' in strict.json["message"]


VALIDATED: Document = {
    **SIZE,
    "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5, "minLength": 2},
    "color": {"type": "string", "enum": ["red", "blue"]},
    "tags": {"type": "array", "maxItems": 2, "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    "ratio": {"type": "number", "multipleOf": 0.5, "exclusiveMaximum": True, "maximum": 2},
    "when": {"type": "string", "format": "date-time"},
    "parts": {
        "type": "array",
        "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
    },
    "choice": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "map": {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "integer"}},
    "either": {"x-kubernetes-int-or-string": True},
}

BAD_SPECS: list[tuple[Document, str, str]] = [
    ({"size": 11}, "spec.size", "FieldValueInvalid"),
    ({"size": "big"}, "spec.size", "FieldValueTypeInvalid"),
    ({"size": 1.5}, "spec.size", "FieldValueTypeInvalid"),
    ({"name": "ABC"}, "spec.name", "FieldValueInvalid"),
    ({"name": "abcdef"}, "spec.name", "FieldValueTooLong"),
    ({"name": "a"}, "spec.name", "FieldValueInvalid"),
    ({"color": "green"}, "spec.color", "FieldValueNotSupported"),
    ({"tags": ["a", "b", "c"]}, "spec.tags", "FieldValueTooMany"),
    ({"tags": ["a", "a"]}, "spec.tags[1]", "FieldValueDuplicate"),
    ({"ratio": 0.3}, "spec.ratio", "FieldValueInvalid"),
    ({"ratio": 2}, "spec.ratio", "FieldValueInvalid"),
    ({"when": "noon"}, "spec.when", "FieldValueTypeInvalid"),
    ({"parts": [{}]}, "spec.parts[0].id", "FieldValueRequired"),
    ({"parts": [{"id": "a"}, {"id": "a"}]}, "spec.parts[1]", "FieldValueDuplicate"),
    ({"parts": "x"}, "spec.parts", "FieldValueTypeInvalid"),
    ({"map": {"a": "x"}}, "spec.map.a", "FieldValueTypeInvalid"),
    ({"map": {"a": 1, "b": 2}}, "spec.map", "FieldValueTooMany"),
    ({"either": True}, "spec.either", "FieldValueTypeInvalid"),
]


def test_what_a_schema_refuses(server: Server, ns: str, group: str) -> None:
    establish(server, crd("widgets", "Widget", VALIDATED, group))
    for spec, field, reason in BAD_SPECS:
        answer = server.http("POST", widgets(group, ns), widget(group, "a", spec))
        assert (answer.status, answer.reason) == (422, "Invalid"), (spec, answer.body)
        assert (field, reason) in answer.causes, (spec, answer.body)
        assert answer.json["message"].startswith(f'Widget.{group} "a" is invalid: ')
    good = {
        "name": "abc",
        "color": "red",
        "tags": ["a"],
        "ratio": 1.5,
        "when": "2024-01-02T03:04:05Z",
        "either": 5,
    }
    assert server.create(widgets(group, ns), widget(group, "good", good))["spec"]["size"] == 3
    words = server.kubectl("apply", "-n", ns, "-f", "-", input=widget(group, "a", {"size": 11}), check=False).err
    assert "spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10" in words
    words = server.kubectl("apply", "-n", ns, "-f", "-", input=widget(group, "a", {"color": "x"}), check=False).err
    assert 'spec.color: Unsupported value: "x": supported values: "red", "blue"' in words


def test_rules_in_cel(server: Server, ns: str, group: str) -> None:
    properties: Document = {
        "min": {"type": "integer"},
        "max": {"type": "integer"},
        "fixed": {
            "type": "string",
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed cannot be changed"}],
        },
        "items": {
            "type": "array",
            "maxItems": 10,
            "items": {
                "type": "string",
                "maxLength": 10,
                "x-kubernetes-validations": [
                    {"rule": "self.startsWith('x')", "messageExpression": "'bad ' + self"}
                ],
            },
        },
    }
    definition = crd("widgets", "Widget", properties, group)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["x-kubernetes-validations"] = [
        {
            "rule": "!has(self.min) || !has(self.max) || self.min <= self.max",
            "message": "min must not be above max",
            "fieldPath": ".min",
            "reason": "FieldValueForbidden",
        }
    ]
    establish(server, definition)
    above = server.http("POST", widgets(group, ns), widget(group, "a", {"min": 5, "max": 1}))
    assert (above.status, above.causes) == (422, {("spec.min", "FieldValueForbidden")})
    assert "min must not be above max" in above.json["message"]
    item = server.http("POST", widgets(group, ns), widget(group, "a", {"items": ["xa", "b"]}))
    assert (item.status, item.causes) == (422, {("spec.items[1]", "FieldValueInvalid")})
    assert "bad b" in item.json["message"]
    server.create(widgets(group, ns), widget(group, "a", {"min": 1, "max": 1, "fixed": "one"}))
    patch = {"spec": {"fixed": "two"}}
    changed = server.http("PATCH", widgets(group, ns, "a"), patch, content_type="application/merge-patch+json")
    assert (changed.status, changed.causes) == (422, {("spec.fixed", "FieldValueInvalid")})
    assert 'spec.fixed: Invalid value: "two": fixed cannot be changed' in changed.json["message"]
    server.merge(widgets(group, ns, "a"), {"spec": {"max": 9}})


def test_a_rule_that_does_not_compile_is_refused(server: Server, group: str) -> None:
    definition = crd(
        "widgets", "Widget", {"a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self +"}]}}, group
    )
    answer = server.http("POST", DEFINITIONS, definition)
    assert (answer.status, answer.reason) == (422, "Invalid")
    fields = {field for field, _ in answer.causes}
    path = (
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].x-kubernetes-validations[0].rule"
    )
    assert path in fields or path.replace("versions[0].schema", "validation") in fields, fields


def test_definitions_that_are_refused(server: Server, group: str) -> None:
    def causes(change: Any) -> set[tuple[str, str]]:
        definition = crd("widgets", "Widget", SIZE, group)
        change(definition["spec"])
        answer = server.http("POST", DEFINITIONS, definition, query={"dryRun": "All"})
        assert answer.status == 422, answer.body
        return answer.causes

    assert ("spec.scope", "FieldValueNotSupported") in causes(lambda spec: spec.update(scope="Planet"))
    assert ("spec.names.kind", "FieldValueRequired") in causes(lambda spec: spec["names"].pop("kind"))
    assert ("spec.versions", "FieldValueInvalid") in causes(lambda spec: spec["versions"][0].update(storage=False))
    two = [crd_version("v1", SIZE), crd_version("v1", SIZE, storage=False)]
    assert any(field.startswith("spec.versions") for field, _ in causes(lambda spec: spec.update(versions=two)))
    assert any("openAPIV3Schema" in field for field, _ in causes(lambda spec: spec["versions"][0].pop("schema")))
    untyped = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {}}}}
    assert any(
        "openAPIV3Schema" in field for field, _ in causes(lambda spec: spec["versions"][0].update(schema=untyped))
    )


def test_status_and_scale(server: Server, ns: str, group: str) -> None:
    definition = crd("widgets", "Widget", {"replicas": {"type": "integer"}}, group)
    definition["spec"]["versions"][0]["subresources"] = {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }
    establish(server, definition)
    made = server.create(widgets(group, ns), {**widget(group, "a", {"replicas": 1}), "status": {"replicas": 9}})
    assert "status" not in made, "a creation has no status"
    body = {**made, "status": {"replicas": 1, "selector": "app=a"}, "spec": {"replicas": 5}}
    updated = server.http("PUT", widgets(group, ns, "a") + "/status", body).expect(200)
    assert (updated["spec"], updated["status"]["replicas"]) == ({"replicas": 1}, 1)
    scale = server.get(widgets(group, ns, "a") + "/scale")
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale",
        {"replicas": 1},
        {"replicas": 1, "selector": "app=a"},
    )
    out = server.kubectl("scale", f"widgets.{group}/a", "-n", ns, "--replicas=4").out
    assert out == f"widget.{group}/a scaled\n"
    assert server.get(widgets(group, ns, "a"))["spec"]["replicas"] == 4
    patch = '{"status":{"replicas":4}}'
    server.kubectl("patch", f"widgets.{group}", "a", "-n", ns, "--subresource=status", "--type=merge", "-p", patch)
    server.kubectl("wait", "-n", ns, "--for=jsonpath={.status.replicas}=4", f"widgets.{group}/a", "--timeout=10s")


def test_without_subresources_status_is_a_field_like_others(server: Server, ns: str, group: str) -> None:
    establish(server, crd("widgets", "Widget", SIZE, group))
    made = server.create(widgets(group, ns), {**widget(group, "a", {}), "status": {"ready": True}})
    assert made["status"] == {"ready": True}
    missing = server.http("GET", widgets(group, ns, "a") + "/status")
    assert (missing.status, missing.reason) == (404, "NotFound")


def test_printer_columns(server: Server, ns: str, group: str) -> None:
    definition = crd("widgets", "Widget", SIZE, group)
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "How big"},
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
        {"name": "Wide", "type": "string", "jsonPath": ".status.wide", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    establish(server, definition)
    server.create(
        widgets(group, ns), {**widget(group, "a", {"size": 5}), "status": {"phase": "Good", "wide": "yes"}}
    )
    server.create(widgets(group, ns), widget(group, "b", {}))
    lines = server.kubectl("get", f"widgets.{group}", "-n", ns).lines
    assert lines[0].split() == ["NAME", "SIZE", "PHASE", "AGE"]
    assert lines[1].split()[:3] == ["a", "5", "Good"]
    assert lines[2].split()[:2] == ["b", "3"]
    wide = server.kubectl("get", f"widgets.{group}", "-n", ns, "-o", "wide").lines
    assert wide[0].split() == ["NAME", "SIZE", "PHASE", "WIDE", "AGE"]
    assert wide[1].split()[:4] == ["a", "5", "Good", "yes"]


def test_without_printer_columns_there_is_an_age(server: Server, ns: str, group: str) -> None:
    establish(server, crd("widgets", "Widget", SIZE, group))
    server.create(widgets(group, ns), widget(group, "a", {}))
    assert server.kubectl("get", f"widgets.{group}", "-n", ns).lines[0].split() == ["NAME", "AGE"]


def test_a_new_version(server: Server, ns: str, group: str) -> None:
    definition = crd("widgets", "Widget", SIZE, group)
    establish(server, definition)
    server.create(widgets(group, ns), widget(group, "old", {"size": 2}))
    more = {**SIZE, "color": {"type": "string", "default": "red"}}
    definition["spec"]["versions"] = [crd_version("v2", more), crd_version("v1", SIZE, storage=False)]
    server.kubectl("apply", "-f", "-", input=definition)
    eventually(lambda: server.http("GET", widgets(group, ns, version="v2")).status == 200, "v2 is served")
    both = server.get(widgets(group, ns, "old", "v2"))
    # Defaults are filled in when an object is read, too: those of the version it was stored in.
    assert (both["apiVersion"], both["spec"]) == (f"{group}/v2", {"size": 2})
    server.create(widgets(group, ns, version="v2"), widget(group, "new", {"color": "blue"}, "v2"))
    assert server.get(widgets(group, ns, "new"))["apiVersion"] == f"{group}/v1"
    stored = server.get(f"{DEFINITIONS}/widgets.{group}")["status"]["storedVersions"]
    assert stored == ["v1", "v2"]
    preferred = server.get(f"/apis/{group}")["preferredVersion"]["version"]
    assert preferred == "v2"


def test_a_version_that_is_no_longer_served(server: Server, ns: str, group: str) -> None:
    definition = crd("widgets", "Widget", SIZE, group)
    definition["spec"]["versions"] = [crd_version("v1", SIZE), crd_version("v1beta1", SIZE, storage=False)]
    establish(server, definition)
    eventually(
        lambda: server.http("GET", widgets(group, ns, version="v1beta1")).status == 200, "v1beta1 is served"
    )
    definition["spec"]["versions"][1]["served"] = False
    server.kubectl("apply", "-f", "-", input=definition)
    eventually(lambda: server.http("GET", widgets(group, ns, version="v1beta1")).status == 404, "v1beta1 is gone")
    eventually(lambda: server.http("GET", widgets(group, ns)).status == 200, "v1 is served as before")


def test_a_changed_schema_holds_for_new_writes(server: Server, ns: str, group: str) -> None:
    definition = crd("widgets", "Widget", SIZE, group)
    establish(server, definition)
    server.create(widgets(group, ns), widget(group, "a", {"size": 10}))
    tighter = {"size": {"type": "integer", "maximum": 5}}
    definition["spec"]["versions"] = [crd_version("v1", tighter)]
    server.kubectl("apply", "-f", "-", input=definition)
    eventually(
        lambda: (
            server.http(
                "POST", widgets(group, ns), widget(group, "x", {"size": 9}), query={"dryRun": "All"}
            ).status
            == 422
        ),
        "the new schema is in force",
    )
    assert server.get(widgets(group, ns, "a"))["spec"]["size"] == 10
    # A value that was there before and is not touched may stay although it is no longer valid.
    server.merge(widgets(group, ns, "a"), {"metadata": {"labels": {"x": "y"}}})


def test_cluster_scope(server: Server, ns: str, group: str) -> None:
    definition = crd("widgets", "Widget", SIZE, group)
    definition["spec"]["scope"] = "Cluster"
    establish(server, definition)
    server.create(f"/apis/{group}/v1/widgets", widget(group, "a", {}))
    assert server.http("GET", widgets(group, ns)).status == 404
    assert server.get(f"/apis/{group}/v1/widgets/a")["metadata"].get("namespace") is None


def test_patches_of_a_custom_resource(server: Server, ns: str, group: str) -> None:
    establish(server, crd("widgets", "Widget", SIZE, group))
    server.create(widgets(group, ns), widget(group, "a", {"size": 1}))
    path = widgets(group, ns, "a")
    strategic = server.http(
        "PATCH", path, {"spec": {"size": 2}}, content_type="application/strategic-merge-patch+json"
    )
    assert (strategic.status, strategic.reason) == (415, "UnsupportedMediaType")
    assert server.merge(path, {"spec": {"size": 2}})["spec"]["size"] == 2
    step = [{"op": "replace", "path": "/spec/size", "value": 4}]
    assert (
        server.http("PATCH", path, step, content_type="application/json-patch+json").expect(200)["spec"]["size"]
        == 4
    )
    stale = server.http("PUT", path, {**widget(group, "a", {}), "metadata": {"name": "a", "resourceVersion": "1"}})
    assert (stale.status, stale.reason) == (409, "Conflict")
    unsaid = server.http("PUT", path, widget(group, "a", {"size": 5}))
    assert (unsaid.status, unsaid.reason) == (422, "Invalid")
    assert unsaid.causes == {("metadata.resourceVersion", "FieldValueInvalid")}


def test_watching_custom_resources(server: Server, ns: str, group: str) -> None:
    establish(server, crd("widgets", "Widget", SIZE, group))
    with server.watch(widgets(group, ns)) as watch:
        server.create(widgets(group, ns), widget(group, "a", {}))
        event = watch.next() or {}
        assert (event["type"], event["object"]["spec"]) == ("ADDED", {"size": 3})


def test_a_definition_in_use_of_names_of_another(server: Server, group: str) -> None:
    establish(server, crd("widgets", "Widget", SIZE, group))
    server.kubectl("apply", "-f", "-", input=crd("gadgets", "Widget", SIZE, group))
    condition = eventually(
        lambda: next(
            (
                found
                for found in server.get(f"{DEFINITIONS}/gadgets.{group}")["status"].get("conditions") or ()
                if found["type"] == "NamesAccepted"
            ),
            None,
        ),
        "a verdict on the names",
    )
    assert (condition["status"], condition["reason"]) == ("False", "ListKindConflict")


def test_a_finalizer_of_an_object_holds_its_definition(server: Server, ns: str, group: str) -> None:
    establish(server, crd("widgets", "Widget", SIZE, group))
    body = widget(group, "a", {})
    body["metadata"]["finalizers"] = ["stories.example/hold"]
    server.create(widgets(group, ns), body)
    server.kubectl("delete", "crd", f"widgets.{group}", "--wait=false")
    eventually(
        lambda: "deletionTimestamp" in server.get(widgets(group, ns, "a"))["metadata"],
        "the object is being deleted",
    )
    assert server.http("GET", f"{DEFINITIONS}/widgets.{group}").status == 200
    refused = server.http("POST", widgets(group, ns), widget(group, "late", {}))
    assert (refused.status, refused.reason) == (403, "Forbidden")
    server.merge(widgets(group, ns, "a"), {"metadata": {"finalizers": None}})
    server.kubectl("wait", "--for=delete", f"crd/widgets.{group}", "--timeout=30s")


def test_defaults_reach_what_was_stored_before_them(server: Server, ns: str) -> None:
    """A default that a definition gets later is there when an older object is read, listed, watched or patched."""
    group = f"{ns}.example.com"
    definition = crd("lates", "Late", {"a": {"type": "string"}}, group=group)
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    where, path = f"{definitions}/lates.{group}", f"/apis/{group}/v1/namespaces/{ns}/lates"
    server.create(definitions, definition)
    try:
        eventually(lambda: server.http("GET", path).status == 200, "the kind is served")
        for name in ("old", "labelled"):
            body = {"apiVersion": f"{group}/v1", "kind": "Late", "metadata": {"name": name}, "spec": {"a": "x"}}
            version = server.create(path, body)["metadata"]["resourceVersion"]
        later = {"a": {"type": "string"}, "b": {"type": "string", "default": "later"}}
        server.merge(where, {"spec": {"versions": [crd_version("v1", later)]}})
        eventually(lambda: server.get(f"{path}/old")["spec"].get("b") == "later", "the default is there")
        assert (
            server.get(f"{path}/labelled")["metadata"]["resourceVersion"] == version
        )  # though nothing was written
        assert [each["spec"]["b"] for each in server.get(path)["items"]] == ["later", "later"]
        with server.watch(path) as watch:
            events = [watch.next(), watch.next()]
        assert [event and event["object"]["spec"]["b"] for event in events] == ["later", "later"]
        assert server.merge(f"{path}/labelled", {"metadata": {"labels": {"a": "b"}}})["spec"]["b"] == "later"
        assert server.get(f"{path}/labelled")["spec"] == {"a": "x", "b": "later"}
    finally:
        server.http("DELETE", where)


def test_a_definition_in_protobuf(server: Server, ns: str) -> None:
    """Typed Go clients send it so.  The bytes are of the cases of tests/schema, which Go wrote."""
    lines = (Path(__file__).parents[1] / "schema" / "protobuf_cases.txt").read_text().splitlines()
    (body,) = [each for each in map(base64.b64decode, lines[::2]) if b"goods.protobuf.example.com" in each]
    made = server.http("POST", DEFINITIONS, body, content_type="application/vnd.kubernetes.protobuf").expect(201)
    try:
        (version,) = made["spec"]["versions"]
        assert version["subresources"] == {"status": {}}
        assert version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] == {
            "size": {"type": "integer", "minimum": 1, "maximum": 9},
            "mode": {"type": "string", "default": "slow", "enum": ["slow", "fast"]},
            "words": {"type": "array", "items": {"type": "string"}},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
            "ruled": {
                "type": "integer",
                "x-kubernetes-validations": [{"rule": "self > 1", "message": "too small"}],
            },
        }
        path = f"/apis/protobuf.example.com/v1/namespaces/{ns}/goods"
        eventually(lambda: server.http("GET", path).status == 200, "the kind is served")
        good = {"apiVersion": "protobuf.example.com/v1", "kind": "Good", "metadata": {"name": "g"}}
        spec = {"size": 3, "words": ["a"], "map": {"b": 1}, "ruled": 2}
        assert server.create(path, {**good, "spec": spec})["spec"] == {**spec, "mode": "slow"}
        bad = {"size": 10, "words": [1], "map": {"b": "c"}, "mode": "no", "ruled": 1}
        answer = server.http("POST", path, {**good, "metadata": {"name": "h"}, "spec": bad})
        assert {field for field, _ in answer.causes} >= {"spec.size", "spec.words[0]", "spec.map.b", "spec.mode"}
    finally:
        server.http("DELETE", f"{DEFINITIONS}/{made['metadata']['name']}")


def nested(levels: int) -> Document:
    """A schema in which objects stand in each other."""
    schema: Document = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return {"deep": schema}


def test_a_deep_schema_is_served_like_any_other(server: Server, ns: str, group: str) -> None:
    establish(server, crd("widgets", "Widget", nested(90), group))
    value: Any = "bottom"
    for _ in range(90):
        value = {"a": value}
    made = server.create(widgets(group, ns), widget(group, "deep", {"deep": value}))
    assert made["spec"]["deep"] == value
    answer = server.http("POST", widgets(group, ns), widget(group, "wrong", {"deep": {"a": {"a": "too early"}}}))
    assert (answer.status, answer.reason) == (422, "Invalid")
    for path in ("/openapi/v2", f"/openapi/v3/apis/{group}/v1"):
        tells = partial(_tells, server, path, b"Widget")
        eventually(tells, f"{path} tells of it")


def _tells(server: Server, path: str, word: bytes) -> bool:
    return word in server.http("GET", path).body


def test_what_is_nested_without_end_is_refused(server: Server, ns: str) -> None:
    for depth in (11_000, 100_000):
        body = b'{"a":' * depth + b"1" + b"}" * depth
        answer = server.http("POST", f"/api/v1/namespaces/{ns}/configmaps", body)
        assert (answer.status, answer.reason) == (400, "BadRequest")
