"""Is the embedded cluster fast enough?  `python -m bench.embedded [creates] [binds] [watchers] [burst] [scale]`.

- creates: durable pod creates over HTTPS with 32 clients, beside a real kube-apiserver in the same run
- binds: durable binds through the in-process transport
- watchers: 50 watchers on 1,000 changes a second: nothing lost, nothing out of order, nothing late
- burst: 10,000 pods at once for the scheduler: how soon they have nodes, and whether the server still answers
- scale: 10,000 nodes and 50,000 pods: memory, restart, and what it costs when nothing happens

Exit code 1 if a figure misses its target.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import uvloop

from bench.pods import pod
from bench.report import Figure, Report, percentile, publish
from bench.servers import Running, podium_up, real_server
from podium.embedded.api import Api
from podium.embedded.bootstrap import bootstrap
from podium.embedded.identities import RandomIdentities
from podium.embedded.in_process import LocalTransport
from podium.embedded.kinds import builtin_kinds
from podium.embedded.log import SqliteLog
from podium.embedded.registry import Registry
from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import PODS
from podium.kube.transport import Request

ROUNDS = 3
CREATE_SECONDS = 6.0
BOUND_PODS = 20_000
BIND_CONCURRENCY = 256
WATCHERS, CHANGE_RATE, CHANGE_SECONDS = 50, 1000, 30
BURST_PODS, BURST_NODES = 10_000, 2000
NODES, PODS_LOADED = 10_000, 50_000
SETTLE_SECONDS, IDLE_SECONDS = 120.0, 20.0


class Load:
    """A load generator at work."""

    def __init__(self, what: str, server: Running, *options: str) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="podium-load-")
        self._result = Path(self._directory.name, "result.json")
        command = [sys.executable, "-m", "bench.load", what, str(server.kubeconfig), str(self._result), *options]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait_until_ready(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line.strip() != "ready":
            raise RuntimeError(f"the load generator did not get ready: {line}")

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._directory.cleanup()

    def result(self) -> dict[str, Any]:
        self._process.communicate()
        if self._process.returncode:
            raise RuntimeError(f"the load generator failed with {self._process.returncode}")
        found: dict[str, Any] = msgspec.json.decode(self._result.read_bytes())
        self._directory.cleanup()
        return found


# --- creates -----------------------------------------------------------------------------------------------


def creates(directory: Path) -> Report:
    """The two servers take turns, and the median of their rounds counts: the machine may have other work."""
    rates: dict[str, list[float]] = {"embedded": [], "real": []}
    latencies: dict[str, list[float]] = {"embedded": [], "real": []}
    work: dict[str, list[float]] = {"embedded": [], "real": []}
    for number in range(ROUNDS):
        for start in (podium_up, real_server):
            with start(directory / f"{start.__name__}-{number}") as server:
                used = server.cpu_seconds()
                found = Load("create", server, "--seconds", str(CREATE_SECONDS)).result()
                work[server.name].append((server.cpu_seconds() - used) / found["created"])
            rates[server.name].append(found["count"] / found["seconds"])
            latencies[server.name] += found["latencies"]
    ours, theirs = median(rates["embedded"]), median(rates["real"])
    figures = [
        Figure("embedded / real", ours / theirs, "x", 0.6),
        Figure("embedded", ours, "creates/s"),
        Figure("real kube-apiserver", theirs, "creates/s"),
    ]
    for name in ("embedded", "real"):
        for part in (0.5, 0.99):
            value = percentile(latencies[name], part) * 1000
            figures.append(Figure(f"{name}, latency p{part * 100:.0f}", value, "ms"))
        figures.append(Figure(f"{name}, CPU time of a create", median(work[name]) * 1e6, "us"))
    return Report("creates", "durable pod creates over HTTPS, 32 clients", figures)


# --- binds -------------------------------------------------------------------------------------------------


def binds(directory: Path) -> Report:
    """The API, the log and the in-process transport as `podium up` assembles them, without controllers."""
    return uvloop.run(_binds(directory / "state.db"))


async def _binds(path: Path) -> Report:
    journal, transport = _server(path)
    await _in_parallel(
        [
            Request("POST", PODS.path("default"), body=msgspec.json.encode(pod(f"p-{number}")))
            for number in range(BOUND_PODS)
        ],
        transport,
    )
    requests = []
    for number in range(BOUND_PODS):
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": f"p-{number}", "annotations": {"podium.dev/gang-plan": f"{number // 8}/1/8"}},
            "target": {"apiVersion": "v1", "kind": "Node", "name": f"node-{number % 100}"},
        }
        body = msgspec.json.encode(binding)
        requests.append(Request("POST", PODS.path("default", f"p-{number}", "binding"), body=body))
    commits = journal.commits
    begin, used = time.perf_counter(), time.process_time()
    await _in_parallel(requests, transport)
    seconds, used = time.perf_counter() - begin, time.process_time() - used
    commits = journal.commits - commits
    journal.close()
    figures = [
        Figure("binds", BOUND_PODS / seconds, "/s", 8000),
        Figure("CPU time of a bind", used / BOUND_PODS * 1e6, "us"),
        Figure("binds in one commit", BOUND_PODS / max(1, commits)),
    ]
    return Report("binds", "durable binds through the in-process transport", figures)


def _server(path: Path) -> tuple[SqliteLog, LocalTransport]:
    journal = SqliteLog(path)
    api = Api(journal.restore(), Registry(builtin_kinds()), time.time, RandomIdentities())
    bootstrap(api.objects, 0)
    return journal, LocalTransport(api.handle, journal)


async def _in_parallel(requests: list[Request], transport: LocalTransport) -> None:
    """Carries requests out, so many at a time, as a scheduler's shell does."""
    waiting = iter(requests)

    async def worker() -> None:
        for request in waiting:
            answer = await transport.request(request)
            if answer.status != 201:
                raise RuntimeError(f"{request.method} {request.path}: {answer.body[:300]!r}")

    await asyncio.gather(*(worker() for _ in range(BIND_CONCURRENCY)))


# --- watchers ----------------------------------------------------------------------------------------------


def watchers(directory: Path) -> Report:
    """Two more processes beside the server: one changes pods, one holds all the watches."""
    total = CHANGE_RATE * CHANGE_SECONDS
    with podium_up(directory) as server:
        pace = ("--rate", str(CHANGE_RATE), "--seconds", str(CHANGE_SECONDS))
        changer = Load("change", server, *pace)
        changer.wait_until_ready()
        watching = Load("watch", server, "--watchers", str(WATCHERS), "--events", str(total))
        watching.wait_until_ready()
        begin, used = time.monotonic(), server.cpu_seconds()
        changer.go()
        changed = changer.result()
        if changed["failures"]:
            watching.stop()  # it would wait for them for ever
            raise RuntimeError(f"changes failed: {changed['failures']}")
        seen = watching.result()
        seconds, used = time.monotonic() - begin, server.cpu_seconds() - used
    lags = seen["lags"]
    figures = [
        Figure("changes", changed["count"] / changed["seconds"], "/s", 0.98 * CHANGE_RATE),
        Figure("watchers that got every event", float(seen["complete"]) * seen["watchers"], "", WATCHERS),
        Figure("watchers that got them in order", float(seen["in_order"]) * seen["watchers"], "", WATCHERS),
        Figure("lag p99", percentile(lags, 0.99), "s", 1.0, at_least=False),
        Figure("lag p50", percentile(lags, 0.5), "s"),
        Figure("events delivered", seen["events"] / seconds, "/s"),
        Figure("CPU time of a change and its events", used / changed["count"] * 1e6, "us"),
        Figure("CPU of the watching clients", seen["cpu_seconds"] / seconds * 100, "% of a core"),
    ]
    return Report(
        "watchers",
        f"{WATCHERS} watchers on {CHANGE_RATE} changes/s of pods of 3 KB for {CHANGE_SECONDS} s",
        figures,
    )


# --- burst -------------------------------------------------------------------------------------------------


def burst(directory: Path) -> Report:
    """Everything in one process: the API, the scheduler that places the pods, the kubelets that start them."""
    with podium_up(directory, BURST_NODES) as server:
        used = server.cpu_seconds()
        found = Load("burst", server, "--count", str(BURST_PODS)).result()
        used = server.cpu_seconds() - used
    figures = [
        Figure("GET /readyz, p99", percentile(found["answers"], 0.99) * 1000, "ms", 100.0, at_least=False),
        Figure("GET /readyz, p50", percentile(found["answers"], 0.5) * 1000, "ms"),
        Figure("GET /readyz, longest", max(found["answers"]) * 1000, "ms"),
        Figure("created to bound, all", BURST_PODS / found["seconds"], "pods/s"),
        Figure("until all were created", found["created_seconds"], "s"),
        Figure("until all were bound", found["seconds"], "s"),
        Figure("CPU time of a pod", used / BURST_PODS * 1e6, "us"),
    ]
    return Report("burst", f"{BURST_PODS:,} pods at once on {BURST_NODES:,} nodes", figures)


# --- scale -------------------------------------------------------------------------------------------------


def scale(directory: Path) -> Report:
    """Pods are put onto their nodes at once; the simulated kubelets run them before anything is measured."""
    begin = time.monotonic()
    with podium_up(directory, NODES) as server:
        Load("create", server, "--count", str(PODS_LOADED), "--spread").result()
        loading = time.monotonic() - begin
        settling = _settle(server)
        resident = server.resident_bytes()
        idle = server.busy_cpu(IDLE_SECONDS)
    with podium_up(directory, NODES) as server:
        restart = server.seconds_to_start
        _settle(server)
        resident_after = server.resident_bytes()
        idle_after = server.busy_cpu(IDLE_SECONDS)
    gib = 1 << 30
    figures = [
        Figure("resident memory", resident / gib, "GiB", 1.5, at_least=False),
        Figure("resident memory after a restart", resident_after / gib, "GiB", 1.5, at_least=False),
        Figure("restart until ready", restart, "s", 15.0, at_least=False),
        Figure("CPU when idle", idle * 100, "% of a core", 2.0, at_least=False),
        Figure("CPU when idle, after a restart", idle_after * 100, "% of a core", 2.0, at_least=False),
        Figure("time to load", loading, "s"),
        Figure("time to settle", settling, "s"),
        Figure("database", sum(f.stat().st_size for f in directory.glob("*.db*")) / gib, "GiB"),
    ]
    return Report("scale", f"{NODES:,} nodes and {PODS_LOADED:,} pods of 3 KB", figures)


def _settle(server: Running) -> float:
    """Waits until every pod runs and the cluster has nothing left to do: next to no CPU for two seconds."""
    begin = time.monotonic()
    while (busy := server.busy_cpu(2.0)) > 0.05 or (running := asyncio.run(_running_pods(server))) < PODS_LOADED:
        if time.monotonic() - begin > SETTLE_SECONDS:
            reported = f"{running:,} of {PODS_LOADED:,} pods run" if busy <= 0.05 else f"{busy:.2f} cores are busy"
            raise RuntimeError(f"the cluster does not come to rest: {reported}")
    return time.monotonic() - begin


async def _running_pods(server: Running) -> int:
    transport = HttpTransport(resolve(server.kubeconfig))
    found = await Client(transport).list(PODS, field_selector="status.phase=Running")
    await transport.close()
    return len(found)


BENCHMARKS: dict[str, Callable[[Path], Report]] = {
    "creates": creates,
    "binds": binds,
    "watchers": watchers,
    "burst": burst,
    "scale": scale,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", choices=[*BENCHMARKS, []], help="all, if none is named")
    chosen = parser.parse_args().which or list(BENCHMARKS)
    good = True
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
            report = BENCHMARKS[name](Path(directory))
        publish(report)
        good = good and report.good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
