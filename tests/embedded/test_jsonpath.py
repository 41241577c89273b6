"""JSONPath: what printer columns can say, and what is refused."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from podium.embedded.jsonpath import PathError, compile_path
from podium.embedded.registry import Column
from podium.embedded.tables import custom_printer

DOCUMENT = {
    "spec": {
        "s": "text",
        "i": 42,
        "l": ["a", "b", "c"],
        "m": {"k": "v", "a": 1},
        "deep": {"deepname": "found"},
        "items": [{"name": "x", "n": 1}, {"name": "yy", "n": 2, "flag": True}, {"name": "zz", "n": 3}],
        "odd": ["it's", 'say "hi"', "a]b"],
        "dotted.name": 1,
    },
    "list": [{"type": "Other"}, {"type": "Ready", "reason": "Fine"}],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".", [DOCUMENT]),
        (".spec.s", ["text"]),
        (".spec['s']", ["text"]),
        ('.spec["s"]', ["text"]),
        ("['spec']['s']", ["text"]),
        (".spec['s','i']", ["text", 42]),
        (".spec.dotted\\.name", [1]),
        (".spec['dotted.name']", [1]),
        (".spec.l[0]", ["a"]),
        (".spec.l[-1]", ["c"]),
        (".spec.l[9]", []),
        (".spec.l[0,2]", ["a", "c"]),
        (".spec.l[1:3]", ["b", "c"]),
        (".spec.l[-1:]", ["c"]),
        (".spec.l[::2]", ["a", "c"]),
        (".spec.l[*]", ["a", "b", "c"]),
        (".spec.m.*", [1, "v"]),
        (".spec.s.t", []),
        (".spec.s[0]", []),
        (".spec.m[0]", []),
        ("..deepname", ["found"]),
        (".list[*].type", ["Other", "Ready"]),
        ('.list[?(@.type=="Ready")].reason', ["Fine"]),
        (".list[?(@.type=='Ready')].reason", ["Fine"]),
        ('.list[?( @.type == "Ready" )].reason', ["Fine"]),
        ('.list[?(@.type!="Ready")].type', ["Other"]),
        (".list[?(@.reason)].type", ["Ready"]),
        (".spec.items[?(@.n>1)].name", ["yy", "zz"]),
        (".spec.items[?(@.n>=2)].name", ["yy", "zz"]),
        (".spec.items[?(@.n<2)].name", ["x"]),
        (".spec.items[?(@.n<=2)].name", ["x", "yy"]),
        (".spec.items[?(@.n==2)].name", ["yy"]),
        (".spec.items[?(@.flag==true)].name", ["yy"]),
        (".spec.items[?(@.missing==1)].name", []),
        ('.spec.odd[?(@=="it\'s")]', ["it's"]),
        ('.spec.odd[?(@=="a]b")]', ["a]b"]),
        ('.spec.odd[?(@=="say \\"hi\\"")]', ['say "hi"']),
        (".spec.s[?(@.x==1)]", []),
    ],
)
def test_paths(path: str, found: list[Any]) -> None:
    assert compile_path(path).find(DOCUMENT) == found
    assert compile_path(path).first(DOCUMENT) == (found[0] if found else None)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "spec",
        ".spec[",
        ".spec['s'",
        ".spec[x]",
        ".spec..",
        ".spec.",
        ".a[?(@.b==)]",
        ".a[?(b==1)]",
        ".a b",
        ".[]",
    ],
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(PathError):
        compile_path(path)


def test_values_of_different_types_spoil_the_path() -> None:
    path = compile_path(".l[?(@.n==2)].name")
    document = {"l": [{"n": 2, "name": "a"}, {"n": "2", "name": "b"}]}
    with pytest.raises(PathError):
        path.find(document)
    assert path.first(document) is None


@pytest.mark.parametrize(
    "text",
    [
        ".list[0:2:0]",
        f".list[{'9' * 5000}]",
        f".list[{'9' * 4000}:]",
        f".list[{'9' * 5000}:]",
        ".a" * 5000,
        ".list[?(@.a==1e999)]",
        ".list[²]",
    ],
)
def test_paths_that_no_document_has(text: str) -> None:
    with contextlib.suppress(PathError):
        assert compile_path(text).first({"list": [1, 2, {"a": 1}]}) is None


def test_a_part_that_many_ways_lead_to_is_taken_once() -> None:
    deep: dict[str, object] = {"a": 1}
    for _ in range(150):
        deep = {"a": deep}
    assert compile_path("..a" * 40).first(deep) is not None


def test_objects_of_an_unreadable_column_are_printed_without_it() -> None:
    for path in ("..", ".list[", ".list" + "[?(@.l" * 500 + ")]" * 500):
        printer = custom_printer((Column("A", "string", path),))
        assert [heading.name for heading in printer.headings] == ["Name", "Age"]
