"""How the records of built-in kinds are written."""

from __future__ import annotations

from podium.embedded.printers.cells import Printer
from podium.embedded.registry import ALL_VERBS, Kind, ScalePaths, Strategy
from podium.kube.resources import Resource
from podium.schema.builtin import schema_of
from podium.schema.rules import Rules

# The selector of a built-in workload is a structure in its spec, not the text that a custom resource keeps.
SCALE = ScalePaths(selector=".spec.selector")

ALL = ("all",)  # the category of what `kubectl get all` shows

# Most kinds need nothing here.
_NO_RULES, _PLAIN = Rules(), Strategy()


def builtin(
    resource: Resource,
    *short_names: str,
    singular: str = "",
    categories: tuple[str, ...] = (),
    verbs: tuple[str, ...] = ALL_VERBS,
    storage: Resource | None = None,
    status: bool = False,
    scale: ScalePaths | None = None,
    subresources: tuple[str, ...] = (),
    to_processes: frozenset[str] = frozenset(),
    selectable_fields: tuple[str, ...] = (),
    rules: Rules = _NO_RULES,
    strategy: Strategy = _PLAIN,
    printer: Printer | None = None,
) -> Kind:
    """A record: its schema is the table of this name, and it is stored under its own name if it says no other."""
    return Kind(
        resource=resource,
        schema=schema_of(resource),
        storage=storage or resource,
        singular=singular or resource.kind.lower(),
        short_names=short_names,
        categories=categories,
        verbs=verbs,
        status=status,
        scale=scale,
        subresources=subresources,
        to_processes=to_processes,
        selectable_fields=selectable_fields,
        rules=rules,
        strategy=strategy,
        printer=printer,
    )
