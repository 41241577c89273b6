"""Strategic merge: every result here is one that a real API server gave for the same patch."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.schema.model import Schema
from podium.schema.patches import PatchError, merge_patch
from podium.schema.strategic import strategic_merge

TEXT = Schema("string")


def _merged(key: str, strategy: str = "merge", **fields: Schema) -> Schema:
    items = Schema("object", properties={key: TEXT, **fields})
    return Schema("array", items=items, merge_key=key, merge_strategy=strategy)


SPEC = Schema(
    "object",
    properties={
        "containers": _merged(
            "name",
            image=TEXT,
            command=Schema("array", items=TEXT, list_type="atomic"),
            env=_merged("name", value=TEXT),
            ports=_merged("containerPort", name=TEXT),
            probe=Schema("object", properties={"exec": Schema("object"), "http": Schema("object")}),
        ),
        "volumes": _merged("name", "merge,retainKeys", emptyDir=Schema("object"), configMap=Schema("object")),
        "tolerations": Schema("array", items=Schema("object", properties={"key": TEXT}), list_type="atomic"),
        "finalizers": Schema("array", items=TEXT, merge_strategy="merge"),
        "selector": Schema("object", values=TEXT),
        "whole": Schema("object", values=TEXT, merge_strategy="replace"),
        "strategy": Schema("object", properties={"type": TEXT, "rolling": TEXT}, merge_strategy="retainKeys"),
        "replicas": Schema("integer"),
    },
)

DOCUMENT: dict[str, Any] = {
    "containers": [
        {
            "name": "c1",
            "image": "i1",
            "command": ["a", "b"],
            "env": [{"name": "E1", "value": "1"}, {"name": "E2", "value": "2"}, {"name": "E3", "value": "3"}],
            "ports": [{"containerPort": 80, "name": "p"}, {"containerPort": 81}],
            "probe": {"http": {"port": 80}, "period": 10},
        },
        {"name": "c2", "image": "i2"},
        {"name": "c3", "image": "i3"},
    ],
    "volumes": [{"name": "v1", "emptyDir": {}}, {"name": "v2", "configMap": {"name": "c"}}],
    "tolerations": [{"key": "k1"}, {"key": "k2"}],
    "finalizers": ["a", "b", "c"],
    "selector": {"n": "1"},
    "whole": {"x": "1"},
    "strategy": {"type": "Rolling", "rolling": "1"},
    "replicas": 1,
}


def merge(**patch: Any) -> dict[str, Any]:
    """The merged document; neither it nor the patch may change."""
    before, patch_before = copy.deepcopy(DOCUMENT), copy.deepcopy(patch)
    try:
        return strategic_merge(DOCUMENT, patch, SPEC)
    finally:
        assert before == DOCUMENT
        assert patch == patch_before


def names(items: list[dict[str, Any]]) -> str:
    return " ".join(item["name"] for item in items)


def order(key: str, *values: str) -> dict[str, list[dict[str, str]]]:
    return {f"$setElementOrder/{key}": [{"name": value} for value in values]}


# --- lists of objects --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ([{"name": "c2", "image": "z"}], "c1 c2 c3"),
        ([{"name": "n"}], "n c1 c2 c3"),
        ([{"name": "c2", "$patch": "delete"}], "c1 c3"),
        ([{"name": "absent", "$patch": "delete"}], "c1 c2 c3"),
        ([{"$patch": "replace"}, {"name": "x"}], "x"),
        ([{"name": "x"}, {"$patch": "replace"}], "x"),
        ([{"$patch": "replace"}], ""),
        ([{"name": "c3"}, {"name": "n"}, {"name": "c1"}], "c2 c3 n c1"),
        ([{"name": "c3"}, {"name": "c1"}], "c2 c3 c1"),
        ([{"name": "n"}, {"name": "c2"}], "n c1 c2 c3"),
        ([{"name": "n"}, {"name": "m"}, {"name": "c2", "$patch": "delete"}], "n m c1 c3"),
        ([], "c1 c2 c3"),
    ],
)
def test_lists_merged_by_key(patch: list[dict[str, Any]], result: str) -> None:
    assert names(merge(containers=patch)["containers"]) == result


def test_items_with_the_same_key_are_merged() -> None:
    merged = merge(containers=[{"name": "c1", "image": "new", "env": [{"name": "E2", "value": "x"}]}])
    first = merged["containers"][0]
    assert first["image"] == "new"
    assert first["command"] == ["a", "b"]
    assert [each["value"] for each in first["env"]] == ["1", "x", "3"]


def test_an_item_named_twice_is_merged_twice() -> None:
    merged = merge(containers=[{"name": "n", "image": "a"}, {"name": "n", "command": ["x"]}])
    assert merged["containers"][0] == {"name": "n", "image": "a", "command": ["x"]}
    assert len(merged["containers"]) == 4


def test_numbers_as_merge_key() -> None:
    ports = merge(
        containers=[{"name": "c1", "ports": [{"containerPort": 81, "name": "x"}, {"containerPort": 90}]}]
    )
    assert ports["containers"][0]["ports"] == [
        {"containerPort": 80, "name": "p"},
        {"containerPort": 81, "name": "x"},
        {"containerPort": 90},
    ]


def test_what_is_new_comes_without_nulls_and_directives() -> None:
    new = {
        "name": "n",
        "image": None,
        "env": [{"name": "x", "$patch": "delete"}, {"name": "y", "value": None}],
        "probe": {"$patch": "delete"},
        **order("env", "y"),
    }
    assert merge(containers=[new])["containers"][0] == {"name": "n", "env": [{"name": "y"}]}


def test_lists_without_strategy_are_replaced() -> None:
    assert merge(tolerations=[{"key": "k3"}])["tolerations"] == [{"key": "k3"}]
    assert merge(tolerations=[])["tolerations"] == []
    assert merge(containers=[{"name": "c1", "command": ["x"]}])["containers"][0]["command"] == ["x"]
    assert "command" not in merge(containers=[{"name": "c1", "command": None}])["containers"][0]


# --- lists of plain values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ({"finalizers": ["d"]}, "dabc"),
        ({"finalizers": ["d", "a"]}, "dabc"),
        ({"finalizers": ["c", "a"]}, "bca"),
        ({"$deleteFromPrimitiveList/finalizers": ["b"]}, "ac"),
        ({"$deleteFromPrimitiveList/finalizers": ["b", "zz"], "finalizers": ["q"]}, "qac"),
        ({"$deleteFromPrimitiveList/absent": ["b"]}, "abc"),
        ({"$setElementOrder/finalizers": ["c", "a"]}, "bca"),
        ({"$setElementOrder/finalizers": ["c", "new", "a"], "finalizers": ["new"]}, "bcnewa"),
    ],
)
def test_sets_of_plain_values(patch: dict[str, Any], result: str) -> None:
    assert "".join(merge(**patch)["finalizers"]) == result


# --- order -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        (order("containers", "c3", "c2", "c1"), "c3 c2 c1"),
        (order("containers", "c3", "c1"), "c2 c3 c1"),
        ({**order("containers", "c3", "c1"), "containers": [{"name": "c1", "image": "x"}]}, "c2 c3 c1"),
        (
            {
                **order("containers", "c2", "c1", "n"),
                "containers": [{"name": "n"}, {"name": "c3", "$patch": "delete"}],
            },
            "c2 c1 n",
        ),
        # The place of a deleted item is taken by a new one, so c3 is known to stand before it.
        (
            {
                **order("containers", "c2", "n"),
                "containers": [{"name": "n"}, {"name": "c1", "$patch": "delete"}],
            },
            "c2 c3 n",
        ),
        ({**order("containers"), "containers": [{"name": "c1", "image": "x"}]}, "c1 c2 c3"),
    ],
)
def test_order_directive(patch: dict[str, Any], result: str) -> None:
    assert names(merge(**patch)["containers"]) == result


def test_order_of_a_list_that_was_not_there() -> None:
    patch = {"init": [{"name": "i"}], **order("init", "i")}
    schema = Schema("object", properties={"init": _merged("name")})
    assert strategic_merge({}, patch, schema) == {"init": [{"name": "i"}]}
    assert strategic_merge({}, order("init", "i"), schema) == {}


# --- objects -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patch", "key", "result"),
    [
        ({"selector": {"n": None, "m": "2"}}, "selector", {"m": "2"}),
        ({"selector": {"m": "2"}}, "selector", {"n": "1", "m": "2"}),
        ({"selector": {"$patch": "replace", "m": "2"}}, "selector", {"m": "2"}),
        ({"selector": {"$patch": "delete"}}, "selector", {}),
        ({"selector": None}, "selector", None),
        ({"whole": {"y": "2"}}, "whole", {"y": "2"}),
        ({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}, "strategy", {"type": "Recreate"}),
        (
            {"strategy": {"$retainKeys": ["type"], "type": "Recreate", "rolling": None}},
            "strategy",
            {"type": "Recreate"},
        ),
        ({"strategy": {"type": "Recreate"}}, "strategy", {"type": "Recreate", "rolling": "1"}),
        ({"replicas": None}, "replicas", None),
        ({"replicas": 5}, "replicas", 5),
        ({"containers": None}, "containers", None),
        ({"absent": {"$patch": "delete"}}, "absent", None),
        ({"absent": {"$patch": "replace", "a": 1}}, "absent", None),
        ({"absent": {"a": None, "b": 1}}, "absent", {"b": 1}),
        ({"selector": ["a"]}, "selector", ["a"]),
    ],
)
def test_objects(patch: dict[str, Any], key: str, result: Any) -> None:
    assert merge(**patch).get(key) == result


def test_volumes_change_their_kind_by_retained_keys() -> None:
    patch = {"name": "v1", "$retainKeys": ["name", "configMap"], "configMap": {"name": "x"}}
    assert merge(volumes=[patch])["volumes"][0] == {"name": "v1", "configMap": {"name": "x"}}


def test_nested_objects_of_an_item() -> None:
    patch = {"name": "c1", "probe": {"http": None, "exec": {"command": ["a"]}}}
    probe = merge(containers=[patch])["containers"][0]["probe"]
    assert probe == {"period": 10, "exec": {"command": ["a"]}}


def test_what_is_not_touched_is_shared() -> None:
    assert merge(replicas=3)["containers"] is DOCUMENT["containers"]


# --- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patch", "sentence"),
    [
        (
            {"containers": [{"$patch": "merge", "name": "c1"}]},
            "merging lists cannot yet be specified in the patch",
        ),
        ({"containers": [{"$patch": "bogus", "name": "c1"}]}, "unknown patch type: bogus"),
        ({"containers": [{"$patch": "delete"}]}, "does not contain declared merge key: name"),
        ({"containers": [{"image": "x"}]}, "does not contain declared merge key: name"),
        ({"containers": [1]}, "list element types are not identical"),
        ({"containers": [[1]]}, "lists of lists are not supported"),
        ({"containers": [{"name": []}]}, "cannot identify an item of a list"),
        ({"finalizers": [{"name": "x"}]}, "list element types are not identical"),
        ({"strategy": {"$retainKeys": ["rolling"], "type": "x"}}, "invalid patch format of retainKeys"),
        ({"strategy": {"$retainKeys": "type", "type": "x"}}, "invalid patch format of retainKeys"),
        ({"selector": {"$patch": "merge", "a": "b"}}, "unknown patch type: merge"),
        ({"$deleteFromPrimitiveList": ["x"]}, "invalid patch format of primitive list"),
        ({"$deleteFromPrimitiveList/finalizers": "x"}, "invalid patch format of primitive list"),
        ({"$setElementOrder": ["x"]}, "invalid patch format of setElementOrder list"),
        ({"$setElementOrder/finalizers": "x"}, "invalid patch format of setElementOrder list"),
        ({"$setElementOrder/finalizers": ["c"], "finalizers": ["new"]}, "doesn't match $setElementOrder list"),
        (
            {**order("containers", "c2", "c1"), "containers": [{"name": "c1"}, {"name": "c2"}]},
            "doesn't match $setElementOrder list",
        ),
        ({"$setElementOrder/containers": [{"x": "c2"}]}, "does not contain declared merge key: name"),
    ],
)
def test_patches_that_make_no_sense(patch: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PatchError) as caught:
        merge(**patch)
    assert sentence in str(caught.value)


def test_a_list_of_objects_cannot_be_merged_without_a_key() -> None:
    schema = Schema("object", properties={"l": Schema("array", merge_strategy="merge")})
    with pytest.raises(PatchError, match="cannot merge lists without merge key"):
        strategic_merge({"l": [{"a": 1}]}, {"l": [{"a": 1}]}, schema)


_JSON = st.recursive(
    st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner | st.none()),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from("abc"), _JSON), st.dictionaries(st.sampled_from("abc"), _JSON | st.none()))
def test_without_a_schema_it_is_a_merge_patch(document: dict[str, Any], patch: dict[str, Any]) -> None:
    merged = strategic_merge(document, patch, Schema())
    assert _without_nulls(merged) == _without_nulls(merge_patch(document, patch))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
