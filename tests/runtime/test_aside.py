"""What no work may delay: a lease that is renewed and probes that are answered while the process is busy."""

from __future__ import annotations

import asyncio
import http.client
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.lease import Terms
from podium.kube.resources import LEASES
from podium.runtime.aside import Aside, Pulse
from podium.runtime.listener import Address
from podium.runtime.metrics import Metrics
from podium.runtime.process import ElectionSettings, Process, Window
from tests.up import podium_up

TERMS = Terms(duration=3.0, renew_deadline=2.0, retry=0.25)
BUSY_SECONDS = 4.0  # longer than a lease lasts


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    data = tmp_path_factory.mktemp("up")
    with podium_up(data, "--nodes", "0"):
        yield data / "kubeconfig"


class Prober(threading.Thread):
    """Asks for /healthz again and again: the longest time without an answer."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._port = port
        self.ending = threading.Event()
        self.longest = 0.0
        self.answers = 0

    def run(self) -> None:
        while not self.ending.is_set():
            begun = time.monotonic()
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
            connection.request("GET", "/healthz")
            assert connection.getresponse().status == 200
            connection.close()
            self.longest = max(self.longest, time.monotonic() - begun)
            self.answers += 1
            time.sleep(0.02)


async def test_a_busy_process_keeps_its_lease_and_answers_probes(
    kubeconfig: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    transport = HttpTransport(resolve(kubeconfig))
    election = ElectionSettings("kube-system", TERMS)
    process = Process(transport, election, Metrics(), lambda: HttpTransport(resolve(kubeconfig)))
    may_write = process.lease("work", "busy")
    assert may_write is not None
    writable: list[bool] = []
    began = asyncio.Event()

    async def work(stop: asyncio.Event) -> None:
        began.set()
        await asyncio.sleep(0.5)
        prober = Prober(_port(caplog))
        prober.start()
        end = time.monotonic() + BUSY_SECONDS
        while time.monotonic() < end:  # nothing else of this loop has its turn
            time.sleep(0.01)  # noqa: ASYNC251 - that is the point
        writable.append(may_write())
        prober.ending.set()
        prober.join()
        assert prober.answers > 20
        assert prober.longest < 1.0
        await stop.wait()

    process.add("work", work)
    stop = asyncio.Event()
    running = asyncio.create_task(process.run(stop, Window(Address(0), with_metrics=False)))
    async with asyncio.timeout(30):
        await began.wait()
        while not writable and not running.done():  # noqa: ASYNC110 - it happens in the process
            await asyncio.sleep(0.05)
        assert writable == [True]
        lease = await Client(transport).get(LEASES, "kube-system", "busy")
        assert lease["spec"]["leaseTransitions"] == 0
        assert lease["spec"]["holderIdentity"]
        assert "is lost" not in caplog.text
        stop.set()
        await running
        lease = await Client(transport).get(LEASES, "kube-system", "busy")
        assert lease["spec"]["holderIdentity"] == ""
    await transport.close()


def _port(caplog: pytest.LogCaptureFixture) -> int:
    reported = next(each.getMessage() for each in caplog.records if "health" in each.getMessage())
    return int(reported.rpartition(":")[2])


async def test_a_loop_that_never_comes_back_is_told_of() -> None:
    now = 0.0
    pulse = Pulse(60.0, lambda: now)
    with pulse:
        now = 59.0
        assert pulse.stuck() == ""
        now = 61.0
        assert pulse.stuck() == "the process has been busy with one thing for 61 s"


async def test_what_is_done_aside_gives_its_result_or_its_error_and_can_be_stopped() -> None:
    ended = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def failing() -> None:
        raise ValueError("no")

    async def name() -> str:
        return threading.current_thread().name

    async with Aside() as aside:
        assert await aside.run(name()) == "aside"
        with pytest.raises(ValueError, match="no"):
            await aside.run(failing())
        task = asyncio.create_task(aside.run(forever()))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()
