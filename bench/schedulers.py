"""The schedulers under measurement, each as its users start it, in a process of its own.

None is held back by its client: the limit of requests a second is the same for all and out of reach.  What a
scheduler decides by is its own default configuration; podium and Volcano share one.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from tests.controlplane import build
from tests.controlplane.server import free_ports
from tests.processes import end

from bench.servers import cpu_seconds, resident_bytes

QPS = 5000
GANG = 100
STOP_SECONDS = 10.0

# From the kubeconfig and a directory for files of its own to a command line.
Command = Callable[[Path, Path], list[str]]


class Scheduler(msgspec.Struct, frozen=True):
    """One of the competitors.  `gang` is how many pods it places all or none of; 0: it knows single pods only."""

    name: str
    pods_of: str  # the schedulerName it listens to
    gang: int
    command: Command
    binaries: tuple[build.Binary, ...] = ()


class Process(msgspec.Struct, frozen=True):
    """A scheduler at work."""

    pid: int
    started: float  # monotonic

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)

    def resident_bytes(self) -> int:
        return resident_bytes(self.pid)


@contextlib.contextmanager
def running(scheduler: Scheduler, kubeconfig: Path, directory: Path) -> Iterator[Process]:
    """Runs a scheduler for the length of a block.  If the block fails, what the scheduler said is shown."""
    build.ensure(scheduler.binaries)
    directory.mkdir(parents=True, exist_ok=True)
    log = directory / f"{scheduler.name}.log"
    command = scheduler.command(kubeconfig, directory)
    with open(log, "wb") as output:
        started = time.monotonic()
        process = subprocess.Popen(
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=_environment()
        )
    try:
        yield Process(process.pid, started)
    except BaseException:
        print(f"--- {scheduler.name}:\n{log.read_text(errors='replace')[-3000:]}", file=sys.stderr)
        raise
    finally:
        end(process, STOP_SECONDS)


def _environment() -> dict[str, str]:
    """Ours, but with modules compiled once, as an installed program has them, even where that is switched off."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def podium(command: str) -> Command:
    """A command of podium that runs on a cluster."""

    def line(kubeconfig: Path, directory: Path) -> list[str]:
        return [
            *(sys.executable, "-m", "podium.cli.main", command),
            f"--kubeconfig={kubeconfig}",
            "--leader-elect=false",
            f"--kube-api-qps={QPS}",
            f"--kube-api-burst={QPS}",
            "--listen-address=:0",
        ]

    return line


def _bind_loop(kubeconfig: Path, directory: Path) -> list[str]:
    return [sys.executable, "-m", "bench.loop", str(kubeconfig)]


def _kube_scheduler(kubeconfig: Path, directory: Path) -> list[str]:
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": QPS, "burst": QPS},
    }
    file = directory / "kube-scheduler.json"
    file.write_bytes(msgspec.json.encode(configuration))
    return [str(build.KUBE_SCHEDULER.path), f"--config={file}", "--secure-port=0"]


def _vc_scheduler(kubeconfig: Path, directory: Path) -> list[str]:
    metrics, health = free_ports(2)
    return [
        str(build.VC_SCHEDULER.path),
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        f"--kube-api-qps={QPS}",
        f"--kube-api-burst={QPS}",
        f"--listen-address=127.0.0.1:{metrics}",
        f"--healthz-address=127.0.0.1:{health}",
        "--cache-dumper=false",
        "--logtostderr=true",
    ]


def _vc_controller_manager(kubeconfig: Path, directory: Path) -> list[str]:
    return [
        str(build.VC_CONTROLLER_MANAGER.path),
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        f"--kube-api-qps={QPS}",
        f"--kube-api-burst={QPS}",
        "--enable-healthz=false",
        "--logtostderr=true",
    ]


BIND_LOOP = Scheduler("bare bind loop", "nobody", GANG, _bind_loop)  # on the same objects as podium
PODIUM = Scheduler("podium", "volcano", GANG, podium("scheduler"))
KUBE_SCHEDULER = Scheduler("kube-scheduler", "default-scheduler", 0, _kube_scheduler, (build.KUBE_SCHEDULER,))
VOLCANO = Scheduler("Volcano", "volcano", GANG, _vc_scheduler, (build.VC_SCHEDULER,))
VOLCANO_CONTROLLERS = Scheduler(
    "Volcano's controllers", "nobody", 0, _vc_controller_manager, (build.VC_CONTROLLER_MANAGER,)
)
