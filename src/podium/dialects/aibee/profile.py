"""The profile of ai-scheduler: home first, then what was lent is taken back, then borrowing.

Pools have no limits; capacity is there for pods that name a queue which has one, and leaves the order alone.
"""

from __future__ import annotations

from typing import Any

from podium.core.framework.arguments import Argument, Arguments
from podium.dialects.dialect import BuiltInProfile
from podium.errors import UsageError

Document = dict[str, Any]

PREEMPT_FIRST, BORROW_FIRST = "preempt-first", "borrow-first"
LAST_RESORT, STRICT = "last-resort", "strict"
_TAKING, _BORROWING = "takeback", "borrow"

_TEXT = f"""
actions: "allocate, backfill, {_TAKING}, {_BORROWING}"
tiers:
- plugins:
  - name: priority
    enablePreemptable: false
  - name: gang
- plugins:
  - name: predicates
  - name: nodeowner
  - name: capacity
    enableQueueOrder: false
  - name: nodeorder
"""

OPTIONS = (
    Argument("preemption", True, "pods may push others out of their own pool, where the pool allows it"),
    Argument("order", PREEMPT_FIRST, f"what comes first when a pool is full: {PREEMPT_FIRST} or {BORROW_FIRST}"),
    Argument("takeBackGraceSeconds", 0, "how long a borrower has to end when its place is taken back"),
    Argument("pdb", LAST_RESORT, f"whether disruption budgets are broken as a {LAST_RESORT}, or never: {STRICT}"),
)


def _configure(document: Document, options: Arguments) -> Document:
    preemption = options.values.get("preemption", True)
    if not isinstance(preemption, bool):
        raise UsageError(f"preemption: want true or false, got {preemption!r}")
    order = _one_of(options, "order", (PREEMPT_FIRST, BORROW_FIRST))
    budgets = _one_of(options, "pdb", (LAST_RESORT, STRICT))
    grace = options.values.get("takeBackGraceSeconds", 0)
    if isinstance(grace, bool) or not isinstance(grace, int) or grace < 0:
        raise UsageError(f"takeBackGraceSeconds: want a whole number of seconds, 0 or more, got {grace!r}")
    actions = document.get("actions")
    if isinstance(actions, str):  # what is wrong with others, the reader of profiles says
        document["actions"] = ", ".join(_ordered([each.strip() for each in actions.split(",")], preemption, order))
    if budgets == STRICT and isinstance(document.get("tiers"), list):
        document["tiers"] = [*document["tiers"], {"plugins": [{"name": "pdb"}]}]
    _give(document, _TAKING, "graceSeconds", str(grace))
    return document


def _give(document: Document, action: str, argument: str, value: str) -> None:
    """Tells an action something, beside what the file tells it."""
    given = document.get("configurations") or []
    if not isinstance(given, list):
        return
    own: list[Document] = [each for each in given if isinstance(each, dict) and each.get("name") == action]
    if not own:
        own = [{"name": action}]
        given = [*given, *own]
    arguments = own[-1].get("arguments") or {}
    if isinstance(arguments, dict):
        own[-1]["arguments"] = {argument: value, **arguments}
    document["configurations"] = given


def _ordered(actions: list[str], preemption: bool, order: str) -> list[str]:
    """The actions as the options want them: none that preempts, or borrowing before it."""
    if not preemption:
        return [each for each in actions if each != _TAKING]
    if order == BORROW_FIRST and _TAKING in actions and _BORROWING in actions:
        swapped = {_TAKING: _BORROWING, _BORROWING: _TAKING}
        first = min(actions.index(_TAKING), actions.index(_BORROWING))
        if actions[first] == _TAKING:
            return [swapped.get(each, each) for each in actions]
    return actions


def _one_of(options: Arguments, name: str, known: tuple[str, ...]) -> str:
    given = options.text(name)
    if given not in known:
        raise UsageError(f"{name}: want {' or '.join(known)}, got {given!r}")
    return given


PROFILE = BuiltInProfile(_TEXT, OPTIONS, _configure)
