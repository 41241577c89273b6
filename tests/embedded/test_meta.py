"""OpenAPI documents over the API: in which form they come, and how a client keeps them."""

from __future__ import annotations

import msgspec
import pytest

from podium.embedded.access import gate_for
from podium.embedded.http_encoding import encode_head
from podium.embedded.http_reader import Incoming, Reader
from podium.embedded.kinds import builtin_kinds
from podium.embedded.meta import Meta
from podium.embedded.registry import Kind, Registry
from podium.errors import ApiError
from podium.kube.resources import Resource
from podium.kube.transport import JSON, Request, Response
from podium.schema.model import Schema
from podium.schema.openapi_proto import MEDIA_TYPE

KUBECTL = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
WIDGET = Resource("acme.dev", "v1", "widgets", "Widget")
WIDGETS = Kind(WIDGET, Schema(type="object"), WIDGET, "widget", custom=True)


@pytest.fixture
def registry() -> Registry:
    return Registry(builtin_kinds())


@pytest.fixture
def meta(registry: Registry) -> Meta:
    return Meta(registry)


def ask(meta: Meta, path: str = "/openapi/v2", accept: str = JSON, if_none_match: str = "") -> Response:
    return meta.answer(Request("GET", path, accept=accept, if_none_match=if_none_match))


# --- the form ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accept", "given"),
    [
        ("", JSON),
        (JSON, JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        (f"{JSON}, */*", JSON),
        (f"{JSON},{KUBECTL}", JSON),
        (f"{KUBECTL};q=0.1,{JSON}", JSON),
        (KUBECTL, MEDIA_TYPE),
        (MEDIA_TYPE, MEDIA_TYPE),
        (f"{KUBECTL}, {JSON}", MEDIA_TYPE),
        (f"{JSON};q=0.5, {KUBECTL}", MEDIA_TYPE),
        (f"text/html, {KUBECTL}", MEDIA_TYPE),
    ],
)
def test_the_client_chooses_the_form(meta: Meta, accept: str, given: str) -> None:
    answer = ask(meta, accept=accept)
    assert (answer.status, answer.content_type) == (200, given)
    assert answer.header("Vary") == "Accept"
    if given == JSON:
        assert msgspec.json.decode(answer.body)["swagger"] == "2.0"
    else:
        assert answer.body.startswith(b"\x0a\x032.0")


@pytest.mark.parametrize("accept", ["text/html", "application/yaml", f"{JSON};q=0", f"{JSON};q=0,text/html"])
def test_other_forms_are_refused(meta: Meta, accept: str) -> None:
    with pytest.raises(ApiError) as refused:
        ask(meta, accept=accept)
    assert refused.value.code == 406
    assert MEDIA_TYPE in str(refused.value)


# --- documents that are kept -------------------------------------------------------------------------------


PATHS = ["/openapi/v2", "/openapi/v3", "/openapi/v3/apis/batch/v1", "/api", "/apis", "/apis/apps/v1"]


@pytest.mark.parametrize("path", PATHS)
def test_who_has_a_document_is_spared_it(meta: Meta, path: str) -> None:
    first = ask(meta, path)
    tag = first.header("ETag")
    assert first.body
    for shown in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = ask(meta, path, if_none_match=shown)
        assert (again.status, again.body, again.content_type) == (304, b"", "")
        assert again.header("ETag") == tag
        assert again.header("Vary") == "Accept"
    for shown in ("", '"other"', tag.strip('"')):
        assert ask(meta, path, if_none_match=shown) == first


@pytest.mark.parametrize("path", ["/version", "/healthz"])
def test_what_has_no_tag_always_comes_whole(meta: Meta, path: str) -> None:
    assert ask(meta, path, if_none_match="*").status == 200


def test_the_two_forms_have_different_tags(meta: Meta) -> None:
    tag = ask(meta).header("ETag")
    assert ask(meta, accept=KUBECTL, if_none_match=tag).status == 200


@pytest.mark.parametrize("accept", [JSON, KUBECTL])
def test_a_new_kind_makes_new_documents(meta: Meta, registry: Registry, accept: str) -> None:
    before = ask(meta, accept=accept)
    assert ask(meta, accept=accept) is before  # encoded once
    registry.add(WIDGETS)
    after = ask(meta, accept=accept, if_none_match=before.header("ETag"))
    assert after.status == 200
    assert b"dev.acme.v1.Widget" in after.body
    assert b"dev.acme.v1.Widget" not in before.body
    registry.remove(WIDGET)
    assert ask(meta, accept=accept, if_none_match=before.header("ETag")).status == 304


# --- over HTTP ---------------------------------------------------------------------------------------------


def test_the_tag_is_read_from_the_request() -> None:
    received: list[Incoming] = []

    class Sink:
        def received(self, incoming: Incoming) -> None:
            received.append(incoming)

        def send_continue(self) -> None:
            raise AssertionError("nobody waits for that")

    head = b"Host: localhost\r\nAuthorization: Bearer secret\r\n"
    lines = b'GET /api HTTP/1.1\r\n%sIf-None-Match: "a"\r\nif-none-match: "b"\r\n\r\n' % head
    Reader(gate_for("secret", 6443), Sink()).feed(lines)
    (incoming,) = received
    assert incoming.request.if_none_match == '"a","b"'


@pytest.mark.parametrize("close", [False, True])
def test_an_answer_without_a_body_has_no_length(meta: Meta, close: bool) -> None:
    head = encode_head(ask(meta, if_none_match="*"), date=b"now", close=close)
    lines = head.decode().split("\r\n")
    assert lines[0] == "HTTP/1.1 304 Not Modified"
    names = [line.partition(":")[0] for line in lines[1:-2]]
    assert names == ["Cache-Control", "Vary", "ETag", "Date", *(["Connection"] if close else [])]
    assert lines[-2:] == ["", ""]
