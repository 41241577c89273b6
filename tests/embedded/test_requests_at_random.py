"""Requests that nobody would send: whatever they hold, the answer is no error of the server's own.

Documents are drawn from the schema of their kind, and a few values are replaced by something else: of another
type, far too large, from another script, deep.  So many of them come as far as the rules of their kind.
"""

from __future__ import annotations

import copy
import random
from typing import Any

import msgspec
import pytest
import yaml

from podium.embedded.exchange import Held
from podium.embedded.registry import Kind
from podium.kube.transport import JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Request, Response
from podium.schema.builtin import type_named
from podium.schema.model import Schema
from podium.schema.protobuf import MEDIA_TYPE
from tests.embedded.server import Server

REQUESTS = 60  # for each seed

NUMBERS = ("²", "٣", "9" * 5000, "-1", "+1", "1.5", " 1", "0", "1", "18446744073709551616", "0x1", "1e3", "\x00")
WORDS = (
    "",
    "a",
    "x" * 300,
    "ü",
    "\ud7ff\U0010ffff",
    "a=b",
    "a in (",
    "metadata.name=a",
    "status.phase!=x",
    "All",
    "true",
    "Strict",
    "Ignore",
    "Orphan",
    "1Gi",
    "5%",
    "999999999999%",
    "1/2",
    "*/0 * * * *",
    "* * * * *",
    "2001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "10.0.0.0/8",
    "::1",
    "0-5,7",
    "2147483648",
    ".spec.x",
    "$(A)",
    "[a-",
    "self.x > 1",
    *NUMBERS,
)
ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1,
    2**31,
    2**63,
    -(2**70),
    1.5,
    1e300,
    [],
    {},
    [None],
    {"": None},
    {"a": {"b": []}},
)
PARAMETERS = (
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
    "sendInitialEvents",
    "allowWatchBookmarks",
    "watch",
    "labelSelector",
    "fieldSelector",
    "dryRun",
    "fieldValidation",
    "fieldManager",
    "gracePeriodSeconds",
    "propagationPolicy",
    "orphanDependents",
    "tailLines",
    "sinceSeconds",
    "sinceTime",
    "limitBytes",
    "container",
    "follow",
    "previous",
    "includeObject",
)
MEDIA = (JSON, "application/yaml", MERGE_PATCH, JSON_PATCH, STRATEGIC_PATCH, MEDIA_TYPE, "text/plain", "")
ACCEPTS = (
    JSON,
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;q=²",
    "application/json;q=nan, */*;q=inf",
)


class Dice(random.Random):
    wild = 0.02  # how many of a document's values are wrong

    def rarely(self) -> bool:
        return self.random() < 0.125

    def word(self) -> str:
        return (
            self.choice(WORDS)
            if self.random() < 5 * self.wild
            else self.choice(("a", "b", "main", "default", "1", "x/y"))
        )

    def value(self, schema: Schema, depth: int = 0) -> Any:
        """Something that the schema allows, or rarely something else."""
        if self.random() < self.wild:
            return self.deep() if self.rarely() else self.odd()
        if schema.enum and not self.rarely():
            return self.choice(schema.enum)
        if schema.properties is not None:
            names = [name for name in schema.properties if name in schema.required or self.random() < 0.4]
            if depth > 9:
                names = []
            return {name: self.value(schema.properties[name], depth + 1) for name in names}
        if schema.items is not None:
            return [self.value(schema.items, depth + 1) for _ in range(self.choice((0, 1, 1, 2)))]
        if schema.values is not None:
            return {self.word(): self.value(schema.values, depth + 1) for _ in range(self.choice((0, 1, 2)))}
        if schema.format == "quantity":
            return self.choice(("1", "100m", "1Gi", 5, self.word()))
        if schema.int_or_string:
            return self.choice((1, 80, "http", "50%", self.word()))
        if schema.format in ("date-time", "micro-time"):
            return self.choice(("2001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"))
        match schema.type:
            case "boolean":
                return self.random() < 0.5
            case "integer":
                return self.choice((0, 1, 2, 5, 80, -1, 2**31 - 1, 2**63 - 1))
            case "number":
                return self.choice((0, 1.5, -1e300))
            case "string":
                return self.word()
        return self.odd()

    def odd(self) -> Any:
        return copy.deepcopy(self.choice((*ODD, self.word())))

    def deep(self) -> Any:
        value: Any = 1
        for _ in range(self.choice((5, 50, 150, 190, 199, 260, 400))):
            value = [value] if self.random() < 0.5 else {"a": value}
        return value

    def document(self, kind: Kind, name: str) -> Any:
        document = self.value(kind.schema)
        if isinstance(document, dict) and not self.rarely():
            document |= {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind}
            metadata = document.get("metadata")
            if isinstance(metadata, dict):
                metadata |= {"name": name, "namespace": "default"}
                for field in ("resourceVersion", "uid", "generateName", "deletionTimestamp"):
                    metadata.pop(field, None)
            elif not self.rarely():
                document["metadata"] = {"name": name}
        return document

    def patch(self, document: Any) -> list[Any]:
        paths = ("/metadata", "/spec", "/data/a", "/metadata/labels/a", "", "/", "/spec/containers/0", "/x" * 150)
        return [
            {
                "op": self.choice(("add", "remove", "replace", "move", "copy", "test", "nope")),
                "path": self.choice((*paths, self.word())),
                "from": self.choice(paths),
                "value": document,
            }
            for _ in range(self.choice((1, 2, 40)))
        ]

    def damaged(self, body: bytes) -> bytes:
        if not body or not self.rarely():
            return body
        at = self.randrange(len(body))
        return self.choice((body[:at], body[:at] + bytes([self.randrange(256)]) + body[at + 1 :], body * 2))


def encoded(document: Any, media: str, dice: Dice) -> bytes:
    if media == "application/yaml":
        try:
            text = yaml.dump(document, Dumper=yaml.CSafeDumper).encode()
        except RecursionError:
            text = msgspec.json.encode(document)  # which is YAML too
        return dice.damaged(dice.choice((text, text.replace(b"'", b""))))
    if media == MEDIA_TYPE:
        return dice.damaged(b"k8s\x00" + bytes(dice.randrange(256) for _ in range(dice.randrange(60))))
    return dice.damaged(msgspec.json.encode(document))


def request(server: Server, dice: Dice, kinds: list[Kind]) -> Request:
    kind = dice.choice(kinds)
    dice.wild = dice.choice((0.0, 0.002, 0.01, 0.1))
    name = dice.choice(("a", "b", "there"))
    method = dice.choice(("GET", "POST", "POST", "PUT", "PATCH", "DELETE"))
    path = kind.resource.path("default" if kind.resource.namespaced else "")
    if method in ("PUT", "PATCH") or (method != "POST" and dice.random() < 0.6):
        path += f"/{name}"
    document = dice.document(kind, name)
    served = [each for each in ("status", "scale", *kind.subresources) if each in kind.subresources or kind.status]
    if served and dice.random() < 0.3:
        sub = dice.choice(served)
        path = f"{kind.resource.path('default' if kind.resource.namespaced else '')}/{name}/{sub}"
        method = dice.choice(("POST", method))
        if sub in ("binding", "eviction", "scale"):
            types = {"binding": "Binding", "eviction": "policy/Eviction", "scale": "autoscaling/Scale"}
            document = dice.value(type_named(types[sub]))
    if method == "DELETE":
        document = dice.value(type_named("DeleteOptions"))
    media = dice.choice(MEDIA[2:5]) if method == "PATCH" else dice.choice(MEDIA[:2])
    if dice.rarely():
        media = dice.choice(MEDIA)
    if media == JSON_PATCH:
        document = dice.patch(document)
    query = tuple((dice.choice(PARAMETERS), dice.word()) for _ in range(dice.choice((0, 0, 1, 3))))
    body = b"" if method == "GET" else encoded(document, media, dice)
    return Request(method, path, query, body, media, dice.choice(ACCEPTS) if dice.rarely() else JSON)


def definition(dice: Dice) -> dict[str, Any]:
    """A definition that is right but for its schema, which is drawn as everything else."""
    props = type_named("apiextensions/JSONSchemaProps")
    schema = dice.value(props)
    if isinstance(schema, dict) and not dice.rarely():
        inner = {field: dice.value(props, 5) for field in ("items", "additionalProperties")}
        schema |= {"type": "object", "properties": {"spec": dice.value(props, 3), "x": inner}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "kind": "Thing"}
    return {
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


@pytest.mark.parametrize("seed", range(12))
def test_no_request_makes_the_server_fail(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    dice, server = Dice(seed), Server()
    things = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for number in range(REQUESTS):
        if dice.rarely():
            asked = Request("POST", things, (), msgspec.json.encode(definition(dice)))
        else:
            asked = request(server, dice, list(server.api.registry))
        reply = server.api.handle(asked)
        if isinstance(reply, Held):
            reply = reply.response
        if not isinstance(reply, Response):
            reply.on_ready(lambda: None)
            reply.take()
            reply.close()
            continue
        reported = (
            f"seed {seed}, request {number}: {asked.method} {asked.path} {asked.query} {asked.body[:3000]!r}"
        )
        assert b"an internal error" not in reply.body, f"{reported}\n{caplog.text}"
        if asked.path != things:
            continue
        for path in ("/openapi/v2", "/openapi/v3/apis/example.com/v1"):
            answer = server.api.handle(Request("GET", path))
            assert isinstance(answer, Response)
            assert answer.status in (200, 404), f"{reported}\n{caplog.text}"
