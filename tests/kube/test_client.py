"""The thin client: which requests it makes, and what it makes of the answers."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import pytest

from podium.errors import ApiError, TransportError
from podium.kube.changes import Create, Patch, Read
from podium.kube.client import Client
from podium.kube.resources import CONFIGMAPS, JOBS, NODES, PODS, Resource
from podium.kube.status import already_exists, gone, status_document
from podium.kube.transport import JSON_PATCH, Request, Response, Stream


class Canned:
    """Answers by method and target; a list of answers is used up one by one."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.requests: list[Request] = []

    async def request(self, request: Request, *, timeout: float = 30.0) -> Response:
        self.requests.append(request)
        answer = self.answers.get(
            f"{request.method} {request.target()}", ApiError(404, "NotFound", "no such thing")
        )
        if isinstance(answer, list):
            answer = answer.pop(0)
        if isinstance(answer, ApiError):
            return Response(answer.code, msgspec.json.encode(status_document(answer)))
        return Response(200, answer if isinstance(answer, bytes) else msgspec.json.encode(answer))

    def stream(self, request: Request, *, timeout: float = 30.0) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError

    async def close(self) -> None: ...

    def body(self) -> Any:
        return msgspec.json.decode(self.requests[-1].body)


def client(answers: dict[str, Any]) -> tuple[Client, Canned]:
    canned = Canned(answers)
    return Client(canned), canned


POD = {"kind": "Pod", "metadata": {"name": "p", "uid": "u"}, "spec": {"nodeName": "n"}}
PATH = "/api/v1/namespaces/d/pods"


async def test_reading() -> None:
    kube, _ = client({f"GET {PATH}/p": POD, f"GET {PATH}/p/status": {"kind": "Pod"}})
    assert await kube.get(PODS, "d", "p") == POD
    assert await kube.get(PODS, "d", "p", "status") == {"kind": "Pod"}
    with pytest.raises(ApiError) as caught:
        await kube.get(NODES, "", "x")
    assert (caught.value.code, caught.value.reason) == (404, "NotFound")


async def test_answers_that_make_no_sense() -> None:
    kube, _ = client({f"GET {PATH}/a": b"<html>", f"GET {PATH}/b": b"[]"})
    for name in ("a", "b"):
        with pytest.raises(TransportError, match="no object"):
            await kube.get(PODS, "d", name)


async def test_lists_are_read_to_the_last_page() -> None:
    first = {"metadata": {"continue": "t1"}, "items": [{"n": 1}]}
    kube, _ = client(
        {
            "GET /api/v1/pods?labelSelector=a%3Db&fieldSelector=c%3Dd&limit=500": first,
            "GET /api/v1/pods?labelSelector=a%3Db&fieldSelector=c%3Dd&limit=500&continue=t1": {
                "items": [{"n": 2}]
            },
            "GET /api/v1/nodes?limit=500": {"items": None},
        }
    )
    assert await kube.list(PODS, label_selector="a=b", field_selector="c=d") == [{"n": 1}, {"n": 2}]
    assert await kube.list(NODES) == []


async def test_a_list_that_expires_between_pages_is_read_at_once() -> None:
    kube, canned = client(
        {
            f"GET {PATH}?limit=500": {"metadata": {"continue": "t"}, "items": [{"n": 1}]},
            f"GET {PATH}?limit=500&continue=t": gone("too old"),
            f"GET {PATH}": {"items": [{"n": 3}]},
        }
    )
    assert await kube.list(PODS, "d") == [{"n": 3}]
    assert len(canned.requests) == 3


async def test_writing() -> None:
    kube, canned = client({f"POST {PATH}": POD, f"PUT {PATH}/p": POD, f"PATCH {PATH}/p/status": POD})
    assert await kube.create(PODS, "d", POD) == POD
    assert canned.body() == POD
    assert await kube.replace(PODS, "d", "p", POD) == POD
    assert canned.body() == POD
    operations = [{"op": "remove", "path": "/metadata/labels"}]
    assert await kube.patch(PODS, "d", "p", operations, JSON_PATCH, "status") == POD
    assert canned.body() == operations
    assert canned.requests[-1].content_type == JSON_PATCH


async def test_deleting() -> None:
    kube, canned = client(
        {
            f"DELETE {PATH}/p": [POD, {"kind": "Status", "status": "Success"}],
            f"DELETE {PATH}?labelSelector=a": {"kind": "PodList", "items": []},
        }
    )
    assert await kube.delete(PODS, "d", "p", uid="u", grace=0, propagation="Background") == POD
    options = canned.body()
    assert options["preconditions"] == {"uid": "u"}
    assert (options["gracePeriodSeconds"], options["propagationPolicy"]) == (0, "Background")
    assert await kube.delete(PODS, "d", "p") is None
    await kube.delete_collection(PODS, "d", label_selector="a")
    with pytest.raises(ValueError, match="whole collection"):
        await kube.delete(PODS, "d", "")


async def test_carrying_out_changes() -> None:
    kube, canned = client(
        {
            f"POST {PATH}/p/binding": {"kind": "Status", "status": "Success"},
            f"POST {PATH}": already_exists(PODS, "p"),
            f"PATCH {PATH}/p": POD,
            f"GET {PATH}/p": POD,
        }
    )
    assert await kube.carry_out(Create(PODS, "d", {"target": {}}, "p", "binding")) is None
    assert await kube.carry_out(Patch(PODS, "d", "p", {"metadata": {"labels": {}}}, uid="u")) == POD
    assert canned.body() == {"metadata": {"labels": {}, "uid": "u"}}
    assert await kube.carry_out(Read(PODS, "d", "p", "u")) == POD
    with pytest.raises(ApiError, match='pods "p" already exists'):
        await kube.carry_out(Create(PODS, "d", POD))


# --- discovery ---------------------------------------------------------------------------------------------


def entry(name: str, kind: str, singular: str = "", *short: str, namespaced: bool = True) -> dict[str, Any]:
    return {"name": name, "kind": kind, "singularName": singular, "shortNames": [*short], "namespaced": namespaced}


def group(name: str, *versions: str) -> dict[str, Any]:
    return {
        "name": name,
        "versions": [{"version": version} for version in sorted(versions)],
        "preferredVersion": {"version": versions[0]},
    }


VOLCANO_JOBS = Resource("batch.volcano.sh", "v1alpha1", "jobs", "Job")
CRONS = Resource("batch", "v1beta1", "crons", "Cron")

DISCOVERY = {
    "GET /apis": {
        "groups": [group("batch", "v1", "v1beta1"), group("batch.volcano.sh", "v1alpha1"), group("down", "v1")]
    },
    "GET /api/v1": {
        "resources": [
            entry("pods", "Pod", "pod", "po"),
            entry("pods/status", "Pod"),
            entry("nodes", "Node", "node", "no", namespaced=False),
            entry("configmaps", "ConfigMap", "configmap", "cm"),
        ]
    },
    "GET /apis/batch/v1": {"resources": [entry("jobs", "Job", "job"), {"name": "jobs/scale", "kind": "Scale"}]},
    "GET /apis/batch/v1beta1": {"resources": [entry("jobs", "Job", "job"), entry("crons", "Cron")]},
    "GET /apis/batch.volcano.sh/v1alpha1": {"resources": [entry("jobs", "Job", "job", "vcjob")]},
    "GET /apis/down/v1": ApiError(503, "ServiceUnavailable", "down"),
}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("pods", [PODS]),
        ("Pod", [PODS]),
        ("po", [PODS]),
        ("node", [NODES]),
        ("ConfigMap", [CONFIGMAPS]),
        ("job", [JOBS, VOLCANO_JOBS]),
        ("vcjob", [VOLCANO_JOBS]),
        ("jobs.batch", [JOBS]),
        ("Job.v1alpha1.batch.volcano.sh", [VOLCANO_JOBS]),
        ("jobs.v1beta1.batch", [Resource("batch", "v1beta1", "jobs", "Job")]),
        ("cron", [CRONS]),
        ("scale", []),
        ("pods.other", []),
        ("", []),
    ],
)
async def test_finding_what_a_word_means(name: str, found: list[Resource]) -> None:
    kube, _ = client(DISCOVERY)
    assert await kube.find(name) == found
