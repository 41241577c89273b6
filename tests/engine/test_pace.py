"""The pace of reports on one object: at once, and when they go on and on, one a second."""

from __future__ import annotations

from podium.engine.pace import AT_ONCE, GAP, Pace, Report

NOW = 1000.0


class Desk:
    """Where reports are made."""

    def __init__(self) -> None:
        self.pace = Pace()
        self.made: list[tuple[str, float]] = []

    def says(self, sentence: str, *, news: bool = True) -> Report:
        def make(now: float) -> bool:
            self.made.append((sentence, now))
            return news

        return make

    def tire(self, about: str, now: float = NOW) -> None:
        """Reports until there is a pause."""
        for _ in range(AT_ONCE):
            self.pace.report(about, self.says("earlier"), now)
        assert len(self.made) == AT_ONCE
        self.made.clear()


def test_the_first_reports_are_made_at_once_and_others_after_a_gap() -> None:
    desk = Desk()
    desk.tire("g")
    desk.pace.report("g", desk.says("next"), NOW + 0.1)
    desk.pace.catch_up(NOW + 0.1)
    assert desk.made == []
    assert desk.pace.next_wake == NOW + 0.1 + GAP
    desk.pace.catch_up(NOW + 0.1 + GAP)
    assert desk.made == [("next", NOW + 0.1 + GAP)]
    assert desk.pace.next_wake is None


def test_of_those_that_are_put_off_the_last_one_is_made() -> None:
    desk = Desk()
    desk.tire("g")
    for sentence in ("a", "b", "c"):
        desk.pace.report("g", desk.says(sentence), NOW + 0.5)
    desk.pace.catch_up(NOW + 2)
    assert [sentence for sentence, _ in desk.made] == ["c"]


def test_objects_do_not_feel_each_other() -> None:
    desk = Desk()
    desk.tire("g")
    desk.pace.report("other", desk.says("x"), NOW)
    assert desk.made == [("x", NOW)]


def test_what_is_urgent_is_made_at_once_and_in_place_of_what_was_put_off() -> None:
    desk = Desk()
    desk.tire("g")
    desk.pace.report("g", desk.says("old"), NOW)
    desk.pace.report("g", desk.says("urgent"), NOW, urgent=True)
    desk.pace.catch_up(NOW + 10)
    assert [sentence for sentence, _ in desk.made] == ["urgent"]


def test_what_is_dropped_is_not_made() -> None:
    desk = Desk()
    desk.tire("g")
    desk.pace.report("g", desk.says("old"), NOW)
    desk.pace.drop("g")
    assert desk.pace.next_wake is None
    desk.pace.catch_up(NOW + 10)
    assert desk.made == []


def test_a_report_that_writes_nothing_costs_nothing() -> None:
    desk = Desk()
    for _ in range(3 * AT_ONCE):
        desk.pace.report("g", desk.says("same", news=False), NOW)
    assert len(desk.made) == 3 * AT_ONCE


def test_after_a_rest_all_is_as_before() -> None:
    desk = Desk()
    desk.tire("g")
    desk.tire("g", NOW + AT_ONCE * GAP)


def test_a_storm_becomes_one_report_a_second_and_ends_with_the_last_state() -> None:
    desk = Desk()
    for number in range(1000):
        now = NOW + number / 50
        desk.pace.report("g", desk.says(str(number)), now)
        desk.pace.catch_up(now)
    wake = desk.pace.next_wake
    assert wake is not None
    desk.pace.catch_up(wake)
    assert AT_ONCE + 15 <= len(desk.made) <= AT_ONCE + 22
    assert desk.made[-1][0] == "999"
