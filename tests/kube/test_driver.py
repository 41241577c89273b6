"""The driver, on the embedded API through its in-process transport, and on one that fails."""

from __future__ import annotations

import asyncio
import collections
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import ClassVar

import pytest

from podium.embedded.in_process import LocalTransport
from podium.embedded.log import MemoryLog
from podium.embedded.nodes.kubelets import simulated_kubelets
from podium.embedded.nodes.shapes import Shape, node_document
from podium.errors import ApiError, TransportError
from podium.kube import driver as driver_module
from podium.kube.cache import Cache, Key, key_of
from podium.kube.changes import Delete
from podium.kube.client import Client
from podium.kube.controller import NOTHING, Mapper, Outcome, Ticket
from podium.kube.driver import Driver
from podium.kube.machine import Machine, Together
from podium.kube.manager import Manager
from podium.kube.resources import CONFIGMAPS, CUSTOMRESOURCEDEFINITIONS, NODES, PODS, Resource
from podium.kube.transport import Request, Response, Stream
from podium.kube.wire import Object
from tests.embedded.server import Document, Server, config_map, pod
from tests.embedded.world import scheduler


class Cluster:
    """An API on the wall clock, a client, and drivers."""

    def __init__(self) -> None:
        server = Server()
        server.api.clock = server.api.objects.clock = time.time
        self.transport = LocalTransport(server.api.handle, MemoryLog())
        self.client = Client(self.transport)

    @asynccontextmanager
    async def driven(self, manager: Machine, *, custom_resources: bool = False) -> AsyncIterator[Driver]:
        driver = Driver(self.transport, manager, custom_resources=custom_resources)
        task = asyncio.create_task(driver.run())
        try:
            yield driver
        finally:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    async def node(self, name: str, index: int = 0) -> None:
        await self.client.create(NODES, "", node_document(Shape(), name, index, time.time()))

    async def pod(self, name: str, **annotations: str) -> None:
        document = pod(name, restartPolicy="Never")
        document["metadata"]["annotations"] = {
            f"podium.dev/{key.replace('_', '-')}": value for key, value in annotations.items()
        }
        await self.client.create(PODS, "default", document)

    async def phases(self) -> set[str]:
        return {each["status"]["phase"] for each in await self.client.list(PODS, "default")}


def everything() -> Machine:
    return Together(Manager(simulated_kubelets()), scheduler())


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


async def until(test: Callable[[], Awaitable[bool]], seconds: float = 5.0) -> None:
    async with asyncio.timeout(seconds):
        while not await test():  # noqa: ASYNC110 - what is waited for happens on the server
            await asyncio.sleep(0.01)


async def test_pods_are_bound_run_and_end(cluster: Cluster) -> None:
    for index in range(3):
        await cluster.node(f"node-{index}", index)
    async with cluster.driven(everything()) as driver:
        for number in range(100):
            await cluster.pod(f"p{number}")
        await driver.idle()
        assert await cluster.phases() == {"Running"}
        await cluster.pod("short", run_seconds="0.3")

        async def ended() -> bool:
            found = await cluster.client.get(PODS, "default", "short")
            return bool(found["status"]["phase"] == "Succeeded")

        begin = time.perf_counter()
        await until(ended)
        assert time.perf_counter() - begin > 0.2
        await cluster.client.delete_collection(PODS, "default")
        await driver.idle()
        assert await cluster.client.list(PODS, "default") == []


async def test_a_second_driver_goes_on_where_the_first_was(cluster: Cluster) -> None:
    await cluster.node("node-0")
    async with cluster.driven(everything()) as driver:
        await cluster.pod("p", run_seconds="1")
        await driver.idle()
    await asyncio.sleep(1)
    async with cluster.driven(everything()) as driver:
        await driver.idle()
        assert await cluster.phases() == {"Succeeded"}


async def test_an_idle_cluster_is_left_alone(cluster: Cluster) -> None:
    for index in range(50):
        await cluster.node(f"node-{index}", index)
    async with cluster.driven(Manager(simulated_kubelets())) as driver:
        await driver.idle()
        begin = time.process_time()
        await asyncio.sleep(0.5)
        assert time.process_time() - begin < 0.05


class Flaky:
    """A transport that carries out each write at the third attempt, and notes how many are under way at once."""

    def __init__(self, real: LocalTransport) -> None:
        self._real = real
        self._attempts: dict[str, int] = {}
        self._under_way = 0
        self.most = 0

    async def request(self, request: Request, *, timeout: float = 30.0) -> Response:
        if request.method == "GET":
            return await self._real.request(request, timeout=timeout)
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        await asyncio.sleep(0.001)
        self._under_way -= 1
        attempt = self._attempts[request.path] = self._attempts.get(request.path, 0) + 1
        if attempt == 1:
            raise TransportError("the line broke")
        if attempt == 2:
            raise RuntimeError("a bug of the transport")
        return await self._real.request(request, timeout=timeout)

    def stream(self, request: Request, *, timeout: float = 30.0) -> AbstractAsyncContextManager[Stream]:
        return self._real.stream(request, timeout=timeout)

    async def close(self) -> None:
        return


async def test_failures_are_tried_again_and_concurrency_is_bounded(cluster: Cluster) -> None:
    await cluster.node("node-0")
    for number in range(40):
        document = pod(f"p{number}")
        document["spec"]["nodeName"] = "node-0"
        await cluster.client.create(PODS, "default", document)
    flaky = Flaky(cluster.transport)
    driver = Driver(flaky, Manager(simulated_kubelets(events=False)), concurrency=4)
    task = asyncio.create_task(driver.run())

    async def all_run() -> bool:
        return await cluster.phases() == {"Running"}

    await until(all_run)
    assert 1 < flaky.most <= 4
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class Counter:
    """A controller of everything that counts what it has seen."""

    name = "counter"

    def __init__(self) -> None:
        self.watches: Mapping[Resource, Mapper] = {CONFIGMAPS: _keys}
        self.seen: list[tuple[Resource, str]] = []
        self.told: list[tuple[str, Resource]] = []

    def serve(self, resource: Resource) -> None:
        self.told.append(("serve", resource))
        self.watches = {**self.watches, resource: _keys}

    def withdraw(self, resource: Resource) -> None:
        self.told.append(("withdraw", resource))
        self.watches = {each: mapper for each, mapper in self.watches.items() if each != resource}

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        for resource in self.watches:
            if cache.get(resource, *key) is not None:
                self.seen.append((resource, key[1]))
        return NOTHING


def _keys(obj: object, cache: Cache) -> list[Key]:
    return [key_of(obj)]  # type: ignore[arg-type]


DEFINITION: Document = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")


async def test_custom_resources_come_and_go(cluster: Cluster) -> None:
    counter = Counter()
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    async with cluster.driven(Manager([counter]), custom_resources=True) as driver:
        await cluster.client.create(CONFIGMAPS, "default", config_map("c"))
        await driver.idle()
        assert (CONFIGMAPS, "c") in counter.seen
        for _ in range(2):
            counter.seen.clear()
            counter.told.clear()
            await cluster.client.create(CUSTOMRESOURCEDEFINITIONS, "", DEFINITION)
            await driver.idle()
            assert counter.told == [("serve", WIDGETS)]
            await cluster.client.create(WIDGETS, "default", widget)
            await driver.idle()
            assert (WIDGETS, "w") in counter.seen
            await cluster.client.delete(WIDGETS, "default", "w")
            await cluster.client.delete(CUSTOMRESOURCEDEFINITIONS, "", "widgets.example.com")
            await driver.idle()
            assert counter.told == [("serve", WIDGETS), ("withdraw", WIDGETS)]


async def test_a_burst_does_not_hold_the_loop(cluster: Cluster) -> None:
    for index in range(50):
        await cluster.node(f"node-{index}", index)
    for number in range(1500):
        document = pod(f"p{number}")
        document["spec"]["nodeName"] = f"node-{number % 50}"
        await cluster.client.create(PODS, "default", document)
    longest = 0.0
    async with cluster.driven(Manager(simulated_kubelets(events=False))) as driver:
        idle = asyncio.create_task(driver.idle())
        while not idle.done():
            begin = time.perf_counter()
            await asyncio.sleep(0)
            longest = max(longest, time.perf_counter() - begin)
    assert await cluster.phases() == {"Running"}
    assert longest < 0.5


async def test_a_kind_that_appears_is_picked_up_at_once(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    class Follower:
        """Notes the names of the objects that it is told of."""

        name = "follower"

        def __init__(self) -> None:
            self.watches: Mapping[Resource, Mapper] = {WIDGETS: lambda obj, cache: (key_of(obj),)}
            self.names: list[str] = []

        def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
            self.names.append(key[1])
            return NOTHING

    follower = Follower()
    driver = Driver(
        cluster.transport, Manager([follower]), custom_resources=True, advice={WIDGETS: "install widgets"}
    )
    running = asyncio.create_task(driver.run())
    try:
        await driver.idle()
        assert driver.synced
        assert [each.resource for each in driver.reflectors if each.absent] == [WIDGETS]
        assert "widgets.example.com: the server does not have this kind; install widgets" in caplog.text
        await cluster.client.create(CUSTOMRESOURCEDEFINITIONS, "", DEFINITION)
        document = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "first"}}

        async def created() -> bool:
            try:
                await cluster.client.create(WIDGETS, "default", document)
            except ApiError:
                return False
            return True

        async def reported() -> bool:
            return follower.names == ["first"]

        await until(created)
        await until(reported)
    finally:
        running.cancel()


async def test_a_drained_driver_finishes_what_is_under_way(cluster: Cluster) -> None:
    await cluster.node("node-0")
    async with cluster.driven(everything()) as driver:
        for number in range(50):
            await cluster.pod(f"p{number}")
        await asyncio.sleep(0)
        await driver.drain(5.0)
        assert driver.waiting == 0
        before = await cluster.client.list(PODS, "default")
        await asyncio.sleep(0.1)
        assert await cluster.client.list(PODS, "default") == before


async def test_what_a_delete_is_answered_with(cluster: Cluster) -> None:
    """An object that something holds is still there; one that is gone is none."""
    answers: list[tuple[str, str]] = []

    class Deleting(Manager):
        def done(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None:
            answers.append((ticket.key[1], result.name if result is not None else ""))
            super().done(ticket, result, error, now)

    class Remover:
        name = "remover"
        watches: ClassVar[Mapping[Resource, Mapper]] = {CONFIGMAPS: lambda obj, cache: (key_of(obj),)}

        def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
            found = cache.get(CONFIGMAPS, *key)
            if found is None or found.metadata.deletion_timestamp or not found.name.startswith("x-"):
                return NOTHING
            return Outcome((Delete(CONFIGMAPS, key[0], key[1], uid=found.uid),))

    await cluster.client.create(CONFIGMAPS, "default", config_map("x-held", finalizers=["example.com/hold"]))
    await cluster.client.create(CONFIGMAPS, "default", config_map("x-gone"))
    async with cluster.driven(Deleting([Remover()])) as driver:
        await driver.idle()
    assert sorted(answers) == [("x-gone", ""), ("x-held", "x-held")]


class Laborious:
    """A machine whose work takes its time, by a clock that only it moves."""

    def __init__(self, ticks: list[int]) -> None:
        self.resources = {CONFIGMAPS}
        self.seconds = 0.0
        self.seen: collections.Counter[int] = collections.Counter()  # objects by turn of the event loop
        self.budgets: list[int] = []
        self._ticks = ticks
        self._busy = 40

    def perf_counter(self) -> float:
        return self.seconds

    def serve(self, resource: Resource) -> None: ...

    def withdraw(self, resource: Resource) -> None: ...

    def synced(self, resource: Resource) -> None: ...

    def observe(self, resource: Resource, obj: Object) -> None:
        self.seconds += 0.015
        self.seen[self._ticks[0]] += 1

    def forget(self, resource: Resource, obj: Object) -> None: ...

    def run(self, now: float, budget: int) -> list[Ticket]:
        self.seconds += 0.004 * budget
        self.budgets.append(budget)
        self._busy -= 1
        return []

    def done(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None: ...

    def next_wake(self, now: float) -> float | None:
        return now if self._busy > 0 else None


async def test_slow_work_goes_in_portions_that_are_short_by_the_clock(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        await cluster.client.create(CONFIGMAPS, "default", config_map(f"c{number}"))
    ticks = [0]

    async def count() -> None:
        while True:
            ticks[0] += 1
            await asyncio.sleep(0)

    machine = Laborious(ticks)
    monkeypatch.setattr(driver_module, "time", machine)
    counting = asyncio.create_task(count())
    try:
        async with cluster.driven(machine) as driver:
            await until_seen(machine, driver)
    finally:
        counting.cancel()
    assert max(machine.seen.values()) == 2, "the second object ends the portion of 20 ms"
    assert machine.budgets[0] == 20, "it begins with much at a time"
    assert max(machine.budgets[5:]) <= 10, "and then looks at what 20 ms are enough for, or once at twice that"


async def until_seen(machine: Laborious, driver: Driver) -> None:
    async with asyncio.timeout(10.0):
        while machine.seen.total() < 30 or len(machine.budgets) < 40:  # noqa: ASYNC110 - it happens in the driver
            await asyncio.sleep(0.01)
