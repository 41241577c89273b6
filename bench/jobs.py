"""How long many jobs take from their submission until all of their pods run.

    python -m bench.jobs [--jobs N] [--pods N] [--nodes N] [--rounds N] [--only PLACE ...]

First on an embedded cluster, in this process: what controllers and scheduler cost, a pod.  Then on a real API
server with simulated kubelets: podium beside Volcano's controller and scheduler, one after the other, each on a
fresh server with all nodes there and everything started before the jobs are submitted, all at once.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import uvloop
from tests.controlplane import build
from tests.controlplane.server import free_ports

from bench.bound import watching
from bench.population import READY_NODES, create_all, create_nodes, define_volcano
from bench.population import VOLCANO as DIALECT
from bench.report import Figure, Report, publish
from bench.schedulers import QPS, VOLCANO, Scheduler, podium, running
from bench.servers import real_server
from podium.cli.cluster import cluster_settings
from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.names import QUEUES
from podium.embedded.cluster import EmbeddedCluster
from podium.embedded.nodes.shapes import Shape
from podium.kube.client import Client
from podium.kube.controller import Ticket
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.machine import Machine
from podium.kube.manager import Manager
from podium.kube.resources import CUSTOMRESOURCEDEFINITIONS, Resource
from podium.kube.transport import Transport
from podium.kube.wire import Object

JOB_COUNT, PODS_A_JOB, NODES, ROUNDS = 1000, 10, 1000, 1
SETTLE_SECONDS = 5.0
PATIENCE = 900.0
RUNNING = "status.phase=Running"

Document = dict[str, Any]


def job(name: str, pods: int) -> Document:
    """A job of equal pods, with every default written out: nobody's webhook is asked."""
    requests = {"cpu": "1", "memory": "1Gi"}
    container = {
        "name": "worker",
        "image": "busybox:1.36",
        "command": ["sh", "-c", "sleep 3600"],
        "resources": {"requests": requests, "limits": requests},
    }
    task = {
        "name": "worker",
        "replicas": pods,
        "minAvailable": pods,
        "maxRetry": 3,
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
    }
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": name},
        "spec": {
            "minAvailable": pods,
            "schedulerName": "volcano",
            "queue": "default",
            "maxRetry": 3,
            "tasks": [task],
        },
    }


async def submit(transport: Transport, jobs: int, pods: int) -> float:
    """Seconds from the first submission until the last pod runs, as a watch at the server sees it."""
    async with watching(transport, RUNNING) as found:
        begun = time.monotonic()
        await create_all(transport, JOBS, (job(f"job-{number:04}", pods) for number in range(jobs)))
        await found.count(jobs * pods, PATIENCE)
    return max(found.moments.values()) - begun


# --- on an embedded cluster --------------------------------------------------------------------------------


class Timed:
    """A machine, and the CPU time that it takes."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.seconds = 0.0

    @property
    def resources(self) -> set[Resource]:
        return self._machine.resources

    def serve(self, resource: Resource) -> None:
        self._machine.serve(resource)

    def withdraw(self, resource: Resource) -> None:
        self._machine.withdraw(resource)

    def synced(self, resource: Resource) -> None:
        self._machine.synced(resource)

    def observe(self, resource: Resource, obj: Object) -> None:
        with self._measured():
            self._machine.observe(resource, obj)

    def forget(self, resource: Resource, obj: Object) -> None:
        with self._measured():
            self._machine.forget(resource, obj)

    def run(self, now: float, budget: int) -> list[Ticket]:
        with self._measured():
            return self._machine.run(now, budget)

    def done(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None:
        with self._measured():
            self._machine.done(ticket, result, error, now)

    def next_wake(self, now: float) -> float | None:
        return self._machine.next_wake(now)

    @contextmanager
    def _measured(self) -> Iterator[None]:
        begun = time.thread_time()
        yield
        self.seconds += time.thread_time() - begun


async def on_embedded(jobs: int, pods: int, nodes: int) -> list[Figure]:
    settings = cluster_settings(nodes=(Shape(count=nodes, cpu="64", memory="256Gi"),), in_memory=True)
    controllers = Timed(Manager(settings.controllers))
    (machine,) = settings.machines
    scheduler = Timed(machine)
    settings = msgspec.structs.replace(settings, controllers=(), machines=(controllers, scheduler))
    async with EmbeddedCluster(settings) as cluster:
        await asyncio.sleep(SETTLE_SECONDS)
        before, used = controllers.seconds + scheduler.seconds, time.process_time()
        seconds = await submit(cluster.transport, jobs, pods)
        used = time.process_time() - used
        both = controllers.seconds + scheduler.seconds - before
    count = jobs * pods
    return [
        Figure("embedded: until all run", seconds, "s"),
        Figure("embedded: controllers and scheduler, a pod", both / count * 1e6, "us"),
        Figure("embedded: controllers alone, a pod", controllers.seconds / count * 1e6, "us"),
        Figure("embedded: CPU of the whole cluster, a pod", used / count * 1e6, "us"),
    ]


# --- on a real server --------------------------------------------------------------------------------------


def _kubelets(kubeconfig: Path, directory: Path) -> list[str]:
    return [sys.executable, "-m", "bench.kubelets", str(kubeconfig)]


def _vc_controllers(kubeconfig: Path, directory: Path) -> list[str]:
    (health,) = free_ports(1)
    return [
        str(build.VC_CONTROLLER_MANAGER.path),
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        f"--kube-api-qps={QPS}",
        f"--kube-api-burst={QPS}",
        f"--healthz-address=127.0.0.1:{health}",
        "--controllers=gc-controller,job-controller,pg-controller,queue-controller",
        "--worker-threads=50",
        "--logtostderr=true",
    ]


KUBELETS = Scheduler("kubelets", "", 0, _kubelets)
CONTENDERS: dict[str, tuple[Scheduler, ...]] = {
    "podium": (Scheduler("podium", "volcano", 0, podium("run")),),
    "Volcano": (
        VOLCANO,
        Scheduler("vc-controller-manager", "volcano", 0, _vc_controllers, (build.VC_CONTROLLER_MANAGER,)),
    ),
}


class Run(msgspec.Struct, frozen=True):
    """What one contender did in one round."""

    seconds: float
    cpu_seconds: float  # of its processes


async def on_real(parts: tuple[Scheduler, ...], directory: Path, jobs: int, pods: int, nodes: int) -> Run:
    with real_server(directory, READY_NODES) as server, ExitStack() as stack:
        transport = HttpTransport(resolve(server.kubeconfig))
        await define_volcano(transport)
        rest = [each for each in DIALECT.documents() if each["spec"]["group"] != QUEUES.group]
        await create_all(transport, CUSTOMRESOURCEDEFINITIONS, rest)
        await create_nodes(transport, nodes, lambda number: 0)
        started = [stack.enter_context(running(each, server.kubeconfig, directory)) for each in (KUBELETS, *parts)]
        await _at_rest(Client(transport))
        before = sum(process.cpu_seconds() for process in started[1:])
        seconds = await submit(transport, jobs, pods)
        used = sum(process.cpu_seconds() for process in started[1:]) - before
        await transport.close()
    return Run(seconds, used)


async def _at_rest(client: Client) -> None:
    """Everything has listed what it needs: the first job would wait for that otherwise."""
    for _ in range(600):
        try:
            await client.list(JOBS)
            break
        except Exception:
            await asyncio.sleep(0.1)
    await asyncio.sleep(SETTLE_SECONDS)


def compared(found: dict[str, list[Run]], pods: int) -> list[Figure]:
    seconds = {name: median(run.seconds for run in runs) for name, runs in found.items()}
    figures = []
    if len(seconds) == len(CONTENDERS):
        ratio = seconds["podium"] / seconds["Volcano"]
        figures.append(Figure("podium / Volcano, until all run", ratio, "x", 0.5, at_least=False))
    for name, runs in found.items():
        figures += [
            Figure(f"{name}: until all run", seconds[name], "s"),
            Figure(f"{name}: its CPU time, a pod", median(run.cpu_seconds for run in runs) / pods * 1e6, "us"),
        ]
    return figures


async def measure(options: argparse.Namespace) -> Report:
    jobs, pods, nodes = options.jobs, options.pods, options.nodes
    figures: list[Figure] = []
    if not options.only or "embedded" in options.only:
        figures += await on_embedded(jobs, pods, nodes)
    contenders = [name for name in CONTENDERS if not options.only or name in options.only]
    found: dict[str, list[Run]] = {name: [] for name in contenders}
    for number in range(options.rounds):
        for name in contenders:
            with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
                one = await on_real(CONTENDERS[name], Path(directory), jobs, pods, nodes)
            found[name].append(one)
            print(f"round {number + 1}: {name} {one.seconds:.1f} s", flush=True)
    figures += compared(found, jobs * pods)
    return Report("jobs", f"{jobs:,} jobs of {pods} pods at once, on {nodes:,} nodes", figures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=JOB_COUNT)
    parser.add_argument("--pods", type=int, default=PODS_A_JOB, help="of each job")
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="on the real server")
    parser.add_argument("--only", action="append", choices=["embedded", *CONTENDERS])
    report = uvloop.run(measure(parser.parse_args()))
    publish(report)
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
