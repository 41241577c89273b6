"""What a driver can drive: a machine without IO, or several of them that see one cluster together."""

from __future__ import annotations

from typing import Protocol

from podium.kube.controller import Ticket
from podium.kube.resources import Resource
from podium.kube.wire import Object


class Machine(Protocol):
    """Objects and answers in, tickets out: `kube.controller.Manager` is one, the scheduler another."""

    @property
    def resources(self) -> set[Resource]: ...

    def serve(self, resource: Resource) -> None: ...

    def withdraw(self, resource: Resource) -> None: ...

    def synced(self, resource: Resource) -> None: ...

    def observe(self, resource: Resource, obj: Object) -> None: ...

    def forget(self, resource: Resource, obj: Object) -> None: ...

    def run(self, now: float, budget: int) -> list[Ticket]: ...

    def done(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None: ...

    def next_wake(self, now: float) -> float | None: ...


class Together:
    """Several machines as one: an object is watched, decoded and kept once for all of them."""

    def __init__(self, *machines: Machine) -> None:
        self._machines = machines
        self._needing: dict[Resource, list[Machine]] = {}
        self._owners: dict[int, tuple[Machine, Ticket]] = {}  # by the identity of a ticket that is under way

    @property
    def resources(self) -> set[Resource]:
        return set().union(*(machine.resources for machine in self._machines))

    def _need(self, resource: Resource) -> list[Machine]:
        found = self._needing.get(resource)
        if found is None:
            found = self._needing[resource] = [each for each in self._machines if resource in each.resources]
        return found

    def serve(self, resource: Resource) -> None:
        self._needing.clear()
        for machine in self._machines:
            machine.serve(resource)

    def withdraw(self, resource: Resource) -> None:
        self._needing.clear()
        for machine in self._machines:
            machine.withdraw(resource)

    def synced(self, resource: Resource) -> None:
        for machine in self._need(resource):
            machine.synced(resource)

    def observe(self, resource: Resource, obj: Object) -> None:
        for machine in self._need(resource):
            machine.observe(resource, obj)

    def forget(self, resource: Resource, obj: Object) -> None:
        for machine in self._need(resource):
            machine.forget(resource, obj)

    def run(self, now: float, budget: int = 1000) -> list[Ticket]:
        tickets = []
        for machine in self._machines:
            for ticket in machine.run(now, budget):
                self._owners[id(ticket)] = (machine, ticket)
                tickets.append(ticket)
        return tickets

    def done(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None:
        machine, _ = self._owners.pop(id(ticket))
        machine.done(ticket, result, error, now)

    def next_wake(self, now: float) -> float | None:
        times = (machine.next_wake(now) for machine in self._machines)
        return min((time for time in times if time is not None), default=None)
