"""The client as coroutines: everything that the commands do, without printing."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from podium.client.progress import own_words, progress_of
from podium.client.reading import BETWEEN, Begun, Warn, read_model, silent
from podium.client.references import Reference, find, resource_of
from podium.core.profiles.profile import Profile
from podium.dialects import speaking
from podium.dialects.dialect import Progress, State
from podium.errors import ApiError, UsageError, why_unreadable
from podium.explain.answers import Explanation, NodeRow, QueueList
from podium.explain.listing import list_nodes, list_workloads
from podium.explain.model import Model
from podium.explain.queues import explain_queue
from podium.explain.targets import Target, target_of
from podium.explain.why import explain
from podium.kube.changes import Document, Patch
from podium.kube.client import Client as Calls
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import CRONJOBS, JOBS, NODES, PODS, REPLICATIONCONTROLLERS
from podium.kube.status import error_from_body
from podium.kube.transport import Request, Transport
from podium.kube.yaml_files import YamlText
from podium.runtime.configuration import default_profiles, load_profiles

_LOOK_AGAIN = 0.5

Anything = str | Reference  # KIND/NAME as typed, or what a method gave back


class AsyncClient:
    """One cluster.  Use it as an async context manager."""

    def __init__(
        self,
        kubeconfig: str | Path | None = None,
        context: str | None = None,
        *,
        namespace: str = "",
        config: str | Path | None = None,
        transport: Transport | None = None,
        warn: Warn = silent,
        begun: Begun | None = None,
    ) -> None:
        """Connects as kubectl would.  `config` is the file that the scheduler there was started with.

        `begun` are lists that are under way already, for the first question.
        """
        if transport is None:
            connection = resolve(kubeconfig, context)
            namespace = namespace or connection.namespace
            transport = HttpTransport(connection)
        self.namespace = namespace or "default"
        self.calls = Calls(transport)
        self._profiles: Mapping[str, Profile] = (
            load_profiles(Path(config)) if config is not None else default_profiles()
        )
        self._warn = warn
        self._begun = begun if begun is not None else {}

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        for begun in self._begun.values():
            begun.cancel()
        await self.calls.transport.close()

    # --- questions -----------------------------------------------------------------------------------------------

    async def model(self, *also: Any) -> Model:
        """A copy of the cluster to ask: see `podium.explain`."""
        return await read_model(self.calls, self._profiles, also=also, warn=self._warn, begun=self._begun)

    async def why(self, what: Anything, namespace: str = "", *, search: bool = True) -> Explanation:
        """Why it waits.  Where several kinds have the name, the first that waits."""
        answers = await self.why_all(what, namespace, search=search)
        return next((each for each in answers if each.state == "waiting"), answers[0])

    async def why_all(self, what: Anything, namespace: str = "", *, search: bool = True) -> list[Explanation]:
        """The same for each object that has the name.  Without `search` nothing is said of what would help."""
        found = await self._find(what, namespace)
        also = {kind for reference, _ in found for kind in BETWEEN.get(reference.resource, ())}
        model = await self.model(*also)
        return [answer(model, reference, document, search=search) for reference, document in found]

    async def queue(self, namespace: str = "") -> QueueList:
        """Who runs and who waits: in one namespace, or everywhere."""
        return list_workloads(await self.model(), namespace)

    async def nodes(self) -> list[NodeRow]:
        return list_nodes(await self.model())

    # --- workloads -----------------------------------------------------------------------------------------------

    async def submit(self, *sources: str | Path | Document, namespace: str = "") -> list[Reference]:
        """Creates objects: documents, or all of a file.  If one of them is malformed, none is created."""
        wanted = []
        for document in _documents(sources):
            resource = await resource_of(self.calls, document)
            given = document["metadata"].get("namespace")
            where = (given or namespace or self.namespace) if resource.namespaced else ""
            wanted.append((resource, where, document))
        made = []
        for resource, where, document in wanted:
            created = await self.calls.create(resource, where, document, strict=True)
            metadata = created["metadata"]
            made.append(Reference(resource, where, metadata["name"], metadata["uid"]))
        return made

    async def cancel(self, what: Anything, namespace: str = "") -> list[Reference]:
        """Deletes it, and with it its pods."""
        found = await self._one(what, namespace)
        reference, _ = found
        args = (reference.resource, reference.namespace, reference.name)
        await self.calls.delete(*args, uid=reference.uid, propagation="Background")
        return [reference]

    async def hold(self, what: Anything, namespace: str = "") -> Reference:
        """Makes a workload stop and wait."""
        return await self._hold(what, namespace, hold=True)

    async def release(self, what: Anything, namespace: str = "") -> Reference:
        """Lets a workload go on that was held, or a pod that stands behind scheduling gates."""
        return await self._hold(what, namespace, hold=False)

    async def _hold(self, what: Anything, namespace: str, *, hold: bool) -> Reference:
        reference, document = await self._one(what, namespace)
        resource = reference.resource
        for dialect in speaking():
            if resource in dialect.holding:
                await self.calls.carry_out(dialect.holding[resource](document, hold))
                return reference
        if resource in (JOBS, CRONJOBS):
            change = Patch(resource, reference.namespace, reference.name, {"spec": {"suspend": hold}})
        elif resource == PODS and not hold:
            gates = {"spec": {"schedulingGates": None}}
            change = Patch(resource, reference.namespace, reference.name, gates)
        else:
            word = "held" if hold else "released"
            raise UsageError(f"{reference} cannot be {word}: its kind has no way to wait; cancel it instead")
        await self.calls.carry_out(change)
        return reference

    async def wait(
        self,
        what: Anything,
        namespace: str = "",
        *,
        timeout: float | None = None,
        told: Callable[[Progress], None] | None = None,
    ) -> Progress:
        """Until a workload has ended.  TimeoutError if it takes longer; `told` hears of every change."""
        deadline = None if timeout is None else time.monotonic() + timeout
        last: Progress | None = None
        while True:
            reference, document = await self._one(what, namespace)
            owned = [pod for pod in await self.calls.list(PODS, reference.namespace) if _owned(pod, reference.uid)]
            phases = Counter(pod.get("status", {}).get("phase", "Pending") for pod in owned)
            progress = progress_of(reference.resource, document, phases)
            if told is not None and progress != last:
                told(progress)
            last = progress
            if progress.state is not State.GOING:
                return progress
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"{reference} is not done after {timeout:g} s: {progress.message}")
            await asyncio.sleep(_LOOK_AGAIN)

    async def pods(self, what: Anything, namespace: str = "") -> list[str]:
        """The names of the pods of a workload."""
        reference, document = await self._one(what, namespace)
        if reference.resource == PODS:
            return [reference.name]
        model = await self.model(*BETWEEN.get(reference.resource, ()))
        target = target_of(model, reference.resource, document)
        return sorted(task.name for task in target.tasks if task.has_pod)

    async def logs(
        self,
        what: Anything,
        namespace: str = "",
        *,
        follow: bool = False,
        container: str = "",
        tail: int | None = None,
    ) -> AsyncIterator[tuple[str, str]]:
        """The lines of its pods, each with the pod's name; pod after pod, or as they come with `follow`."""
        reference = (await self._one(what, namespace))[0]
        names = await self.pods(reference)
        if not names:
            raise UsageError(f"{reference} has no pods, so there are no logs")
        if not follow:
            for name in names:
                async for line in self._log(reference.namespace, name, container, tail, follow=False):
                    yield name, line
            return
        lines: asyncio.Queue[tuple[str, str] | BaseException | None] = asyncio.Queue(1000)

        async def copy(name: str) -> None:
            try:
                async for line in self._log(reference.namespace, name, container, tail, follow=True):
                    await lines.put((name, line))
                await lines.put(None)
            except Exception as error:
                await lines.put(error)

        tasks = [asyncio.create_task(copy(name)) for name in names]
        try:
            left = len(tasks)
            while left:
                heard = await lines.get()
                if isinstance(heard, BaseException):
                    raise heard
                if heard is None:
                    left -= 1
                else:
                    yield heard
        finally:
            for task in tasks:
                task.cancel()

    async def _log(
        self, namespace: str, pod: str, container: str, tail: int | None, *, follow: bool
    ) -> AsyncIterator[str]:
        query = [("container", container)] if container else []
        query += [("follow", "true")] if follow else []
        query += [("tailLines", str(tail))] if tail is not None else []
        request = Request("GET", PODS.path(namespace, pod, "log"), tuple(query), accept="*/*")
        if not follow:
            response = await self.calls.transport.request(request)
            if response.status != 200:
                raise UsageError(f"the log of {pod} cannot be read: {_message(response.body)}")
            for line in response.body.decode(errors="replace").splitlines():
                yield line
            return
        async with self.calls.transport.stream(request) as stream:
            if stream.status != 200:
                async for refused in stream.lines():
                    raise UsageError(f"the log of {pod} cannot be read: {_message(refused)}")
            async for encoded in stream.lines():
                yield encoded.decode(errors="replace")

    # --- finding -------------------------------------------------------------------------------------------------

    async def _find(self, what: Anything, namespace: str) -> list[tuple[Reference, Document]]:
        if isinstance(what, Reference):
            try:
                document = await self.calls.get(what.resource, what.namespace, what.name)
            except ApiError as error:
                raise UsageError(f"there is no {what}: {error}") from None
            return [(what, document)]
        return await find(self.calls, what, namespace or self.namespace)

    async def _one(self, what: Anything, namespace: str) -> tuple[Reference, Document]:
        found = await self._find(what, namespace)
        if len(found) > 1:
            names = " or ".join(reference.qualified for reference, _ in found)
            raise UsageError(f"{what} may be several: write {names}")
        return found[0]


def answer(model: Model, reference: Reference, document: Document, *, search: bool) -> Explanation:
    """Why one object waits."""
    if not reference.resource.group and reference.resource not in (PODS, REPLICATIONCONTROLLERS):
        of_nodes = ": `podium nodes -o wide` shows what of it is free" if reference.resource == NODES else ""
        sentence = f"a {reference.resource.kind.lower()} waits for nothing{of_nodes}"
        return Explanation(str(reference), reference.namespace, "empty", sentence)
    if reference.resource in model.world.queues:
        return explain_queue(model, reference.resource, document)
    target: Target = target_of(model, reference.resource, document)
    if not target.tasks:
        said = own_words(reference.resource, document)
        if said:
            target = msgspec.structs.replace(target, absent=f"it has no pods: {said}")
    # The process's own time: a machine that is busy with others does not make answers poorer.
    begun = time.process_time()
    return explain(model, target, search=search, elapsed=lambda: time.process_time() - begun)


def _owned(pod: Document, uid: str) -> bool:
    return any(owner.get("uid") == uid for owner in pod["metadata"].get("ownerReferences") or ())


def _documents(sources: Iterable[str | Path | Document]) -> list[Document]:
    """Every object of some files or documents, in order."""
    found: list[Document] = []
    for source in sources:
        if isinstance(source, dict):
            found.append(source)
            continue
        path = Path(source)
        try:
            text = path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path} cannot be read: {why_unreadable(error)}") from None
        try:
            documents = YamlText(text, str(path)).documents
        except yaml.YAMLError as error:
            raise UsageError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
        for document in documents:
            if document is None:
                continue
            if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
                raise UsageError(f"{path}: an object needs apiVersion, kind and metadata")
            found += document["items"] if document.get("kind") == "List" else [document]
    if not found:
        raise UsageError("there is nothing to submit: the files are empty")
    return found


def _message(body: bytes) -> str:
    return str(error_from_body(400, body))
