"""What Koordinator's debug service tells of gangs, as pages of the health address.

/gangs                                                  all gangs, by namespace and name
/gang/<namespace>/<name>                                one of them
/apis/v1/plugins/Coscheduling/gangs, .../gang/<namespace>/<name>     the same at its old place
"""

from __future__ import annotations

from collections.abc import Sequence

from podium.core.model import quorum
from podium.core.model.model import PLACED, Gang, State
from podium.dialects.dialect import Document
from podium.dialects.koordinator.gangs import FROM, FROM_PODS, TOTAL
from podium.dialects.koordinator.names import PREFIX, gang_id
from podium.dialects.koordinator.options import MODE_NAMES, POLICY_NAMES
from podium.kube.times import format_time

_SERVICE = "/apis/v1/plugins/Coscheduling"
# Gangs of one group that are named with each of them: a list of thousands, with thousands of them, has no end.
_MOST_NAMED = 100

_ALL, _PENDING, _WAITING = (
    frozenset(State),
    frozenset({State.PENDING, State.PIPELINED}),
    frozenset({State.RESERVED}),
)
_BOUND = PLACED | {State.SUCCEEDED}


def page(path: str, gangs: dict[str, Gang]) -> Document | None:
    """The page of a path; None if there is none."""
    path = path.removeprefix(_SERVICE)
    parts = path.split("/")
    one = gangs.get(gang_id(parts[2], parts[3])) if len(parts) == 4 and parts[1] == "gang" else None
    if one is None and path != "/gangs":
        return None
    own = {id: gang for id, gang in gangs.items() if id.startswith(PREFIX)}
    infos = {
        each.id: info
        for group in quorum.components((each for each in own.values() if each.together), gangs.get)
        for info in (_group(group),)
        for each in group
    }
    if one is not None:
        return _gang(one, infos.get(one.id))
    return {id.removeprefix(PREFIX): _gang(gang, infos.get(id)) for id, gang in sorted(own.items())}


def _gang(gang: Gang, group: Document | None) -> Document:
    """One gang, with what is told of its group; None for a gang that is alone.

    One of which nobody has said yet how many start together is shown as its pods, which are collected.
    """
    name, known = gang.id.removeprefix(PREFIX), FROM in gang.attributes
    together = (name, *(id.removeprefix(PREFIX) for id in gang.together))
    return {
        "name": name,
        "waitTime": int((gang.waiting_time or 0.0) * 1e9),
        "createTime": format_time(gang.created),
        "mode": MODE_NAMES[gang.mode],
        "gangMatchPolicy": POLICY_NAMES[gang.match],
        "minRequiredNumber": gang.minimum if known else 0,
        "totalChildrenNum": int(gang.attributes.get(TOTAL, gang.minimum)) if known else 0,
        "gangGroup": sorted(set(together[:_MOST_NAMED])),
        "children": _named(gang, _ALL),
        "pendingChildren": _named(gang, _PENDING),
        "waitingForBindChildren": _named(gang, _WAITING),
        "boundChildren": _named(gang, _BOUND),
        "onceResourceSatisfied": known and _satisfied(gang),
        "scheduleCycle": gang.cycle.number,
        "scheduleCycleValid": gang.cycle.valid,
        "childrenScheduleRoundMap": _rounds(gang),
        "gangGroupInfo": group if group is not None else _group([gang] if known else []),
        "gangFrom": gang.attributes.get(FROM, FROM_PODS),
        "hasGangInit": known,
    }


def _group(group: Sequence[Gang]) -> Document:
    """What all gangs of a group say of it: the first of them by name, if there are very many."""
    told = sorted(group, key=lambda each: (each.namespace, each.name))[:_MOST_NAMED]
    return {
        "gangGroupId": ",".join(each.id.removeprefix(PREFIX) for each in told),
        "onceResourceSatisfied": bool(group) and all(map(_satisfied, group)),
        "scheduleCycle": max((each.cycle.number for each in group), default=1),
        "scheduleCycleValid": all(each.cycle.valid for each in group),
        "childrenScheduleRoundMap": {name: cycle for each in told for name, cycle in _rounds(each).items()},
    }


def _satisfied(gang: Gang) -> bool:
    """Whether its minimum was bound once; of gangs to which that means nothing, whether it is bound now."""
    return gang.satisfied_once or (gang.count(PLACED) > 0 and quorum.bound_enough(gang))


def _named(gang: Gang, states: frozenset[State]) -> list[str]:
    return sorted(f"{task.namespace}/{task.name}" for task in gang.tasks.values() if task.state in states)


def _rounds(gang: Gang) -> dict[str, int]:
    """In which cycle each member had its turn; 0 for one that has not had it."""
    return {f"{each.namespace}/{each.name}": gang.cycle.rounds.get(each.id, 0) for each in gang.tasks.values()}
