"""Who is where, as terms see it: for each term that looks at tasks, how many of them every row holds.

A column counts one of four things by row:

    the tasks that a selection matches         pod affinity, anti-affinity and spread of incoming tasks
    the carriers of a required anti-affinity   they also keep others away, so incoming tasks must look at them
    the carriers of a preferred affinity       they also draw others near or push them off
    the holders of a host port

Tasks of one namespace that have the same labels, as far as any selection looks at them, are a party.  Selections
are compared with parties and not with tasks, and tasks are counted by party: however many terms there are, a task
that comes to a row is one number more.  What all carriers that look at a party say together is kept as a sum, too.

Counts follow `Cluster.assign`, so they are right at any moment of a session, through placements, evictions and
rollbacks, and a question is a vector operation.  Tasks of one class whose parties are counted by the same columns
are equal to every filter.  Nothing is matched or counted in a cluster without such terms.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.peer_terms import (
    Key,
    Look,
    Matching,
    PreferredAffinity,
    RequiredAntiAffinity,
    SelectionIndex,
)
from podium.core.model.constraints import Constraints, PodSelection, PodTerm, Port
from podium.core.model.labels import all_hold
from podium.core.model.model import Task
from podium.core.model.parties import Counts, Party, Slot, count, lengthened, slot_of, total_of

_EMPTY_KEPT = 1000  # parties without tasks, beyond as many as there are tasks
_HARD_AFFINITY_WEIGHT = 1  # what a required affinity of somebody on a node adds to the score, as in kube-scheduler


HERE = (Slot.PRESENT, Slot.LEAVING)
HERE_OR_COMING = (Slot.PRESENT, Slot.LEAVING, Slot.PROMISED)
STAYING = (Slot.PRESENT, Slot.PROMISED)


class Peers:
    """The columns of one cluster."""

    def __init__(self) -> None:
        self.required_anti_affinity: dict[
            int, list[tuple[str, int]]
        ] = {}  # by matching column: topology key, carriers
        self.preferred_affinity: dict[
            int, list[tuple[str, int, int]]
        ] = {}  # by matching column: key, carriers, weight
        self.ports: dict[tuple[str, int], list[tuple[str, int]]] = {}  # by protocol and number: address, holders
        self.compared = 0  # how often a selection was compared with a party: what all this costs
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._numbers: dict[Key, int] = {}
        self._keys: list[Key] = []
        self._counts: dict[tuple[int, Slot], Counts] = {}  # of carriers and holders
        self._looks_at: dict[int, Look] = {}  # by carriers
        self._index = SelectionIndex()
        self._unmatched: list[int] = []  # columns that no party has been compared with yet
        self._new_labels: set[str] = set()  # labels that only those look at
        self._labels: set[str] = set()  # labels that some selection looks at
        self._selecting = False  # whether there is any
        self._parties: dict[tuple[str, tuple[tuple[str, str], ...]], Party] = {}
        self._matched: dict[int, list[Party]] = {}  # by column
        self._kin: dict[frozenset[int], int] = {}
        self._empty = 0  # parties without tasks
        self._stale = False

    # --- columns -----------------------------------------------------------------------------------------------

    def column(self, *selections: PodSelection) -> int:
        """The column that counts the tasks which all these selections match."""
        return self._column(Matching(selections))

    def carried(self, wanted: Constraints) -> tuple[int, ...]:
        """Takes the terms of a new class in; the columns in which each of its tasks counts by what it carries."""
        columns = []
        for term in wanted.anti_affinity:
            columns.append(self._carrier(RequiredAntiAffinity(term), term))
        if wanted.affinity:
            self.column(*(term.selection for term in wanted.affinity))
        for term in wanted.affinity:
            columns.append(self._carrier(PreferredAffinity(term, _HARD_AFFINITY_WEIGHT), term))
        for weight, term in wanted.preferred_peers:
            columns.append(self._carrier(PreferredAffinity(term, weight), term))
        for spread in wanted.spread:
            self.column(spread.selection)
        for port in wanted.ports:
            columns.append(self._port(port))
        return tuple(columns)

    def _carrier(self, key: RequiredAntiAffinity | PreferredAffinity, term: PodTerm) -> int:
        looked_at = self.column(term.selection)
        known = key in self._numbers
        column = self._column(key)
        if not known:
            preferred_affinity, weight = (True, key.weight) if isinstance(key, PreferredAffinity) else (False, 1)
            self._looks_at[column] = Look(looked_at, term.key, preferred_affinity, weight)
            for party in self._matched.get(looked_at, ()):
                party.topologies.clear()
        if not known and isinstance(key, RequiredAntiAffinity):
            self.required_anti_affinity.setdefault(looked_at, []).append((term.key, column))
        elif not known and isinstance(key, PreferredAffinity):
            self.preferred_affinity.setdefault(looked_at, []).append((term.key, column, key.weight))
        return column

    def _port(self, port: Port) -> int:
        known = port in self._numbers
        column = self._column(port)
        if not known:
            self.ports.setdefault((port.protocol, port.number), []).append((port.address, column))
        return column

    def _column(self, key: Key) -> int:
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._keys)
            self._keys.append(key)
            if isinstance(key, Matching):
                self._index.add(found, key)
                self._unmatched.append(found)
                for selection in key.selections:
                    self._new_labels.update(each.key for each in selection.labels or ())
        return found

    # --- tasks -------------------------------------------------------------------------------------------------

    def put_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        if self._namespaces.get(name) != labels:
            self._namespaces[name] = dict(labels)
            self._stale = True

    def join(self, task: Task) -> None:
        """A new task, on no row yet."""
        if self._selecting:
            task.party = self._party(task)
            self._empty -= not task.party.size
            task.party.size += 1

    def leave(self, task: Task) -> None:
        """A task that is gone, and was on no row."""
        if task.party is not None:
            task.party.size -= 1
            self._empty += not task.party.size
            task.party = None

    def settle(self, tasks: Collection[Task]) -> None:
        """Takes in the columns that came since the last time."""
        for _ in self.settling(tasks, len(tasks) + 1):
            pass

    def settling(self, tasks: Collection[Task], portion: int) -> Iterator[int]:
        """The same in portions of so many tasks or comparisons.  Nothing may be asked until it has ended."""
        if self._stale and any(
            selection.namespace_labels is not None
            for key in self._keys
            if isinstance(key, Matching)
            for selection in key.selections
        ):
            yield from self._part(tasks, portion)
        elif self._unmatched and (not self._selecting or not self._new_labels <= self._labels):
            self._labels |= self._new_labels
            yield from self._part(tasks, portion)
        elif self._empty > len(tasks) + _EMPTY_KEPT:
            yield from self._part(tasks, portion)
        self._new_labels.clear()
        self._stale = False
        if self._unmatched:
            yield from self._compare(portion)
            self._unmatched.clear()

    def _part(self, tasks: Collection[Task], portion: int) -> Iterator[int]:
        """Tasks are divided by what is looked at now."""
        self._selecting = True
        self._parties.clear()
        self._matched.clear()
        self._kin.clear()
        left = portion
        for task in tasks:
            before = self.compared
            task.party = party = self._party(task)
            party.size += 1
            if task.row >= 0:
                count(party.counts, slot_of(task.state), task.row, 1)
            left -= 1 + self.compared - before
            if left <= 0:
                yield portion
                left = portion
        self._empty = 0

    def _compare(self, portion: int) -> Iterator[int]:
        """Compares the parties with the new columns."""
        index = SelectionIndex()
        for column in self._unmatched:
            key = self._keys[column]
            assert isinstance(key, Matching)
            index.add(column, key)
        if len(self._kin) > 2 * len(self._parties):
            self._kin.clear()  # all get new numbers
        left = portion
        for party in self._parties.values():
            before = self.compared
            if party.compared < len(self._keys):
                likely = set(index.likely(party.labels)) - party.matching
                self._match(party, {each for each in likely if self._holds(each, party)})
            else:
                party.kin = self._kin.setdefault(party.matching, len(self._kin))
            left -= 1 + self.compared - before
            if left <= 0:
                yield portion
                left = portion

    def _party(self, task: Task) -> Party:
        labels = self._labels
        pairs = sorted(pair for pair in task.labels.items() if pair[0] in labels)
        signature = (task.namespace, tuple(pairs))
        party = self._parties.get(signature)
        if party is None:
            party = self._parties[signature] = Party(task.namespace, dict(pairs))
            self._empty += 1
            likely = set(self._index.likely(party.labels))
            self._match(party, {each for each in likely if self._holds(each, party)})
        return party

    def _match(self, party: Party, found: set[int]) -> None:
        for column in found:
            self._matched.setdefault(column, []).append(party)
        if found:
            party.matching |= found
            party.topologies.clear()
            party.said.clear()
        party.compared = len(self._keys)
        party.kin = self._kin.setdefault(party.matching, len(self._kin))

    def _holds(self, column: int, party: Party) -> bool:
        self.compared += 1
        key = self._keys[column]
        assert isinstance(key, Matching)
        return all(self._selects(selection, party.namespace, party.labels) for selection in key.selections)

    def selects(self, selection: PodSelection, task: Task) -> bool:
        """Whether a selection matches a task."""
        return self._selects(selection, task.namespace, task.labels)

    def _selects(self, selection: PodSelection, namespace: str, labels: Mapping[str, str]) -> bool:
        if selection.labels is None:
            return False
        if namespace not in selection.namespaces and (
            selection.namespace_labels is None
            or not all_hold(selection.namespace_labels, self._namespaces.get(namespace, {}))
        ):
            return False
        return all_hold(selection.labels, labels)

    def book(self, task: Task, sign: int) -> None:
        """A task came to its row, or leaves it."""
        row, slot = task.row, slot_of(task.state)
        if task.party is not None:
            count(task.party.counts, slot, row, sign)
        for column in task.cls.carries:
            counts = self._counts.get((column, slot))
            if counts is None or row >= len(counts):
                counts = self._counts[column, slot] = lengthened(counts, row + 1)
            counts[row] += sign
            looks_at = self._looks_at.get(column)
            if looks_at is not None:
                for party in self._matched.get(looks_at.column, ()):
                    said = party.said.get((looks_at.preferred_affinity, looks_at.topology))
                    if said is not None:
                        count(said, slot, row, sign * looks_at.weight)

    def validate(self, tasks: Iterable[Task]) -> None:
        """Matches and counts everything again: raises AssertionError with what differs."""
        expected: dict[tuple[object, Slot, int], int] = {}
        unmatched = set(self._unmatched)
        for task in tasks:
            party = task.party
            settled = self._selecting and not self._stale and self._new_labels <= self._labels
            if settled and party is not None:
                found = set(self._all_found(task)) - unmatched
                assert found == party.matching - unmatched, f"{task} matches {found}, not {set(party.matching)}"
            if task.row >= 0:
                places: list[object] = [*task.cls.carries, *([party] if party is not None else [])]
                for each in places:
                    place = (each, slot_of(task.state), task.row)
                    expected[place] = expected.get(place, 0) + 1
        counted: list[tuple[object, Slot, Counts]] = [(*key, counts) for key, counts in self._counts.items()]
        for party in self._parties.values():
            counted += [(party, slot, counts) for slot, counts in party.counts.items()]
        for what, slot, counts in counted:
            for row in np.flatnonzero(counts).tolist():
                wanted = expected.pop((what, slot, row), 0)
                assert int(counts[row]) == wanted, f"{what} counts {counts[row]} on row {row}, there are {wanted}"
        assert not expected, f"not counted: {expected}"
        for party in self._parties.values():
            for (preferred_affinity, key), said in party.said.items():
                afresh = self._sum_up(party, key, preferred_affinity=preferred_affinity)
                for slot in said.keys() | afresh.keys():
                    mine, other = said.get(slot), afresh.get(slot)
                    length = max(len(each) for each in (mine, other) if each is not None)
                    assert np.array_equal(lengthened(mine, length), lengthened(other, length)), (party, key)

    def _all_found(self, task: Task) -> Iterator[int]:
        for column, key in enumerate(self._keys):
            if isinstance(key, Matching) and all(self.selects(each, task) for each in key.selections):
                yield column

    # --- questions ---------------------------------------------------------------------------------------------

    def counts(self, column: int, slots: tuple[Slot, ...], length: int) -> Counts | None:
        """How many each row holds; None when there are none at all."""
        if isinstance(self._keys[column], Matching):
            return total_of((party.counts for party in self._matched.get(column, ())), slots, length)
        found = {slot: counts for slot in slots if (counts := self._counts.get((column, slot))) is not None}
        return total_of((found,), slots, length)

    def said(
        self, task: Task, slots: tuple[Slot, ...], length: int, *, preferred_affinity: bool
    ) -> Iterator[tuple[str, Counts]]:
        """By topology key what the carriers that look at a task say together: how many required anti-affinities
        there are, or the sum of the weights of all that draw it near or push it off."""
        party = task.party
        if party is None:
            return
        for key in self._topologies(party, preferred_affinity=preferred_affinity):
            said = party.said.get((preferred_affinity, key))
            if said is None:
                said = party.said[preferred_affinity, key] = self._sum_up(
                    party, key, preferred_affinity=preferred_affinity
                )
            total = total_of((said,), slots, length)
            if total is not None:
                yield key, total

    def _topologies(self, party: Party, *, preferred_affinity: bool) -> tuple[str, ...]:
        """The keys of the carriers that look at a party, each once."""
        found = party.topologies.get(preferred_affinity)
        if found is None:
            looking = self.preferred_affinity if preferred_affinity else self.required_anti_affinity
            columns = sorted(party.matching & looking.keys())
            found = tuple(dict.fromkeys(each[0] for column in columns for each in looking[column]))
            party.topologies[preferred_affinity] = found
        return found

    def _sum_up(self, party: Party, topology: str, *, preferred_affinity: bool) -> dict[Slot, Counts]:
        sums: dict[Slot, Counts] = {}
        for carriers, look in self._looks_at.items():
            if (
                look.topology != topology
                or look.preferred_affinity != preferred_affinity
                or look.column not in party.matching
            ):
                continue
            for slot in Slot:
                counts = self._counts.get((carriers, slot))
                if counts is not None:
                    known = sums.get(slot)
                    if known is None or len(known) < len(counts):
                        known = sums[slot] = lengthened(known, len(counts))
                    known[: len(counts)] += counts * look.weight
        return sums

    def conflicting(self, port: Port) -> list[int]:
        """The columns of the ports that cannot be held beside one."""
        return [
            column
            for address, column in self.ports.get((port.protocol, port.number), ())
            if not address or not port.address or address == port.address
        ]

    @staticmethod
    def matched(column: int, task: Task) -> bool:
        """Whether a column counts a task."""
        return task.party is not None and column in task.party.matching

    def concerned(self, task: Task) -> bool:
        """Whether somebody's required anti-affinity looks at a task."""
        return task.party is not None and bool(self._topologies(task.party, preferred_affinity=False))

    def drawn(self, task: Task) -> bool:
        """Whether somebody's affinity draws a task near or pushes it off."""
        return task.party is not None and bool(self._topologies(task.party, preferred_affinity=True))


def by_domain(domains: NDArray[np.int32], counts: Counts | None) -> Counts:
    """For each row the sum over its topology domain; zero where it is in none."""
    if counts is None:
        return np.zeros(len(domains), dtype=np.int64)
    places = domains + 1  # rows without the label share the first place, which is then emptied
    sums = np.bincount(places, weights=counts)
    sums[0] = 0
    result: Counts = sums.astype(np.int64)[places]
    return result
