"""The families' hooks as a webhook: what `podium up` asks in its own process, a real API server asks here.

    API server --AdmissionReview over HTTPS--> hooks, which look at what is watched --answer--> API server

It has a certificate that it makes for itself, and tells the API server where it is and whom to trust in two
configurations, which it takes away again when it ends.  They name podium's own kinds and nothing else, and say
that a webhook which does not answer is to be ignored: a cluster never waits for podium.  On the API server's
machine it is reached by its address; in a cluster by a Service, in front of one pod.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from podium.dialects.dialect import Dialect, views_of
from podium.errors import ApiError, PodiumError, UsageError
from podium.kube.admission import Hook
from podium.kube.admission_review import mutating, validating
from podium.kube.cache import Cache, Key
from podium.kube.certificates import NAMES, certificate_pem, key_pem, make_authority, make_serving, server_context
from podium.kube.client import Client
from podium.kube.controller import NOTHING, Mapper, Outcome
from podium.kube.driver import Driver
from podium.kube.manager import Manager
from podium.kube.mapping import nobody
from podium.kube.nesting import decode
from podium.kube.observed import Observed
from podium.kube.resources import CUSTOMRESOURCEDEFINITIONS, Resource
from podium.kube.rights import Right, reading
from podium.kube.transport import Transport
from podium.runtime.driving import advice, drive
from podium.runtime.listener import Address
from podium.runtime.webhook_server import HttpsServer

log = logging.getLogger(__name__)

Document = dict[str, Any]

_review = msgspec.json.Decoder(Document)

# Not among the built-in kinds: the embedded server asks its hooks itself, and has no use for them.
MUTATINGWEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
VALIDATINGWEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)

NAME = "podium"
MUTATE, VALIDATE = "/mutate", "/validate"

_TIMEOUT_SECONDS = 5
_SYNC_AGAIN = 0.05


def webhook_rights(dialects: Iterable[Dialect]) -> tuple[Right, ...]:
    """What the webhook of some dialects needs: what its hooks look at, and its own two configurations."""
    looks_at = dict.fromkeys(resource for each in dialects for hook in each.hooks for resource in hook.looks_at)
    registering = (
        right
        for resource in (MUTATINGWEBHOOKS, VALIDATINGWEBHOOKS)
        for right in (Right(resource, ("create",)), Right(resource, ("patch", "delete"), names=(NAME,)))
    )
    return (*reading((*looks_at, CUSTOMRESOURCEDEFINITIONS)), *registering)


class Service(msgspec.Struct, frozen=True):
    """The Service by which an API server reaches a webhook that runs in its cluster."""

    namespace: str
    name: str
    port: int = 443

    @classmethod
    def read(cls, text: str) -> Service:
        namespace, slash, name = text.partition("/")
        if not (namespace and slash and name) or "/" in name:
            raise UsageError(f"--service wants namespace/name, not {text!r}")
        return cls(namespace, name)

    @property
    def hosts(self) -> tuple[str, ...]:
        """What the API server calls it when it looks at the certificate."""
        return f"{self.name}.{self.namespace}.svc", f"{self.name}.{self.namespace}.svc.cluster.local"


class Webhook:
    """The webhook of some API families, for one API server."""

    def __init__(
        self,
        transport: Transport,
        dialects: Iterable[Dialect],
        address: Address,
        more: Iterable[Hook] = (),
        service: Service | None = None,
    ) -> None:
        """`more` hooks are no family's: what the scheduler's profiles ask for."""
        self._client = Client(transport)
        self._dialects = tuple(dialects)
        self._hooks = (*(hook for each in self._dialects for hook in each.hooks), *more)
        self._address = address
        self._service = service
        self._manager = Manager([_Onlooker(self._hooks)])
        views = views_of(self._dialects)
        reported = advice(self._dialects)
        self._driver = Driver(transport, self._manager, custom_resources=True, views=views, advice=reported)
        self.url = ""

    async def run(self, stop: asyncio.Event) -> None:
        """Serves until it is stopped."""
        await drive(self._driver, self._serve(stop))

    async def _serve(self, stop: asyncio.Event) -> None:
        while not self._driver.synced:  # noqa: ASYNC110 (a moment at the start)
            await asyncio.sleep(_SYNC_AGAIN)
        async with AsyncExitStack() as stack:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="podium-webhook-")))
            hosts = NAMES if self._service is None else self._service.hosts
            authority, context = _identity(directory, hosts)
            server = HttpsServer(self._address, context, self._answer)
            await stack.enter_async_context(server)
            self.url = f"https://{self._address.shown}:{server.port}"
            reached = self.url if self._service is None else self._service
            for resource, document in configurations(self._hooks, reached, authority).items():
                await self._register(resource, document)
                stack.push_async_callback(self._withdraw, resource)
            log.info("serving admission at %s", self.url)
            await stop.wait()

    def _answer(self, path: str, body: bytes) -> bytes | None:
        """The answer to one review; None when it is none."""
        judge = {MUTATE: mutating, VALIDATE: validating}.get(path)
        if judge is None:
            return None
        try:
            review = decode(_review, body)
            return msgspec.json.encode(judge(review, self._hooks, Observed(self._manager.cache)))
        except (msgspec.DecodeError, KeyError, TypeError):
            return None

    async def _register(self, resource: Resource, document: Document) -> None:
        try:
            await self._client.create(resource, "", document)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                await self._client.patch(resource, "", NAME, {"webhooks": document["webhooks"]})
            elif error.code == 404:
                raise UsageError(
                    "this server has no admission webhooks; one started by `podium up` needs none, "
                    "it asks podium in its own process"
                ) from None
            else:
                raise

    async def _withdraw(self, resource: Resource) -> None:
        try:
            await self._client.delete(resource, "", NAME)
        except PodiumError as error:
            log.warning("%s %s is still there: %s", resource.kind, NAME, error)


class _Onlooker:
    """Watches what hooks look at, and does nothing about it."""

    name = "onlooker"

    def __init__(self, hooks: Iterable[Hook]) -> None:
        self.watches: Mapping[Resource, Mapper] = {
            resource: nobody for hook in hooks for resource in hook.looks_at
        }

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        return NOTHING


def _identity(directory: Path, hosts: Iterable[str]) -> tuple[bytes, Any]:
    """A certificate for this run: the authority's part for clients, and the context that serves it."""
    now = datetime.now(UTC)
    authority, authority_key = make_authority(now)
    certificate, key = make_serving(authority, authority_key, now, hosts)
    files = directory / "server.crt", directory / "server.key"
    for file, content in zip(files, (certificate_pem(certificate), key_pem(key)), strict=True):
        file.write_bytes(content)
    return certificate_pem(authority), server_context(*files)


# --- its registration ------------------------------------------------------------------------------------


def configurations(hooks: Iterable[Hook], reached: str | Service, authority: bytes) -> dict[Resource, Document]:
    """Both configurations: narrow rules, and whom to trust."""
    bundle = base64.b64encode(authority).decode()
    filling: list[Document] = []
    refusing: list[Document] = []
    for number, hook in enumerate(hooks):
        writes = ["CREATE"] if hook.new_only else ["CREATE", "UPDATE"]
        if hook.mutate is not None:
            filling.append(_entry(number, hook, writes, _client(reached, MUTATE, bundle)))
        operations = (writes if hook.validate is not None else []) + (["DELETE"] if hook.keep is not None else [])
        if operations:
            refusing.append(_entry(number, hook, operations, _client(reached, VALIDATE, bundle)))
    return {
        MUTATINGWEBHOOKS: _configuration(MUTATINGWEBHOOKS, filling),
        VALIDATINGWEBHOOKS: _configuration(VALIDATINGWEBHOOKS, refusing),
    }


def _configuration(resource: Resource, webhooks: list[Document]) -> Document:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": NAME},
        "webhooks": webhooks,
    }


def _client(reached: str | Service, path: str, bundle: str) -> Document:
    """How the API server gets here: by a URL, or by a Service."""
    if isinstance(reached, str):
        return {"url": reached + path, "caBundle": bundle}
    service = {"namespace": reached.namespace, "name": reached.name, "port": reached.port, "path": path}
    return {"service": service, "caBundle": bundle}


def _entry(number: int, hook: Hook, operations: list[str], client: Document) -> Document:
    resource = hook.resource
    rule: Document = {
        "apiGroups": [resource.group],
        "apiVersions": [resource.version],
        "resources": [resource.plural],
        "operations": operations,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
    }
    entry: Document = {
        "name": f"h{number}.{resource.plural}.{resource.group or 'core'}.podium.dev",
        "rules": [rule],
        "clientConfig": client,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "matchPolicy": "Exact",
        "timeoutSeconds": _TIMEOUT_SECONDS,
    }
    if hook.condition:
        entry["matchConditions"] = [{"name": "concerned", "expression": hook.condition}]
    return entry
