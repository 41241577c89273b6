"""Tables: the recorded cells, the frame around them, and the columns of custom resources."""

from __future__ import annotations

from typing import Any

import pytest

from podium.embedded import tables
from podium.embedded.kinds import builtin_kinds
from podium.embedded.printers.cells import human_duration
from podium.embedded.registry import Column, Kind
from podium.kube import resources as r
from podium.kube.resources import Resource
from podium.kube.times import format_time
from podium.schema.model import Schema
from tests.embedded.table_cases import AGE, Case, Document, table_cases

NOW = 1_800_000_000.0
BUILTIN = {kind.resource: kind for kind in builtin_kinds() if "get" in kind.verbs}
CASES = table_cases(NOW)


def stored(case: Case) -> Document:
    """A case's object as it stands in the store."""
    metadata = {**case.object["metadata"], "creationTimestamp": format_time(NOW - AGE), "resourceVersion": "7"}
    if case.deleting:
        metadata["deletionTimestamp"] = format_time(NOW)
    return {**case.object, "metadata": metadata}


def one_row(kind: Kind, document: Document, **options: Any) -> Document:
    table = tables.table(kind, [document], now=NOW, resource_version="7", **options)
    (row,) = table["rows"]
    return dict(row)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind.resource.group_resource}/{case.name}")
def test_cells_are_those_of_a_real_server(case: Case) -> None:
    assert one_row(case.kind, stored(case))["cells"] == case.cells


def test_every_kind_is_among_the_cases() -> None:
    assert {case.kind.resource for case in CASES} == set(BUILTIN)


@pytest.mark.parametrize("kind", BUILTIN.values(), ids=lambda kind: kind.resource.group_resource)
def test_an_object_with_nothing_but_a_name_can_be_printed(kind: Kind) -> None:
    printer = tables.printer_of(kind)
    cells = one_row(kind, {"metadata": {"name": "x"}})["cells"]
    assert len(cells) == len(printer.headings)
    # A bookmark of a watch has not even a name.
    assert len(one_row(kind, {"metadata": {"resourceVersion": "9"}})["cells"]) == len(printer.headings)


def test_frame() -> None:
    document = {"metadata": {"name": "a", "namespace": "n", "labels": {"x": "y"}}, "data": {"k": "v"}}
    table = tables.table(
        BUILTIN[r.CONFIGMAPS], [document], now=NOW, resource_version="12", continue_token="abc", remaining=3
    )
    assert table["kind"] == "Table"
    assert table["apiVersion"] == "meta.k8s.io/v1"
    assert table["metadata"] == {"resourceVersion": "12", "continue": "abc", "remainingItemCount": 3}
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    first = table["columnDefinitions"][0]
    assert (first["type"], first["format"], first["priority"]) == ("string", "name", 0)
    assert table["rows"] == [
        {
            "cells": ["a", 1, "<unknown>"],
            "object": {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": document["metadata"],
            },
        }
    ]


def test_what_a_row_carries() -> None:
    document = {"metadata": {"name": "a"}, "data": {}}
    kind = BUILTIN[r.CONFIGMAPS]
    assert one_row(kind, document, include="Object")["object"] == document
    assert one_row(kind, document, include="None")["object"] is None
    assert one_row(kind, document, version="v1beta1")["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


def test_an_empty_table_still_has_headings() -> None:
    table = tables.table(BUILTIN[r.PODS], [], now=NOW, resource_version="1")
    assert table["rows"] == []
    assert len(table["columnDefinitions"]) == 9


def test_only_the_first_event_of_a_watch_has_headings() -> None:
    document = {"metadata": {"name": "a", "resourceVersion": "44"}}
    first, second = (
        tables.table_event_row(BUILTIN[r.CONFIGMAPS], document, now=NOW, first=first) for first in (True, False)
    )
    assert len(first["columnDefinitions"]) == 3
    assert second["columnDefinitions"] is None
    assert first["metadata"] == second["metadata"] == {"resourceVersion": "44"}


@pytest.mark.parametrize(("phase", "marked"), [("Succeeded", True), ("Failed", True), ("Running", False)])
def test_rows_of_finished_pods_are_marked(phase: str, marked: bool) -> None:
    row = one_row(BUILTIN[r.PODS], {"metadata": {"name": "x"}, "status": {"phase": phase}})
    found = [(c["type"], c["status"], c["reason"]) for c in row.get("conditions", [])]
    assert found == ([("Completed", "True", phase)] if marked else [])


def test_wide_columns_of_pods_and_nodes() -> None:
    for resource, wide in (
        (r.PODS, ["IP", "Node", "Nominated Node", "Readiness Gates"]),
        (r.NODES, ["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"]),
    ):
        headings = tables.printer_of(BUILTIN[resource]).headings
        assert [heading.name for heading in headings if heading.priority] == wide


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1.5, "0s"),
        (0, "0s"),
        (59.9, "59s"),
        (119, "119s"),
        (120, "2m"),
        (330, "5m30s"),
        (599, "9m59s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (11520, "3h12m"),
        (28799, "7h59m"),
        (28800, "8h"),
        (172799, "47h"),
        (172800, "2d"),
        (187200, "2d4h"),
        (691199, "7d23h"),
        (691200, "8d"),
        (63071999, "729d"),
        (63072000, "2y"),
        (63158400, "2y1d"),
        (252287999, "7y364d"),
        (252288000, "8y"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


# --- custom resources --------------------------------------------------------------------------------------

WIDGETS = Resource("acme.dev", "v1", "widgets", "Widget")


def widgets(*columns: Column) -> Kind:
    return Kind(WIDGETS, Schema(type="object"), WIDGETS, "widget", custom=True, columns=columns)


WIDGET = {
    "metadata": {
        "name": "one",
        "creationTimestamp": format_time(NOW - AGE),
        "annotations": {"acme.dev/x": "hello"},
    },
    "spec": {
        "s": "text",
        "i": 42,
        "f": 1.5,
        "big": 1234567.25,
        "b": True,
        "m": {"k": "v", "a": [1, 2.5, None, "<x>"]},
        "l": ["a", "b", "c"],
        "nul": None,
        "d": format_time(NOW - 200),
        "empty": "",
    },
    "status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]},
}


@pytest.mark.parametrize(
    ("kind", "path", "cell"),
    [
        ("string", ".spec.s", "text"),
        ("string", ".spec.i", "42"),
        ("string", ".spec.f", "1.5"),
        ("string", ".spec.big", "1.23456725e+06"),
        ("string", ".spec.b", "true"),
        ("string", ".spec.m", '{"a":[1,2.5,null,"\\u003cx\\u003e"],"k":"v"}'),
        ("string", ".spec.l", '["a","b","c"]'),
        ("string", ".spec.nul", None),
        ("string", ".spec.missing.deep", None),
        ("string", ".spec.empty", ""),
        ("string", ".spec.l[*]", "a"),
        ("string", '.status.conditions[?(@.type=="Ready")].status', "True"),
        ("string", '.status.conditions[?(@.type=="Nope")].status', None),
        ("string", ".metadata.annotations['acme\\.dev/x']", "hello"),
        ("integer", ".spec.i", 42),
        ("integer", ".spec.f", 1),
        ("integer", ".spec.s", None),
        ("integer", ".spec.b", None),
        ("number", ".spec.f", 1.5),
        ("number", ".spec.i", 42),
        ("boolean", ".spec.b", True),
        ("boolean", ".spec.s", None),
        ("date", ".spec.d", "3m20s"),
        ("date", ".spec.s", "<invalid>"),
        ("date", ".spec.empty", "<unknown>"),
        ("date", ".spec.i", None),
    ],
)
def test_cells_of_custom_columns_are_those_of_a_real_server(kind: str, path: str, cell: Any) -> None:
    row = one_row(widgets(Column("C", kind, path)), WIDGET)
    assert row["cells"] == ["one", cell]
    assert type(row["cells"][1]) is type(cell)


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0"), (-2.0, "-2"), (0.0001, "0.0001"), (0.00001, "1e-05"), (999999.5, "999999.5"), (1e6, "1e+06")],
)
def test_floats_as_text(number: float, text: str) -> None:
    row = one_row(widgets(Column("C", "string", ".n")), {"metadata": {"name": "x"}, "n": number})
    assert row["cells"][1] == text


def test_custom_resources_without_columns_show_their_age() -> None:
    table = tables.table(widgets(), [WIDGET], now=NOW, resource_version="1")
    assert [(c["name"], c["type"]) for c in table["columnDefinitions"]] == [("Name", "string"), ("Age", "date")]
    assert table["rows"][0]["cells"] == ["one", "5m"]


def test_headings_of_custom_columns() -> None:
    kind = widgets(Column("Wide", "string", ".spec.s", "mine", 1, "byte"), Column("Plain", "integer", ".spec.i"))
    _, wide, plain = tables.printer_of(kind).headings
    assert wide.document() == {
        "name": "Wide",
        "type": "string",
        "format": "byte",
        "description": "mine",
        "priority": 1,
    }
    assert ".spec.i" in plain.description
