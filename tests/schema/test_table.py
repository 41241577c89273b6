"""The notation of the tables, and the built-in kinds written in it."""

from __future__ import annotations

import msgspec
import pytest

from podium.kube import resources as r
from podium.kube.resources import Resource
from podium.schema.builtin import schema_of, type_named
from podium.schema.model import Schema
from podium.schema.table import Tables

KINDS = [value for value in vars(r).values() if isinstance(value, Resource)]
PREFIXES = {"core": "c.", "meta": "m.", "other": "o."}


def tables(core: str, other: str = "") -> Tables:
    meta = "ObjectMeta\n  name  string"
    return Tables([("core", core), ("meta", meta), *([("other", other)] if other else [])], PREFIXES)


def fields(schema: Schema) -> dict[str, Schema]:
    assert schema.properties is not None
    return schema.properties


def test_a_type_has_fields_required_ones_and_defaults() -> None:
    schema = tables(
        "Thing\n  name!  string\n  size   int32  min=1 = 3\n  mode   string  enum=A|B  = A"
    ).type_named("Thing")
    assert schema.name == "c.Thing"
    assert schema.required == ("name",)
    assert (fields(schema)["size"].format, fields(schema)["size"].default) == ("int32", 3)
    assert fields(schema)["size"].minimum == 1
    assert (fields(schema)["mode"].enum, fields(schema)["mode"].default) == (("A", "B"), "A")


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("{}", {}), ('""', ""), ('"True"', "True"), ("None", "None"), ("25%", "25%")],
)
def test_defaults_are_json_or_bare_words(text: str, value: object) -> None:
    assert fields(tables(f"Thing\n  field  any  = {text}").type_named("Thing"))["field"].default == value


def test_a_root_has_what_every_object_has() -> None:
    schema = tables("Thing root\n  spec  object").type_named("Thing")
    assert list(fields(schema)) == ["apiVersion", "kind", "metadata", "spec"]
    assert fields(schema)["metadata"].name == "m.ObjectMeta"


def test_lists_say_how_they_are_merged() -> None:
    schema = tables(
        "Thing\n"
        "  ports   [Port]    by=port,protocol\n"
        "  volumes [Port]    by=name retainKeys\n"
        "  ips     [Port]    merge=ip\n"
        "  claims  [Port]    keys=name\n"
        "  names   [string]  set merge\n"
        "  args    [string]\n"
        "  choice  Port      retainKeys\n"
        "Port\n"
        "  port  int32"
    ).type_named("Thing")
    found = {
        name: (field.merge_key, field.merge_strategy, field.list_type, field.list_keys)
        for name, field in fields(schema).items()
    }
    assert found == {
        "ports": ("port", "merge", "map", ("port", "protocol")),
        "volumes": ("name", "merge,retainKeys", "map", ("name",)),
        "ips": ("ip", "merge", "atomic", ()),
        "claims": ("", "", "map", ("name",)),
        "names": ("", "merge", "set", ()),
        "args": ("", "", "atomic", ()),
        "choice": ("", "retainKeys", "", ()),
    }
    assert fields(tables("Port\n  a  string").type_named("Port"))["a"].merge_strategy == ""


def test_a_type_may_contain_itself_also_where_the_field_has_attributes() -> None:
    schema = tables("Tree\n  left   Tree\n  right  Tree  = {}\n  all    {Tree}").type_named("Tree")
    assert fields(schema)["left"] is schema
    assert fields(schema)["right"].properties is schema.properties
    assert fields(schema)["all"].values is schema


def test_a_name_means_the_type_of_the_same_group_first() -> None:
    both = tables("Event\n  a  string", "Event\n  b  string\nUser\n  mine  Event\n  theirs  core/Event")
    user = both.type_named("User", "other")
    assert list(fields(fields(user)["mine"])) == ["b"]
    assert list(fields(fields(user)["theirs"])) == ["a"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Thing\n  lonely", "no field"),
        ("Thing\n  a  string  shiny", "shiny"),
        ("Thing\n  a  Nowhere", "Nowhere"),
        ("Thing\n  a  string\nThing\n  b  string", "twice"),
    ],
)
def test_mistakes_in_a_table_are_told(text: str, complaint: str) -> None:
    with pytest.raises((ValueError, KeyError), match=complaint):
        tables(text).type_named("Thing")


@pytest.mark.parametrize("resource", KINDS, ids=lambda each: each.group_resource)
def test_every_kind_is_written_down_with_sound_references(resource: Resource) -> None:
    seen: set[int] = set()

    def visit(schema: Schema) -> None:
        if id(schema.properties) in seen:
            return
        if schema.properties is not None:
            seen.add(id(schema.properties))
            assert set(schema.required) <= set(schema.properties)
            for field in schema.properties.values():
                visit(field)
        for inner in (schema.items, schema.values):
            if inner is not None:
                visit(inner)
        for key in (*schema.list_keys, *([schema.merge_key] if schema.merge_key else [])):
            assert schema.items is not None
            assert key in fields(schema.items)

    root = schema_of(resource)
    assert root.name.endswith(f".{resource.kind}")
    assert {"apiVersion", "kind", "metadata"} <= set(fields(root))
    visit(root)


def test_the_merge_keys_that_people_rely_on() -> None:
    spec = fields(type_named("PodSpec"))
    assert spec["containers"].merge_key == "name"
    assert spec["volumes"].merge_strategy == "merge,retainKeys"
    assert spec["tolerations"].merge_strategy == ""
    container = fields(type_named("Container"))
    assert (container["ports"].merge_key, container["ports"].list_keys) == (
        "containerPort",
        ("containerPort", "protocol"),
    )
    assert container["env"].merge_key == "name"
    assert container["volumeMounts"].merge_key == "mountPath"
    assert container["args"].list_type == "atomic"
    assert fields(type_named("apps/DeploymentSpec"))["strategy"].merge_strategy == "retainKeys"
    assert fields(type_named("ObjectMeta"))["finalizers"].merge_strategy == "merge"
    assert fields(type_named("ServiceSpec"))["ports"].merge_key == "port"


def test_an_unknown_kind_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        schema_of(Resource("example.com", "v1", "foos", "Foo"))


def test_fields_of_recent_versions_are_known() -> None:
    spec = fields(type_named("PodSpec"))
    assert {"schedulingGroup", "hostnameOverride", "resources", "resourceClaims", "schedulingGates"} <= set(spec)
    assert "managedBy" in fields(type_named("batch/JobSpec"))
    assert fields(type_named("Container"))["resources"].default == {}
    assert fields(type_named("Probe"))["httpGet"].default is msgspec.UNSET
