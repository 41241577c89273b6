"""elastic: starts elastic gangs, and says how large each of them is to be.

A gang with a size is a unit.  A policy plans for all units of the profile at once: see `core.elastic`.  What it
starts or lets grow gets its places here, as slots, so that nobody takes them before the pods are there; what it
shrinks is told a smaller size, and its controller takes members away.  Gangs that have not been started are left
alone by the actions after this one.

A plan is made once in a period.  When a unit comes, changes or goes, those that wait are started at once, if there
is room; they grow with the next plan, so that units which come together share what is free.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

import msgspec

from podium.core.elastic.fair import Fairness, FairPolicy
from podium.core.elastic.fulfilment import FulfilmentPolicy, Record
from podium.core.elastic.limits import Limits
from podium.core.elastic.others import Others
from podium.core.elastic.policy import Policy
from podium.core.elastic.room import SessionRoom
from podium.core.elastic.unit import (
    GIB,
    LITERAL,
    POD_SECONDS,
    WEIGHTED,
    Request,
    Scoring,
    Unit,
    Weights,
    request_of,
)
from podium.core.framework.action import Action
from podium.core.framework.arguments import Argument, Arguments
from podium.core.framework.session import Session
from podium.core.model.decisions import Resize
from podium.core.model.durations import duration
from podium.core.model.model import Gang, Size, State
from podium.core.model.resources import CPU, MEMORY, Vector
from podium.queue_reasons import CPU_FOR_GPU
from podium.reasons import Refusal, refuse

CFS, FULFILMENT = "cfs", "fulfilment"
REPORT_SECONDS = 60.0  # between two times that what a unit has got is written, though nothing is decided on it

ARGUMENTS = (
    Argument("period", "5s", "The longest time between two plans."),
    Argument("policy", CFS, "`cfs` evens out scores; `fulfilment` serves the least fulfilled first."),
    Argument("scoreMode", WEIGHTED, "`weighted` divides a score by the level, `literal` multiplies."),
    Argument("timeMode", POD_SECONDS, "`podSeconds` adds up running times; `literal` counts them for each pod."),
    Argument("weights.gpu", 100.0, "What a GPU counts in a score."),
    Argument("weights.cpu", 10.0, "What a core counts in a score."),
    Argument("weights.memory", 1.0, "What a GiB of memory counts in a score."),
    Argument(
        "halfLife", "", "The time after which what a unit has got counts half; by default it counts for ever."
    ),
    Argument(
        "maxLoadDesired",
        1.0,
        "The part of the cluster that may be in use: units grow up to it, and shrink above it.",
    ),
    Argument("evennessThreshold", 0.2, "How far above the mean a score is before its unit gives way."),
    Argument("patience", "10m", "How long a unit waits before its room is held for it."),
    Argument("minCpuPerGpu", 1.0, "The cores that a member must ask for beside each GPU."),
    Argument("gpuResource", "nvidia.com/gpu", "The resource that counts as GPUs."),
    Argument("mayEnd", False, "Whether a unit of the highest level may send units of the lowest back to wait."),
    Argument("highestLevel", 10_000, "From which level on a unit may do that."),
    Argument("lowestLevel", 10, "Up to which level it may happen to a unit."),
    Argument(
        "quotas", "", "By user and resource, what all units of a user may hold: cores in thousandths, bytes."
    ),
)


_PORTION = 20  # units that are looked at before others get their turn: there may be thousands


class Elastic(Action):
    """Plans sizes."""

    name = "elastic"
    ARGUMENTS = ARGUMENTS

    def run(self, session: Session) -> Iterator[None]:
        options = _Options(session.arguments(self.name))
        gangs = [gang for gang in session.elastic if gang.queue in session.queues]
        session.set_aside({gang.id for gang in gangs if gang.size is not None and not gang.size.wanted})
        if not gangs:
            return
        last = session.last_plan
        runs = any(gang.size is not None and gang.size.wanted for gang in gangs)
        # The same sum as the timer's: a difference of large times may come out a little short of the period, and
        # then the timer would ring for ever.  Without a plan, nothing has just come.
        whole = session.now >= last + options.period if last is not None else runs
        if whole or session.gangs_changed:
            yield from session.attempting(gangs[0], _plan(session, gangs, options, whole=whole), None)
        yield


def _plan(session: Session, gangs: list[Gang], options: _Options, *, whole: bool) -> Generator[None, None, None]:
    """One plan for all units, or only for those that wait."""
    gpu = session.cluster.dimensions.find(options.gpu)
    units = []
    requests: dict[int, Request] = {}
    for number, gang in enumerate(gangs):
        if number % _PORTION == 0:
            yield
        count_service(gang, session.now, options.half_life)
        unit = unit_of(gang, gpu, requests)
        refusal = options.unfit(unit)
        if refusal is None and gang.fault is not None:
            refusal = gang.fault
        if refusal is None:
            units.append(unit)
        elif unit.waiting:
            session.refuse(gang, refusal)
    limits = Limits(session, units, options.quotas, options.max_load, options.gpu)
    room = SessionRoom(session, limits, gpu)
    policy = options.policy(session, gpu)
    yield from policy.plan(units, room, Others(session), session.now, whole=whole)
    for number, unit in enumerate(units):
        if number % _PORTION == 0:
            yield
        _decide(session, room, unit)
    room.close()
    for number, unit in enumerate(units):
        if number % _PORTION == 0:
            yield
        if unit.waiting and unit.name in room.refusals:
            session.refuse(unit.obj, room.refusals[unit.name])
        _report(session, unit, policy)
    session.planned(options.period, units[0].obj if units else gangs[0], whole=whole)


def _decide(session: Session, room: SessionRoom, unit: Unit) -> None:
    """What has changed for one unit.  A start is no change; growth beyond it is."""
    gang: Gang = unit.obj
    assert gang.size is not None
    if unit.planned == unit.expected:
        return
    started = not unit.expected and unit.planned == unit.least
    if started and gang.size.wanted == unit.least:
        return  # by the room itself
    room.kept.resize(gang, unit.planned, scaled=None if started else session.now)


def _report(session: Session, unit: Unit, policy: Policy) -> None:
    """What a unit has got is written now and then: after a restart it is counted on from there."""
    size: Size = unit.obj.size
    score = policy.score(unit)
    decided = unit.planned != unit.expected
    due = unit.running and session.now - size.reported >= REPORT_SECONDS
    if decided or due:
        unit.obj.resize(msgspec.structs.replace(size, score=score, reported=session.now))
    if due and not decided:
        session.decisions.append(Resize(unit.obj.id, size.wanted))


def count_service(gang: Gang, now: float, half_life: float | None = None) -> None:
    """Adds the seconds for which members have run since they were last counted."""
    size = gang.size
    assert size is not None
    since, served = size.counted or now, size.served
    if half_life is not None and now > since:
        served *= 0.5 ** ((now - since) / half_life)
    for task in gang.tasks.values():
        if task.state is State.RUNNING and task.role == size.role:
            served += max(0.0, now - max(task.started, size.counted))
    gang.resize(msgspec.structs.replace(size, served=served, counted=now))


def unit_of(gang: Gang, gpu: int | None, requests: dict[int, Request]) -> Unit:
    """A gang as policies see it; `requests` are those of the classes of members that have been seen."""
    size = gang.size
    assert size is not None
    like = next((task for task in gang.tasks.values() if task.role == size.role), None)
    request = Request()
    if like is not None:
        known = requests.get(like.cls.number)
        request = requests[like.cls.number] = request_of(like, gpu) if known is None else known
    return Unit(
        gang.id,
        level=max(1, size.level),
        least=size.least,
        most=size.most,
        expected=size.wanted,
        running=gang.count_role(size.role, (State.RUNNING,)),
        served=size.served,
        request=request,
        submitted=gang.created,
        since=max(gang.created, size.scaled),
        frozen_until=size.scaled + size.window if size.scaled else 0.0,
        user=size.user,
        completed=like is None,  # nothing of it is there to be placed
        obj=gang,
        like=like,
    )


class _Options:
    """The arguments, read."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        self.period = duration(arguments.text("period")) or 5.0
        self.half_life = duration(arguments.text("halfLife"))
        self.max_load = arguments.number("maxLoadDesired")
        self.gpu = arguments.text("gpuResource")
        self._least = arguments.number("minCpuPerGpu")

    def policy(self, session: Session, gpu: int | None) -> Policy:
        text, number = self._arguments.text, self._arguments.number
        if text("policy") == FULFILMENT:
            return FulfilmentPolicy(_record(session, gpu), self.max_load)
        weights = Weights(number("weights.gpu"), number("weights.cpu"), number("weights.memory"))
        return FairPolicy(
            Fairness(
                Scoring(
                    LITERAL if text("scoreMode") == LITERAL else WEIGHTED,
                    LITERAL if text("timeMode") == LITERAL else POD_SECONDS,
                    weights,
                ),
                number("evennessThreshold"),
                duration(text("patience")) or 0.0,
                self._may_end if self._arguments.flag("mayEnd") else None,
            )
        )

    def _may_end(self, unit: Unit, other: Unit) -> bool:
        highest, lowest = self._arguments.integer("highestLevel"), self._arguments.integer("lowestLevel")
        return unit.level >= highest and other.level <= lowest

    def unfit(self, unit: Unit) -> Refusal | None:
        """Why a unit cannot be placed as it is: the CPUs that GPUs need beside them are not asked for."""
        request = unit.request
        if request.gpus and request.cpus < request.gpus * self._least:
            return refuse(CPU_FOR_GPU, unit.obj.size.role or "a member", request.gpus, request.cpus, self._least)
        return None

    @property
    def quotas(self) -> dict[str, dict[str, int]]:
        """By user and resource, in the units of the core; what is none of that has no effect."""
        found = self._arguments.values.get("quotas")
        if not isinstance(found, dict):
            return {}
        return {
            str(user): {str(name): int(amount) for name, amount in amounts.items()}
            for user, amounts in found.items()
            if isinstance(amounts, dict)
        }


def _record(session: Session, gpu: int | None) -> Record:
    nodes = session.cluster.nodes
    used = nodes.used[: nodes.count].sum(axis=0)

    def amounts(vector: Vector) -> Request:
        gpus = float(vector[gpu]) if gpu is not None and gpu < len(vector) else 0.0
        return Request(gpus, float(vector[CPU]) / 1000, float(vector[MEMORY]) / GIB)

    return Record(amounts(session.total), amounts(used))
