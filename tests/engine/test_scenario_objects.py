"""Every scenario again as users meet it: objects in, one turn of the scheduler, and its writes compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from podium.dialects import DIALECTS
from podium.dialects.volcano.names import QUEUES
from podium.kube.changes import Create, Delete
from podium.kube.controller import Ticket
from podium.kube.resources import EVENTS
from podium.kube.times import format_time
from tests.core.scenario import NOW, Outcome, configuration_of, read_scenarios
from tests.engine.bare import Bare, Document
from tests.engine.scenario_objects import objects_of, outcome_of

SCENARIOS = dict(read_scenarios(Path(__file__).parents[1] / "core" / "scenarios"))

# What objects cannot show, by the table that demands it and the part of its `then`.  The rest is compared.
NOT_SHOWN = {
    (
        "Guarantees that add up to more than their parent has do no harm.",
        "faults",
    ): "nobody waits there, and for nobody the scheduler takes no turn",
    (
        "Negative amounts count as none, and are told.",
        "faults",
    ): "an amount below zero is refused while the queue is read, under the code of that",
}


class Replay(Bare):
    """One turn over the objects of a scenario.  Here somebody may have to go."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        super().__init__(yaml.safe_dump(configuration_of(table)), turns=1)
        self._events: list[Document] = []
        self._objects = list(objects_of(table, self.now - NOW))
        named = {put.name for put in self._objects if put.resource == QUEUES}
        for document in (each for dialect in DIALECTS for each in dialect.objects):
            if document["metadata"]["name"] not in named:  # the scheduler makes those that are missing
                self.put(QUEUES, document)
        for put in self._objects:
            self.put(put.resource, put.document)
        self.settle()

    @property
    def outcome(self) -> Outcome:
        return outcome_of(self._objects, self.stored, self._events)

    def _carry_out(self, ticket: Ticket) -> None:
        change = ticket.change
        if isinstance(change, Create) and change.resource == EVENTS:
            self._events.append(change.document)
        if not isinstance(change, Delete):
            super()._carry_out(ticket)
            return
        document = self.stored[change.resource, change.name]
        leaving = {**document["metadata"], "deletionTimestamp": format_time(self.now)}
        self.put(change.resource, {**document, "metadata": leaving})
        self.scheduler.done(ticket, None, None, self.now)


def shown(table: Mapping[str, Any]) -> dict[str, Any]:
    """The part of what must come out that objects can show."""
    return {part: wanted for part, wanted in table["then"].items() if (table["about"], part) not in NOT_SHOWN}


@pytest.mark.parametrize("name", [name for name, table in SCENARIOS.items() if shown(table)])
def test_scenario(name: str) -> None:
    table = SCENARIOS[name]
    Replay(table).outcome.check(shown(table))


@pytest.mark.parametrize(("about", "part"), NOT_SHOWN)
def test_part_that_objects_cannot_show(about: str, part: str) -> None:
    assert [table for table in SCENARIOS.values() if table["about"] == about and part in table["then"]]
    pytest.skip(NOT_SHOWN[about, part])
