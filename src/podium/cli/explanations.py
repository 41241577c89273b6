"""An explanation as text: the sentence first, since many will read no further."""

from __future__ import annotations

from collections.abc import Iterator

from podium.cli.printing import age, columns
from podium.explain.answers import Explanation, GangView, Position, QueueStanding, RemedyView

_INDENT = "  "
_MEMBERS = 8
_COMMANDS = 3


def text_of(answer: Explanation, now: float, width: int = 0) -> str:
    """Everything there is to say, part after part."""
    waited = f" waits for {age(now - answer.since)}" if answer.since and answer.state == "waiting" else ""
    parts = [f"{answer.object}{waited}: {answer.sentence}"]
    if answer.funnel is not None:
        funnel = answer.funnel
        lines = [f"nodes: {funnel.nodes}, of which {funnel.matching} match"]
        lines += [f"{_INDENT}{out.nodes:>5}  {out.message}" for out in funnel.out]
        parts.append("\n".join(lines))
    parts += [_gang(gang) for gang in answer.gangs if len(gang.members) > 1 or gang.need > 1][:3]
    if answer.queue is not None and answer.queue.amounts:
        parts.append(_queue(answer.queue))
    if answer.position is not None and answer.position.of > 1:
        parts.append(_position(answer.position, now))
    if answer.remedies:
        parts.append("\n".join(_remedies(answer.remedies, width)))
    elif answer.hint and answer.state == "waiting":
        parts.append(f"what to do: {answer.hint}")
    if answer.cut:
        what = "less may be enough" if answer.remedies else "something may help that has not been tried"
        parts.append(f"the search for what would help ended early, as it takes long here: {what}")
    return "\n\n".join(parts)


def _gang(gang: GangView) -> str:
    lines = [f"gang {gang.namespace}/{gang.name}: needs {gang.need} members, {gang.placed} have places"]
    if gang.together:
        lines[0] += f"; starts together with {', '.join(gang.together)}"
    lines += [
        f"{_INDENT}{member.pod}  {member.state}{'  ' + member.node if member.node else ''}"
        for member in gang.members[:_MEMBERS]
    ]
    if len(gang.members) > _MEMBERS:
        lines.append(f"{_INDENT}and {len(gang.members) - _MEMBERS} others")
    return "\n".join(lines)


def _queue(queue: QueueStanding) -> str:
    state = "" if queue.open else ", closed"
    weight = f", weight {queue.weight} of {queue.weights}" if queue.weights else ""
    head = f"queue {queue.name}{state}{weight}: {queue.running} run, {queue.waiting} wait"
    rows = [
        (
            _INDENT + each.resource,
            each.used,
            each.deserved,
            each.borrowed,
            each.limit if each.limit is not None else "-",
            each.waiting,
        )
        for each in queue.amounts
    ]
    return f"{head}\n{columns((_INDENT + 'RESOURCE', 'USED', 'DESERVED', 'BORROWED', 'LIMIT', 'WAITING'), rows)}"


def _position(position: Position, now: float) -> str:
    lines = [f"in line: {position.position} of {position.of}" + (", ahead are" if position.ahead else "")]
    for each in position.ahead:
        asks = ", ".join(f"{amount} {name}" for name, amount in each.asks.items())
        lines.append(f"{_INDENT}{each.namespace}/{each.name}  asks for {asks}, since {age(now - each.since)}")
    if position.position - 1 > len(position.ahead) > 0:
        lines.append(f"{_INDENT}and {position.position - 1 - len(position.ahead)} others")
    return "\n".join(lines)


def _remedies(remedies: tuple[RemedyView, ...], width: int) -> Iterator[str]:
    yield "what would unblock it (each was tried on a copy of the cluster's model):"
    for number, remedy in enumerate(remedies, start=1):
        yield f"{_INDENT}{number}. {remedy.sentence}"
        whole = len(remedy.commands) <= _COMMANDS
        for command in remedy.commands[: None if whole else _COMMANDS - 1]:
            yield f"{_INDENT}     {command}"
        if not whole:
            more = len(remedy.commands) - _COMMANDS + 1
            yield f"{_INDENT}     and {more} more commands like it: -o json has them all"
