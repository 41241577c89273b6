"""Rules in CEL, asked of documents; the sentences are those of a real API server."""

from __future__ import annotations

from typing import Any

import pytest

from podium.schema import cel
from podium.schema.cel_programs import escape
from podium.schema.structural import parse, problems
from podium.schema.values import validate

TEXT = {"type": "string", "maxLength": 20}
INT = {"type": "integer"}


def ruled(schema: dict[str, Any], *rules: str | dict[str, Any]) -> dict[str, Any]:
    written = [rule if isinstance(rule, dict) else {"rule": rule} for rule in rules]
    return {**schema, "x-kubernetes-validations": written}


def objects(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


OPENAPI = objects(
    spec=ruled(
        objects(
            a=INT,
            b=INT,
            s=ruled(TEXT, {"rule": "self.startsWith('x')", "message": "must start with x"}),
            o=ruled(
                objects(m=INT, n=INT),
                "self.m <= self.n",
                {"rule": "self.m != 7", "messageExpression": "'m is ' + string(self.m)"},
                {"rule": "self.m != 8", "reason": "FieldValueForbidden", "fieldPath": ".m", "message": "eight"},
                {"rule": "self.m != 9", "reason": "FieldValueRequired", "fieldPath": ".m"},
                {"rule": "self.m != 10", "reason": "FieldValueDuplicate"},
                "!has(self.n) || 100 / self.n > 0",
                {"rule": "self.m != 11", "message": "plain", "messageExpression": "string(1 / (self.m - 11))"},
            ),
            l={
                "type": "array",
                "items": {**ruled(objects(k=TEXT, v=INT), "self.v > 0", "self.v >= oldSelf.v"), "required": ["k"]},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
            },
            mp={"type": "object", "additionalProperties": ruled(TEXT, "self == 'ok'")},
            im=ruled(TEXT, {"rule": "self == oldSelf", "message": "immutable"}),
            opt=ruled(
                TEXT,
                {"rule": "oldSelf.hasValue() || self == 'init'", "optionalOldSelf": True, "message": "first init"},
            ),
            ds=ruled(
                objects(**{"a-b": INT, "namespace": INT, "x__y": INT, "d.e/f": INT}),
                "!has(self.a__dash__b) || self.a__dash__b > 0",
                "!has(self.__namespace__) || self.__namespace__ > 0",
                "!has(self.x__underscores__y) || self.x__underscores__y > 0",
                "!has(self.d__dot__e__slash__f) || self.d__dot__e__slash__f > 0",
            ),
        ),
        "!has(self.a) || !has(self.b) || self.a < self.b",
    )
)
SCHEMA = parse(OPENAPI)


def reported(spec: dict[str, Any], old: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    before = None if old is None else {"spec": old}
    return [(each.path, each.detail) for each in validate({"spec": spec}, SCHEMA, old=before)]


def test_the_schema_of_this_test_is_accepted() -> None:
    assert problems(OPENAPI, "$") == []


@pytest.mark.parametrize(
    ("spec", "path", "detail"),
    [
        ({"a": 2, "b": 1}, "spec", "Invalid value: failed rule: !has(self.a) || !has(self.b) || self.a < self.b"),
        ({"s": "abc"}, "spec.s", 'Invalid value: "abc": must start with x'),
        ({"o": {"m": 2, "n": 1}}, "spec.o", "Invalid value: failed rule: self.m <= self.n"),
        (
            {"o": {"m": 2}},
            "spec.o",
            'Invalid value: "object": no such key: n evaluating rule: self.m <= self.n',
        ),
        ({"o": {"m": 7, "n": 9}}, "spec.o", "Invalid value: m is 7"),
        ({"o": {"m": 8, "n": 9}}, "spec.o.m", "Forbidden: eight"),
        ({"o": {"m": 9, "n": 9}}, "spec.o.m", "Required value: failed rule: self.m != 9"),
        ({"o": {"m": 10, "n": 19}}, "spec.o", "Duplicate value"),
        (
            {"o": {"m": 0, "n": 0}},
            "spec.o",
            'Invalid value: "object": division by zero evaluating rule: !has(self.n) || 100 / self.n > 0',
        ),
        ({"o": {"m": 11, "n": 12}}, "spec.o", "Invalid value: plain"),
        (
            {"l": [{"k": "a", "v": 0}, {"k": "b", "v": 1}]},
            "spec.l[0]",
            "Invalid value: failed rule: self.v > 0",
        ),
        (
            {"l": [{"k": "b", "v": 1}, {"k": "a"}]},
            "spec.l[1]",
            'Invalid value: "object": no such key: v evaluating rule: self.v > 0',
        ),
        ({"mp": {"x": "no"}}, "spec.mp[x]", "Invalid value: \"no\": failed rule: self == 'ok'"),
        ({"opt": "x"}, "spec.opt", 'Invalid value: "x": first init'),
        (
            {"ds": {"a-b": 0}},
            "spec.ds",
            "Invalid value: failed rule: !has(self.a__dash__b) || self.a__dash__b > 0",
        ),
        (
            {"ds": {"namespace": 0}},
            "spec.ds",
            "Invalid value: failed rule: !has(self.__namespace__) || self.__namespace__ > 0",
        ),
        (
            {"ds": {"x__y": 0}},
            "spec.ds",
            "Invalid value: failed rule: !has(self.x__underscores__y) || self.x__underscores__y > 0",
        ),
        (
            {"ds": {"d.e/f": 0}},
            "spec.ds",
            "Invalid value: failed rule: !has(self.d__dot__e__slash__f) || self.d__dot__e__slash__f > 0",
        ),
    ],
)
def test_broken_rules(spec: dict[str, Any], path: str, detail: str) -> None:
    assert reported(spec) == [(path, detail)]


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"a": 1, "b": 2},
        {"a": 5},
        {"s": "xyz"},
        {"o": {"m": 1, "n": 2}},
        {"l": [{"k": "a", "v": 1}]},
        {"l": []},
        {"mp": {"x": "ok"}},
        {"im": "anything"},
        {"opt": "init"},
        {"ds": {"a-b": 1, "namespace": 1, "x__y": 1, "d.e/f": 1}},
    ],
)
def test_kept_rules(spec: dict[str, Any]) -> None:
    assert reported(spec) == []


def test_transition_rules_compare_with_what_was() -> None:
    assert reported({"im": "x"}, {"im": "x"}) == []
    assert reported({"im": "y"}, {"im": "x"}) == [("spec.im", 'Invalid value: "y": immutable')]
    # Without an old value there is nothing to compare with.
    assert reported({"im": "y"}, {}) == []
    assert reported({}, {"im": "x"}) == []
    assert reported({"opt": "later"}, {"opt": "init"}) == []
    assert reported({"opt": "later"}, {}) == [("spec.opt", 'Invalid value: "later": first init')]


def test_items_of_a_keyed_list_are_matched_by_key() -> None:
    old = {"l": [{"k": "a", "v": 5}, {"k": "b", "v": 1}]}
    assert reported({"l": [{"k": "new", "v": 1}, {"k": "b", "v": 2}, {"k": "a", "v": 5}]}, old) == []
    assert reported({"l": [{"k": "b", "v": 1}, {"k": "a", "v": 4}]}, old) == [
        ("spec.l[1]", "Invalid value: failed rule: self.v >= oldSelf.v")
    ]


def test_what_did_not_change_is_not_asked_again() -> None:
    assert reported({"s": "bad"}, {"s": "bad"}) == []
    assert reported({"s": "worse"}, {"s": "bad"}) != []


def test_rules_are_not_asked_of_what_is_broken_otherwise() -> None:
    assert reported({"s": 5, "a": 2, "b": 1}) == [
        ("spec.s", 'Invalid value: "integer": spec.s in body must be of type string: "integer"'),
        (
            "<nil>",
            "Invalid value: null: some validation rules were not checked because the object was invalid; "
            "correct the existing errors to complete validation",
        ),
    ]


def test_a_rule_at_the_root() -> None:
    schema = parse(ruled(objects(spec=objects(a=INT)), "self.spec.a > 0"))
    assert [str(each) for each in validate({"spec": {"a": 0}}, schema)] == [
        "<nil>: Invalid value: failed rule: self.spec.a > 0"
    ]


# --- the language ------------------------------------------------------------------------------------------


def holds(rule: str, value: Any, schema: dict[str, Any] | None = None) -> bool:
    """Whether a rule holds of a value; an error of the expression fails the test."""
    openapi = schema or {"x-kubernetes-preserve-unknown-fields": True}
    parsed = parse(objects(v=ruled(openapi, rule)))
    errors = cel.check_rules({"v": value}, parsed)
    assert all("evaluating rule" not in each.detail for each in errors), errors
    return not errors


def fails(rule: str, value: Any = 1) -> str:
    """The error of an expression."""
    parsed = parse(objects(v=ruled({"x-kubernetes-preserve-unknown-fields": True}, rule)))
    (error,) = cel.check_rules({"v": value}, parsed)
    assert "evaluating rule" in error.detail
    return error.detail


@pytest.mark.parametrize(
    "rule",
    [
        "[1, 2, 2].isSorted() && ![2, 1].isSorted() && ['a', 'b'].isSorted() && [].isSorted()",
        "[1, 2, 3].sum() == 6 && [1.5, 1.5].sum() == 3.0 && [].sum() == 0",
        "[3, 1, 2].min() == 1 && [3, 1, 2].max() == 3 && ['b', 'a'].min() == 'a'",
        "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(9) == -1",
        "sets.contains([1, 2], [2]) && sets.equivalent([1, 2], [2, 1, 1]) && !sets.intersects([1], [2])",
        "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]+') == ''",
        "'1 22 333'.findAll('[0-9]+') == ['1', '22', '333'] && '1 22 333'.findAll('[0-9]+', 2).size() == 2",
        "'HeLLo'.lowerAscii() == 'hello' && 'hello'.upperAscii() == 'HELLO' && ' x '.trim() == 'x'",
        "'a,b'.split(',') == ['a', 'b'] && 'aa'.replace('a', 'b') == 'bb' && 'abc'.substring(1) == 'bc'",
        "['a', 'b'].join('-') == 'a-b' && 'abc'.indexOf('c') == 2 && 'x'.charAt(0) == 'x'",
        "'aaa'.matches('^a+$') && !'aab'.matches('^a+$')",
        "'%d-%s'.format([1, 'x']) == '1-x'",
        "url('https://u@example.com:80/p%20q?x=1').getHost() == 'example.com:80'",
        "url('https://example.com:80/a').getHostname() == 'example.com' && url('https://h:80/').getPort() == '80'",
        "url('https://h/a/b').getEscapedPath() == '/a/b' && url('https://h').getScheme() == 'https'",
        "isURL('https://x') && !isURL('not a url') && isURL('/path')",
        "isIP('10.0.0.1') && isIP('::1') && !isIP('10.0.0') && ip('::1').family() == 6",
        "ip('127.0.0.1').isLoopback() && ip('10.0.0.1').isGlobalUnicast() && ip('0.0.0.0').isUnspecified()",
        "ip('169.254.0.1').isLinkLocalUnicast() && ip('224.0.0.1').isLinkLocalMulticast()",
        "ip('0:0::1') == ip('::1') && ip.isCanonical('::1') && !ip.isCanonical('0::1')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
        "cidr('10.1.2.3/8').prefixLength() == 8 && cidr('10.1.2.3/8').ip() == ip('10.1.2.3') && !isCIDR('x')",
        "isQuantity('1Gi') && !isQuantity('x') && quantity('1Gi').isGreaterThan(quantity('1G'))",
        "quantity('1000m') == quantity('1') && quantity('500m').isLessThan(quantity('1'))",
        "quantity('1').add(quantity('500m')) == quantity('1.5') && quantity('1').sub(2) == quantity('-1')",
        "quantity('2').compareTo(quantity('1')) == 1 && quantity('-1').sign() == -1 && quantity('0').sign() == 0",
        "quantity('2Ki').asInteger() == 2048 && !quantity('500m').isInteger() && "
        "quantity('500m').asApproximateFloat() == 0.5",
        "cel.bind(x, 2, x + x == 4) && math.greatest(1, 2) == 2",
        "optional.none().orValue(3) == 3 && {'a': 1}.?a.hasValue()",
        "duration('1h') > duration('59m') && timestamp('2024-01-01T00:00:00Z').getFullYear() == 2024",
    ],
)
def test_the_library(rule: str) -> None:
    assert holds(rule, 1)


@pytest.mark.parametrize(
    "rule",
    [
        "quantity('x') == quantity('1')",
        "ip('x') == ip('::1')",
        "cidr('x').prefixLength() == 1",
        "url('%') == url('%')",
        "[].min() == 1",
        "'a'.find('(') == ''",
        "quantity('0.5').asInteger() == 1",
        "self.a.b == 1",
    ],
)
def test_errors_of_expressions_are_complaints(rule: str) -> None:
    assert fails(rule, {"a": 1}).startswith('Invalid value: "object": ')


@pytest.mark.parametrize(
    ("schema", "rule", "value"),
    [
        ({"type": "number"}, "self > 1.5", 2),
        ({"type": "integer"}, "self == 2", 2.0),
        (
            {"type": "string", "format": "date-time"},
            "self > timestamp('2020-01-01T00:00:00Z')",
            "2021-01-01T00:00:00Z",
        ),
        ({"type": "string", "format": "date"}, "self.getDayOfMonth() == 4", "2021-01-05"),
        ({"type": "string", "format": "duration"}, "self == duration('5400s')", "1h30m"),
        ({"type": "string", "format": "byte"}, "self == b'hello'", "aGVsbG8="),
        ({"x-kubernetes-int-or-string": True}, "type(self) == int ? self < 3 : self == '50%'", "50%"),
        ({"x-kubernetes-int-or-string": True}, "type(self) == int ? self < 3 : self == '50%'", 2),
        ({"type": "string", "nullable": True}, "self == 'x'", "x"),
        ({"type": "array", "items": {"type": "string"}}, "self.all(x, x.size() < 3)", ["a", "bb"]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "self.all(k, self[k] > 0)", {"a-b": 1}),
        (
            {"type": "array", "items": objects(n={"type": "number"})},
            "self.exists(x, x.n > 0.5)",
            [{"n": 0}, {"n": 1}],
        ),
    ],
)
def test_values_have_the_types_of_their_schema(schema: dict[str, Any], rule: str, value: Any) -> None:
    assert holds(rule, value, schema)
    assert not holds(f"!({rule})", value, schema)


def test_names_are_escaped() -> None:
    assert escape("plain") == "plain"
    assert escape("a-b.c/d") == "a__dash__b__dot__c__slash__d"
    assert escape("a__b") == "a__underscores__b"
    assert escape("in") == "__in__"
    assert escape("inside") == "inside"
    assert escape("1st") == escape("a$") == escape("") == ""


def test_fields_that_cannot_be_named_do_not_disturb() -> None:
    schema = objects(**{"a$": INT, "b": INT})
    assert holds("self.b == 1", {"a$": 5, "b": 1}, schema)
