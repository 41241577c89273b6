"""Clusters for the stories of API families: `podium up`, and a real control plane with `podium run` beside it.

On the real one podium runs under the service account of its chart, with RBAC on, and whatever a story makes it do
must be allowed: the server's audit log is read when the story is over.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.cli.running import PODIUM
from tests.compat import kubelets
from tests.compat.client import Server, eventually
from tests.compat.cluster import embedded
from tests.controlplane.server import ControlPlane
from tests.processes import end
from tests.stories import accounts

NODES = 4
START_SECONDS = 60.0
STOP_SECONDS = 20.0

__all__ = ["embedded", "real"]


@contextlib.contextmanager
def bare(
    directory: Path, nodes: int, flags: Sequence[str] = (), controller_flags: Sequence[str] = ()
) -> Iterator[Server]:
    """kube-apiserver, etcd and kube-controller-manager with the families' kinds; the nodes are simulated."""
    flags = (*flags, *accounts.audit_flags(directory))
    started = ControlPlane(directory / "plane", controllers=True, flags=flags, controller_flags=controller_flags)
    with started as plane:
        server = Server("real", plane.kubeconfig, plane.url, plane.token, plane.ca, directory)
        definitions = subprocess.run([*PODIUM, "crds"], capture_output=True, text=True, check=True).stdout
        server.kubectl("apply", "-f", "-", input=definitions)
        server.established("crd", "--all")
        accounts.install(server)
        with kubelets.attached(server, nodes, directory / "kubelets", scheduled=False):
            yield server


@contextlib.contextmanager
def real(directory: Path) -> Iterator[Server]:
    """A real control plane with simulated nodes; the rest is `podium run`."""
    with bare(directory, NODES) as server, podium_run(server, directory):
        eventually(lambda: _open(server), "podium run has opened the default queue", START_SECONDS)
        yield server


def _open(server: Server) -> bool:
    answer = server.http("GET", "/apis/scheduling.volcano.sh/v1beta1/queues/default")
    return answer.status == 200 and answer.json.get("status", {}).get("state") == "Open"


@contextlib.contextmanager
def podium_run(server: Server, directory: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """Scheduler and controllers as the chart starts them.  If the block fails, what they said is shown."""
    flags = flags or ("--leader-elect=false",)
    kubeconfig = accounts.kubeconfig_of(server)
    command = [*PODIUM, "run", f"--kubeconfig={kubeconfig}", "--listen-address=:0", *flags]
    log = directory / "podium-run.log"
    with open(log, "ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    try:
        yield process
    except BaseException:
        print(f"--- podium run:\n{log.read_text(errors='replace')[-3000:]}", file=sys.stderr)
        raise
    finally:
        end(process, STOP_SECONDS)
    refused = accounts.forbidden(accounts.audit_log(directory))
    assert not refused, f"the roles of the chart do not allow what podium did: {refused}"
