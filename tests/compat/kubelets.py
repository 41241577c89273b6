"""Simulated nodes for a real control plane: podium's kubelets and scheduler as clients, and a door for logs.

The same machine that `podium up` drives within its process runs here in a thread and talks HTTPS.  What a real
API server asks of a kubelet over the network, the logs of a container, a small HTTPS server answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

from podium.embedded.nodes.kubelets import simulated_kubelets
from podium.embedded.nodes.logs import simulated_log
from podium.embedded.nodes.shapes import Shape, node_document
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.errors import ApiError
from podium.kube.driver import Driver
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.machine import Machine, Together
from podium.kube.manager import Manager
from podium.runtime.configuration import embedded_profiles
from tests.compat.client import Document, Server
from tests.controlplane.certificates import write as write_certificates


@contextlib.contextmanager
def attached(server: Server, nodes: int, directory: Path, *, scheduled: bool = True) -> Iterator[None]:
    """Registers nodes with the server and plays their kubelets until the end of the block.

    `scheduled` brings a scheduler for plain pods along, for stories that are not about schedulers.
    """
    with _log_door(server, directory) as port, _machine(server.kubeconfig, scheduled):
        for index in range(nodes):
            node = node_document(Shape(), f"node-{index:03d}", index, time.time())
            node["status"]["addresses"] = [{"type": "InternalIP", "address": "127.0.0.1"}]
            node["status"]["daemonEndpoints"] = {"kubeletEndpoint": {"Port": port}}
            server.create("/api/v1/nodes", node)
        yield


@contextlib.contextmanager
def _machine(kubeconfig: Path, scheduled: bool) -> Iterator[None]:
    """Kubelets, and perhaps the scheduler, on an event loop of their own."""
    loop = asyncio.new_event_loop()
    started = threading.Event()
    running: list[asyncio.Task[None]] = []

    async def drive() -> None:
        transport = HttpTransport(resolve(kubeconfig))
        machines: list[Machine] = [Manager(simulated_kubelets())]
        if scheduled:
            machines.append(Scheduler(World(()), embedded_profiles()))
        driver = Driver(transport, Together(*machines))
        running.append(asyncio.create_task(driver.run()))
        started.set()
        with contextlib.suppress(asyncio.CancelledError):
            await running[0]
        await transport.close()

    thread = threading.Thread(target=loop.run_until_complete, args=[drive()], name="kubelets", daemon=True)
    thread.start()
    started.wait()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(running[0].cancel)
        thread.join(timeout=10)


@contextlib.contextmanager
def _log_door(server: Server, directory: Path) -> Iterator[int]:
    """The kubelet's HTTPS port, as far as `kubectl logs` needs it: one for all nodes."""
    directory.mkdir()
    files = write_certificates(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.serving_cert, files.serving_key)

    class Door(_LogHandler):
        cluster = server

    door = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    door.daemon_threads = True
    door.socket = context.wrap_socket(door.socket, server_side=True)
    thread = threading.Thread(target=door.serve_forever, name="kubelet-logs", daemon=True)
    thread.start()
    try:
        yield int(door.server_address[1])
    finally:
        door.shutdown()
        door.server_close()


class _LogHandler(BaseHTTPRequestHandler):
    """GET /containerLogs/<namespace>/<pod>/<container>"""

    cluster: ClassVar[Server]
    protocol_version = "HTTP/1.0"  # the end of the log is the end of the connection

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        _, _, namespace, name, container = url.path.split("/")
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        try:
            text = self._print(self._pod(namespace, name), container, query)
        except ApiError as refusal:
            self.send_error(refusal.code, refusal.message)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(text)
        while query.get("follow") == "true":
            self.wfile.flush()
            time.sleep(0.1)
            pod = self._pod(namespace, name)
            grown = self._print(pod, container, query)
            self.wfile.write(grown[len(text) :])
            text = grown
            if not pod or pod["status"].get("phase") in ("Succeeded", "Failed"):
                return

    def _pod(self, namespace: str, name: str) -> Document:
        answer = self.cluster.http("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
        return answer.json if answer.status == 200 else {}

    def _print(self, pod: Document, container: str, query: dict[str, str]) -> bytes:
        numbers = {
            key: int(query[key]) if key in query else None for key in ("tailLines", "limitBytes", "sinceSeconds")
        }
        return simulated_log(
            pod,
            container,
            previous=query.get("previous") == "true",
            tail_lines=numbers["tailLines"],
            limit_bytes=numbers["limitBytes"],
            since_seconds=numbers["sinceSeconds"],
            timestamps=query.get("timestamps") == "true",
            now=time.time(),
        )

    def log_message(self, format: str, *args: object) -> None:
        """Tests are quiet."""
