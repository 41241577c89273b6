"""A Job counts every pod exactly once, whatever happens and wherever the controller is cut off.

Random histories end pods, delete them, let time pass and crash the controller after any number of its changes;
the next one starts from a fresh list.  A model beside it knows what each pod's fate was.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.embedded.controllers.job import JobController
from podium.embedded.controllers.job_cleanup import JobOrphanController
from podium.kube.controller import Controller
from podium.kube.resources import JOBS, PODS
from tests.embedded.cluster import Cluster, Document

TRACKING = "batch.kubernetes.io/job-tracking"


def job_controllers() -> list[Controller]:
    return [JobController(), JobOrphanController()]


class Model(Cluster):
    """A cluster with one Job, no kubelet, and a memory of what became of every pod."""

    def __init__(self, **spec: Any) -> None:
        super().__init__(job_controllers, nodes=0)
        self.succeeded: set[str] = set()
        self.failed: set[str] = set()
        self.job(**spec)

    def _choose(self, which: int) -> Document | None:
        pods = self.running()
        return pods[which % len(pods)] if pods else None

    def end(self, which: int, code: int) -> None:
        pod = self._choose(which)
        if pod is not None:
            self.end_pod(pod["metadata"]["name"], code)
            if TRACKING in (pod["metadata"].get("finalizers") or ()):
                (self.failed if code else self.succeeded).add(pod["metadata"]["uid"])

    def lose(self, which: int) -> None:
        """A user deletes a running pod."""
        pod = self._choose(which)
        if pod is not None:
            self.delete(pod["metadata"]["name"])
            if TRACKING in (pod["metadata"].get("finalizers") or ()):
                self.failed.add(pod["metadata"]["uid"])

    def crash_after(self, changes: int) -> None:
        """Carries out so many changes, then the controller's process is gone with all it had in mind."""
        while changes > 0:
            busy = self.take_in()
            tickets = self.manager.run(self.now)
            if not tickets and not busy:
                break
            for ticket in tickets[:changes]:
                self.carry_out(ticket)
            changes -= len(tickets)
        self.restart()

    def play(self, step: tuple[str, int]) -> None:
        kind, number = step
        match kind:
            case "succeed":
                self.end(number, 0)
            case "fail":
                self.end(number, 1)
            case "lose":
                self.lose(number)
            case "crash":
                self.crash_after(number)
            case "turn":
                self.turn()
            case "pass":
                self.pass_seconds(number * 7.0)
            case "suspend":
                if not self.finished:
                    self.spec(JOBS, "job", suspend=bool(number % 2))
            case "scale":
                if not self.finished:
                    self.spec(JOBS, "job", parallelism=number)

    @property
    def finished(self) -> bool:
        return bool(self.conditions(JOBS, "job").keys() & {"Complete", "Failed"})

    def play_to_the_end(self) -> None:
        """Everybody succeeds from here on."""
        self.spec(JOBS, "job", suspend=False, parallelism=3)
        for _ in range(40):
            self.pass_seconds(700)
            if self.finished:
                return
            self.end(0, 0)
        raise AssertionError(f"not finished: {self.status_of(JOBS, 'job')}")


@pytest.mark.parametrize("first", range(9))
@pytest.mark.parametrize("second", [0, 1, 2, 3])
def test_the_controller_may_be_cut_off_after_every_single_change(first: int, second: int) -> None:
    world = Model(completions=9, parallelism=3, backoffLimit=1000)
    world.settle()
    world.end(0, 0)
    world.end(0, 1)
    world.lose(0)
    world.crash_after(first)
    world.crash_after(second)
    world.settle()
    status = world.status_of(JOBS, "job")
    assert (status["succeeded"], status["failed"]) == (1, 2)
    assert status["uncountedTerminatedPods"] == {}


def steps(*kinds: str) -> st.SearchStrategy[list[tuple[str, int]]]:
    return st.lists(st.tuples(st.sampled_from(kinds), st.integers(0, 6)), max_size=30)


@settings(max_examples=60, deadline=None)
@given(steps("succeed", "fail", "lose", "crash", "turn", "pass"))
def test_every_pod_is_counted_once(history: list[tuple[str, int]]) -> None:
    world = Model(completions=8, parallelism=3, backoffLimit=1000)
    for step in history:
        world.play(step)
    world.settle()
    if not world.finished:
        status = world.status_of(JOBS, "job")
        assert status.get("succeeded", 0) == len(world.succeeded)
        assert status.get("failed", 0) == len(world.failed)
        assert status.get("active", 0) == len(world.running())
        assert status["uncountedTerminatedPods"] == {}
    world.play_to_the_end()
    status = world.status_of(JOBS, "job")
    assert "Complete" in world.conditions(JOBS, "job")
    assert status["succeeded"] == len(world.succeeded) == 8
    assert status.get("failed", 0) == len(world.failed)
    assert not any(pod["metadata"].get("finalizers") for pod in world.pods())


@settings(max_examples=40, deadline=None)
@given(steps("succeed", "fail", "lose", "crash", "turn", "pass", "suspend", "scale"))
def test_nothing_is_counted_twice_under_suspension_and_scaling(history: list[tuple[str, int]]) -> None:
    world = Model(completions=6, parallelism=3, backoffLimit=1000)
    for step in history:
        world.play(step)
        status = world.status_of(JOBS, "job")
        assert status.get("succeeded", 0) <= len(world.succeeded)
        assert status.get("failed", 0) <= len(world.failed)
    world.play_to_the_end()
    assert "Complete" in world.conditions(JOBS, "job")
    assert world.status_of(JOBS, "job")["succeeded"] >= 6


@settings(max_examples=40, deadline=None)
@given(steps("succeed", "fail", "lose", "crash", "turn", "pass"))
def test_indexes_complete_once_each(history: list[tuple[str, int]]) -> None:
    world = Model(completions=5, parallelism=3, backoffLimit=1000, completionMode="Indexed")
    for step in history:
        world.play(step)
    world.play_to_the_end()
    status = world.status_of(JOBS, "job")
    assert status["completedIndexes"] == "0-4"
    assert status["succeeded"] == 5
    assert status.get("failed", 0) == len(world.failed)


@settings(max_examples=40, deadline=None)
@given(steps("succeed", "fail", "lose", "crash", "turn", "pass"), st.integers(0, 2))
def test_too_many_failures_end_the_job_as_failed(history: list[tuple[str, int]], limit: int) -> None:
    world = Model(completions=1000, parallelism=2, backoffLimit=limit)
    for step in history:
        world.play(step)
    world.settle()
    failures = world.status_of(JOBS, "job").get("failed", 0)
    if len(world.failed) <= limit:
        assert not world.finished
        assert failures == len(world.failed)
    else:
        conditions = world.conditions(JOBS, "job")
        assert conditions["Failed"]["reason"] == conditions["FailureTarget"]["reason"] == "BackoffLimitExceeded"
        assert world.running() == []
        # Those that were stopped with the Job count as failed, too; nothing else does.
        assert len(world.failed) <= failures <= len(world.failed) + 2
    assert world.status_of(JOBS, "job").get("succeeded", 0) == len(world.succeeded)


@settings(max_examples=30, deadline=None)
@given(steps("fail", "lose", "crash", "turn", "pass"))
def test_every_index_gets_as_many_tries_as_it_may(history: list[tuple[str, int]]) -> None:
    world = Model(
        completions=3, parallelism=3, backoffLimitPerIndex=2, completionMode="Indexed", maxFailedIndexes=3
    )
    for step in history:
        world.play(step)
    for _ in range(30):
        world.pass_seconds(700)
        if world.finished:
            break
        world.end(0, 1)
    assert world.conditions(JOBS, "job")["Failed"]["reason"] == "FailedIndexes"
    status = world.status_of(JOBS, "job")
    assert status["failedIndexes"] == "0-2"
    assert status["failed"] == len(world.failed) == 9
    assert len(world.names(PODS)) <= 9
