"""Why a gang waits, as far as is known without looking again: its own fault, or what was last refused to it.

Of gangs that wait for the same only the first ones in line are looked at in a turn, and answer for all of them.
"""

from __future__ import annotations

from itertools import islice

from podium.core.model.model import Gang
from podium.engine.decision_log import DecisionLog, Entry
from podium.engine.world import World
from podium.refusal import Refusal

_EQUALS = 50  # that are asked for a refusal


def own_fault(world: World, gang: Gang) -> Refusal | None:
    """What is wrong with the gang or a member of it, whatever happens elsewhere."""
    if gang.fault is not None:
        return gang.fault
    refused = world.refused
    return next((refused[id] for id in gang.tasks if id in refused), None) if refused else None


def last_entry(world: World, log: DecisionLog, gang: Gang) -> Entry | None:
    """The entry of the last refusal of the gang, or of one that waits for the same."""
    found = log.refusal_of(gang.id)
    if found is not None:
        return found
    equals = islice(world.cluster.accounts.equals_of(gang.id), _EQUALS)
    return next((entry for id in equals if (entry := log.refusal_of(id)) is not None), None)


def last_refusal(world: World, log: DecisionLog, gang: Gang) -> Refusal | None:
    """Either of the two."""
    own = own_fault(world, gang)
    if own is not None:
        return own
    entry = last_entry(world, log, gang)
    return entry.refusal if entry is not None else None
