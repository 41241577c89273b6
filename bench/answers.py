"""How long `podium why` and `podium queue` take on a large cluster.  `python -m bench.answers`

1,000 nodes and 10,000 pods on a real API server: 8,000 have their nodes, and 2,000 wait in gangs that do not fit.
Each command is run as a user runs it, in a process of its own, several times: the median counts.  First the
cluster is read; then `podium run` serves it, and its scheduler is asked.
"""

from __future__ import annotations

import contextlib
import re
import secrets
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
_STARTED_SECONDS = 60.0
_PROGRAM = Path(sys.executable).with_name("podium")


async def measure(directory: Path) -> Report:
    with real_server(directory, READY_NODES) as server:
        transport = HttpTransport(resolve(server.kubeconfig))
        await define_volcano(transport)
        await create_nodes(transport, NODES)
        await _fill(transport)
        await transport.close()
        server.settle()
        figures = [*_figures("the cluster is read", server.kubeconfig)]
        with _scheduler(server.kubeconfig, directory) as dashboard:
            asked = "the scheduler is asked"
            figures += _figures(asked, server.kubeconfig, "--dashboard", dashboard, target=1.0)
    return Report("answers", f"{NODES} nodes, {RUNNING + GANGS * MEMBERS} pods", figures)


def _figures(how: str, kubeconfig: Path, *flags: str, target: float | None = None) -> Iterator[Figure]:
    for command in COMMANDS:
        seconds = [_timed(kubeconfig, *command, *flags) for _ in range(TIMES)]
        what = f"podium {command[0]}, {how}"
        yield Figure(f"{what}: median", statistics.median(seconds), "s", target, at_least=False)
        yield Figure(f"{what}: slowest", max(seconds), "s")


@contextlib.contextmanager
def _scheduler(kubeconfig: Path, directory: Path) -> Iterator[str]:
    """`podium run` on the cluster; the address of its dashboard, as soon as it can be asked."""
    token, log = directory / "token", directory / "run.log"
    token.write_text(secrets.token_urlsafe(32))
    words = ["run", "--kubeconfig", str(kubeconfig), "--listen-address", ":0", "--dashboard-address", ":0"]
    with log.open("wb") as out:
        process = subprocess.Popen([_PROGRAM, *words, "--dashboard-token-file", token], stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + _STARTED_SECONDS
        while time.monotonic() < deadline:
            found = re.search(r"dashboard: (http://\S+?),", log.read_text())
            address = f"{found[1]}/login?token={token.read_text()}" if found else ""
            words = ["why", "podgroup/gang-00000", "--kubeconfig", str(kubeconfig), "--dashboard", address]
            if address and b"waits" in subprocess.run([_PROGRAM, *words], capture_output=True, check=False).stdout:
                yield address
                return
            time.sleep(0.5)
        raise RuntimeError(f"podium run does not answer: {log.read_text()[-2000:]}")
    finally:
        process.terminate()
        process.wait(30)


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
