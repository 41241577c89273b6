"""JSON patches and merge patches: known answers, and the jsonpatch package as the oracle of random ones."""

from __future__ import annotations

import copy
from typing import Any

import jsonpatch
import jsonpointer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.schema.patches import MalformedPatch, PatchError, diff_merge, json_patch, merge_patch, same

DOCUMENT: dict[str, Any] = {"a": {"b": [1, 2, {"c": 3}]}, "d": None, "e/f": 1, "g~h": 2}


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([], DOCUMENT),
        ([{"op": "add", "path": "/x", "value": 1}], {**DOCUMENT, "x": 1}),
        ([{"op": "add", "path": "/d", "value": 1}], {**DOCUMENT, "d": 1}),
        ([{"op": "add", "path": "/a/b/-", "value": 9}], {**DOCUMENT, "a": {"b": [1, 2, {"c": 3}, 9]}}),
        ([{"op": "add", "path": "/a/b/0", "value": 9}], {**DOCUMENT, "a": {"b": [9, 1, 2, {"c": 3}]}}),
        ([{"op": "add", "path": "/a/b/3", "value": 9}], {**DOCUMENT, "a": {"b": [1, 2, {"c": 3}, 9]}}),
        ([{"op": "add", "path": "", "value": 5}], 5),
        ([{"op": "replace", "path": "", "value": [1]}, {"op": "add", "path": "/-", "value": 2}], [1, 2]),
        ([{"op": "remove", "path": "/a/b/1"}], {**DOCUMENT, "a": {"b": [1, {"c": 3}]}}),
        ([{"op": "remove", "path": "/e~1f"}, {"op": "remove", "path": "/g~0h"}], {"a": DOCUMENT["a"], "d": None}),
        ([{"op": "replace", "path": "/a/b/2/c", "value": None}], {**DOCUMENT, "a": {"b": [1, 2, {"c": None}]}}),
        ([{"op": "move", "from": "/a/b/0", "path": "/a/b/2"}], {**DOCUMENT, "a": {"b": [2, {"c": 3}, 1]}}),
        ([{"op": "move", "from": "/a", "path": "/a"}], DOCUMENT),
        ([{"op": "copy", "from": "/a", "path": "/d"}, {"op": "remove", "path": "/d/b"}], {**DOCUMENT, "d": {}}),
        (
            [{"op": "add", "path": "/d", "value": {}}, {"op": "copy", "from": "/d", "path": "/x"},
             {"op": "add", "path": "/x/y", "value": 1}],
            {**DOCUMENT, "d": {}, "x": {"y": 1}},
        ),
        ([{"op": "test", "path": "/d", "value": None}], DOCUMENT),
        ([{"op": "test", "path": "/a/b/0", "value": 1.0}], DOCUMENT),
        ([{"op": "test", "path": "", "value": DOCUMENT}], DOCUMENT),
    ],
)  # fmt: skip
def test_json_patch(operations: list[dict[str, Any]], result: Any) -> None:
    before = copy.deepcopy(DOCUMENT)
    given_operations = copy.deepcopy(operations)
    assert json_patch(DOCUMENT, operations) == result
    assert before == DOCUMENT
    assert operations == given_operations


@pytest.mark.parametrize(
    ("operation", "sentence"),
    [
        ({"op": "remove", "path": "/x"}, "/x does not exist"),
        ({"op": "replace", "path": "/x", "value": 1}, "/x does not exist"),
        ({"op": "add", "path": "/x/y", "value": 1}, "/x does not exist"),
        ({"op": "add", "path": "/e~1f/y", "value": 1}, "/e~1f is neither an object nor a list"),
        ({"op": "add", "path": "/a/b/4", "value": 1}, "/a/b/4 is beyond the end of the list"),
        ({"op": "add", "path": "/a/b/" + "9" * 5000, "value": 1}, "is beyond the end of the list"),
        ({"op": "add", "path": "/a/b/x", "value": 1}, "'x' is not an index of a list"),
        ({"op": "add", "path": "/a/b/-1", "value": 1}, "'-1' is not an index of a list"),
        ({"op": "add", "path": "/a/b/01", "value": 1}, "'01' is not an index of a list"),
        ({"op": "replace", "path": "/a/b/-", "value": 1}, "'-' is not an index of a list"),
        ({"op": "remove", "path": "/a/b/3"}, "/a/b/3 is beyond the end of the list"),
        ({"op": "remove", "path": ""}, "the whole document cannot be removed"),
        ({"op": "add", "path": "/x"}, "add needs a value"),
        ({"op": "add", "value": 1}, "needs a path"),
        ({"op": "copy", "path": "/x"}, "needs a from"),
        ({"op": "copy", "path": "/x", "from": "/y"}, "/y does not exist"),
        ({"op": "move", "path": "/a/b", "from": "/a"}, "/a cannot be moved into itself"),
        ({"op": "add", "path": "x", "value": 1}, "must begin with '/'"),
        ({"op": "add", "path": "/~2", "value": 1}, "'~' must be followed by 0 or 1"),
        ({"op": "test", "path": "/a/b/0", "value": True}, "the test of /a/b/0 failed"),
        ({"op": "test", "path": "/x", "value": None}, "/x does not exist"),
        ({"op": "merge", "path": "/x"}, "unknown operation 'merge'"),
        ({"path": "/x"}, "unknown operation None"),
        ({"op": ["add"], "path": "/x"}, "unknown operation"),
    ],
)
def test_json_patch_that_does_not_fit(operation: dict[str, Any], sentence: str) -> None:
    before = copy.deepcopy(DOCUMENT)
    with pytest.raises(PatchError) as caught:
        json_patch(DOCUMENT, [{"op": "add", "path": "/new", "value": 1}, operation])
    assert str(caught.value).startswith("operation 1 of the patch: ")
    assert sentence in str(caught.value)
    assert before == DOCUMENT


@pytest.mark.parametrize("patch", [None, {}, "x", 1, [1], [[]]])
def test_what_is_no_json_patch(patch: Any) -> None:
    with pytest.raises(MalformedPatch):
        json_patch({}, patch)


def test_lenient_reads_absent_members_as_null() -> None:
    def lenient(**operation: Any) -> Any:
        return json_patch({"a": 1}, [operation], lenient=True)

    assert lenient(op="replace", path="/b", value=2) == {"a": 1, "b": 2}
    assert lenient(op="test", path="/b", value=None) == {"a": 1}
    assert lenient(op="copy", **{"from": "/b"}, path="/c") == {"a": 1, "c": None}
    assert lenient(op="add", path="/b") == {"a": 1, "b": None}
    for operation in ({"op": "remove", "path": "/b"}, {"op": "replace", "path": "/b/c", "value": 1}):
        with pytest.raises(PatchError):
            lenient(**operation)


def test_what_is_not_touched_is_shared() -> None:
    document: dict[str, Any] = {"metadata": {"labels": {"a": "1"}}, "spec": {"big": [1]}}
    patched = json_patch(document, [{"op": "add", "path": "/metadata/labels/b", "value": "2"}])
    assert patched["spec"] is document["spec"]
    assert patched["metadata"]["labels"] == {"a": "1", "b": "2"}
    assert document["metadata"]["labels"] == {"a": "1"}


def test_a_patch_cannot_grow_a_document_without_bound() -> None:
    doubling = [{"op": "copy", "from": "", "path": f"/x{n}"} for n in range(60)]
    with pytest.raises(PatchError, match="copies more than"):
        json_patch({"a": "x" * 100}, doubling)
    nesting = [{"op": "copy", "from": "", "path": "/x"}] * 3000
    with pytest.raises(PatchError, match=r"nested too deeply|copies more than"):
        json_patch({}, nesting)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "~", "/", "0"]), inner),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(st.sampled_from("abc"), _JSON, max_size=3)
_STEPS = st.lists(st.sampled_from(["a", "b", "~0", "~1", "0", "1", "2", "-", "c"]), max_size=3)
_POINTERS = _STEPS.map(lambda steps: "".join("/" + step for step in steps))
_OPERATIONS = st.one_of(
    st.fixed_dictionaries({"op": st.sampled_from(["add", "replace"]), "path": _POINTERS, "value": _JSON}),
    st.fixed_dictionaries({"op": st.just("remove"), "path": _POINTERS}),
    st.fixed_dictionaries({"op": st.sampled_from(["move", "copy"]), "path": _POINTERS, "from": _POINTERS}),
)


@given(_OBJECTS, st.lists(_OPERATIONS, max_size=4))
def test_random_patches_against_the_oracle(document: dict[str, Any], operations: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(document)
    patch_before = copy.deepcopy(operations)
    # The oracle removes the root by returning None; here that is refused.
    if any(each["op"] == "remove" and not each["path"] for each in operations):
        return
    if any(each["op"] == "move" and not each["from"] for each in operations):
        return
    try:
        expected: Any = jsonpatch.apply_patch(document, operations)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException):
        expected = PatchError
    except TypeError:
        # The oracle's way of saying that a step leads through a scalar.
        expected = PatchError
    try:
        result = json_patch(document, operations)
    except PatchError:
        result = PatchError
    assert result is expected or same(result, expected)
    assert document == before
    assert operations == patch_before


@given(_OBJECTS, _OBJECTS)
def test_differences_of_the_oracle_lead_to_the_new_document(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert same(json_patch(old, jsonpatch.make_patch(old, new).patch), new) or not same(
        jsonpatch.apply_patch(old, jsonpatch.make_patch(old, new)), new
    )


# --- merge patches -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(document: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy(document)
    assert merge_patch(document, patch) == result
    assert document == before


@given(_OBJECTS, _OBJECTS)
def test_a_difference_leads_to_the_new_document(old: dict[str, Any], new: dict[str, Any]) -> None:
    new = _without_nulls(new)
    patch = diff_merge(old, new)
    assert same(_without_nulls(merge_patch(old, patch)), new)
    assert diff_merge(new, new) == {}


def _without_nulls(value: Any) -> Any:
    """Nulls in objects have no meaning for merge patches; in lists they stay."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value


def test_difference_is_minimal() -> None:
    old = {"a": {"b": 1, "c": 2}, "l": [1], "t": 1}
    new = {"a": {"b": 1, "c": 3}, "l": [1, 2], "t": True}
    assert diff_merge(old, new) == {"a": {"c": 3}, "l": [1, 2], "t": True}
