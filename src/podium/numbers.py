"""What refusals are about: names and numbers, a struct for each shape, and how they are written.

Places      a task that finds no node: which nodes are out for what, and the largest free block
Members     a gang with too few members, in all or of a role
Incomplete  a gang of which some could be placed: how many, and why not the next one

Those about queues and what limits them are in `queue_numbers`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import msgspec

from podium.amounts import shown
from podium.refusal import Numbers, Refusal, WakeOn

WHOLE = 1000  # thousandths of a device


class Nothing(Numbers, frozen=True):
    """The reason says it all."""


class Says(Numbers, frozen=True):
    """What a plugin says in its own words."""

    MOVING = ("message",)

    plugin: str
    message: str


class Broken(Numbers, frozen=True):
    """A plugin or an action that raised an exception."""

    MOVING = ("error",)

    who: str
    error: str


class Resource(Numbers, frozen=True):
    resource: str


class TaintKey(Numbers, frozen=True):
    key: str
    value: str = ""

    def words(self) -> dict[str, Any]:
        return {"taint": f"{{{self.key}: {self.value}}}"}


class Ports(Numbers, frozen=True):
    ports: tuple[int, ...]

    def words(self) -> dict[str, Any]:
        return {"port": ", ".join(map(str, self.ports))}


class Claims(Numbers, frozen=True):
    claims: tuple[str, ...]

    def words(self) -> dict[str, Any]:
        return {"claims": ", ".join(self.claims)}


class VolumeWait(Numbers, frozen=True):
    MOVING = ("node", "detail")

    claim: str
    node: str
    detail: str


class DevicesWanted(Numbers, frozen=True):
    """Some whole devices, or a share of one in thousandths; of certain models, or of any."""

    count: int
    share: int
    models: tuple[str, ...]

    def words(self) -> dict[str, Any]:
        what = f"{self.count} whole" if self.share == WHOLE else f"{self.share}/{WHOLE} of one"
        models = f" ({'|'.join(self.models)})" if self.models else ""
        return {"wanted": f"{what} device{'s' if self.count > 1 else ''}{models}"}


class Spec(Numbers, frozen=True):
    """A field that cannot be worked with."""

    MOVING = ("detail",)

    field: str
    detail: str


class Field(Numbers, frozen=True):
    """A field by its path."""

    field: str


class Contested(Numbers, frozen=True):
    """A node that several queues claim, and the one that has it."""

    first: str
    second: str
    owner: str


class Replaced(Numbers, frozen=True):
    """A queue that does not exist, and the one that serves those who name it."""

    queue: str
    owner: str


class TwoGroups(Numbers, frozen=True):
    first: str
    second: str


class Group(Numbers, frozen=True):
    """A group that is not there, and what to do if the reader cannot know."""

    group: str
    advice: str = ""

    def words(self) -> dict[str, Any]:
        return {"group": self.group, "advice": f": {self.advice}" if self.advice else ""}


class Members(Numbers, frozen=True):
    """How many members a gang needs and has; of a role, or in sub-groups of a policy; and where that is said."""

    need: int
    have: int
    role: str = ""
    policy: str = ""
    field: str = ""

    def words(self) -> dict[str, Any]:
        return {**super().words(), "by": f" ({self.field})" if self.field else ""}


class Count(Numbers, frozen=True):
    count: int


# --- nodes and gangs -------------------------------------------------------------------------------------------


class Cause(msgspec.Struct, frozen=True):
    """Why some nodes are out."""

    refusal: Refusal
    nodes: int


class Block(msgspec.Struct, frozen=True):
    """One resource of which matching nodes are short: the largest free block, and the largest that could be."""

    resource: str
    need: int
    free: int
    node: str  # where the largest free block is
    largest: int  # of all that one matching node has
    total: int  # in the whole cluster
    nodes: int  # how many of the nodes that match are short of it

    @property
    def never(self) -> bool:
        """Whether no matching node is large enough, were it empty."""
        return self.need > self.largest


class Places(Numbers, frozen=True):
    """Which nodes are out for what; `matching` are those that only room keeps out.  `short`: worst first."""

    nodes: int
    matching: int
    causes: tuple[Cause, ...] = ()
    short: tuple[Block, ...] = ()

    @property
    def never(self) -> Block | None:
        """What no matching node has enough of, were it empty."""
        return next((block for block in self.short if block.never), None)

    def wake_on(self, own: frozenset[WakeOn]) -> frozenset[WakeOn]:
        found: frozenset[WakeOn] = frozenset()
        return found.union(*(cause.refusal.wake_on for cause in self.causes)) or own

    def shape(self) -> Hashable:
        if self.short:
            return tuple(block.resource for block in self.short[:1]), self.never is not None
        return tuple(cause.refusal.shape for cause in self.causes)

    def words(self) -> dict[str, Any]:
        counts: dict[str, int] = {}
        for cause in self.causes:
            counts[str(cause.refusal)] = counts.get(str(cause.refusal), 0) + cause.nodes
        listed = ", ".join(f"{count} {cause}" for cause, count in sorted(counts.items()))
        return {"summary": self._summary(), "nodes": self.nodes, "causes": listed or "all of them were refused"}

    def _summary(self) -> str:
        match = "1 node matches" if self.matching == 1 else f"{self.matching} nodes match"
        if not self.matching:
            return "no node matches"
        if not self.short:
            return f"{match}, and {'has no place' if self.matching == 1 else 'none has a place'} for it now"
        block = self.never or self.short[0]
        need = f"needs {shown(block.resource, block.need)} {block.resource}"
        if block.never and block.need > block.total:
            return f"{need}, and the cluster has {shown(block.resource, block.total)} in all: it can never start"
        if block.never:
            most = shown(block.resource, block.largest)
            return f"{need} on one node: {match}, the largest has {most}: it can never start"
        if block.free < block.need:
            free = shown(block.resource, block.free)
            return f"{need} on one node: {match}, the largest free block is {free} on {block.node}"
        needs = " and ".join(f"{shown(each.resource, each.need)} {each.resource}" for each in self.short)
        return f"needs {needs} on one node: {match}, and none has all of it free at once"


class Total(msgspec.Struct, frozen=True):
    """What the members without which a gang does not start ask for together, and what the cluster has."""

    resource: str
    members: int
    need: int
    total: int


class Incomplete(Numbers, frozen=True):
    """A gang of which some could be placed, and why not more; `never` if the cluster is too small for it.

    `holds`: of a gang that holds what it finds, whether that is enough or not.
    """

    placed: int
    need: int
    cause: Refusal
    never: Total | None = None
    holds: bool = False

    def wake_on(self, own: frozenset[WakeOn]) -> frozenset[WakeOn]:
        """What holds a gang up is what holds its tasks up; one for which the cluster is too small needs nodes."""
        return self.cause.wake_on if self.never is None or self.holds else frozenset({WakeOn.NODES})

    def shape(self) -> Hashable:
        return self.cause.shape, None if self.never is None else self.never.resource

    def words(self) -> dict[str, Any]:
        never = ""
        if self.never is not None:
            name = self.never.resource
            need, total = shown(name, self.never.need), shown(name, self.never.total)
            never = (
                f"{self.never.members} members need {need} {name}, and the cluster has {total} in all: "
                "it can never start; "
            )
        return {"never": never, "placed": self.placed, "need": self.need, "cause": self.cause}


class HalfBound(Numbers, frozen=True):
    """A gang of which some members are bound, and why the others are not."""

    bound: int
    need: int
    cause: Refusal

    def wake_on(self, own: frozenset[WakeOn]) -> frozenset[WakeOn]:
        return self.cause.wake_on

    def shape(self) -> Hashable:
        return self.cause.shape


class Final(Numbers, frozen=True):
    """Why a gang found no place, of one that never will, or is not to wait any longer."""

    cause: Refusal

    def wake_on(self, own: frozenset[WakeOn]) -> frozenset[WakeOn]:
        return own | self.cause.wake_on

    def shape(self) -> Hashable:
        return self.cause.shape


class BindAnswer(Numbers, frozen=True):
    """A bind that the API server refused, and what it said."""

    MOVING = ("pod", "node", "detail")

    pod: str
    node: str
    detail: str


MOST_PARTNERS = 10  # of gangs that start together: lists may be thousands long


def shown_gang(id: str) -> str:
    """A gang as its users name it: without the API.  It need not be there, so all that is known is its id."""
    name = id.partition("/")[2]
    return name if "/" in name else id


class Partners(Numbers, frozen=True):
    """The gangs that start together with one and cannot yet, those among them that are not there, how the first of
    them stand, and where they are named."""

    MOVING = ("standing",)

    awaited: tuple[str, ...]
    unknown: frozenset[str] = frozenset()
    field: str = ""
    standing: tuple[tuple[int, int, int], ...] = ()  # members, those with places, and how many it needs

    def words(self) -> dict[str, Any]:
        awaited = [shown_gang(id) + self._stands(number) for number, id in enumerate(self.awaited[:MOST_PARTNERS])]
        if len(self.awaited) > len(awaited):
            awaited.append(f"{len(self.awaited) - len(awaited)} more")
        return {"awaited": ", ".join(awaited), "by": f" ({self.field})" if self.field else ""}

    def _stands(self, number: int) -> str:
        if self.awaited[number] in self.unknown:
            return " (no such gang)"
        if number >= len(self.standing):
            return ""
        members, placed, need = self.standing[number]
        return f" ({members} of {need} members)" if members < need else f" ({placed} of {need} have places)"


class HeldPlace(Numbers, frozen=True):
    """A place that is held for a gang which is not whole yet."""

    node: str
    gang: str
    placed: int
    need: int


class Promise(Numbers, frozen=True):
    """A node on which others make room for a task."""

    node: str


class Waited(Numbers, frozen=True):
    """A gang that was not whole in time, and what its users can do."""

    gang: str
    seconds: float = 0.0
    advice: str = ""

    def words(self) -> dict[str, Any]:
        time = f"{self.seconds:g} s" if self.seconds else "as long as they may be"
        return {"gang": self.gang, "time": time, "advice": f": {self.advice}" if self.advice else ""}
