"""podium's own client and reflector, against both servers over HTTPS."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from podium.errors import ApiError
from podium.kube.client import Client
from podium.kube.deltas import Added, Deleted, Delta, Modified
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.reflector import Reflector
from podium.kube.resources import CONFIGMAPS, JOBS, PODS, SECRETS, Resource
from podium.kube.watching import watch
from podium.kube.wire import Object
from tests.compat.client import PATIENCE, Server
from tests.compat.objects import configmap, crd, job, unplaced_pod


@pytest.fixture
async def transport(server: Server) -> AsyncIterator[HttpTransport]:
    made = HttpTransport(resolve(server.kubeconfig))
    yield made
    await made.close()


async def reached(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    for _ in range(int(PATIENCE / 0.05)):
        if await condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"not within {PATIENCE} s: {what}")


@dataclass
class Listener:
    """What a reflector tells, as short words."""

    reflector: Reflector[Object]
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    told: list[str] = field(default_factory=list)

    def hear(self, deltas: list[Delta[Object]]) -> None:
        for delta in deltas:
            if isinstance(delta, Added | Modified):
                self.told.append(f"{type(delta).__name__} {delta.obj.name}")
            elif isinstance(delta, Deleted):
                self.told.append(f"Deleted {delta.key[1]}")

    def poke(self) -> None:
        self.reflector.poke()
        self.wake.set()

    async def until(self, word: str) -> None:
        async def heard() -> bool:
            return word in self.told

        await reached(heard, word)


@contextlib.asynccontextmanager
async def reflecting(transport: HttpTransport, resource: Resource) -> AsyncIterator[Listener]:
    reflector = Reflector(resource, Object)
    listener = Listener(reflector)
    task = asyncio.create_task(watch(transport, reflector, listener.hear, wake=listener.wake))

    async def synced() -> bool:
        return reflector.synced

    try:
        await reached(synced, "the first list")
        yield listener
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_objects(transport: HttpTransport, ns: str) -> None:
    client = Client(transport)
    made = await client.create(CONFIGMAPS, ns, configmap("c", a="1"))
    assert (await client.get(CONFIGMAPS, ns, "c"))["metadata"]["uid"] == made["metadata"]["uid"]
    replaced = await client.replace(CONFIGMAPS, ns, "c", {**made, "data": {"a": "2"}})
    assert replaced["data"] == {"a": "2"}
    with pytest.raises(ApiError) as stale:
        await client.replace(CONFIGMAPS, ns, "c", made)
    assert (stale.value.code, stale.value.reason) == (409, "Conflict")
    patched = await client.patch(CONFIGMAPS, ns, "c", {"data": {"b": "3"}})
    assert patched["data"] == {"a": "2", "b": "3"}
    with pytest.raises(ApiError) as another:
        await client.delete(CONFIGMAPS, ns, "c", uid="11111111-1111-1111-1111-111111111111")
    assert another.value.code == 409
    assert await client.delete(CONFIGMAPS, ns, "c") is None
    with pytest.raises(ApiError) as gone:
        await client.get(CONFIGMAPS, ns, "c")
    assert gone.value.reason == "NotFound"


async def test_finding(transport: HttpTransport, ns: str) -> None:
    client = Client(transport)
    await client.create(PODS, ns, unplaced_pod("p", labels={"a": "b"}))
    assert await client.find("deploy") == await client.find("deployments.apps")
    assert ("batch", "jobs") in [(found.group, found.plural) for found in await client.find("Job")]
    assert await client.find("nope") == []


async def test_many_requests_at_once(transport: HttpTransport, ns: str) -> None:
    client = Client(transport)
    await asyncio.gather(*(client.create(SECRETS, ns, {"metadata": {"name": f"s{i:03}"}}) for i in range(200)))
    listed = await client.list(SECRETS, ns)
    assert [item["metadata"]["name"] for item in listed] == [f"s{i:03}" for i in range(200)]
    await client.delete_collection(SECRETS, ns)
    assert await client.list(SECRETS, ns) == []


async def test_a_reflector_tells_what_is_there_and_what_changes(
    server: Server, transport: HttpTransport, ns: str
) -> None:
    client = Client(transport)
    await client.create(SECRETS, ns, {"metadata": {"name": f"before-{ns}"}})
    async with reflecting(transport, SECRETS) as listener:
        assert f"Added before-{ns}" in listener.told
        await client.create(SECRETS, ns, {"metadata": {"name": f"later-{ns}"}})
        await client.patch(SECRETS, ns, f"later-{ns}", {"metadata": {"labels": {"a": "b"}}})
        await client.delete(SECRETS, ns, f"later-{ns}")
        await listener.until(f"Deleted later-{ns}")
    assert [word for word in listener.told if word.endswith(f"later-{ns}")] == [
        f"Added later-{ns}",
        f"Modified later-{ns}",
        f"Deleted later-{ns}",
    ]


async def test_a_reflector_of_a_kind_that_does_not_exist_yet(
    server: Server, transport: HttpTransport, ns: str
) -> None:
    gears = Resource("later.example", "v1", "gears", "Gear")
    client = Client(transport)
    gear = {"apiVersion": "later.example/v1", "kind": "Gear", "metadata": {"name": "g"}}

    async def created() -> bool:
        with contextlib.suppress(ApiError):
            await client.create(gears, ns, gear)
            return True
        return False

    async with reflecting(transport, gears) as listener:
        assert listener.told == []
        server.kubectl("apply", "-f", "-", input=crd("gears", "Gear", {}, "later.example"))
        server.established("crd/gears.later.example")
        await reached(created, "the new kind is served")
        listener.poke()
        await listener.until("Added g")
    server.kubectl("delete", "crd", "gears.later.example", "--wait=false")


async def test_jobs_to_their_end(transport: HttpTransport, ns: str) -> None:
    client = Client(transport)
    await client.create(JOBS, ns, job("work", 2))

    async def done() -> bool:
        return bool((await client.get(JOBS, ns, "work"))["status"].get("succeeded") == 2)

    await reached(done, "both have succeeded")
