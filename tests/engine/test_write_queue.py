"""Status writes: how many at a time, in which order, and when one is made again."""

from __future__ import annotations

import pytest

from podium.engine.retries import LAST_PAUSE
from podium.engine.write_queue import AT_ONCE, GAP, WHILE_BINDING, WRITES_A_SECOND, WriteQueue
from podium.kube.changes import Change, Patch
from podium.kube.resources import PODS

NOW = 1000.0


def patch(name: str, text: str = "") -> Patch:
    return Patch(PODS, "ns", name, {"status": {"message": text}}, subresource="status")


def write_queue(*names: str) -> WriteQueue:
    found = WriteQueue()
    found.take(NOW)
    for name in names:
        found.put(patch(name))
    return found


def names(changes: list[Change]) -> list[str]:
    return [each.name for each in changes]


def test_a_second_has_so_many_words_and_no_more() -> None:
    many = 3 * int(WRITES_A_SECOND)
    found = write_queue(*(f"p{index}" for index in range(many)))
    assert len(found.take(NOW)) == WRITES_A_SECOND
    assert found.take(NOW) == []
    assert len(found) == many - WRITES_A_SECOND
    assert len(found.take(NOW + 0.5)) == WRITES_A_SECOND / 2
    # What was not used is not kept for longer than a second.
    assert len(found.take(NOW + 100)) == WRITES_A_SECOND


def test_while_binds_are_under_way_there_are_fewer() -> None:
    found = write_queue(*(f"p{index}" for index in range(3 * int(WRITES_A_SECOND))))
    assert len(found.take(NOW, binding=True)) == int(WRITES_A_SECOND * WHILE_BINDING)


def test_when_the_next_word_is_due() -> None:
    found = write_queue()
    assert found.next_wake(NOW) is None
    for index in range(2 * int(WRITES_A_SECOND)):
        found.put(patch(f"p{index}"))
    assert found.next_wake(NOW) == NOW
    found.take(NOW)
    wake = found.next_wake(NOW)
    assert wake is not None
    assert wake == pytest.approx(NOW + 1 / WRITES_A_SECOND)
    assert len(found.take(wake)) == 1


def test_what_others_wait_for_goes_at_once_and_beyond_the_budget() -> None:
    found = write_queue(*(f"p{index}" for index in range(3 * int(WRITES_A_SECOND))))
    found.take(NOW)
    found.put(patch("urgent"), urgent=True)
    assert found.next_wake(NOW) == NOW
    assert names(found.take(NOW)) == ["urgent"]


def test_of_one_object_the_last_word_counts_and_one_is_under_way_at_a_time() -> None:
    found = write_queue()
    found.put(patch("p", "old"))
    found.put(patch("p", "new"))
    (first,) = found.take(NOW)
    assert first == patch("p", "new")
    found.put(patch("p", "newest"))
    found.put(patch("q"))
    assert names(found.take(NOW + 1)) == ["q"]
    found.answered(first, NOW, lost=False)
    assert found.take(NOW + 2) == [patch("p", "newest")]


def test_a_word_that_was_lost_is_said_again_unless_there_is_a_newer_one() -> None:
    found = write_queue("p")
    (first,) = found.take(NOW)
    found.answered(first, NOW, lost=True)
    assert found.take(NOW + 1) == [first]
    found.put(patch("p", "newer"))
    found.answered(first, NOW + 1, lost=True)
    assert found.take(NOW + 3) == [patch("p", "newer")]
    found.put(patch("p", "urgent"), urgent=True)
    # Another object of the same content is not the one under way.
    found.answered(patch("p", "newer"), NOW + 3, lost=True)
    assert found.take(NOW + 100) == []


def test_a_server_that_is_away_is_asked_less_and_less_often() -> None:
    found = write_queue("p")
    now, sent = NOW, []
    while now < NOW + 600:
        for each in found.take(now):
            sent.append(now)
            found.answered(each, now, lost=True)
        wake = found.next_wake(now)
        assert wake is not None
        assert wake > now
        now = wake
    assert 20 <= len(sent) <= 30
    assert sent[-1] - sent[-2] == LAST_PAUSE
    (last,) = found.take(NOW + 700)
    found.answered(last, NOW + 700, lost=False)
    found.put(patch("p"))
    assert len(found.take(NOW + 700)) == 1, "after an answer all is as before"


def test_the_server_says_how_long_it_wants_to_be_left_alone() -> None:
    found = write_queue("p")
    (first,) = found.take(NOW)
    found.answered(first, NOW, lost=True, at_least=5.0)
    assert found.next_wake(NOW) == NOW + 5
    assert found.take(NOW + 4.9) == []
    assert found.take(NOW + 5) == [first]


def test_what_is_no_longer_true_is_not_made_again() -> None:
    found = write_queue("p")
    (first,) = found.take(NOW)
    found.answered(first, NOW, lost=True)
    found.withdraw((PODS.group_resource, "ns", "p"))
    assert found.take(NOW + 100) == []


def test_one_object_is_written_some_times_at_once_and_then_once_in_a_while() -> None:
    found = write_queue()
    sent = []
    for step in range(100):
        now = NOW + step * 0.1 * GAP
        found.put(patch("a", str(step)))
        for each in found.take(now):
            sent.append(each)
            found.answered(each, now, lost=False)
    assert AT_ONCE < len(sent) <= AT_ONCE + 10
    found.put(patch("a", "last"))
    found.put(patch("b"))
    assert names(found.take(now)) == ["b"], "the others do not wait for it"
    wake = found.next_wake(now)
    assert wake is not None
    assert found.take(wake) == [patch("a", "last")]
