"""Label and field selectors, compiled to functions.

Selectors come as text (`app=web,tier in (a,b),!canary,gen>3`) in list and watch requests, and as LabelSelector
objects in specs.  Both become a `LabelMatch`: a list of requirements for those who index, and a function on a
label map for everybody else.  Field selectors (`status.phase!=Running`) only name paths, since each kind decides
which paths it serves and where it keeps their values.  Node selector terms are the third family, with numbers
and with the node's name as a field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from podium.kube import fields, wire
from podium.kube.names import check_label_value, check_qualified_name

Labels = Mapping[str, str]
_NO_LABELS: Labels = {}


class SelectorError(ValueError):
    """A selector that cannot be read, in the API server's words."""


class Requirement(msgspec.Struct, frozen=True):
    """One condition on one label.  `operator` is one of = != in notin exists !exists > <."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!exists":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(sorted(self.values))})"
        return f"{self.key}{self.operator}{self.values[0]}"


class LabelMatch:
    """A compiled label selector: call it with a label map.  `str()` gives the canonical text."""

    __slots__ = ("_tests", "nothing", "requirements")

    def __init__(self, requirements: Iterable[Requirement] = (), *, nothing: bool = False) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda each: each.key))
        self.nothing = nothing
        self._tests = tuple(_test(each) for each in self.requirements)

    def __call__(self, labels: Labels | None) -> bool:
        if self.nothing:
            return False
        present = labels or _NO_LABELS
        return all(test(present) for test in self._tests)

    @property
    def everything(self) -> bool:
        """Whether any labels at all will do."""
        return not self.nothing and not self.requirements

    def __str__(self) -> str:
        return ",".join(str(each) for each in self.requirements)


EVERYTHING = LabelMatch()
NOTHING = LabelMatch(nothing=True)


# --- label selectors as text -------------------------------------------------------------------------------

_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^\s=!(),<>]+")
_SIGNS = frozenset(("==", "!=", "=", "!", "(", ")", ",", "<", ">", ""))
_BINARY = {"=": "=", "==": "=", "!=": "!=", "in": "in", "notin": "notin", ">": ">", "<": "<"}


@lru_cache(maxsize=1024)
def parse_labels(text: str) -> LabelMatch:
    """Compiles a label selector's text; an empty text matches everything."""
    tokens = _TOKEN.findall(text)
    # The end reads as an empty token; the lookahead never passes a second one.
    tokens += ["", ""]
    requirements: list[Requirement] = []
    at = 0
    while tokens[at]:
        if tokens[at] in _SIGNS and tokens[at] != "!":
            raise SelectorError(f"found '{tokens[at]}', expected: !, identifier, or 'end of string'")
        try:
            requirement, at = _parse_requirement(tokens, at)
        except SelectorError as error:
            raise SelectorError(f"unable to parse requirement: {error}") from None
        requirements.append(requirement)
        if tokens[at] == ",":
            at += 1
            if tokens[at] in _SIGNS and tokens[at] != "!":
                raise SelectorError(f"found '{tokens[at]}', expected: identifier after ','")
        elif tokens[at]:
            raise SelectorError(f"found '{tokens[at]}', expected: ',' or 'end of string'")
    return LabelMatch(requirements) if requirements else EVERYTHING


def _parse_requirement(tokens: list[str], at: int) -> tuple[Requirement, int]:
    """One requirement from `at` on, and where it ends."""
    negated = tokens[at] == "!"
    at += negated
    key = tokens[at]
    if key in _SIGNS:
        raise SelectorError(f"found '{key}', expected: identifier")
    if problem := check_qualified_name(key):
        raise SelectorError(f"<nil>: Invalid value: {fields.show(key)}: {problem}")
    at += 1
    if negated:
        return Requirement(key, "!exists"), at
    sign = tokens[at]
    if sign in ("", ","):
        return Requirement(key, "exists"), at
    operator = _BINARY.get(sign)
    if operator is None:
        raise SelectorError(f"found '{sign}', expected: in, notin, =, ==, !=, gt, lt")
    at += 1
    if operator in ("in", "notin"):
        values, at = _parse_values(tokens, at)
    elif tokens[at] in ("", ","):
        values = ("",)
    elif tokens[at] in _SIGNS:
        raise SelectorError(f"found '{tokens[at]}', expected: identifier")
    else:
        values, at = (tokens[at],), at + 1
    return _checked(Requirement(key, operator, values)), at


def _parse_values(tokens: list[str], at: int) -> tuple[tuple[str, ...], int]:
    """A parenthesised set.  An empty place between commas is the empty value."""
    if tokens[at] != "(":
        raise SelectorError(f"found '{tokens[at]}' expected: '('")
    at += 1
    if tokens[at] in _SIGNS and tokens[at] not in (",", ")"):
        raise SelectorError(f"found '{tokens[at]}', expected: ',', ')' or identifier")
    values: set[str] = set()
    while True:
        if tokens[at] in _SIGNS:
            values.add("")
        else:
            values.add(tokens[at])
            at += 1
        if tokens[at] == ")":
            return tuple(sorted(values)), at + 1
        if tokens[at] != ",":
            raise SelectorError(f"found '{tokens[at]}', expected: ',' or ')'")
        at += 1


# --- LabelSelector objects ---------------------------------------------------------------------------------

_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!exists"}


def from_selector(selector: wire.LabelSelector | Mapping[str, Any] | None) -> LabelMatch:
    """Compiles a LabelSelector: no selector matches nothing, an empty one matches everything."""
    if selector is None:
        return NOTHING
    if not isinstance(selector, wire.LabelSelector):
        try:
            selector = msgspec.convert(selector, wire.LabelSelector)
        except msgspec.ValidationError as error:
            raise SelectorError(f"not a label selector: {error}") from None
    requirements = [_checked(requirement) for requirement in _requirements(selector)]
    return LabelMatch(requirements) if requirements else EVERYTHING


def from_labels(labels: Labels | None) -> LabelMatch:
    """Compiles a plain map of labels, as Services and replication controllers use it."""
    return LabelMatch(Requirement(key, "=", (value,)) for key, value in (labels or _NO_LABELS).items())


def format_selector(selector: wire.LabelSelector | Mapping[str, Any] | None) -> str:
    """A LabelSelector as text, as the scale subresource shows it."""
    return str(from_selector(selector))


def _requirements(selector: wire.LabelSelector) -> Iterable[Requirement]:
    for key, value in (selector.match_labels or _NO_LABELS).items():
        yield Requirement(key, "=", (value,))
    for each in selector.match_expressions or ():
        operator = _OPERATORS.get(each.operator)
        if operator is None:
            raise SelectorError(f"{fields.show(each.operator)} is not a valid label selector operator")
        yield Requirement(each.key, operator, tuple(each.values or ()))


def _checked(requirement: Requirement) -> Requirement:
    """The same requirement, if its key and its values are ones that an object could carry."""
    key, operator, values = requirement.key, requirement.operator, requirement.values
    if problem := check_qualified_name(key):
        raise SelectorError(f"key: Invalid value: {fields.show(key)}: {problem}")
    if operator in ("in", "notin") and not values:
        raise SelectorError("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")
    if operator in ("exists", "!exists") and values:
        detail = "values set must be empty for exists and does not exist"
        raise SelectorError(f"values: Invalid value: {fields.show(list(values))}: {detail}")
    if operator in (">", "<") and _integer(values[0]) is None:
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        raise SelectorError(f"values[0]: Invalid value: {fields.show(values[0])}: {detail}")
    for index, value in enumerate(values):
        if problem := check_label_value(value):
            raise SelectorError(f"values[{index}][{key}]: Invalid value: {fields.show(value)}: {problem}")
    return requirement


def _test(requirement: Requirement) -> Callable[[Labels], bool]:
    key, values = requirement.key, requirement.values
    match requirement.operator:
        case "exists":
            return lambda labels: key in labels
        case "!exists":
            return lambda labels: key not in labels
        case "=":
            only = values[0]
            return lambda labels: labels.get(key) == only
        case "!=":
            only = values[0]
            return lambda labels: labels.get(key) != only
        case "in":
            wanted = frozenset(values)
            return lambda labels: labels.get(key) in wanted
        case "notin":
            unwanted = frozenset(values)
            return lambda labels: labels.get(key) not in unwanted
    bound = _integer(values[0])
    greater = requirement.operator == ">"

    def compare(labels: Labels) -> bool:
        number = _integer(labels.get(key, ""))
        if number is None or bound is None:
            return False
        return number > bound if greater else number < bound

    return compare


_is_integer = re.compile(r"[+-]?[0-9]+").fullmatch


def _integer(text: str) -> int | None:
    """A 64-bit integer, or None."""
    # The length bound keeps a label of many digits from becoming an expensive number.
    if len(text) > 63 or not _is_integer(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


# --- field selectors ---------------------------------------------------------------------------------------


class FieldRequirement(msgspec.Struct, frozen=True):
    """One condition on one field.  `operator` is = or !=."""

    path: str
    operator: str
    value: str


class FieldMatch:
    """A compiled field selector: call it with a function that gives the value at a path."""

    __slots__ = ("requirements",)

    def __init__(self, requirements: Iterable[FieldRequirement] = ()) -> None:
        self.requirements = tuple(requirements)

    def __call__(self, value_at: Callable[[str], str]) -> bool:
        return all((value_at(each.path) == each.value) == (each.operator == "=") for each in self.requirements)

    @property
    def everything(self) -> bool:
        return not self.requirements

    def exact(self, path: str) -> str | None:
        """The one value that `path` must have, if the selector asks for one: a list can then become a get."""
        for each in self.requirements:
            if each.path == path and each.operator == "=":
                return each.value
        return None

    def unsupported(self, supported: Iterable[str]) -> str | None:
        """The first path that is not among those a kind serves."""
        known = frozenset(supported)
        return next((each.path for each in self.requirements if each.path not in known), None)

    def __str__(self) -> str:
        return ",".join(f"{each.path}{each.operator}{_escape(each.value)}" for each in self.requirements)


_TERM = re.compile(r"(?:\\.|[^\\,])+\\?", re.DOTALL)
_FIELD_OPERATOR = re.compile(r"!=|==|=")
_ESCAPED = re.compile(r"\\(.?)|[,=]", re.DOTALL)


@lru_cache(maxsize=1024)
def parse_fields(text: str) -> FieldMatch:
    """Compiles a field selector's text.  Backslash, comma and equals sign are escaped in values."""
    requirements = []
    for term in sorted(_TERM.findall(text)):
        found = _FIELD_OPERATOR.search(term)
        if found is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
        operator = "!=" if found[0] == "!=" else "="
        value = _ESCAPED.sub(_unescape, term[found.end() :])
        requirements.append(FieldRequirement(term[: found.start()], operator, value))
    return FieldMatch(requirements)


def _unescape(found: re.Match[str]) -> str:
    if not found[0].startswith("\\"):
        raise SelectorError(f"invalid field selector: unescaped character in value: {ord(found[0])}")
    if found[1] not in ("\\", ",", "="):
        raise SelectorError(f"invalid field selector: invalid escape sequence: {found[0]}")
    return found[1]


def _escape(value: str) -> str:
    return re.sub(r"[\\,=]", r"\\\g<0>", value)


# --- node selector terms -----------------------------------------------------------------------------------

_NODE_OPERATORS = {**_OPERATORS, "Gt": ">", "Lt": "<"}


def matches_node_terms(
    terms: Iterable[wire.NodeSelectorTerm | Mapping[str, Any]] | None, labels: Labels | None, node_name: str
) -> bool:
    """Whether a node satisfies one of the terms.

    A term is the conjunction of its label expressions and of its fields (only `metadata.name`).  No terms, and a
    term without conditions, match no node; neither does a term with a condition that makes no sense.
    """
    for term in terms or ():
        test = compile_node_term(term)
        if test is not None and test(labels or _NO_LABELS, node_name):
            return True
    return False


NodeTest = Callable[[Labels, str], bool]


def compile_node_term(term: wire.NodeSelectorTerm | Mapping[str, Any]) -> NodeTest | None:
    """One term as a function of a node's labels and name; None for a term that can match no node."""
    if not isinstance(term, wire.NodeSelectorTerm):
        try:
            term = msgspec.convert(term, wire.NodeSelectorTerm)
        except msgspec.ValidationError:
            return None
    on_labels: list[Callable[[Labels], bool]] = []
    on_fields: list[Callable[[Labels], bool]] = []
    for each in term.match_expressions or ():
        operator = _NODE_OPERATORS.get(each.operator)
        values = tuple(each.values or ())
        if operator is None or not _fits(operator, values):
            return None
        on_labels.append(_test(Requirement(each.key, operator, values)))
    for each in term.match_fields or ():
        values = tuple(each.values or ())
        if each.key != "metadata.name" or each.operator not in ("In", "NotIn") or len(values) != 1:
            return None
        on_fields.append(_test(Requirement(each.key, _OPERATORS[each.operator], values)))
    if not on_labels and not on_fields:
        return None

    def matches(labels: Labels, node_name: str) -> bool:
        if on_fields:
            name = {"metadata.name": node_name}
            if not all(test(name) for test in on_fields):
                return False
        return all(test(labels) for test in on_labels)

    return matches


def _fits(operator: str, values: tuple[str, ...]) -> bool:
    """Whether an operator takes these values."""
    match operator:
        case "in" | "notin":
            return bool(values)
        case ">" | "<":
            return len(values) == 1 and _integer(values[0]) is not None
    return not values
