"""What Koordinator's debug service tells of gangs, as pages of the health address.

/gangs                                                  all gangs, by namespace and name
/gang/<namespace>/<name>                                one of them
/apis/v1/plugins/Coscheduling/gangs, .../gang/<namespace>/<name>     the same at its old place
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podium.core.model import quorum
from podium.core.model.model import PLACED, Gang, State
from podium.dialects.dialect import Document
from podium.dialects.koordinator.gangs import FROM, TOTAL
from podium.dialects.koordinator.names import PREFIX, gang_id
from podium.dialects.koordinator.options import MODE_NAMES, POLICY_NAMES
from podium.kube.times import format_time

_SERVICE = "/apis/v1/plugins/Coscheduling"


def page(path: str, gangs: dict[str, Gang]) -> Document | None:
    """The page of a path; None if there is none."""
    path = path.removeprefix(_SERVICE)
    own = {id: gang for id, gang in gangs.items() if id.startswith(PREFIX)}
    groups = {
        each.id: group
        for group in quorum.components((each for each in own.values() if each.together), gangs.get)
        for each in group
    }
    if path == "/gangs":
        return {id.removeprefix(PREFIX): _gang(gang, groups.get(id, [gang])) for id, gang in sorted(own.items())}
    parts = path.split("/")
    if len(parts) == 4 and parts[1] == "gang":
        gang = own.get(gang_id(parts[2], parts[3]))
        return _gang(gang, groups.get(gang.id, [gang])) if gang is not None else None
    return None


def _gang(gang: Gang, group: Sequence[Gang]) -> Document:
    return {
        "name": f"{gang.namespace}/{gang.name}",
        "waitTime": int((gang.waiting_time or 0.0) * 1e9),
        "createTime": format_time(gang.created),
        "mode": MODE_NAMES[gang.mode],
        "gangMatchPolicy": POLICY_NAMES[gang.match],
        "minRequiredNumber": gang.minimum,
        "totalChildrenNum": int(gang.attributes.get(TOTAL, gang.minimum)),
        "gangGroup": sorted({f"{gang.namespace}/{gang.name}", *(id.removeprefix(PREFIX) for id in gang.together)}),
        "children": _named(gang, State),
        "pendingChildren": _named(gang, (State.PENDING, State.PIPELINED)),
        "waitingForBindChildren": _named(gang, (State.RESERVED,)),
        "boundChildren": _named(gang, (*PLACED, State.SUCCEEDED)),
        "onceResourceSatisfied": gang.satisfied_once,
        "scheduleCycle": gang.cycle.number,
        "scheduleCycleValid": gang.cycle.valid,
        "childrenScheduleRoundMap": _rounds(gang),
        "gangGroupInfo": {
            "gangGroupId": ",".join(sorted(f"{each.namespace}/{each.name}" for each in group)),
            "onceResourceSatisfied": all(each.satisfied_once for each in group),
            "scheduleCycle": max(each.cycle.number for each in group),
            "scheduleCycleValid": all(each.cycle.valid for each in group),
            "childrenScheduleRoundMap": {name: cycle for each in group for name, cycle in _rounds(each).items()},
        },
        "gangFrom": gang.attributes.get(FROM, ""),
        "hasGangInit": True,
    }


def _named(gang: Gang, states: Iterable[State]) -> list[str]:
    wanted = frozenset(states)
    return sorted(f"{task.namespace}/{task.name}" for task in gang.tasks.values() if task.state in wanted)


def _rounds(gang: Gang) -> dict[str, int]:
    """In which cycle each member had its turn; 0 for one that has not had it."""
    return {f"{each.namespace}/{each.name}": gang.cycle.rounds.get(each.id, 0) for each in gang.tasks.values()}
