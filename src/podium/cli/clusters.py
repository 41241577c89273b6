"""The clusters of this machine: each has a directory, the default one $PODIUM_HOME, others one below it."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from podium.embedded.data_directory import DataDirectory, default_directory, holder
from podium.errors import PodiumError, UsageError

DEFAULT = "podium"
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


class NamedCluster(msgspec.Struct, frozen=True):
    """A cluster by the name that its user gave it, which is also that of its context."""

    name: str
    directory: DataDirectory


class ClusterStatus(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    state: str  # running, starting, stopped
    pid: int | None
    server: str
    nodes: int | None
    pods: int | None
    kubeconfig: str
    dashboard: str = ""  # its address, with the token


def cluster_of(name: str | None, data_dir: Path | None) -> NamedCluster:
    """The cluster that `--name` and `--data-dir` mean."""
    if name is not None and data_dir is not None:
        raise UsageError("--name and --data-dir exclude each other: a name has a directory of its own")
    if name is None or name == DEFAULT:
        return NamedCluster(DEFAULT, DataDirectory((data_dir or default_directory()).absolute()))
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name {name}: lower case letters, digits and dashes, 40 at the most")
    return NamedCluster(f"{DEFAULT}-{name}", DataDirectory((_folder() / name).absolute()))


def _folder() -> Path:
    return default_directory() / "clusters"


def known_clusters() -> list[NamedCluster]:
    """Those that have been started before."""
    found = [NamedCluster(DEFAULT, DataDirectory(default_directory()))]
    if _folder().is_dir():
        found += [
            NamedCluster(path.name, DataDirectory(path)) for path in sorted(_folder().iterdir()) if path.is_dir()
        ]
    return [each for each in found if each.directory.lock.exists()]


def of_context(context: str | None) -> Path | None:
    """The kubeconfig of the cluster whose context has this name; without one, of that without a name."""
    name = (context or DEFAULT).removeprefix(f"{DEFAULT}-")
    if (context and name == context != DEFAULT) or not _NAME.fullmatch(name):
        return None
    folder = default_directory() if name == DEFAULT else _folder() / name
    found = DataDirectory(folder).kubeconfig
    return found if found.exists() else None


def last_port(directory: DataDirectory) -> int:
    """The port that a cluster had when it last ran: who knows it finds it there again.  0 if it never did."""
    from podium.kube.kubeconfig import resolve

    try:
        server = resolve(directory.kubeconfig).server if directory.kubeconfig.exists() else ""
    except PodiumError:
        return 0
    port = server.rpartition(":")[2]
    return int(port) if port.isdigit() else 0


def look(cluster: NamedCluster) -> ClusterStatus:
    """How a cluster stands."""
    import asyncio

    from podium.cli.running_scheduler import address_beside

    pid = holder(cluster.directory)
    kubeconfig = cluster.directory.kubeconfig
    if pid is None:
        return ClusterStatus(cluster.name, "stopped", None, "", None, None, str(kubeconfig))
    try:
        server, nodes, pods = asyncio.run(_counted(kubeconfig))
    except PodiumError:
        return ClusterStatus(cluster.name, "starting", pid, "", None, None, str(kubeconfig))
    return ClusterStatus(
        cluster.name, "running", pid, server, nodes, pods, str(kubeconfig), address_beside(kubeconfig)
    )


async def _counted(kubeconfig: Path) -> tuple[str, int, int]:
    from podium.kube.client import Client
    from podium.kube.http_client import HttpTransport
    from podium.kube.kubeconfig import resolve
    from podium.kube.resources import NODES, PODS

    connection = resolve(kubeconfig)
    transport = HttpTransport(connection)
    try:
        client = Client(transport)
        nodes, pods = await client.list_encoded(NODES), await client.list_encoded(PODS)
    finally:
        await transport.close()
    return connection.server, len(nodes), len(pods)
