"""A refusal as data: a reason, its names and numbers, and what kind of event could lift it.

A refusal stays data until somebody reads it: `str(refusal)` is the sentence, made where it is written or printed.
What it is about is a small struct (`numbers`), so whoever asks for a number gets a number.

The events that can lift a refusal are those that can lift any of its causes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from enum import Enum
from typing import Any, ClassVar, Generic, ParamSpec

import msgspec

P = ParamSpec("P")


class WakeOn(Enum):
    """What kind of event can make a refusal wrong."""

    ROOM = "room on a node"
    NODES = "a node's labels, taints, size or readiness"
    QUEUE = "a queue's limit or use"
    MEMBERS = "members of the gang"
    SPEC = "the spec itself"
    TIME = "time"


class Reason(Generic[P]):
    """One kind of refusal: what it is called, what it is about, its sentence, and what to do.

    `sentence` is filled in with the fields of `numbers`, and `wake_on` says which events can help.
    """

    __slots__ = ("code", "hint", "numbers", "sentence", "wake_on")

    def __init__(
        self, code: str, numbers: Callable[P, Numbers], sentence: str, hint: str, *wake_on: WakeOn
    ) -> None:
        self.code = code
        self.numbers = numbers
        self.sentence = sentence
        self.hint = hint
        self.wake_on = frozenset(wake_on)

    def __repr__(self) -> str:
        return f"<Reason {self.code}>"


class Numbers(msgspec.Struct, frozen=True):
    """What a refusal is about.  `MOVING` are fields that come and go like numbers though they are text."""

    MOVING: ClassVar[tuple[str, ...]] = ()

    def words(self) -> dict[str, Any]:
        """What the reason's sentence is filled in with."""
        return {name: getattr(self, name) for name in self.__struct_fields__}

    def wake_on(self, own: frozenset[WakeOn]) -> frozenset[WakeOn]:
        """Which events can help, where those of the reason are `own`."""
        return own

    def shape(self) -> Hashable:
        """Everything but the numbers: while it stays, a reader has not much to learn."""
        return tuple(getattr(self, name) for name in self._named())

    def _named(self) -> Iterable[str]:
        for name in self.__struct_fields__:
            if name not in self.MOVING and isinstance(getattr(self, name), str | tuple):
                yield name


class Refusal(msgspec.Struct, frozen=True):
    """A reason with its numbers.  `others` are refusals of the same gang for other reasons."""

    reason: Reason[...]
    numbers: Numbers
    others: tuple[Refusal, ...] = ()

    @property
    def code(self) -> str:
        return self.reason.code

    @property
    def wake_on(self) -> frozenset[WakeOn]:
        """The events that can lift it or one of the others."""
        found = self.numbers.wake_on(self.reason.wake_on)
        return found.union(*(other.wake_on for other in self.others)) if self.others else found

    @property
    def shape(self) -> Hashable:
        """The same as long as only numbers move."""
        return self.reason.code, self.numbers.shape()

    @property
    def sentence(self) -> str:
        """What it says; raises if the reason's sentence has no use for the numbers."""
        return self.reason.sentence.format_map(self.numbers.words())

    def __str__(self) -> str:
        try:
            return self.sentence
        except Exception:
            # A reason of somebody's own code may not fit its numbers: that must not stop whoever prints it.
            return self.reason.sentence


def refuse(reason: Reason[P], *args: P.args, **kwargs: P.kwargs) -> Refusal:
    """A refusal: `refuse(PLUGIN, plugin="quiet", message="the node wants quiet")`."""
    return Refusal(reason, reason.numbers(*args, **kwargs))


def both(first: Refusal | None, second: Refusal | None) -> Refusal | None:
    """Two refusals of one gang: the first is the one that is read, and either may be lifted."""
    if first is None or second is None:
        return first or second
    if second.shape in {first.shape, *(other.shape for other in first.others)}:
        return first
    return msgspec.structs.replace(first, others=(*first.others, second))
