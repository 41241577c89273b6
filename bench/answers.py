"""How long `podium why` and `podium queue` take on a large cluster.  `python -m bench.answers`

1,000 nodes and 10,000 pods on a real API server: 8,000 have their nodes, and 2,000 wait in gangs that do not fit.
Each command is run as a user runs it, in a process of its own, several times: the median counts.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from bench.population import (
    READY_NODES,
    Document,
    bound_pod,
    create_all,
    create_nodes,
    define_volcano,
    group,
    node_name,
    waiting_pod,
)
from bench.report import Figure, Report, publish
from bench.servers import real_server
from podium.dialects.volcano.names import PODGROUPS
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import PODS
from podium.kube.transport import Transport

NODES, RUNNING, GANGS, MEMBERS = 1000, 8000, 250, 8
TIMES = 7
COMMANDS = (("why", "podgroup/gang-00100"), ("queue",), ("nodes",))
_PROGRAM = Path(sys.executable).with_name("podium")


async def measure(directory: Path) -> Report:
    with real_server(directory, READY_NODES) as server:
        transport = HttpTransport(resolve(server.kubeconfig))
        await define_volcano(transport)
        await create_nodes(transport, NODES)
        await _fill(transport)
        await transport.close()
        figures = []
        for command in COMMANDS:
            seconds = [_timed(server.kubeconfig, *command) for _ in range(TIMES)]
            target = 1.0 if command[0] != "nodes" else None
            figures.append(
                Figure(f"podium {command[0]}, median", statistics.median(seconds), "s", target, at_least=False)
            )
            figures.append(Figure(f"podium {command[0]}, slowest", max(seconds), "s"))
    return Report("answers", f"{NODES} nodes, {RUNNING + GANGS * MEMBERS} pods", figures)


def _timed(kubeconfig: Path, *words: str) -> float:
    began = time.perf_counter()
    done = subprocess.run(
        [str(_PROGRAM), *words, "--kubeconfig", str(kubeconfig)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return time.perf_counter() - began


async def _fill(transport: Transport) -> None:
    await create_all(transport, PODS, (bound_pod(f"run-{n:05}", node_name(n % NODES)) for n in range(RUNNING)))
    await create_all(transport, PODGROUPS, (group(f"gang-{n:05}", MEMBERS) for n in range(GANGS)))
    await create_all(transport, PODS, _waiting())


def _waiting() -> Iterator[Document]:
    for number in range(GANGS):
        for member in range(MEMBERS):
            pod = waiting_pod(f"gang-{number:05}-{member}", "volcano", f"gang-{number:05}")
            for container in pod["spec"]["containers"]:
                container["resources"] = {"limits": {"nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": "8"}}
            yield pod


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
        report = uvloop.run(measure(Path(directory)))
    publish(report)
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
