"""The two clusters that stories run on: `podium up`, and a real control plane with podium's simulated nodes."""

from __future__ import annotations

import base64
import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.compat import kubelets
from tests.compat.client import Server
from tests.controlplane.server import ControlPlane

NODES = 4
START_SECONDS = 60.0


@contextlib.contextmanager
def embedded(directory: Path) -> Iterator[Server]:
    """`podium up` as a user starts it, in a process of its own."""
    data = directory / "data"
    log = directory / "up.log"
    command = [
        sys.executable,
        "-m",
        "podium.cli.main",
        "up",
        "--nodes",
        str(NODES),
        "--data-dir",
        str(data),
        "--port",
        "0",
    ]
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    try:
        _wait_for(data / "kubeconfig", process, log)
        running = server_of(data / "kubeconfig", directory)
        _wait_ready(running, process, log)
        yield running
    finally:
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def real(directory: Path) -> Iterator[Server]:
    """kube-apiserver, etcd and kube-controller-manager; the nodes and the scheduler are podium's."""
    with ControlPlane(directory / "plane", controllers=True) as plane:
        running = Server("real", plane.kubeconfig, plane.url, plane.token, plane.ca, directory)
        with kubelets.attached(running, NODES, directory / "kubelets"):
            yield running


def server_of(kubeconfig: Path, home: Path) -> Server:
    """What a kubeconfig of `podium up` says, for those who do not use kubectl."""
    document = yaml.safe_load(kubeconfig.read_text())
    described = document["clusters"][0]["cluster"]
    ca = home / "ca.crt"
    if "certificate-authority-data" in described:
        ca.write_bytes(base64.b64decode(described["certificate-authority-data"]))
    else:
        ca = Path(described["certificate-authority"])
    return Server("embedded", kubeconfig, described["server"], document["users"][0]["user"]["token"], ca, home)


def _wait_for(path: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not path.exists():
        _check(process, log, deadline)


def _wait_ready(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        with contextlib.suppress(OSError):
            if server.http("GET", "/readyz").status == 200:
                return
        _check(process, log, deadline)


def _check(process: subprocess.Popen[bytes], log: Path, deadline: float) -> None:
    if process.poll() is not None or time.monotonic() > deadline:
        raise RuntimeError(f"podium up did not start:\n{log.read_text(errors='replace')[-3000:]}")
    time.sleep(0.05)
