"""The records of the built-in kinds, and that nobody keeps tables of kinds beside them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from podium.embedded.kinds import builtin_kinds
from podium.kube import resources
from podium.kube.resources import Resource

SOURCE = Path(resources.__file__).parent.parent
NAMES = {name for name, value in vars(resources).items() if isinstance(value, Resource)}

# Controllers and kubelets say what they watch, and a new store is given objects of several kinds.
MODULES = [
    path
    for room in ("embedded", "schema")
    for path in sorted((SOURCE / room).rglob("*.py"))
    if not {"controllers", "nodes", "kinds"} & set(path.relative_to(SOURCE).parts[1:-1])
]


def named(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id in ("r", "resources") and node.attr in NAMES
    return isinstance(node, ast.Name) and node.id in NAMES


def tables_of_kinds(text: str) -> list[int]:
    """The lines at which a dict or a set has built-in resources for keys."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Dict) and any(map(named, node.keys)))
        or (isinstance(node, ast.Set) and any(map(named, node.elts)))
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_what_is_particular_to_a_kind_stands_in_its_record(path: Path) -> None:
    assert tables_of_kinds(path.read_text()) == []


def test_a_table_of_kinds_is_noticed() -> None:
    assert tables_of_kinds("A = {r.PODS: 1}\nB = {LEASES, NODES}\nC = {r.other: 1}\nD = (r.PODS,)") == [1, 2]


def test_every_kind_has_one_record() -> None:
    served = [kind.resource for kind in builtin_kinds()]
    assert len(served) == len(set(served))
    assert set(served) == {getattr(resources, name) for name in NAMES}


def test_records_are_in_the_order_of_discovery() -> None:
    """Group by group, as a real server lists them; by name in each."""
    groups: list[str] = []
    plurals: dict[str, list[str]] = {}
    for kind in builtin_kinds():
        if kind.resource.group not in groups:
            groups.append(kind.resource.group)
        plurals.setdefault(kind.resource.group, []).append(kind.resource.plural)
    assert groups[:5] == ["", "apps", "events.k8s.io", "batch", "networking.k8s.io"]
    assert all(names == sorted(names) for names in plurals.values())
    flat = [kind.resource.group for kind in builtin_kinds()]
    assert [group for group, after in zip(flat, [*flat[1:], None], strict=True) if group != after] == groups
