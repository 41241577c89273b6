"""JSON that nests deeper than its decoder can follow: what is too deep is left out, and nothing else changes."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.kube import nesting
from podium.kube.list_watch import Changed, Reader
from podium.kube.nesting import decode, without_depths
from podium.kube.status import error_from_body
from podium.kube.wire import Pod
from podium.kube.yaml_loading import MAX_DEPTH

DEEP = '{"a":' * 5000 + '"x"' + "}" * 5000


def item(name: str, more: str = "") -> str:
    metadata = f'{{"name":"{name}","uid":"u-{name}","resourceVersion":"7"{more}}}'
    return f'{{"metadata":{metadata},"spec":{{"nodeName":"n"}}}}'


def test_one_deep_object_of_a_list_hides_nobody() -> None:
    deep = f',"managedFields":[{{"fieldsV1":{DEEP}}}]'
    body = f'{{"metadata":{{"resourceVersion":"9"}},"items":[{item("a")},{item("b", deep)},{item("c")}]}}'
    page = Reader(Pod).page(body.encode())
    assert [each.name for each in page.entries if isinstance(each, Pod)] == ["a", "b", "c"]
    assert page.version == "9"


def test_nor_does_one_that_fits_otherwise_not() -> None:
    body = f'{{"metadata":{{}},"items":[{item("a")},{{"metadata":{{"name":"b"}},"spec":[{DEEP}]}}]}}'
    found, other = Reader(Pod).page(body.encode()).entries
    assert isinstance(found, Pod)
    assert not isinstance(other, Pod)
    assert other.key == ("", "b")


def test_a_watch_goes_on_behind_one() -> None:
    reader = Reader(Pod)
    event = reader.event(f'{{"type":"ADDED","object":{item("a", f""","labels":null,"x":{DEEP}""")}}}'.encode())
    assert isinstance(event, Changed)
    assert isinstance(event.entry, Pod)
    assert event.entry.name == "a"
    assert reader.one(item("b", f',"x":{DEEP}').encode()).name == "b"


def test_an_error_with_a_deep_body_is_an_error() -> None:
    error = error_from_body(409, f'{{"kind":"Status","reason":"Conflict","message":"m","x":{DEEP}}}'.encode())
    assert (error.code, error.reason) == (409, "Conflict")


def cut(value: Any, depth: int, most: int) -> Any:
    if not isinstance(value, dict | list):
        return value
    if depth == most:
        return 0
    if isinstance(value, list):
        return [cut(each, depth + 1, most) for each in value]
    return {key: cut(each, depth + 1, most) for key, each in value.items()}


TEXTS = st.text(st.sampled_from('ab[]{}",:\\ü\n'), max_size=6)
VALUES = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=30,
)


@given(VALUES, st.integers(0, 4), st.booleans())
def test_what_is_too_deep_is_nothing_and_the_rest_is_as_it_was(value: Any, most: int, escaped: bool) -> None:
    body = json.dumps(value, ensure_ascii=escaped).encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(nesting, "MAX_DEPTH", most)
        assert json.loads(without_depths(body)) == cut(value, 0, most)


def test_the_limit_is_that_of_everything_else_that_is_read() -> None:
    fits = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert without_depths(fits.encode()) == fits.encode()
    assert json.loads(without_depths(f"[{fits}]".encode())) == json.loads(f"[{fits}]".replace("[]", "0"))


@pytest.mark.parametrize("text", ["", "[", "]" * 9, '"', "\\", '{"a', "[" * 5000])
def test_what_is_no_json_is_none_afterwards(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(msgspec.json.Decoder(), text.encode())


def test_the_largest_object_costs_no_pause_that_anybody_feels() -> None:
    body = f'{{"a":{DEEP},"b":[{"[]," * 500_000}1]}}'.encode()
    without_depths(b"")  # loads what it needs
    took = []
    for _ in range(3):
        began = time.process_time()
        without_depths(body)
        took.append(time.process_time() - began)
    assert min(took) < 0.2
