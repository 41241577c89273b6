"""Whether any author of objects can hold up the others.  `python -m bench.adversarial [--kind NAME ...] [--full]`

Each kind fills `podium up` with what is dear to look at: a term, a taint or a queue of its own for every pod, or
labels as large as a server takes them.  At two or three sizes it is measured

    how long /healthz was without an answer at the longest, on the clock and in CPU time of the cluster's process:
        on a machine that others use as well the second says what the cluster did, the first what the others took
    how long a good pod takes from its creation to its node, with all of that there
    the CPU time and the memory of the cluster's process

and from the CPU times, by what power of the input the cost grows.  A power of 1 is fair: who sends twice as much
costs twice as much.  The probes are sent by a process of their own, so that nobody else's work delays them.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import uvloop
from rich.console import Console
from rich.table import Table
from tests.up import podium_up

from bench.adversaries import KINDS, Objects, pod
from bench.population import NAMESPACE, Document, create_all
from bench.report import Figure, Report, publish
from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import PODS, Resource
from podium.kube.transport import Request

CLUSTER_NODES = 50
GOOD = 5  # good pods, one after the other
LONGEST_FREEZE = 0.2
STEEPEST = 1.2
PATIENCE = 120.0
QUIET_SHARE = 0.05  # of a core: less for a second, and the cluster is at rest
PROBE_SECONDS = 0.01


class Sample(msgspec.Struct, frozen=True):
    """One kind at one size."""

    size: int
    freeze: float  # s
    busy: float  # s of the process's own CPU time, of the same
    good: float  # s, the slowest good pod
    cpu: float  # s
    memory: float  # MB


# --- measuring ---------------------------------------------------------------------------------------------------


def measure(kind: str, size: int) -> Sample:
    with (
        tempfile.TemporaryDirectory(prefix="podium-bench-") as directory,
        podium_up(Path(directory), "--nodes-file", str(_nodes(Path(directory)))) as up,
    ):
        return uvloop.run(_measure(kind, size, Path(directory) / "kubeconfig", up.pid))


def _nodes(directory: Path) -> Path:
    """Nodes for all, which may be full, and one that only good pods tolerate: they wait for us and for no room."""
    file = directory / "nodes.yaml"
    taint = "{key: good, value: 'true', effect: NoSchedule}"
    file.write_text(f"- {{name: node, count: {CLUSTER_NODES}}}\n- {{name: good, count: 1, taints: [{taint}]}}\n")
    return file


async def _measure(kind: str, size: int, kubeconfig: Path, pid: int) -> Sample:
    connection = resolve(kubeconfig)
    transport = HttpTransport(connection)
    await _rest(pid)
    before = _cpu(pid)
    prober = subprocess.Popen(  # noqa: ASYNC220 - it takes no time
        [sys.executable, "-m", "bench.adversarial", "--probe", str(kubeconfig), str(pid)], stdout=subprocess.PIPE
    )
    try:
        for resource, documents in _by_resource(KINDS[kind](size)):
            await create_all(transport, resource, documents)
        await _rest(pid)
        good = [await _good_pod(transport, f"good-{number}") for number in range(GOOD)]
        await _rest(pid)
    finally:
        prober.send_signal(signal.SIGTERM)
        reported, _ = prober.communicate()
    await transport.close()
    freeze, busy = map(float, reported.split())
    return Sample(size, freeze, busy, max(good), _cpu(pid) - before, _memory(pid))


def _by_resource(objects: Objects) -> Iterator[tuple[Resource, list[Document]]]:
    """In the order of the kinds' first objects, so that nothing comes before what it needs."""
    found: dict[Resource, list[Document]] = {}
    for resource, document in objects:
        found.setdefault(resource, []).append(document)
    yield from found.items()


async def _good_pod(transport: HttpTransport, name: str) -> float:
    client = Client(transport)
    begun = time.monotonic()
    tolerated = [{"key": "good", "operator": "Exists"}]
    spec: Document = {"priorityClassName": "system-cluster-critical", "tolerations": tolerated}
    await client.create(PODS, NAMESPACE, pod(name, **spec))
    while time.monotonic() < begun + PATIENCE:
        if (await client.get(PODS, NAMESPACE, name))["spec"].get("nodeName"):
            return time.monotonic() - begun
        await asyncio.sleep(0.005)
    return math.inf


async def _rest(pid: int) -> None:
    """Until the process has next to nothing to do."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        before = _cpu(pid)
        await asyncio.sleep(1.0)
        if _cpu(pid) - before < QUIET_SHARE:
            return


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def _own_time(pid: int) -> float:
    """How long the process's first thread, which is the one with the loop, has been running."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


async def probe(kubeconfig: Path, pid: int) -> tuple[float, float]:
    """Asks for /healthz until it is told to stop: the longest time without an answer, on the clock and in CPU."""
    transport = HttpTransport(resolve(kubeconfig), width=1)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    longest = busiest = 0.0
    while not stop.is_set():
        begun, before = time.monotonic(), _own_time(pid)
        await transport.request(Request("GET", "/healthz"), timeout=PATIENCE)
        longest = max(longest, time.monotonic() - begun)
        busiest = max(busiest, _own_time(pid) - before)
        await asyncio.sleep(PROBE_SECONDS)
    await transport.close()
    return longest, busiest


def exponent(samples: list[Sample]) -> float:
    """By what power of the size the CPU time grows, from the smallest to the largest."""
    first, last = samples[0], samples[-1]
    return math.log(max(last.cpu, 0.01) / max(first.cpu, 0.01)) / math.log(last.size / first.size)


# --- the command -------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.adversarial", description=__doc__)
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[500, 1000, 2000])
    parser.add_argument("--full", action="store_true", help="sizes 1250, 2500 and 5000")
    parser.add_argument("--probe", nargs=2, help=argparse.SUPPRESS)
    reported = parser.parse_args()
    if reported.probe is not None:
        print(*uvloop.run(probe(Path(reported.probe[0]), int(reported.probe[1]))))
        return 0
    sizes = [1250, 2500, 5000] if reported.full else reported.sizes
    found: dict[str, list[Sample]] = {}
    for kind in reported.kind:
        for size in sizes:
            sample = measure(kind, size)
            found.setdefault(kind, []).append(sample)
            print(f"{kind} {size}: {sample}", file=sys.stderr, flush=True)
    show(found)
    report = Report("adversarial", "What is dear to look at", figures(found))
    publish(report)
    return 0 if report.good else 1


def figures(found: dict[str, list[Sample]]) -> list[Figure]:
    result = []
    for kind, samples in found.items():
        last = samples[-1]
        freeze, busy = max(each.freeze for each in samples), max(each.busy for each in samples)
        result += [
            Figure(f"{kind}: longest freeze", round(freeze, 3), "s"),
            Figure(f"{kind}: longest freeze, of its own doing", round(busy, 3), "s", LONGEST_FREEZE, False),
            Figure(f"{kind}: a good pod", round(last.good, 3), "s"),
            Figure(f"{kind}: memory", round(last.memory), "MB"),
            Figure(f"{kind}: CPU", round(last.cpu, 1), "s"),
        ]
        if len(samples) > 1:
            result.append(Figure(f"{kind}: exponent", round(exponent(samples), 2), "", STEEPEST, False))
    return result


def show(found: dict[str, list[Sample]]) -> None:
    table = Table("kind", "size", "freeze, ms", "of its own, ms", "good pod, ms", "CPU, s", "RSS, MB", "exponent")
    for kind, samples in found.items():
        for each in samples:
            last = each is samples[-1] and len(samples) > 1
            table.add_row(
                kind,
                str(each.size),
                f"{1000 * each.freeze:.0f}",
                f"{1000 * each.busy:.0f}",
                f"{1000 * each.good:.0f}",
                f"{each.cpu:.1f}",
                f"{each.memory:.0f}",
                f"{exponent(samples):.2f}" if last else "",
            )
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
