"""Seeded histories of a scheduler under faults: whatever happens to its writes, what must hold holds in the end.

Binds are refused, time out before or after they happened, and the scheduler is killed at any moment.  Afterwards,
with the faults over: no node holds more than it has, and every gang has all of its members bound or none.  Where
nobody would create its pods again, a gang may keep a part of them, and none of them was told to go.
"""

from __future__ import annotations

import os
import random

import pytest

from podium.engine.dispatcher import CallType
from podium.errors import ApiError, TransportError
from podium.kube.controller import Ticket
from podium.kube.quantity import parse_milli
from podium.kube.resources import NODES, PODS
from tests.engine.stage import OWNER, Stage

SEEDS = range(200 if os.environ.get("PODIUM_SOAK") else 15)


class Killed(Exception):
    """The scheduler's process ended in the middle of something."""


def faults(stage: Stage, dice: random.Random) -> None:
    """Lets three of ten binds meet some trouble, and now and then the whole process."""

    def before(ticket: Ticket) -> Exception | None:
        if dice.random() < 0.02:
            raise Killed
        if ticket.purpose != "bind" or dice.random() > 0.2:
            return None
        return dice.choice(
            [
                ApiError(409, "Conflict", "somebody was faster"),
                ApiError(429, "TooManyRequests", "slow down"),
                ApiError(500, "InternalError", "etcd"),
                TransportError("refused"),
            ]
        )

    def after(ticket: Ticket) -> Exception | None:
        if dice.random() < 0.02:
            raise Killed
        return TransportError("reset") if ticket.purpose == "bind" and dice.random() < 0.1 else None

    stage.trouble, stage.lost = before, after


def settle(stage: Stage, seconds: float) -> None:
    """As `Stage.settle`, with a new scheduler whenever one was killed."""
    for _ in range(100):
        try:
            stage.settle(seconds)
            return
        except Killed:
            stage.restart()
    raise AssertionError("killed a hundred times")


def check(stage: Stage, gangs: dict[str, int], *, owned: bool = True) -> None:
    items = stage.server.ok("GET", PODS.path("default"))["items"]
    used: dict[str, int] = {}
    bound: dict[str, int] = {}
    for pod in items:
        node = pod["spec"].get("nodeName")
        if node:
            amount = parse_milli(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
            used[node] = used.get(node, 0) + amount
            group = pod["metadata"].get("annotations", {}).get("scheduling.k8s.io/group-name", "")
            bound[group] = bound.get(group, 0) + 1
    for node in stage.server.ok("GET", NODES.path())["items"]:
        room = parse_milli(node["status"]["allocatable"]["cpu"])
        assert used.get(node["metadata"]["name"], 0) <= room, "a node holds more than it has"
    assert owned or not stage.sent(CallType.MARK), "pods that nobody would create again were told to go"
    for gang, size in gangs.items() if owned else ():
        assert bound.get(gang, 0) in (0, size), f"{gang} has {bound.get(gang)} of {size} members bound"


@pytest.mark.parametrize("seed", SEEDS)
def test_gangs_under_faults(seed: int) -> None:
    dice = random.Random(seed)
    stage = Stage()
    owned = seed % 2 == 0
    for index in range(dice.randint(2, 4)):
        stage.node(f"n{index}", cpu=str(dice.randint(2, 6)))
    gangs = {f"g{index}": dice.randint(1, 5) for index in range(dice.randint(2, 5))}
    faults(stage, dice)
    for gang, size in gangs.items():
        stage.group(gang, size)
        for index in range(size):
            cpu = dice.choice(["500m", "1", "2"])
            stage.pod(f"{gang}-{index}", gang, cpu=cpu, owners=[OWNER] if owned else [])
            if dice.random() < 0.3:
                settle(stage, 0.5)
    settle(stage, 30)
    stage.trouble = stage.lost = None
    stage.restart()
    for _ in range(5):
        stage.settle(120)
        stage.bury()
    check(stage, gangs, owned=owned)
