"""Selectors: text, objects and node terms, with the API server's sentences for what cannot be read."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.kube import wire
from podium.kube.selectors import (
    Requirement,
    SelectorError,
    compile_node_term,
    format_selector,
    from_labels,
    from_selector,
    matches_node_terms,
    parse_fields,
    parse_labels,
)

WEB = {"app": "web", "tier": "a", "gen": "4", "empty": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("  ", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web", True),
        ("app=db", False),
        ("app!=db", True),
        ("app!=web", False),
        ("absent!=x", True),
        ("app", True),
        ("!app", False),
        ("absent", False),
        ("!absent", True),
        ("! absent", True),
        ("tier in (a,b)", True),
        ("tier in ( b , c )", False),
        ("tier notin (b)", True),
        ("tier notin (a)", False),
        ("absent notin (a)", True),
        ("absent in (a)", False),
        ("gen>3", True),
        ("gen>4", False),
        ("gen<5", True),
        ("gen < 4", False),
        ("app>3", False),
        ("absent<3", False),
        ("empty=", True),
        ("empty=,app", True),
        ("app=", False),
        ("empty in ()", True),
        ("empty in (,x)", True),
        ("empty in (x,,y)", True),
        ("empty in (x,)", True),
        ("app=web,tier=a", True),
        ("app=web,tier=b", False),
        ("app=web,tier in (a),!x,gen,absent notin (z),gen>3,gen<5", True),
        ("in in (in,notin)", False),
        ("in", False),
        ("app\tin\n(web)", True),
    ],
)
def test_label_text(text: str, matches: bool) -> None:
    assert parse_labels(text)(WEB) is matches


def test_missing_labels_are_no_labels() -> None:
    assert parse_labels("!a")(None)
    assert not parse_labels("a")(None)
    assert parse_labels("")(None)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (x y)", "unable to parse requirement: found 'y', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a notin", "unable to parse requirement: found '' expected: '('"),
        ("a!b", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=(b)", "unable to parse requirement: found '(', expected: identifier"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!!a", "unable to parse requirement: found '!', expected: identifier"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("=b", "found '=', expected: !, identifier, or 'end of string'"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a in (x))", "found ')', expected: ',' or 'end of string'"),
        ("a>x", "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the "
                "value must be an integer"),
        ("/a", 'unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty'),
        ("a=" + "b" * 64, "unable to parse requirement: values[0][a]: Invalid value: "
                          f"\"{'b' * 64}\": must be no more than 63 bytes"),
    ],
)  # fmt: skip
def test_label_text_that_cannot_be_read(text: str, sentence: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_labels(text)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("text", ["a@=b", "a=b@", "a in (x,y@)", "a/b/c", "a<1.5", "a>9223372036854775808"])
def test_keys_and_values_are_validated(text: str) -> None:
    with pytest.raises(SelectorError, match=r"unable to parse requirement: .*Invalid value"):
        parse_labels(text)


def test_requirements_and_canonical_text() -> None:
    match = parse_labels("c in (y,x), b!=2,a==1,!d, e")
    assert match.requirements[0] == Requirement("a", "=", ("1",))
    assert str(match) == "a=1,b!=2,c in (x,y),!d,e"
    assert parse_labels("").everything
    assert not match.everything


_KEYS = st.sampled_from(["a", "b", "example.com/c"])
_VALUES = st.sampled_from(["", "x", "y", "10", "9"])
_REQUIREMENTS = st.one_of(
    st.builds(lambda key, op, value: f"{key}{op}{value}", _KEYS, st.sampled_from(["=", "==", "!="]), _VALUES),
    st.builds(
        lambda key, op, values: f"{key} {op} ({','.join(values)})",
        _KEYS,
        st.sampled_from(["in", "notin"]),
        st.lists(_VALUES, min_size=1),
    ),
    st.builds(lambda key, bang: bang + key, _KEYS, st.sampled_from(["", "!"])),
    st.builds(lambda key, op: f"{key}{op}9", _KEYS, st.sampled_from("<>")),
)


@given(st.lists(_REQUIREMENTS, max_size=4), st.dictionaries(_KEYS, _VALUES))
def test_text_survives_a_round_trip(parts: list[str], labels: dict[str, str]) -> None:
    match = parse_labels(",".join(parts))
    again = parse_labels(str(match))
    assert again.requirements == match.requirements
    assert match(labels) == all(parse_labels(part)(labels) for part in parts) == again(labels)


@given(st.text(alphabet="ab=!<>(),in \t/", max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(SelectorError):
        parse_labels(text)


# --- objects -----------------------------------------------------------------------------------------------


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert not from_selector(None)(WEB)
    assert not from_selector(None)(None)
    assert not from_selector(None).everything
    assert from_selector({})(WEB)
    assert from_selector(wire.LabelSelector())({})
    assert from_selector({"matchLabels": None, "matchExpressions": []}).everything


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ({"key": "app", "operator": "In", "values": ["web", "x"]}, True),
        ({"key": "app", "operator": "NotIn", "values": ["web"]}, False),
        ({"key": "absent", "operator": "NotIn", "values": ["web"]}, True),
        ({"key": "app", "operator": "Exists"}, True),
        ({"key": "app", "operator": "DoesNotExist"}, False),
    ],
)
def test_selector_objects(expression: dict[str, Any], matches: bool) -> None:
    raw = {"matchLabels": {"tier": "a"}, "matchExpressions": [expression]}
    assert from_selector(raw)(WEB) is matches
    assert from_selector(msgspec.convert(raw, wire.LabelSelector))(WEB) is matches
    assert not from_selector(raw)({})


@pytest.mark.parametrize(
    "selector",
    [
        {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
        {"matchExpressions": [{"key": "a", "operator": "In"}]},
        {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]},
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
        {"matchExpressions": [{"key": "a b", "operator": "Exists"}]},
        {"matchExpressions": [{"operator": "Exists"}]},
        {"matchExpressions": "x"},
        {"matchLabels": {"a": "b c"}},
        {"matchLabels": {"a": 1}},
    ],
)
def test_selector_objects_that_make_no_sense(selector: dict[str, Any]) -> None:
    with pytest.raises(SelectorError):
        from_selector(selector)


def test_formatting() -> None:
    selector = {
        "matchLabels": {"b": "2", "a": "1"},
        "matchExpressions": [
            {"key": "c", "operator": "In", "values": ["y", "x"]},
            {"key": "d", "operator": "NotIn", "values": ["z"]},
            {"key": "e", "operator": "Exists"},
            {"key": "f", "operator": "DoesNotExist"},
        ],
    }
    assert format_selector(selector) == "a=1,b=2,c in (x,y),d notin (z),e,!f"
    assert format_selector({}) == format_selector(None) == ""
    assert str(from_labels({"b": "2", "a": "1"})) == "a=1,b=2"
    assert from_labels(None)({"any": "thing"})


# --- fields ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("", []),
        (",", []),
        ("metadata.name=x", [("metadata.name", "=", "x")]),
        ("metadata.name==x", [("metadata.name", "=", "x")]),
        ("status.phase!=Running,", [("status.phase", "!=", "Running")]),
        ("b=1,a=2", [("a", "=", "2"), ("b", "=", "1")]),
        ("spec.nodeName=", [("spec.nodeName", "=", "")]),
        (r"a=x\,y\=z\\", [("a", "=", r"x,y=z" + "\\")]),
        ("=x", [("", "=", "x")]),
    ],
)
def test_field_text(text: str, requirements: list[tuple[str, str, str]]) -> None:
    match = parse_fields(text)
    assert [(each.path, each.operator, each.value) for each in match.requirements] == requirements
    assert parse_fields(str(match)).requirements == match.requirements


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("a=1,b>3", "invalid selector: 'a=1,b>3'; can't understand 'b>3'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
        ("a=b\\x", "invalid field selector: invalid escape sequence: \\x"),
    ],
)
def test_field_text_that_cannot_be_read(text: str, sentence: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_fields(text)
    assert str(caught.value) == sentence


def test_field_matching() -> None:
    values = {"metadata.name": "x", "status.phase": "Running"}
    match = parse_fields("metadata.name=x,status.phase!=Failed")
    assert match(values.__getitem__)
    assert not match({**values, "status.phase": "Failed"}.__getitem__)
    assert match.exact("metadata.name") == "x"
    assert match.exact("status.phase") is None
    assert match.unsupported(["metadata.name"]) == "status.phase"
    assert match.unsupported(["metadata.name", "status.phase"]) is None
    assert parse_fields("").everything


# --- node terms --------------------------------------------------------------------------------------------

NODE = {"zone": "a", "gpus": "8"}


def _expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("term", "matches"),
    [
        ({"matchExpressions": [_expression("zone", "In", "a", "b")]}, True),
        ({"matchExpressions": [_expression("zone", "NotIn", "a")]}, False),
        ({"matchExpressions": [_expression("absent", "NotIn", "a")]}, True),
        ({"matchExpressions": [_expression("zone", "Exists")]}, True),
        ({"matchExpressions": [_expression("zone", "DoesNotExist")]}, False),
        ({"matchExpressions": [_expression("gpus", "Gt", "4")]}, True),
        ({"matchExpressions": [_expression("gpus", "Lt", "8")]}, False),
        ({"matchExpressions": [_expression("zone", "Gt", "4")]}, False),
        ({"matchExpressions": [_expression("absent", "Lt", "4")]}, False),
        ({"matchExpressions": [_expression("gpus", "Gt", "x")]}, False),
        ({"matchExpressions": [_expression("gpus", "Near", "8")]}, False),
        ({"matchExpressions": [_expression("gpus", "In")]}, False),
        ({"matchExpressions": [_expression("zone", "Exists"), _expression("gpus", "In", "4")]}, False),
        ({"matchFields": [_expression("metadata.name", "In", "n1")]}, True),
        ({"matchFields": [_expression("metadata.name", "NotIn", "n1")]}, False),
        ({"matchFields": [_expression("metadata.name", "In", "n1", "n2")]}, False),
        ({"matchFields": [_expression("metadata.uid", "In", "n1")]}, False),
        ({"matchFields": [_expression("metadata.name", "In", "n1")],
          "matchExpressions": [_expression("zone", "In", "b")]}, False),
        ({}, False),
        ({"matchExpressions": 3}, False),
    ],
)  # fmt: skip
def test_node_terms(term: dict[str, Any], matches: bool) -> None:
    assert matches_node_terms([term], NODE, "n1") is matches
    if term.get("matchExpressions") != 3:
        assert matches_node_terms([msgspec.convert(term, wire.NodeSelectorTerm)], NODE, "n1") is matches


def test_node_terms_are_alternatives() -> None:
    good = {"matchExpressions": [_expression("zone", "In", "a")]}
    bad = {"matchExpressions": [_expression("zone", "Near", "a")]}
    assert matches_node_terms([bad, good], NODE, "n1")
    assert not matches_node_terms([bad], NODE, "n1")
    assert not matches_node_terms([], NODE, "n1")
    assert not matches_node_terms(None, NODE, "n1")
    assert not matches_node_terms([good], None, "n1")
    assert compile_node_term({}) is None
