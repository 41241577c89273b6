"""The two clusters that stories run on: `podium up`, and a real control plane with podium's simulated nodes."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.compat import kubelets
from tests.compat.client import Server
from tests.controlplane.server import ControlPlane
from tests.up import podium_up

NODES = 4


@contextlib.contextmanager
def embedded(directory: Path) -> Iterator[Server]:
    data = directory / "data"
    with podium_up(data, "--nodes", str(NODES)):
        yield server_of(data / "kubeconfig", directory)


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
