"""Questions to the scheduler that runs: `podium why`, `queue` and `nodes`, answered from what it knows already.

To read a large cluster takes longer than to answer.  But an answer is found by trying things out on the model
(`explain/`), for some seconds at the most, and the scheduler's own must neither change nor stand still for that.
So the process is copied as it is (`fork`, which shares all memory): the copy answers on a pipe and ends.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable

import msgspec

from podium.client.asynchronous import answer
from podium.client.reading import BETWEEN
from podium.client.references import find
from podium.engine.scheduler import Scheduler
from podium.errors import PodiumError
from podium.explain.documents import Objects
from podium.explain.listing import list_nodes, list_workloads
from podium.explain.model import Model
from podium.kube.client import Client
from podium.kube.transport import Transport

AT_ONCE = 2
LONGEST_SECONDS = 30
_NICE = 5  # binds come first

_encode = msgspec.json.Encoder().encode


class Question(msgspec.Struct, frozen=True):
    """What is asked: `kind` is why, queue or nodes."""

    kind: str
    what: str = ""  # KIND/NAME
    namespace: str = ""
    search: bool = True


class Asking:
    """Answers questions about one cluster."""

    def __init__(self, transport: Transport) -> None:
        self._calls = Client(transport)
        self._places = asyncio.Semaphore(AT_ONCE)

    async def answer(self, scheduler: Scheduler, question: Question) -> bytes:
        """The answer as JSON.  UsageError says what is wrong with the question."""
        async with self._places:
            if question.kind == "queue":
                return await _in_a_copy(lambda: _encode(list_workloads(_model(scheduler), question.namespace)))
            if question.kind == "nodes":
                return await _in_a_copy(lambda: _encode(list_nodes(_model(scheduler))))
            found = await find(self._calls, question.what, question.namespace)
            kinds = {kind for reference, _ in found for kind in BETWEEN.get(reference.resource, ())}
            also: Objects = {kind: await self._calls.list_encoded(kind) for kind in kinds}

            def why() -> bytes:
                model = _model(scheduler, also)
                return _encode([answer(model, *each, search=question.search) for each in found])

            return await _in_a_copy(why)


def _model(scheduler: Scheduler, also: Objects | None = None) -> Model:
    """What a scheduler knows.  It may be in the middle of a turn, with places that are only being tried."""
    scheduler.finish_turn()
    while scheduler.take_in_changes(1000):
        continue
    return Model.known(scheduler.world, scheduler.profiles, time.time(), also or {})


async def _in_a_copy(work: Callable[[], bytes]) -> bytes:
    """What `work` gives in a copy of this process."""
    if sys.platform != "linux":
        raise PodiumError("this system does not copy processes that have threads: the cluster has to be read")
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads: the copy uses none of what they hold
        pid = os.fork()
    if pid == 0:
        _work_and_end(work, writing)
    os.close(writing)
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", 0)
    )
    try:
        said = await reader.read()
    finally:
        transport.close()
        _, status = await asyncio.shield(asyncio.to_thread(os.waitpid, pid, 0))
    if status or not said:
        raise PodiumError("the question was not answered")
    return said


def _work_and_end(work: Callable[[], bytes], pipe: int) -> None:
    """In the copy: nothing of what it shares with the process is touched but memory, and it never returns."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        signal.alarm(LONGEST_SECONDS)
        gc.disable()  # it would write to all memory that the two share, to find next to nothing
        os.nice(_NICE)
        with os.fdopen(pipe, "wb") as out:
            out.write(work())
        status = 0
    finally:
        os._exit(status)
