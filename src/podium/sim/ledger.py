"""What happened in a run, as flat columns: a line a stay of a pod on a node, and a line a job.

Writing a line is all that a run does while it goes; every figure is counted afterwards from the columns, whole
columns at a time (`figures.py`).  So recording costs little, and a hundred thousand jobs some megabytes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import msgspec

RESOURCES = ("gpu", "cpu", "memory")  # in the order of the columns below


class Amount(msgspec.Struct, frozen=True):
    """So much of each resource: GPUs, cores and bytes."""

    gpu: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0


class LedgerNode(msgspec.Struct, frozen=True):
    """A node and what it has."""

    name: str
    has: Amount


class LedgerJob(msgspec.Struct):
    """A job: pods that belong together.  Times in seconds, -1 for what has not happened."""

    name: str
    queue: str
    pods: int
    asks: Amount  # all pods together, when they are most
    arrival: float
    started: float = -1.0  # when the last of its pods ran for the first time
    ended: float = -1.0
    evictions: int = 0
    duration: float = 0.0  # how long it is meant to run, or has run
    why: str = ""  # why it has not started, if it never did


class Ledger:
    """The columns.  Stays and wishes are known by the number of their line."""

    def __init__(self) -> None:
        self.nodes: list[LedgerNode] = []
        self.jobs: list[LedgerJob] = []
        self._rows: dict[str, int] = {}
        self.stay_node = array("l")
        self.stay_gpu, self.stay_cpu, self.stay_memory = array("d"), array("d"), array("d")
        self.stay_began, self.stay_ended = array("d"), array("d")
        self.wish_gpu, self.wish_cpu, self.wish_memory = array("d"), array("d"), array("d")
        self.wish_began, self.wish_ended = array("d"), array("d")

    def add_nodes(self, nodes: Iterable[LedgerNode]) -> None:
        """Nodes by name; one that is known already stays as it is."""
        for node in nodes:
            if node.name not in self._rows:
                self._rows[node.name] = len(self.nodes)
                self.nodes.append(node)

    def began(self, node: str, amount: Amount, now: float) -> int:
        """A pod runs on a node from now on."""
        self.stay_node.append(self._rows.get(node, -1))
        self.stay_gpu.append(amount.gpu)
        self.stay_cpu.append(amount.cpu)
        self.stay_memory.append(amount.memory)
        self.stay_began.append(now)
        self.stay_ended.append(-1.0)
        return len(self.stay_began) - 1

    def ended(self, stay: int, now: float) -> None:
        """It runs no more."""
        self.stay_ended[stay] = now

    def wished(self, amount: Amount, now: float) -> int:
        """Somebody asks for so much from now on, whether it is given or not."""
        self.wish_gpu.append(amount.gpu)
        self.wish_cpu.append(amount.cpu)
        self.wish_memory.append(amount.memory)
        self.wish_began.append(now)
        self.wish_ended.append(-1.0)
        return len(self.wish_began) - 1

    def fulfilled(self, wish: int, now: float) -> None:
        """And needs it no more."""
        self.wish_ended[wish] = now
