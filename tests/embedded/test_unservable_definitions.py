"""A stored definition that cannot be served, as an earlier podium took it: it is left out, and all others work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from podium.embedded.cluster import EmbeddedCluster, Settings
from podium.embedded.log import SqliteLog
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import CUSTOMRESOURCEDEFINITIONS, Resource
from podium.kube.transport import Request, Response
from tests.compat.objects import crd

GROUP = "kept.example"


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def fill(directory: Path) -> None:
    """What is in the data directory: two definitions and an object of each."""
    log = SqliteLog(directory / "cluster.db")
    store = log.restore()
    for plural, kind, levels in (("deeps", "Deep", 440), ("plains", "Plain", 2)):
        definition = crd(plural, kind, {"deep": nested(levels)}, GROUP)
        definition["metadata"] |= {"uid": f"uid-{plural}", "finalizers": [CLEANUP]}
        store.put(CUSTOMRESOURCEDEFINITIONS, definition, None)
        made = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "one", "namespace": "default"}}
        store.put(Resource(GROUP, "", plural, kind, True), made, None)
    log.close()


CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


async def test_a_start_leaves_out_what_cannot_be_served(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fill(tmp_path)
    async with EmbeddedCluster(Settings(data_dir=tmp_path)) as cluster:
        http = HttpTransport(resolve(cluster.kubeconfig))

        async def get(path: str) -> Response:
            return await http.request(Request("GET", path))

        reported = "customresourcedefinition deeps.kept.example cannot be served and is left out: "
        assert caplog.text.count(reported) == 1
        assert (await get(f"/apis/{GROUP}/v1/namespaces/default/plains/one")).status == 200
        assert (await get(f"/apis/{GROUP}/v1/namespaces/default/deeps/one")).status == 404
        for path in ("/openapi/v2", f"/openapi/v3/apis/{GROUP}/v1", "/apis", f"/apis/{GROUP}/v1"):
            answer = await get(path)
            assert answer.status == 200
            assert b"Deep" not in answer.body
        names = msgspec.json.decode((await get(CUSTOMRESOURCEDEFINITIONS.path())).body)["items"]
        assert {each["metadata"]["name"] for each in names} == {"deeps.kept.example", "plains.kept.example"}
        # It can be taken away, and nothing of it stays.
        path = CUSTOMRESOURCEDEFINITIONS.path(name="deeps.kept.example")
        assert (await http.request(Request("DELETE", path))).status == 200
        assert (await get(path)).status == 404
        assert not list(cluster.api.store.scan(Resource(GROUP, "", "deeps", "Deep", True)))
        await http.close()


async def test_the_deepest_schema_that_is_taken_is_served_after_a_restart(tmp_path: Path) -> None:
    definition = crd("deeps", "Deep", {"deep": nested(95)}, GROUP)
    for start in range(2):
        async with EmbeddedCluster(Settings(data_dir=tmp_path)) as cluster:
            http = HttpTransport(resolve(cluster.kubeconfig))
            body = msgspec.json.encode(definition)
            made = await http.request(Request("POST", CUSTOMRESOURCEDEFINITIONS.path(), body=body))
            assert made.status == (409 if start else 201)
            swagger = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
            for path, accept in (
                ("/openapi/v2", ""),
                ("/openapi/v2", swagger),
                (f"/openapi/v3/apis/{GROUP}/v1", ""),
            ):
                answer = await http.request(Request("GET", path, accept=accept))
                assert (answer.status, b"Deep" in answer.body) == (200, True)
            await http.close()


async def test_a_deeper_one_is_refused_however_it_comes(tmp_path: Path) -> None:
    async with EmbeddedCluster(Settings(in_memory=True)) as cluster:
        path = CUSTOMRESOURCEDEFINITIONS.path()

        async def send(method: str, path: str, body: bytes, media: str = "application/json") -> tuple[int, bytes]:
            answer = await cluster.transport.request(Request(method, path, body=body, content_type=media))
            return answer.status, answer.body

        deeper = msgspec.json.encode(crd("deeps", "Deep", {"deep": nested(96)}, GROUP))
        for media in ("application/json", "application/yaml"):
            code, answer = await send("POST", path, deeper, media)
            assert (code, b"exceeded max depth" in answer) == (400, True)
        free = crd(
            "deeps", "Deep", {"free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}, GROUP
        )
        assert (await send("POST", path, msgspec.json.encode(free)))[0] == 201
        objects = f"/apis/{GROUP}/v1/namespaces/default/deeps"
        value: Any = {}
        for _ in range(150):
            value = {"a": value}
        made = {"apiVersion": f"{GROUP}/v1", "kind": "Deep", "metadata": {"name": "one"}, "spec": {"free": value}}
        assert (await send("POST", objects, msgspec.json.encode(made)))[0] == 201
        below = "/spec/free" + "/a" * 150 + "/a"
        patch = msgspec.json.encode([{"op": "add", "path": below, "value": value}])
        code, answer = await send("PATCH", f"{objects}/one", patch, "application/json-patch+json")
        assert (code, b"exceeded max depth" in answer) == (400, True)
