"""The profile of Koordinator's scheduler: gangs by priority, age and name, and preemption by whole gangs."""

from __future__ import annotations

from podium.core.framework.arguments import Arguments
from podium.dialects.dialect import BuiltInProfile, Document
from podium.dialects.koordinator.options import OPTIONS, read_options


def _checked(document: Document, options: Arguments) -> Document:
    """The options are read with the gangs; here only what is wrong with them is told."""
    read_options(options)
    return document


PROFILE = BuiltInProfile(
    """
actions: "enqueue, allocate, backfill, gangpreempt"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
    enableJobOrder: false
  - name: conformance
- plugins:
  - name: predicates
  - name: capacity
  - name: nodeorder
""",
    options=OPTIONS,
    configure=_checked,
)
