"""Entries of the decision log in words."""

from __future__ import annotations

from typing import Any

from podium.engine import decision_log
from podium.engine.decision_log import Entry

# A row of the journal; `number` is an entry's own, and stays when it is refused again.
FIELDS = (
    "number",
    "kind",
    "turn",
    "at",
    "last",
    "last_turn",
    "times",
    "profile",
    "job",
    "namespace",
    "name",
    "text",
)

Row = list[Any]


def row(entry: Entry, job: int) -> Row:
    return [
        entry.number, entry.kind, entry.turn, round(entry.at, 2), round(entry.last, 2), entry.last_turn,
        entry.times, entry.profile, job, entry.namespace, entry.name, sentence(entry),
    ]  # fmt: skip


def sentence(entry: Entry) -> str:
    """What was decided, with its numbers."""
    count, members = entry.count, entry.members
    match entry.kind:
        case decision_log.BIND:
            of = f" of {members}" if members > 1 else ""
            return f"bound {count}{of} {_pods(max(count, members))} to {_nodes(entry)}"
        case decision_log.RESERVE:
            return f"holds {count} {_places(count)} on {_nodes(entry)} until its gang is whole"
        case decision_log.RELEASE:
            return f"gave {count} held {_places(count)} back: {entry.why}"
        case decision_log.RESIZE:
            return f"is to have {members} {_pods(members)}"
        case decision_log.NOMINATE:
            return f"{count} {_pods(count)} wait{'s' if count == 1 else ''} for room on {_nodes(entry)}"
        case decision_log.EVICT:
            return f"{count} {_pods(count)} must go: {entry.why}"
        case decision_log.PHASE:
            return "was let in: its pods may be placed"
        case decision_log.REFUSE | decision_log.QUEUE:
            return str(entry.refusal)
    return entry.why


def why(entry: Entry) -> list[str]:
    """A refusal as pages show it: the reason's code, the sentence, and what to do."""
    assert entry.refusal is not None
    return [entry.refusal.code, str(entry.refusal), entry.refusal.reason.hint]


def _nodes(entry: Entry) -> str:
    named = ", ".join(entry.nodes)
    return named if entry.count <= len(entry.nodes) or len(entry.nodes) == 1 else f"{named} and others"


def _pods(count: int) -> str:
    return "pod" if count == 1 else "pods"


def _places(count: int) -> str:
    return "place" if count == 1 else "places"
