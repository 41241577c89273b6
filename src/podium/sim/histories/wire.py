"""The wire between processes and the API, where most faults live.

A trouble is asked about every request and every line of a watch.  Each question has "nothing is wrong" for its
answer unless a fault says otherwise, so a fault is a few lines about the one thing that it breaks.
"""

from __future__ import annotations

import msgspec

from podium.kube.controller import Ticket
from podium.kube.resources import Resource
from podium.kube.transport import Request, Response


class Call(msgspec.Struct, frozen=True):
    """A request under way: the `number`th of its process, counted from when that began."""

    process: str
    number: int
    ticket: Ticket
    sent: float  # seconds from the beginning

    @property
    def purpose(self) -> str:
        """What it was sent for: a controller's name, or the scheduler's own word for it."""
        return self.ticket.purpose


class Stream(msgspec.Struct, frozen=True):
    """A watch: whose, of what, and how often it was opened before."""

    process: str
    resource: Resource
    opened: int


class Trouble:
    """What goes wrong.  Subclasses answer the questions that they care about."""

    def delay(self, call: Call) -> float:
        """Seconds that a request takes beyond the usual, before the server sees it."""
        return 0.0

    def delay_back(self, call: Call) -> float:
        """Seconds that its answer takes beyond the usual."""
        return 0.0

    def before(self, call: Call) -> Exception | None:
        """What the caller gets instead of the server being asked."""
        return None

    def after(self, call: Call) -> Exception | None:
        """What the caller gets instead of the server's answer: the request itself has been carried out."""
        return None

    def answer(self, process: str, resource: Resource, request: Request) -> Response | Exception | None:
        """What a list or the opening of a watch is answered with instead of the truth."""
        return None

    def lines(self, stream: Stream, lines: list[bytes]) -> list[tuple[float, bytes]]:
        """The lines that arrive of those that were sent, each with its seconds of delay."""
        return [(0.0, line) for line in lines]

    def silent(self, stream: Stream) -> bool:
        """Whether nothing comes through this watch at present, not even its end."""
        return False


class Wire:
    """All troubles that there are; the first one that has something to say is believed."""

    def __init__(self) -> None:
        self.troubles: list[Trouble] = []

    def calm(self) -> None:
        """From now on nothing goes wrong."""
        self.troubles.clear()

    def delay(self, call: Call) -> float:
        return sum(trouble.delay(call) for trouble in self.troubles)

    def delay_back(self, call: Call) -> float:
        return sum(trouble.delay_back(call) for trouble in self.troubles)

    def before(self, call: Call) -> Exception | None:
        return next((error for each in list(self.troubles) if (error := each.before(call)) is not None), None)

    def after(self, call: Call) -> Exception | None:
        return next((error for each in list(self.troubles) if (error := each.after(call)) is not None), None)

    def answer(self, process: str, resource: Resource, request: Request) -> Response | Exception | None:
        answers = (each.answer(process, resource, request) for each in list(self.troubles))
        return next((answer for answer in answers if answer is not None), None)

    def lines(self, stream: Stream, lines: list[bytes]) -> list[tuple[float, bytes]]:
        arriving = [(0.0, line) for line in lines]
        for trouble in self.troubles:
            reported = (trouble.lines(stream, [line]) for _, line in arriving)
            arriving = [
                (before + delay, line)
                for (before, _), found in zip(arriving, reported, strict=True)
                for delay, line in found
            ]
        return arriving

    def silent(self, stream: Stream) -> bool:
        return any(trouble.silent(stream) for trouble in self.troubles)
