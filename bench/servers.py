"""The servers under measurement, in processes of their own: `podium up`, and a real kube-apiserver with etcd."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from tests import up
from tests.controlplane import build
from tests.controlplane.server import ControlPlane

_TICKS = os.sysconf("SC_CLK_TCK")
_SETTLED = 0.1  # cores that a server may use at rest
_SETTLE_TRIES = 30


class Running(msgspec.Struct, frozen=True):
    """A started server: how to reach it, which processes it is, and how long it took to answer."""

    name: str
    kubeconfig: Path
    pids: list[int]
    seconds_to_start: float

    def cpu_seconds(self) -> float:
        """CPU time of all its processes so far."""
        return sum(map(cpu_seconds, self.pids))

    def busy_cpu(self, seconds: float) -> float:
        """How many cores it keeps busy over a while."""
        begin, used = time.monotonic(), self.cpu_seconds()
        time.sleep(seconds)
        return (self.cpu_seconds() - used) / (time.monotonic() - begin)

    def settle(self) -> None:
        """Waits until it has digested what was written: new kinds, for one, keep a server busy for a while."""
        for _ in range(_SETTLE_TRIES):
            if self.busy_cpu(1.0) < _SETTLED:
                return

    def resident_bytes(self) -> int:
        return sum(map(resident_bytes, self.pids))


@contextlib.contextmanager
def podium_up(data: Path, nodes: int = 0) -> Iterator[Running]:
    """`podium up` as a user starts it, with 8 GPUs a node."""
    begin = time.monotonic()
    with up.podium_up(data, "--nodes", str(nodes), "--gpus-per-node", "8") as process:
        yield Running("embedded", data / "kubeconfig", [process.pid], time.monotonic() - begin)


@contextlib.contextmanager
def real_server(directory: Path, *flags: str) -> Iterator[Running]:
    """kube-apiserver and etcd as they are shipped, with fsync; no controllers."""
    build.ensure((build.ETCD, build.KUBE_APISERVER), print)
    begin, before = time.monotonic(), _children()
    with ControlPlane(directory, flags=flags) as plane:
        pids = sorted(_children() - before)
        yield Running("real", plane.kubeconfig, pids, time.monotonic() - begin)


def _children() -> set[int]:
    """The processes that this one has started and that still run."""
    found = (path.read_text().split() for path in Path("/proc/self/task").glob("*/children"))
    return {int(pid) for pids in found for pid in pids}


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"process {pid} has ended")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
