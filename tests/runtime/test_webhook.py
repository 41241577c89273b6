"""Admission over HTTPS: reviews as documents, and a real API server that asks."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podium.cli.dialects import chosen_dialects, hooks, objects
from podium.dialects.kubernetes.gates import QUOTA_GATE, quota_gates
from podium.dialects.volcano.job.names import BUDGETS, JOBS
from podium.dialects.volcano.names import ALLOCATION_GATE, QUEUES
from podium.errors import ApiError, UsageError
from podium.kube.admission_review import mutating, validating
from podium.kube.cache import Cache
from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.observed import Observed
from podium.kube.resources import CUSTOMRESOURCEDEFINITIONS, PODS, Resource
from podium.runtime.listener import Address
from podium.runtime.webhook import MUTATINGWEBHOOKS, VALIDATE, VALIDATINGWEBHOOKS, Webhook, configurations
from tests.controlplane.fixtures import ensure_real
from tests.controlplane.server import ControlPlane
from tests.dialects.job_stage import job_document, task
from tests.runtime.cluster import Cluster

Document = dict[str, Any]


def review(resource: Resource, document: Document | None, operation: str = "CREATE", **more: Any) -> Document:
    named = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    request = {"uid": "42", "resource": named, "operation": operation, "object": document, **more}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


NOTHING = Observed(Cache())


# --- documents ---------------------------------------------------------------------------------------------


def test_a_job_is_filled_in() -> None:
    answer = mutating(review(JOBS, job_document(task("main", 2))), hooks(), NOTHING)["response"]
    assert (answer["uid"], answer["allowed"], answer["patchType"]) == ("42", True, "JSONPatch")
    (operation,) = msgspec.json.decode(base64.b64decode(answer["patch"]))
    assert (operation["op"], operation["path"]) == ("add", "/spec")
    assert operation["value"]["minAvailable"] == 2


def test_what_needs_nothing_gets_no_patch() -> None:
    pod = {"metadata": {"name": "x"}, "spec": {"containers": []}}
    assert mutating(review(PODS, pod), hooks(), NOTHING)["response"] == {"uid": "42", "allowed": True}


def test_a_bad_job_is_refused_with_the_path() -> None:
    job = job_document(task("main", 2), minAvailable=9)
    answer = validating(review(JOBS, job), hooks(), NOTHING)["response"]
    assert answer["allowed"] is False
    assert answer["status"]["code"] == 422
    assert "spec.minAvailable" in answer["status"]["message"]


def test_a_queue_that_has_to_stay() -> None:
    queue = {"metadata": {"name": "default"}}
    answer = validating(review(QUEUES, None, "DELETE", oldObject=queue, name="default"), hooks(), NOTHING)
    assert answer["response"]["allowed"] is False
    assert "default" in answer["response"]["status"]["message"]


@pytest.mark.parametrize("document", [{}, {"spec": 7}, {"metadata": {}, "spec": {"tasks": "none"}}])
def test_a_document_on_which_a_hook_breaks_is_let_through_or_refused_but_answered(document: Document) -> None:
    for judge in (mutating, validating):
        assert judge(review(JOBS, document), hooks(), NOTHING)["response"]["uid"] == "42"


async def test_a_review_that_nests_five_thousand_deep_is_answered() -> None:
    server = Webhook(Cluster().transport, chosen_dialects(), Address(0), quota_gates({"podium"}))
    job = job_document(task("main", 2), minAvailable=9)
    job["spec"]["tasks"][0]["template"]["metadata"] = {"managedFields": [{"fieldsV1": "DEEP"}]}
    deep = b'{"a":' * 5000 + b"{}" + b"}" * 5000
    body = msgspec.json.encode(review(JOBS, job)).replace(b'"DEEP"', deep)
    answer = server._answer(VALIDATE, body)
    assert answer is not None
    assert "spec.minAvailable" in msgspec.json.decode(answer)["response"]["status"]["message"]


def test_subresources_and_others_are_nobodys_matter() -> None:
    bad = job_document(task("main", 2), minAvailable=9)
    assert validating(review(JOBS, bad, subResource="status"), hooks(), NOTHING)["response"]["allowed"]


def test_rules_are_narrow() -> None:
    reported = configurations(hooks(), "https://127.0.0.1:1", b"ca")
    for document in reported.values():
        for each in document["webhooks"]:
            (rule,) = each["rules"]
            assert each["failurePolicy"] == "Ignore"
            assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["operations"]]
            if rule["apiGroups"] == [""]:
                assert rule["operations"] == ["CREATE"]
                asked = each["matchConditions"][0]["expression"]
                assert ALLOCATION_GATE in asked or BUDGETS[0] in asked


# --- a real API server -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    ensure_real(request.config)
    with ControlPlane(tmp_path_factory.mktemp("webhook")) as running:
        yield running


@contextlib.asynccontextmanager
async def webhook(kubeconfig: Path) -> AsyncIterator[Client]:
    """A client of a server that asks podium."""
    transport = HttpTransport(resolve(kubeconfig))
    stop = asyncio.Event()
    running = Webhook(transport, chosen_dialects(), Address(0), quota_gates({"podium"}))
    task_ = asyncio.create_task(running.run(stop))
    try:
        while not running.url and not task_.done():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        yield Client(transport)
    finally:
        stop.set()
        await task_
        await transport.close()


async def define(kubeconfig: Path) -> None:
    transport = HttpTransport(resolve(kubeconfig))
    client = Client(transport)
    for document in objects():
        resource = CUSTOMRESOURCEDEFINITIONS if "names" in document["spec"] else QUEUES
        while await _is_too_early(client, resource, document):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    await transport.close()


async def _is_too_early(client: Client, resource: Resource, document: Document) -> bool:
    """Creates an object, unless its definition is not served yet."""
    try:
        await client.create(resource, "", document)
    except ApiError as error:
        if error.code != 404 and error.reason != "AlreadyExists":
            raise
        return error.code == 404
    return False


async def refused(client: Client, job: Document) -> str:
    """Why a Job is refused.  A server asks a new webhook only after a moment."""
    for _ in range(100):
        try:
            await client.create(JOBS, "default", job)
        except ApiError as error:
            return str(error)
        await client.delete(JOBS, "default", job["metadata"]["name"])
        await asyncio.sleep(0.1)
    raise AssertionError("nobody refused it")


async def test_a_real_server_asks(plane: ControlPlane) -> None:
    await define(plane.kubeconfig)
    async with webhook(plane.kubeconfig) as client:
        reported = await refused(client, job_document(task("main", 2), name="bad", minAvailable=9))
        assert "spec.minAvailable" in reported
        assert "must not be above 2" in reported
        assert "spec.queue" in await refused(client, job_document(task("main", 2), name="lost", queue="nowhere"))

        made = await client.create(JOBS, "default", job_document(task("main", 2), name="good"))
        assert made["spec"]["minAvailable"] == 2
        assert made["spec"]["tasks"][0]["minAvailable"] == 2

        with pytest.raises(ApiError, match="always there"):
            await client.delete(QUEUES, "", "default")
        pod = {"metadata": {"name": "gated", "annotations": {ALLOCATION_GATE: "true"}}}
        container = {"name": "main", "image": "app:1"}
        gated = await client.create(PODS, "default", {**pod, "spec": {"containers": [container]}})
        assert gated["spec"]["schedulingGates"] == [{"name": ALLOCATION_GATE}]
        profile = {"schedulerName": "podium", "containers": [container]}
        by_profile = await client.create(PODS, "default", {"metadata": {"name": "held"}, "spec": profile})
        assert by_profile["spec"]["schedulingGates"] == [{"name": QUOTA_GATE}]
        budget = {"metadata": {"name": "loose", "annotations": {BUDGETS[0]: "0%"}}}
        volcanic = {"schedulerName": "volcano", "containers": [container]}
        with pytest.raises(ApiError, match="must be a number above 0"):
            await client.create(PODS, "default", {**budget, "spec": volcanic})
        for resource in (MUTATINGWEBHOOKS, VALIDATINGWEBHOOKS):
            assert (await client.get(resource, "", "podium"))["webhooks"]

    transport = HttpTransport(resolve(plane.kubeconfig))
    client = Client(transport)
    for resource in (MUTATINGWEBHOOKS, VALIDATINGWEBHOOKS):
        assert await client.list(resource) == []
    await transport.close()


async def test_one_that_was_killed_is_replaced(plane: ControlPlane) -> None:
    await define(plane.kubeconfig)
    transport = HttpTransport(resolve(plane.kubeconfig))
    client = Client(transport)
    for resource, document in configurations(hooks(), "https://127.0.0.1:1", b"").items():
        for each in document["webhooks"]:
            each["clientConfig"].pop("caBundle")
        await client.create(resource, "", document)
    # Nobody answers there, and nobody waits for it.
    await client.create(JOBS, "default", job_document(task("main", 2), name="unasked", minAvailable=9))
    await client.delete(JOBS, "default", "unasked")
    async with webhook(plane.kubeconfig) as asking:
        assert "spec.minAvailable" in await refused(
            asking, job_document(task("main", 2), name="bad", minAvailable=9)
        )
    await transport.close()


async def test_an_embedded_server_needs_none(tmp_path: Path) -> None:
    from podium.cli.cluster import cluster_settings
    from podium.embedded.cluster import EmbeddedCluster

    async with EmbeddedCluster(cluster_settings(in_memory=True)) as cluster:
        with pytest.raises(UsageError, match="has no admission webhooks"):
            async with webhook(cluster.kubeconfig):
                pass
