"""A real control plane for tests: etcd, kube-apiserver and, on request, kube-controller-manager.

    with ControlPlane(directory, controllers=True) as plane:
        plane.kubeconfig, plane.url, plane.token, plane.ca

Everything listens on free loopback ports.  etcd runs as shipped, with fsync.  There are no kubelets: who needs
pods to run brings simulated ones (`tests.compat.cluster`).
"""

from __future__ import annotations

import http.client
import json
import secrets
import socket
import ssl
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.controlplane import certificates
from tests.controlplane.build import ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, Binary
from tests.processes import end

START_SECONDS = 90.0


class ControlPlane:
    """The processes of one control plane and what a client needs to reach it."""

    def __init__(
        self,
        directory: Path,
        *,
        controllers: bool = False,
        flags: Sequence[str] = (),
        controller_flags: Sequence[str] = (),
    ) -> None:
        self.directory = directory
        self.token = secrets.token_hex(16)
        self.kubeconfig = directory / "kubeconfig"
        self.with_controllers = controllers
        self._flags = tuple(flags)
        self._controller_flags = tuple(controller_flags)
        self._processes: list[subprocess.Popen[bytes]] = []
        directory.mkdir(parents=True, exist_ok=True)
        self._files = certificates.write(directory)
        self.ca = self._files.ca
        self._etcd_port, self._peer_port, self.port = free_ports(3)
        self.url = f"https://127.0.0.1:{self.port}"
        self._tokens = directory / "tokens.csv"
        self._tokens.write_text(f'{self.token},admin,admin,"system:masters"\n')
        write_kubeconfig(self.kubeconfig, self.url, self.ca, self.token)

    def start(self) -> ControlPlane:
        """Returns when /readyz says ok.  A second start after `kill` continues on the same data."""
        self._spawn(
            ETCD,
            f"--data-dir={self.directory / 'etcd'}",
            f"--listen-client-urls=http://127.0.0.1:{self._etcd_port}",
            f"--advertise-client-urls=http://127.0.0.1:{self._etcd_port}",
            f"--listen-peer-urls=http://127.0.0.1:{self._peer_port}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{self._peer_port}",
            f"--initial-cluster=default=http://127.0.0.1:{self._peer_port}",
            "--log-level=warn",
        )
        self._spawn(
            KUBE_APISERVER,
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",  # the reconciler refuses a loopback address
            f"--secure-port={self.port}",
            f"--cert-dir={self.directory}",
            f"--tls-cert-file={self._files.serving_cert}",
            f"--tls-private-key-file={self._files.serving_key}",
            f"--token-auth-file={self._tokens}",
            "--authorization-mode=RBAC",
            "--anonymous-auth=false",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._files.service_account_key}",
            f"--service-account-signing-key-file={self._files.service_account_key}",
            # Tokens for pods that never run would only add a volume to each, and a wait for the account.
            "--disable-admission-plugins=ServiceAccount",
            "--kubelet-preferred-address-types=InternalIP",
            *self._flags,
        )
        self._wait_ready()
        if self.with_controllers:
            self._spawn(
                KUBE_CONTROLLER_MANAGER,
                f"--kubeconfig={self.kubeconfig}",
                "--leader-elect=false",
                "--secure-port=0",
                f"--service-account-private-key-file={self._files.service_account_key}",
                f"--root-ca-file={self.ca}",
                # Simulated kubelets send no heartbeats: silence must not count as death.
                "--node-monitor-grace-period=24h",
                "--concurrent-gc-syncs=5",
                *self._controller_flags,
            )
        return self

    def stop(self) -> None:
        """Ends the processes in the reverse order of their start, politely, then not."""
        for process in reversed(self._processes):
            end(process, 10)
        self._processes.clear()

    def kill(self) -> None:
        """kill -9 of everything at once."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        self._processes.clear()

    def restart(self) -> None:
        self.stop()
        self.start()

    def log_tail(self, name: str, lines: int = 20) -> str:
        return "\n".join((self.directory / f"{name}.log").read_text(errors="replace").splitlines()[-lines:])

    def __enter__(self) -> ControlPlane:
        try:
            return self.start()
        except BaseException:
            self.kill()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _spawn(self, binary: Binary, *flags: str) -> None:
        with open(self.directory / f"{binary.name}.log", "ab") as output:
            self._processes.append(
                subprocess.Popen(
                    [str(binary.path), *flags], stdout=output, stderr=output, stdin=subprocess.DEVNULL
                )
            )

    def _wait_ready(self) -> None:
        context = ssl.create_default_context(cafile=str(self.ca))
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            for process in self._processes:
                if process.poll() is not None:
                    name = Path(str(process.args[0])).name  # type: ignore[index]
                    raise RuntimeError(f"{name} ended with {process.returncode}:\n{self.log_tail(name)}")
            try:
                connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=5)
                connection.request("GET", "/readyz", headers={"Authorization": f"Bearer {self.token}"})
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise RuntimeError(
            f"kube-apiserver is not ready after {START_SECONDS} s:\n{self.log_tail('kube-apiserver')}"
        )


def write_kubeconfig(path: Path, url: str, ca: Path, token: str) -> None:
    """JSON is YAML enough for every reader of a kubeconfig."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": url, "certificate-authority": str(ca)}}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "current-context": "test",
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(document, indent=2))


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on, all held open until the last one is chosen so that they differ."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [int(opened.getsockname()[1]) for opened in sockets]
    finally:
        for opened in sockets:
            opened.close()
