"""What terms that look at tasks cost: by what is compared and by the largest portion, not by the clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from podium.core.cluster import peers
from podium.core.cluster.cluster import Cluster
from podium.core.cluster.nodes import NodeFacts
from podium.core.model.constraints import Constraints, PodSelection, PodTerm, Requirement, Spread
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.labels import all_hold
from podium.core.model.model import Phase, Queue, State
from tests.core.world import HOST, World, near, profile

HOSTNAME = "kubernetes.io/hostname"
NODES = 4


def cluster_of(tasks: Iterable[TaskFacts]) -> Cluster:
    cluster = Cluster()
    cluster.put_queue(Queue("q", "q"))
    for number in range(NODES):
        room = {"cpu": 1_000_000, "memory": 1 << 40, "pods": 100_000}
        cluster.put_node(NodeFacts(f"n{number}", f"n{number}", room, labels={HOSTNAME: f"n{number}"}))
    for facts in tasks:
        cluster.put_gang(GangFacts(facts.gang, "default", facts.gang, "q", phase=Phase.INQUEUE))
        cluster.put_task(facts)
    return cluster


def task(name: str, constraints: Constraints, labels: Mapping[str, str], node: str = "") -> TaskFacts:
    state = State.RUNNING if node else State.PENDING
    return TaskFacts(name, "default", name, name, {"cpu": 100}, constraints, labels=labels, state=state, node=node)


def shunning(key: str) -> Constraints:
    """Keeps away from whoever lacks a label."""
    selection = PodSelection(("default",), (Requirement(key, "DoesNotExist"),))
    return Constraints(anti_affinity=(PodTerm(HOSTNAME, selection),))


def spreading(app: str) -> Constraints:
    selection = PodSelection(("default",), (Requirement("app", "In", (app,)),))
    return Constraints(spread=(Spread(HOSTNAME, selection),))


def attack(others: int, terms: int) -> list[TaskFacts]:
    plain = Constraints()
    crowd = [task(f"o{n}", plain, {"job": f"j{n}"}, f"n{n % NODES}") for n in range(others)]
    lonely = [task(f"s{n}", shunning(f"k{n}"), {}) for n in range(terms)]
    even = [task(f"e{n}", spreading(f"a{n}"), {"app": f"a{n}"}) for n in range(terms)]
    return [*crowd, *lonely, *even]


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often labels were compared with a selection."""
    count = [0]

    def counted(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
        count[0] += 1
        return all_hold(requirements, labels)

    monkeypatch.setattr(peers, "all_hold", counted)
    return count


def test_terms_are_compared_with_parties_and_not_with_tasks(compared: list[int]) -> None:
    """Ten times the tasks beside the same terms: not one comparison more."""
    costs = []
    for others in (100, 1000):
        compared[0] = 0
        cluster = cluster_of(attack(others, 50))
        cluster.settle()
        costs.append(compared[0])
        cluster.peers.validate(cluster.tasks.values())
    assert costs[0] == costs[1]


def test_settling_goes_in_portions(compared: list[int]) -> None:
    cluster = cluster_of(attack(2000, 100))
    last, largest, portions = 0, 0, 0
    for _ in cluster.settling(100):
        largest, last = max(largest, compared[0] - last), compared[0]
        portions += 1
    assert portions > 20
    # A portion ends after the party in which it was used up.
    assert largest <= 100 + 200
    cluster.peers.validate(cluster.tasks.values())


def test_new_terms_are_compared_with_known_parties_in_portions(compared: list[int]) -> None:
    """They look at a label that is looked at already: nobody is divided anew."""
    cluster = cluster_of(task(f"e{n}", spreading(f"a{n}"), {"app": f"a{n}"}) for n in range(200))
    cluster.settle()
    for number in range(100):
        selection = PodSelection(("default",), (Requirement("app", "NotIn", (f"b{number}",)),))
        apart = Constraints(anti_affinity=(PodTerm(HOSTNAME, selection),))
        cluster.put_gang(GangFacts(f"n{number}", "default", f"n{number}", "q", phase=Phase.INQUEUE))
        cluster.put_task(task(f"n{number}", apart, {"app": "a0"}))
    began = last = compared[0]
    largest = 0
    for _ in cluster.settling(100):
        largest, last = max(largest, compared[0] - last), compared[0]
    largest = max(largest, compared[0] - last)
    assert compared[0] - began >= 200 * 100
    assert largest <= 100 + 100, "a portion ends after the party in which it was used up"
    cluster.peers.validate(cluster.tasks.values())


def test_a_task_on_a_row_is_one_number_more_whatever_looks_at_it() -> None:
    cluster = cluster_of(attack(100, 50))
    cluster.settle()
    known = cluster.tasks["o1"]
    assert known.party is not None
    assert known.party is cluster.tasks["o2"].party
    assert len(known.party.matching) == 50
    column = next(iter(known.party.matching))
    before = cluster.peers.counts(column, peers.HERE, NODES)
    assert before is not None
    assert before.sum() == 100
    cluster.assign(known, State.PENDING, -1)
    after = cluster.peers.counts(column, peers.HERE, NODES)
    assert after is not None
    assert after.sum() == 99
    cluster.peers.validate(cluster.tasks.values())


def test_parties_without_tasks_are_forgotten() -> None:
    cluster = cluster_of(attack(0, 10))
    for number in range(3000):
        facts = task(f"x{number}", Constraints(), {"app": f"x{number}"})
        cluster.put_gang(GangFacts(facts.gang, "default", facts.gang, "q", phase=Phase.INQUEUE))
        cluster.put_task(facts)
        cluster.settle()
        cluster.remove_task(facts.id)
    assert len(cluster.peers._parties) < 1100
    cluster.peers.validate(cluster.tasks.values())


def test_rows_are_counted_beyond_what_a_column_began_with() -> None:
    """A column of counts grows by powers of two: the first row beyond it is one of them."""
    world = World()
    for number in range(129):
        world.node(f"n{number:03}", cpu=1000)
    apart = Constraints(anti_affinity=(near(HOST, app="x"),))
    for number in (64, 128):
        world.task(f"there-{number}", apart, at=f"n{number:03}", labels={"app": "x"})
    world.cluster.validate()
    world.task("new", apart, labels={"app": "x"})
    world.run(profile(["predicates", "gang"]))
    assert world.placed.keys() == {"new"}
