"""Whole processes on the embedded API: leading, scheduling, reloading, and what can be asked of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podium.client.checkup import Level, check_up
from podium.dialects import speaking
from podium.dialects.volcano.names import COMMANDS
from podium.embedded.exchange import refusal
from podium.engine.scheduler import Scheduler
from podium.errors import ApiError
from podium.kube.lease import Terms
from podium.kube.resources import EVENTS, LEASES
from podium.kube.transport import Request, Response, Transport
from podium.runtime.controlling import PART as CONTROLLERS
from podium.runtime.controlling import ControllersPart
from podium.runtime.dumping import Dumps
from podium.runtime.metrics import Metrics
from podium.runtime.process import ElectionSettings, Process
from podium.runtime.reloading import Configuration
from podium.runtime.scheduling import PART as SCHEDULER
from podium.runtime.scheduling import Rate, SchedulerPart
from tests.runtime.cluster import QUEUES, Cluster, Cut, until

ELECTION = ElectionSettings("kube-system", Terms(duration=1.0, renew_deadline=0.6, retry=0.1))
ALONE = ElectionSettings("kube-system", enabled=False)

GANGS = (
    'actions: "enqueue, allocate"\ntiers: [{plugins: [{name: gang}, {name: predicates}, {name: proportion}]}]\n'
)
NOTHING = 'actions: "enqueue"\ntiers: [{plugins: [{name: gang}]}]\n'


@pytest.fixture
async def cluster() -> Cluster:
    cluster = Cluster()
    await cluster.define()
    await cluster.node("node-0")
    return cluster


class Running:
    """A process with a scheduler, controllers or both."""

    def __init__(self, transport: Transport, election: ElectionSettings = ALONE) -> None:
        self.metrics = Metrics()
        self.stop = asyncio.Event()
        self.process = Process(transport, election, self.metrics)
        self._transport = transport

    def with_scheduler(
        self, configuration: Configuration | None = None, queue: str = "default", **more: Any
    ) -> SchedulerPart:
        configuration = self.metrics.configuration = configuration or Configuration()
        part = SchedulerPart(
            self._transport,
            speaking(queue, ()),
            configuration,
            self.metrics,
            may_write=self.process.lease(SCHEDULER, "podium-scheduler"),
            **more,
        )
        self.process.add(SCHEDULER, part.run)
        return part

    def with_controllers(self) -> None:
        lease = self.process.lease(CONTROLLERS, "podium-controllers")
        part = ControllersPart(self._transport, speaking("default", ()), self.metrics, may_write=lease)
        self.process.add(CONTROLLERS, part.run)

    @contextlib.asynccontextmanager
    async def going(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.process.run(self.stop))
        try:
            yield
        finally:
            self.stop.set()
            await asyncio.wait_for(task, 10)

    async def ready(self) -> bool:
        return not self.process.unready()


async def test_it_creates_the_default_queues_and_schedules(cluster: Cluster) -> None:
    running = Running(cluster.transport, ELECTION)
    running.with_scheduler()
    assert running.process.unready() == "scheduler: it is not known yet who leads"
    await cluster.group("g", 2)
    for name in ("a", "b"):
        await cluster.pod(name, **{"scheduling.k8s.io/group-name": "g"})
    async with running.going():
        await until(running.ready)

        async def bound() -> bool:
            return len(await cluster.placed()) == 2

        await until(bound)
        queues = {queue["metadata"]["name"]: queue["spec"] for queue in await cluster.client.list(QUEUES)}
        assert {name: spec["reclaimable"] for name, spec in queues.items()} == {"root": False, "default": True}
    lease = await cluster.client.get(LEASES, "kube-system", "podium-scheduler")
    assert lease["spec"]["holderIdentity"] == ""


async def test_a_scheduler_that_fails_is_started_anew(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    turns = Scheduler._begin_turn
    bugs = [ValueError("a bug"), ValueError("another one")]

    def broken(scheduler: Scheduler, now: float) -> None:
        if bugs and scheduler.world.cluster.tasks:
            raise bugs.pop()
        turns(scheduler, now)

    monkeypatch.setattr(Scheduler, "_begin_turn", broken)
    monkeypatch.setattr("podium.runtime.scheduling.FIRST_PAUSE", 0.1)
    running = Running(cluster.transport)
    running.with_scheduler()
    async with running.going():
        await cluster.pod("a")

        async def bound() -> bool:
            return len(await cluster.placed()) == 1

        await until(bound)
    assert not bugs
    assert sum("it is started anew" in record.message for record in caplog.records) == 2


class NoBinds:
    """The account may do everything but bind pods, for a while."""

    def __init__(self, transport: Transport) -> None:
        self.on = True
        self._transport = transport
        self.stream = transport.stream

    async def request(self, request: Request, *, timeout: float = 30.0) -> Response:
        if not self.on or not request.path.endswith("/binding"):
            return await self._transport.request(request, timeout=timeout)
        reported = 'pods "a" is forbidden: User "u" cannot create resource "pods/binding" in API group ""'
        return refusal(ApiError(403, "Forbidden", reported))

    async def close(self) -> None:
        await self._transport.close()


async def test_binds_that_are_refused_are_told_everywhere(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    transport = NoBinds(cluster.transport)
    running = Running(transport)
    running.with_scheduler()
    await cluster.group("g", 2)
    for name in ("a", "b"):
        await cluster.pod(name, **{"scheduling.k8s.io/group-name": "g"})
    async with running.going():

        async def reported() -> bool:
            events = await cluster.client.list(EVENTS, "default")
            failed = [each for each in events if each["reason"] == "FailedScheduling"]
            about = {each["involvedObject"]["name"] for each in failed if "cannot create" in each["message"]}
            return about == {"a", "b"}

        await until(reported)
        assert 'cannot create resource "pods/binding"' in await cluster.message("a")
        assert "no pod can be bound" in running.process.unready()
        (finding,) = [each for each in await check_up(cluster.client) if each.what == "binds"]
        assert finding.level is Level.BROKEN
        assert 'cannot create resource "pods/binding"' in finding.sentence
        assert b'podium_bind_failures_total{reason="Forbidden"}' in running.metrics.text()
        said = [each.message for each in caplog.records if "could not be bound to node-0" in each.message]
        assert len(said) == 1, "the first time"
        transport.on = False

        async def bound() -> bool:
            return len(await cluster.placed()) == 2

        await until(bound, 20)
        assert running.process.unready() == ""
        assert "binds" not in [each.what for each in await check_up(cluster.client)]


async def test_one_that_stands_by_is_ready_and_writes_nothing(cluster: Cluster) -> None:
    first, cut = Running(cluster.transport, ELECTION), Cut(cluster.transport)
    second = Running(cut, ELECTION)
    for each in (first, second):
        each.with_scheduler()
    async with first.going():
        await until(first.ready)
        async with second.going():
            await until(second.ready)
            await cluster.pod("p")
            await until(cluster.placed)
            assert cut.writes == []
            assert b'podium_leading{part="scheduler"} 0.0' in second.metrics.text()
            first.stop.set()

            async def took_over() -> bool:
                return b'podium_leading{part="scheduler"} 1.0' in second.metrics.text()

            await until(took_over)
            await cluster.pod("q")

            async def goes_on() -> bool:
                return "q" in await cluster.placed()

            await until(goes_on)


async def test_a_process_that_loses_its_lease_begins_anew(cluster: Cluster) -> None:
    running = Running(cluster.transport, ELECTION)
    running.with_scheduler()
    running.with_controllers()
    async with running.going():
        await until(running.ready)
        spec = {"holderIdentity": "somebody-else", "leaseDurationSeconds": 60}
        await cluster.client.patch(LEASES, "kube-system", "podium-scheduler", {"spec": spec})

        async def lost() -> bool:
            return b'podium_leading{part="scheduler"} 0.0' in running.metrics.text()

        await until(lost)
        assert b'podium_leading{part="controllers"} 1.0' in running.metrics.text()
        await cluster.pod("p")
        await asyncio.sleep(0.3)
        assert await cluster.placed() == {}
        await cluster.client.patch(LEASES, "kube-system", "podium-scheduler", {"spec": {"holderIdentity": ""}})
        await until(cluster.placed)


async def test_kinds_that_come_later(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    await cluster.node("node-0")
    running = Running(cluster.transport)
    running.with_scheduler()
    async with running.going():
        await until(running.ready)
        reported = (
            "queues.scheduling.volcano.sh: the server does not have this kind; `podium crds | kubectl apply -f -`"
        )
        assert caplog.text.count(reported) == 1
        text = running.metrics.text().decode()
        assert 'podium_kind_missing{part="scheduler",resource="queues.scheduling.volcano.sh"} 1.0' in text
        await cluster.define()
        await cluster.pod("p")
        await until(cluster.placed, 15)
        assert {queue["metadata"]["name"] for queue in await cluster.client.list(QUEUES)} == {"root", "default"}


class Forbidding(Cut):
    """A server that lets this account see everything but disruption budgets."""

    async def request(self, request: Request, *, timeout: float = 30.0) -> Response:
        if request.path.endswith("/poddisruptionbudgets"):
            status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "not for this account"}
            return Response(403, msgspec.json.encode(status))
        return await super().request(request, timeout=timeout)


async def test_a_kind_that_is_forbidden_holds_nobody_up(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    running = Running(Forbidding(cluster.transport))
    running.with_scheduler()
    await cluster.pod("p")
    async with running.going():
        await until(cluster.placed)
    assert caplog.text.count("poddisruptionbudgets.policy: not for this account") == 1


async def test_the_default_queue_may_have_another_name(cluster: Cluster) -> None:
    running = Running(cluster.transport)
    running.with_scheduler(queue="common")
    await cluster.pod("p")
    async with running.going():
        await until(cluster.placed)

        async def counted() -> bool:
            queue = await cluster.client.get(QUEUES, "", "common")
            return bool(queue.get("status", {}).get("allocated", {}).get("cpu") == "1")

        await until(counted)


async def test_a_changed_file_is_in_force_and_a_bad_one_is_told(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "scheduler.conf"
    path.write_text(NOTHING)
    configuration = Configuration(path)
    running = Running(cluster.transport)
    running.with_scheduler(configuration)

    async def events() -> set[str]:
        return {event["reason"] for event in await cluster.client.list(EVENTS, "kube-system")}

    async with running.going():
        await until(running.ready)
        await cluster.pod("p")
        await asyncio.sleep(0.3)
        assert await cluster.placed() == {}
        path.write_text('actions: "alocate"')

        async def refused() -> bool:
            return "ConfigurationRefused" in await events()

        await until(refused)
        text = running.metrics.text().decode()
        assert 'podium_config_reloads_total{result="refused"} 1.0' in text
        assert "there is no action 'alocate'" in text
        path.write_text(GANGS)
        await until(cluster.placed)
        assert f'version="{configuration.version}"' in running.metrics.text().decode()

        async def reloaded() -> bool:
            return "ConfigurationReloaded" in await events()

        await until(reloaded)
        assert "podium_config_refused_info{" not in running.metrics.text().decode()


async def test_writes_can_be_limited(cluster: Cluster) -> None:
    running = Running(cluster.transport)
    running.with_scheduler(rate=Rate(20.0, 1))
    for number in range(8):
        await cluster.pod(f"p{number}", cpu="100m")
    async with running.going():
        await until(cluster.placed)
        await asyncio.sleep(0.1)
        assert len(await cluster.placed()) < 8

        async def all_bound() -> bool:
            return len(await cluster.placed()) == 8

        await until(all_bound)


async def test_a_command_closes_a_queue(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    running = Running(cluster.transport, ELECTION)
    running.with_scheduler()
    running.with_controllers()
    async with running.going():
        await until(running.ready)

        async def is_open() -> bool:
            queues = await cluster.client.list(QUEUES)
            return [queue.get("status", {}).get("state") for queue in queues] == ["Open", "Open"]

        await until(is_open)
        await cluster.group("g", 1)
        target = {"apiVersion": QUEUES.api_version, "kind": "Queue", "name": "default", "uid": "any"}
        order = {"apiVersion": COMMANDS.api_version, "kind": "Command", "action": "CloseQueue", "target": target}
        await cluster.client.create(COMMANDS, "default", {**order, "metadata": {"generateName": "default-"}})

        async def closing() -> bool:
            status = (await cluster.client.get(QUEUES, "", "default"))["status"]
            return bool(status["state"] == "Closing" and status.get("inqueue", 0) + status.get("pending", 0) == 1)

        await until(closing)
        assert await cluster.client.list(COMMANDS) == []


async def test_a_dump_of_the_model(cluster: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    running = Running(cluster.transport)
    part = running.with_scheduler()
    dumps = Dumps(lambda: part.running, tmp_path)
    assert await dumps.write() is None
    assert "this process does not lead" in caplog.text
    await cluster.group("g", 2)
    await cluster.pod("a", **{"scheduling.k8s.io/group-name": "g"})
    async with running.going():
        await until(running.ready)
        path = await dumps.write()
    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o600
    found = msgspec.json.decode(path.read_bytes())
    assert [node["name"] for node in found["nodes"]] == ["node-0"]
    assert found["nodes"][0]["allocatable"]["cpu"] > 0
    (gang,) = (each for each in found["gangs"] if each["id"].endswith("/g"))
    assert gang["minimum"] == 2
    assert [(task["name"], task["state"]) for task in gang["tasks"]] == [("default/a", "PENDING")]
