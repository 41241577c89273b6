"""The assembly: a whole cluster in one process.

    data directory (locked) - log - store - API --+-- HTTPS server            kubectl and everybody else
                                                  +-- in-process transport    controllers, kubelets, scheduler

Parts are started from left to right and stopped from right to left, so that whoever writes is gone before what it
writes to.  Nothing of an existing data directory is touched before its lock, the port and the database have been
found good.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from podium.embedded.access import gate_for
from podium.embedded.api import Api
from podium.embedded.bootstrap import HeldLease, bootstrap, hold_leases, install
from podium.embedded.certificates import load_identity
from podium.embedded.controllers import all_controllers
from podium.embedded.data_directory import DataDirectory, Lock, default_directory
from podium.embedded.http_server import HttpServer, listen
from podium.embedded.identities import RandomIdentities
from podium.embedded.in_process import LocalTransport
from podium.embedded.kinds import builtin_kinds
from podium.embedded.log import MemoryLog, SqliteLog
from podium.embedded.metrics import Metrics
from podium.embedded.nodes.foreign import ForeignNodes
from podium.embedded.nodes.kubelets import simulated_kubelets
from podium.embedded.nodes.node_status import SIMULATED, marked_nodes, unless_foreign
from podium.embedded.nodes.shapes import Shape, node_documents
from podium.embedded.objects import Identities, Objects
from podium.embedded.registry import Registry
from podium.embedded.store import Store
from podium.errors import StorageError
from podium.kube.admission import Document, Hook
from podium.kube.controller import Controller
from podium.kube.driver import Driver
from podium.kube.kubeconfig import write_kubeconfig
from podium.kube.machine import Machine, Together
from podium.kube.manager import Manager
from podium.kube.resources import NODES, Resource
from podium.kube.transport import Transport
from podium.kube.wire import Node, Object

log = logging.getLogger(__name__)

# Requests of the controllers that may be under way at once: many writes share one commit to the disk.
_CONCURRENCY = 128


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `podium up`."""

    port: int = 0
    name: str = "podium"  # of its context in a kubeconfig
    nodes: tuple[Shape, ...] = ()
    data_dir: Path | None = None
    in_memory: bool = False
    only_own_nodes: bool = False  # nodes that others make are left to kubelets of theirs
    hooks: tuple[Hook, ...] = ()  # what API families say about writes to their kinds
    objects: tuple[Document, ...] = ()  # what they bring along: definitions first
    controllers: tuple[Controller, ...] = ()  # those of the API families
    machines: tuple[Machine, ...] = ()  # what decides beside the controllers: a scheduler
    views: Mapping[Resource, type[Object]] = {}  # the structs of the custom resources that these read
    leases: tuple[HeldLease, ...] = ()  # of those that run in this process, so that nobody else does the same
    identities: Identities | None = None  # of new objects; random by default


class EmbeddedCluster:
    """A running cluster: use it as an async context manager."""

    def __init__(self, settings: Settings) -> None:
        self.failed = asyncio.Event()  # a part of it has ended by itself
        self._settings = settings
        self._drives = marked_nodes if settings.only_own_nodes else unless_foreign
        self._parts = AsyncExitStack()

    async def __aenter__(self) -> EmbeddedCluster:
        try:
            await self._start()
        except OSError as error:
            await self._parts.aclose()
            where = error.filename or self.directory.path
            raise StorageError(f"{where} cannot be used: {error.strerror or error}") from error
        except BaseException:
            await self._parts.aclose()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._parts.aclose()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def node_count(self) -> int:
        """How many nodes are simulated."""
        nodes = (msgspec.json.decode(each.data, type=Node) for each in self.api.store.scan(NODES))
        return sum(map(self._drives, nodes))

    @property
    def kubeconfig(self) -> Path:
        return self.directory.kubeconfig

    async def _start(self) -> None:
        settings, parts = self._settings, self._parts
        if settings.in_memory:
            temporary = parts.enter_context(tempfile.TemporaryDirectory(prefix="podium-"))
            self.directory = DataDirectory(Path(temporary))
        else:
            self.directory = DataDirectory((settings.data_dir or default_directory()).absolute())
        parts.callback(Lock(self.directory).close)
        sock = listen(settings.port)
        parts.callback(sock.close)
        self.port: int = sock.getsockname()[1]

        journal, store = _open_log(self.directory, settings.in_memory)
        parts.callback(journal.close)
        journal.on_failure = self._log_ended
        registry = Registry(builtin_kinds())
        metrics = Metrics(store, registry)
        self.api = Api(
            store,
            registry,
            time.time,
            settings.identities or RandomIdentities(),
            settings.hooks,
            endpoints={"/metrics": metrics.answer},
        )
        bootstrap(self.api.objects, self.port)
        install(self.api.objects, settings.objects)
        hold_leases(self.api.objects, settings.leases)
        _register_nodes(self.api.objects, settings.nodes)
        await journal.wait(store.last_entry)  # a disk that is full says so now
        # What has been read stays: the collector need not walk through it again and again.
        gc.collect()
        gc.freeze()

        identity = load_identity(self.directory.pki)
        server = HttpServer(
            self.api.handle, journal, gate_for(identity.token, self.port), on_answer=metrics.answered
        )
        _measure(metrics, server, journal)
        await server.start(sock, identity.server_context())
        parts.push_async_callback(server.close)

        self.transport: Transport = LocalTransport(self.api.handle, journal)
        self._start_machine(identity.authority)
        write_kubeconfig(self.kubeconfig, self.url, identity.authority, identity.token, self._settings.name)

    def _start_machine(self, authority: str) -> None:
        """Controllers, kubelets and scheduler as one machine: they share one view of the cluster."""
        kubelets = [*simulated_kubelets(drives=self._drives), ForeignNodes(self._drives)]
        built_in = [*all_controllers(authority, self.api.registry.watchable), *kubelets]
        manager = Manager([*built_in, *self._settings.controllers])
        self.driver = driver = Driver(
            self.transport,
            Together(manager, *self._settings.machines),
            concurrency=_CONCURRENCY,
            custom_resources=True,
            views=self._settings.views,
        )
        task = asyncio.create_task(driver.run(), name="machine")
        task.add_done_callback(self._machine_ended)
        self._parts.push_async_callback(_cancel, task)

    def _log_ended(self, error: StorageError) -> None:
        """Nothing can be acknowledged any more: going on would only lose what is written from here."""
        log.critical("%s", error)
        self.failed.set()

    def _machine_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            log.critical("the controllers ended by an error of their own", exc_info=task.exception())
            self.failed.set()


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


def _measure(metrics: Metrics, server: HttpServer, journal: MemoryLog | SqliteLog) -> None:
    metrics.add_gauge("podium_connections", "Open connections.", lambda: server.connections)
    metrics.add_gauge("podium_answers_waiting", "Answers that wait for the disk.", lambda: server.waiting)
    metrics.add_counter("podium_log_commits", "Group commits of the log.", lambda: journal.commits)
    metrics.add_counter("podium_log_commit_seconds", "Time spent in them.", lambda: journal.commit_seconds)


def _open_log(directory: DataDirectory, in_memory: bool) -> tuple[MemoryLog | SqliteLog, Store]:
    if in_memory:
        memory = MemoryLog()
        return memory, Store(memory)
    if not directory.database.exists():
        directory.database.touch(mode=0o600)  # it will hold secrets
    stored = SqliteLog(directory.database)
    return stored, stored.restore()


def _register_nodes(objects: Objects, shapes: Iterable[Shape]) -> None:
    """Creates the nodes that are not there yet; whatever became of the others since, they stay as they are.

    The new ones are marked as simulated, which distinguishes them from those that others make.
    """
    kind = objects.registry.find(NODES.group, NODES.version, NODES.plural)
    assert kind is not None
    known = {
        record.name: record.document().get("spec", {}).get("podCIDR", "") for record in objects.store.scan(NODES)
    }
    for document in node_documents(shapes, objects.clock(), known):
        document["metadata"]["annotations"].setdefault(SIMULATED, "true")
        objects.create(kind, "", document)
