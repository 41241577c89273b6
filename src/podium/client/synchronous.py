"""The client as plain calls, for notebooks: a loop of its own runs the coroutines of `AsyncClient`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

from podium.client.asynchronous import Anything, AsyncClient
from podium.client.references import Reference
from podium.dialects.dialect import Progress
from podium.explain.answers import Explanation, NodeRow, QueueList
from podium.kube.changes import Document

T = TypeVar("T")


class Client:
    """One cluster.  Use it as a context manager, or call `close`.

    The loop runs in a thread of its own: a notebook has one of its own already, which is not ours to use.
    """

    def __init__(
        self,
        kubeconfig: str | Path | None = None,
        context: str | None = None,
        *,
        namespace: str = "",
        config: str | Path | None = None,
    ) -> None:
        """Connects as kubectl would.  `config` is the file that the scheduler there was started with."""
        self._client = AsyncClient(kubeconfig, context, namespace=namespace, config=config)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="podium client", daemon=True)
        self._thread.start()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self._run(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def why(self, what: Anything, namespace: str = "") -> Explanation:
        """Why it waits, and what would help."""
        return self._run(self._client.why(what, namespace))

    def queue(self, namespace: str = "") -> QueueList:
        """Who runs and who waits."""
        return self._run(self._client.queue(namespace))

    def nodes(self) -> list[NodeRow]:
        return self._run(self._client.nodes())

    def submit(self, *sources: str | Path | Document, namespace: str = "") -> list[Reference]:
        """Creates the objects of some files or documents."""
        return self._run(self._client.submit(*sources, namespace=namespace))

    def cancel(self, what: Anything, namespace: str = "") -> list[Reference]:
        return self._run(self._client.cancel(what, namespace))

    def hold(self, what: Anything, namespace: str = "") -> Reference:
        return self._run(self._client.hold(what, namespace))

    def release(self, what: Anything, namespace: str = "") -> Reference:
        return self._run(self._client.release(what, namespace))

    def wait(self, what: Anything, namespace: str = "", *, timeout: float | None = None) -> Progress:
        """Until a workload has ended; TimeoutError if it takes longer."""
        return self._run(self._client.wait(what, namespace, timeout=timeout))

    def logs(self, what: Anything, namespace: str = "", *, follow: bool = False) -> Iterator[str]:
        """The lines of its pods."""
        lines = self._client.logs(what, namespace, follow=follow)

        async def following() -> tuple[str, str] | None:
            return await anext(lines, None)

        while (line := self._run(following())) is not None:
            yield line[1]
