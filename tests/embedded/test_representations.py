"""Representations: what an Accept header leads to, as a real server decides it."""

from __future__ import annotations

import pytest

from podium.embedded.kinds import builtin_kinds
from podium.embedded.representations import (
    Representation,
    included_object,
    negotiate,
    render_event_object,
    render_list,
    render_object,
)
from podium.errors import ApiError
from podium.kube import resources as r

CONFIGMAPS = next(kind for kind in builtin_kinds() if kind.resource == r.CONFIGMAPS)
DOCUMENT = {"metadata": {"name": "a", "resourceVersion": "7"}, "data": {"k": "v"}}
KUBECTL = ",".join(
    f"application/json{parameters}"
    for parameters in (";as=Table;v=v1;g=meta.k8s.io", ";as=Table;v=v1beta1;g=meta.k8s.io", "")
)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "object"),
        ("*/*", "object"),
        ("application/json", "object"),
        ("application/json; charset=utf-8", "object"),
        ("application/json;stream=watch", "object"),
        ("application/json;foo=bar", "object"),
        ("application/vnd.kubernetes.protobuf, application/json", "object"),
        ("application/vnd.kubernetes.protobuf,*/*", "object"),
        (KUBECTL, "table"),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", "object"),
        ("application/json;as=Unheard;v=v1;g=meta.k8s.io,application/json", "object"),
        ("application/json;q=0.5,application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9", "table"),
        ("application/json;as=Table;v=v1;g=meta.k8s.io;q=0,application/json", "object"),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "metadata"),
        (
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,"
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
            "metadata list",
        ),
    ],
)
def test_the_first_that_can_be_given_is_given(accept: str, form: str) -> None:
    assert negotiate(accept).form == form


def test_versions_of_tables() -> None:
    assert negotiate("application/json;as=Table;v=v1beta1;g=meta.k8s.io") == Representation("table", "v1beta1")


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "text/*",
        "application/*",
        "APPLICATION/JSON",
        "application/vnd.kubernetes.protobuf",
        "application/json;as=Table",
        "application/json;as=Table;v=v1;g=elsewhere",
        "application/json;q=0",
    ],
)
def test_nothing_that_can_be_given(accept: str) -> None:
    with pytest.raises(ApiError) as refused:
        negotiate(accept)
    assert (refused.value.code, refused.value.reason) == (406, "NotAcceptable")


def test_one_object_in_each_form() -> None:
    plain = render_object(Representation(), CONFIGMAPS, DOCUMENT, now=0.0)
    assert plain is DOCUMENT
    table = render_object(Representation("table"), CONFIGMAPS, DOCUMENT, now=0.0)
    assert table["metadata"] == {"resourceVersion": "7"}
    assert table["rows"][0]["cells"][:2] == ["a", 1]
    metadata = render_object(Representation("metadata"), CONFIGMAPS, DOCUMENT, now=0.0)
    assert metadata == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": DOCUMENT["metadata"],
    }


def test_lists() -> None:
    options = {"now": 0.0, "resource_version": "9", "continue_token": "t", "remaining": 4}
    metadata = {"resourceVersion": "9", "continue": "t", "remainingItemCount": 4}
    table = render_list(Representation("table"), CONFIGMAPS, [DOCUMENT], include="None", **options)  # type: ignore[arg-type]
    assert table["metadata"] == metadata
    assert table["rows"][0]["object"] is None
    partial = render_list(Representation("metadata list"), CONFIGMAPS, [DOCUMENT], **options)  # type: ignore[arg-type]
    assert (partial["kind"], partial["metadata"]) == ("PartialObjectMetadataList", metadata)
    assert [each["kind"] for each in partial["items"]] == ["PartialObjectMetadata"]


def test_a_list_is_not_an_object() -> None:
    with pytest.raises(ApiError) as refused:
        render_list(Representation("metadata"), CONFIGMAPS, [], now=0.0, resource_version="1")
    assert refused.value.code == 406
    with pytest.raises(ApiError) as refused:
        render_object(Representation("metadata list"), CONFIGMAPS, DOCUMENT, now=0.0)
    assert refused.value.code == 406


def test_objects_of_watch_events() -> None:
    def event(form: str, first: bool = False) -> dict[str, object]:
        return render_event_object(Representation(form), CONFIGMAPS, DOCUMENT, now=0.0, first=first)

    assert event("object") is DOCUMENT
    assert event("table", first=True)["columnDefinitions"]
    assert event("table")["columnDefinitions"] is None
    # A watch of a list's metadata tells of single objects.
    assert event("metadata")["kind"] == event("metadata list")["kind"] == "PartialObjectMetadata"


def test_included_object() -> None:
    assert [included_object(text) for text in ("", "Metadata", "Object", "None")] == [
        "Metadata",
        "Metadata",
        "Object",
        "None",
    ]
    with pytest.raises(ApiError) as refused:
        included_object("Foo")
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")
    assert 'Invalid value: "Foo"' in refused.value.message
