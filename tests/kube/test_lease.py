"""Leader election: a table of what a candidate does, and random histories in which two never lead at once."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.errors import ApiError, TransportError, UsageError
from podium.kube.changes import Change, Create, Patch
from podium.kube.lease import Ask, Election, Pause, Terms, Write
from podium.kube.wire import Lease, LeaseSpec, Metadata

WALL = 1_800_000_000.0


class Server:
    """One Lease with optimistic concurrency."""

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self._version = 0

    def write(self, change: Change) -> Lease:
        if isinstance(change, Create):
            if self.lease is not None:
                raise ApiError(409, "AlreadyExists", "it is there already")
            given = change.document["spec"]
        else:
            assert isinstance(change, Patch)
            if self.lease is None:
                raise ApiError(404, "NotFound", "there is none")
            if change.resource_version != self.lease.metadata.resource_version:
                raise ApiError(409, "Conflict", "it has been written since")
            given = change.patch["spec"]
        old = self.lease.spec if self.lease is not None else LeaseSpec()
        spec = LeaseSpec(
            given["holderIdentity"],
            given["leaseDurationSeconds"],
            given["acquireTime"],
            given["renewTime"],
            given.get("leaseTransitions", old.lease_transitions),
        )
        self._version += 1
        self.lease = Lease(Metadata("podium", "kube-system", "u", str(self._version)), spec=spec)
        return self.lease


class Candidate:
    """An election whose requests are answered at once."""

    def __init__(self, server: Server, identity: str, terms: Terms | None = None) -> None:
        self.server = server
        self.election = Election("kube-system", "podium", identity, terms)

    def step(self, now: float, trouble: Exception | None = None) -> str:
        step = self.election.next(now, WALL + now)
        if isinstance(step, Pause):
            return "pause"
        if trouble is not None:
            self.election.failed(trouble, now)
        elif isinstance(step, Ask):
            self.election.seen(self.server.lease, now)
        else:
            try:
                self.election.written(self.server.write(step.change), now)
            except ApiError as error:
                self.election.failed(error, now)
                return f"refused: {error.reason}"
        return "ask" if isinstance(step, Ask) else "write"

    def settle(self, now: float) -> list[str]:
        done = []
        while (what := self.step(now)) != "pause":
            done.append(what)
        return done


def leader(server: Server, identity: str = "a", now: float = 0.0) -> Candidate:
    candidate = Candidate(server, identity)
    candidate.settle(now)
    assert candidate.election.leading
    return candidate


# --- the table -------------------------------------------------------------------------------------------------


def test_the_first_one_makes_the_lease_and_leads() -> None:
    server = Server()
    first = Candidate(server, "a")
    assert first.settle(0.0) == ["ask", "write"]
    assert first.election.may_write(0.0)
    assert server.lease is not None
    spec = server.lease.spec
    assert (spec.holder_identity, spec.lease_duration_seconds, spec.lease_transitions) == ("a", 15, 0)
    assert spec.acquire_time == spec.renew_time == "2027-01-15T08:00:00.000000Z"


def test_a_leader_renews_every_retry_period_without_reading() -> None:
    server = Server()
    first = leader(server)
    assert first.settle(1.9) == []
    assert first.settle(2.0) == ["write"]
    assert server.lease is not None
    spec = server.lease.spec
    assert (spec.acquire_time, spec.renew_time) == ("2027-01-15T08:00:00.000000Z", "2027-01-15T08:00:02.000000Z")
    assert spec.lease_transitions == 0


def test_others_wait_for_the_whole_duration_since_they_saw_it_change() -> None:
    server = Server()
    leader(server)
    second = Candidate(server, "b")
    assert second.settle(5.0) == ["ask"]
    for now in range(6, 20):
        assert "write" not in second.settle(float(now))
    assert second.settle(20.0) == ["ask", "write"]
    assert second.election.leading
    assert server.lease is not None
    assert server.lease.spec.lease_transitions == 1


def test_a_renewal_starts_the_wait_anew() -> None:
    server = Server()
    first = leader(server)
    second = Candidate(server, "b")
    for now in range(1, 60):
        first.settle(float(now))
        second.settle(float(now))
        assert not second.election.leading
    assert first.election.leading


def test_who_stands_by_looks_at_once_when_it_is_told_that_the_lease_is_free() -> None:
    server = Server()
    first = leader(server)
    second = Candidate(server, "b")
    assert second.settle(0.1) == ["ask"]
    second.election.poke()
    assert second.settle(0.2) == ["ask"]  # it was not: nothing else happens
    change = first.election.release(server.lease, WALL)
    assert change is not None
    server.write(change)
    assert second.settle(0.3) == []
    second.election.poke()
    assert second.settle(0.3) == ["ask", "write"]
    assert second.election.leading
    second.election.poke()
    assert second.settle(0.4) == []  # a leader has its own times


def test_the_holders_own_duration_counts() -> None:
    server = Server()
    Candidate(server, "a", Terms(60.0, 40.0, 5.0)).settle(0.0)
    second = Candidate(server, "b")
    for now in range(1, 60):
        second.settle(float(now))
        assert not second.election.leading
    second.settle(62.0)
    assert second.election.leading


def test_a_clock_that_is_wrong_by_years_changes_nothing() -> None:
    server = Server()
    leader(server)
    second = Candidate(server, "b")
    second.election.next(0.0, WALL + 1e9)
    second.election.seen(server.lease, 0.0)
    assert isinstance(second.election.next(14.0, WALL + 2e9), Ask)
    second.election.seen(server.lease, 14.0)
    assert not second.election.leading
    assert isinstance(second.election.next(14.5, WALL), Pause)


def test_given_back_it_is_taken_at_once() -> None:
    server = Server()
    first = leader(server)
    second = Candidate(server, "b")
    second.settle(0.5)
    change = first.election.release(server.lease, WALL)
    assert not first.election.may_write(0.5)
    assert change is not None
    server.write(change)
    assert server.lease is not None
    assert server.lease.spec.holder_identity == ""
    assert second.settle(3.0) == ["ask", "write"]
    assert second.election.leading


def test_what_another_holds_is_not_given_back() -> None:
    server = Server()
    leader(server)
    assert Candidate(server, "b").election.release(server.lease, WALL) is None


def test_a_leader_that_gets_no_answer_stops_at_the_deadline() -> None:
    first = leader(Server())
    for now in range(2, 10):
        first.step(float(now), TransportError("no answer"))
        assert first.election.may_write(float(now))
    assert not first.election.may_write(10.0)
    assert first.step(10.0) == "pause"
    assert "could not be renewed for 10 s" in first.election.lost


def test_and_goes_on_when_an_answer_comes_in_time() -> None:
    server = Server()
    first = leader(server)
    first.step(2.0, TransportError("no answer"))
    first.settle(5.0)
    assert first.election.may_write(14.9)


def test_a_request_of_a_leader_has_no_longer_than_the_deadline() -> None:
    first = leader(Server())
    step = first.election.next(4.0, WALL)
    assert isinstance(step, Write)
    assert step.timeout == pytest.approx(6.0)


def test_a_conflict_is_looked_into_at_once() -> None:
    server = Server()
    first = leader(server)
    assert server.lease is not None
    touched = Lease(Metadata("podium", "kube-system", "u", "99"), spec=server.lease.spec)
    server.lease = touched  # somebody put a label on it
    assert first.settle(2.0) == ["refused: Conflict", "ask", "write"]
    assert first.election.leading


@pytest.mark.parametrize(("holder", "why"), [("b", "b has taken it"), ("", "somebody took it away")])
def test_a_leader_that_finds_another_stops_at_once(holder: str, why: str) -> None:
    server = Server()
    first = leader(server)
    server.lease = Lease(Metadata("podium", "kube-system", "u", "99"), spec=LeaseSpec(holder))
    first.settle(2.0)
    assert not first.election.may_write(2.0)
    assert first.election.lost == why


def test_a_deleted_lease_ends_its_leader_and_is_not_taken_before_its_time() -> None:
    server = Server()
    first = leader(server)
    second = Candidate(server, "b")
    second.settle(1.0)
    server.lease = None
    second.settle(1.5)
    second.settle(4.0)
    assert not second.election.leading
    first.settle(4.0)
    assert first.election.lost == "somebody took it away"
    second.settle(16.0)
    assert second.election.leading


def test_a_claim_whose_answer_was_lost_is_made_again() -> None:
    server = Server()
    first = Candidate(server, "a")
    first.step(0.0)
    step = first.election.next(0.0, WALL)
    assert isinstance(step, Write)
    server.write(step.change)
    first.election.failed(TransportError("no answer"), 1.0)
    assert not first.election.leading
    first.settle(4.0)
    assert first.election.leading
    assert server.lease is not None
    assert server.lease.spec.lease_transitions == 0


@pytest.mark.parametrize(
    ("terms", "flag"),
    [
        (Terms(10.0, 10.0, 2.0), "--leader-elect-lease-duration"),
        (Terms(15.0, 2.0, 2.0), "--leader-elect-renew-deadline"),
        (Terms(15.0, 10.0, 0.0), "--leader-elect-retry-period"),
    ],
)
def test_terms_that_cannot_work_are_refused(terms: Terms, flag: str) -> None:
    with pytest.raises(UsageError, match=flag):
        terms.check()


# --- random histories ------------------------------------------------------------------------------------------


class Fate:
    """What becomes of one request: how long it takes there and back, and whether it, or its answer, gets lost."""

    def __init__(self, there: float, back: float, lost: str) -> None:
        self.there, self.back, self.lost = there, back, lost


GOOD = Fate(0.01, 0.01, "")
bad = st.builds(
    Fate,
    st.sampled_from([0.01, 3.0, 40.0]),
    st.sampled_from([0.01, 5.0, 9.0]),
    st.sampled_from(["", "", "request", "answer"]),
)
# A candidate's network is good for some requests, then bad for some, and so on.
networks = st.lists(
    st.tuples(st.integers(0, 8), st.lists(bad, min_size=1, max_size=6)), min_size=1, max_size=4
).map(lambda spells: [fate for good, fates in spells for fate in [GOOD] * good + fates])


class World:
    """Candidates with clocks of their own, on a network with a will of its own, in virtual time."""

    def __init__(self, clocks: list[tuple[float, float]], networks: list[list[Fate]]) -> None:
        self.server = Server()
        self.now = 0.0
        self.clocks = clocks  # what a clock said at the beginning, and how fast it goes
        self.elections = [Election("kube-system", "podium", f"c{n}", seed=n) for n in range(len(clocks))]
        self._networks = [itertools.cycle(network) for network in networks]
        self._ids = itertools.count()
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._under_way: dict[int, int] = {}
        self.led: set[str] = set()
        for number in range(len(clocks)):
            self._at(0.0, lambda number=number: self._go(number))  # type: ignore[misc]

    def clock(self, number: int) -> float:
        start, rate = self.clocks[number]
        return start + self.now * rate

    def _at(self, time: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._heap, (time, next(self._ids), what))

    def run(self, seconds: float) -> None:
        while self._heap and self._heap[0][0] <= seconds:
            self.now, _, what = heapq.heappop(self._heap)
            what()
            leaders = [e.identity for n, e in enumerate(self.elections) if e.may_write(self.clock(n))]
            assert len(leaders) <= 1, f"{leaders} lead at {self.now}"
            self.led.update(leaders)

    def _go(self, number: int) -> None:
        election, rate = self.elections[number], self.clocks[number][1]
        step = election.next(self.clock(number), WALL + self.clock(number))
        if election.lost:
            # The process ends; another one starts in its place.
            self.elections[number] = Election("kube-system", "podium", f"{election.identity}'", seed=number)
            self._at(self.now + 1.0, lambda: self._go(number))
        elif isinstance(step, Pause):
            wait = max(0.01, (step.until - self.clock(number)) / rate)
            self._at(self.now + wait, lambda: self._go(number))
        else:
            self._send(number, election, step, next(self._networks[number]))

    def _send(self, number: int, election: Election, step: Ask | Write, fate: Fate) -> None:
        request = next(self._ids)
        self._under_way[number] = request

        def answered(lease: Lease | None, error: Exception | None) -> None:
            if self._under_way.get(number) != request:
                return  # nobody waits for it any more
            self._under_way.pop(number)
            now = self.clock(number)
            if error is not None:
                election.failed(error, now)
            elif isinstance(step, Ask):
                election.seen(lease, now)
            else:
                assert lease is not None
                election.written(lease, now)
            self._go(number)

        def arrives() -> None:
            lease, error = self.server.lease, None
            if isinstance(step, Write):
                try:
                    lease = self.server.write(step.change)
                except ApiError as refusal:
                    lease, error = None, refusal
            if fate.lost != "answer":
                self._at(self.now + fate.back, lambda: answered(lease, error))

        if fate.lost != "request":
            self._at(self.now + fate.there, arrives)
        rate = self.clocks[number][1]
        timeout = max(0.0, step.timeout) / rate
        self._at(self.now + timeout, lambda: answered(None, TransportError("no answer")))


candidates = st.tuples(st.floats(-1e6, 1e6, allow_nan=False), st.floats(0.9, 1.1), networks)


@settings(max_examples=200, deadline=None)
@given(st.lists(candidates, min_size=2, max_size=3))
def test_two_never_lead_at_once(given: list[tuple[float, float, list[Fate]]]) -> None:
    World([(start, rate) for start, rate, _ in given], [network for _, _, network in given]).run(400.0)


def test_on_a_network_that_works_somebody_leads() -> None:
    world = World([(0.0, 1.0), (1e6, 1.0), (-1e6, 1.0)], [[GOOD]] * 3)
    world.run(600.0)
    assert len(world.led) == 1
