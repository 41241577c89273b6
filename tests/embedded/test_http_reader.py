"""The incoming half of a connection without a socket: however the bytes are cut, the same requests come out."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.embedded.access import gate_for
from podium.embedded.http_reader import MAX_BODY, MAX_HEAD, Incoming, Reader

GATE = gate_for("secret", 6443)
HEAD = b"Host: localhost\r\nAuthorization: Bearer secret\r\n"
STREAM = (
    b"GET /api/v1/pods?watch=1&x=%20 HTTP/1.1\r\n" + HEAD + b"Accept: application/json\r\n\r\n"
    b"POST /a%2Fb HTTP/1.1\r\n" + HEAD + b"Content-Length: 5\r\nContent-Type: application/yaml\r\n\r\nhello"
    b"PUT /chunks HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    b"GET /strangers HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody"
    b"POST /wait HTTP/1.1\r\n" + HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nok"
)


class Collected:
    def __init__(self) -> None:
        self.incoming: list[Incoming] = []
        self.continues = 0

    def received(self, incoming: Incoming) -> None:
        self.incoming.append(incoming)

    def send_continue(self) -> None:
        self.continues += 1


def read(pieces: list[bytes]) -> Collected:
    sink = Collected()
    reader = Reader(GATE, sink)
    for piece in pieces:
        reader.feed(piece)
    return sink


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(places), len(data)]
    return [data[begin:end] for begin, end in pairwise(edges)]


@given(st.lists(st.integers(0, len(STREAM)), max_size=40))
def test_cuts_change_nothing(places: list[int]) -> None:
    whole, torn = read([STREAM]), read(cut(STREAM, places))
    assert [each.request for each in torn.incoming] == [each.request for each in whole.incoming]
    assert [each.close for each in torn.incoming] == [False] * 5
    assert torn.continues == whole.continues == 1
    assert [each.request.path for each in whole.incoming] == [
        "/api/v1/pods",
        "/a/b",
        "/chunks",
        "/strangers",
        "/wait",
    ]
    assert [each.request.body for each in whole.incoming] == [b"", b"hello", b"abcde", b"", b"ok"]
    assert [each.refused and each.refused.code for each in torn.incoming] == [None, None, None, 401, None]


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=10))
def test_nonsense_is_answered_once_and_nothing_after_it_is_read(junk: bytes, places: list[int]) -> None:
    sink = read([*cut(junk, [min(place, len(junk)) for place in places]), b"\r\n\r\n", STREAM])
    refused = [each for each in sink.incoming if each.refused is not None and each.refused.code == 400]
    assert len(refused) <= 1
    if refused:
        assert sink.incoming[-1] is refused[0]
        assert refused[0].close


def test_a_body_of_a_stranger_is_not_kept() -> None:
    sink = Collected()
    reader = Reader(GATE, sink)
    reader.feed(b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
    reader.feed(b"x" * 999_999)
    assert reader._body == []
    reader.feed(b"x")
    assert sink.incoming[0].refused is not None
    assert sink.incoming[0].request.body == b""
    assert not sink.incoming[0].close


def test_a_lie_about_the_length_does_not_get_around_the_cap() -> None:
    for length in (str(MAX_BODY + 1), "9" * 30, "0" * 5 + str(MAX_BODY + 1)):
        sink = read([b"POST /x HTTP/1.1\r\n" + HEAD + b"Content-Length: " + length.encode() + b"\r\n\r\n"])
        assert [each.refused and each.refused.code for each in sink.incoming] in ([413], [400])
        assert sink.incoming[0].close


def test_the_absolute_form_of_a_target() -> None:
    sink = read([b"GET http://localhost/api/v1?x=1 HTTP/1.1\r\n" + HEAD + b"\r\n"])
    assert sink.incoming[0].request.path == "/api/v1"
    assert sink.incoming[0].request.query == (("x", "1"),)


@given(st.lists(st.integers(0, 60_000), max_size=6), st.integers(1, 55_000))
def test_a_large_head_may_come_in_pieces(places: list[int], size: int) -> None:
    head = b"GET /large HTTP/1.1\r\n" + HEAD + b"X-Large: " + b"x" * size + b"\r\n\r\n"
    sink = read(cut(head, [min(place, len(head)) for place in places]))
    assert [each.refused for each in sink.incoming] == [None]


def test_requests_behind_the_end_of_a_head_are_not_part_of_it() -> None:
    request = b"GET /api/v1/pods HTTP/1.1\r\n" + HEAD + b"\r\n"
    sink = read([request[:40], request[40:] + request * 1999])
    assert [each.refused for each in sink.incoming] == [None] * 2000


def test_a_body_behind_the_end_of_a_head_is_not_part_of_it() -> None:
    request = b"POST /api/v1/pods HTTP/1.1\r\n" + HEAD + b"Content-Length: 200000\r\n\r\n"
    sink = read([request[:-2], request[-2:] + b"x" * 200_000])
    assert [each.refused for each in sink.incoming] == [None]


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"GET /" + b"x" * 10, b"x" * 1000),
        (b"GET /x HTTP/1.1\r\nX-Endless: ", b"x" * 1000),
        (b"GET /x HTTP/1.1\r\n", b"X-Many: x\r\n" * 100),
        (b"PUT /x HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: ", b"x" * 1000),
        (b"PUT /x HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Many: x\r\n" * 100),
    ],
)
def test_what_has_no_end_is_not_collected_for_ever(start: bytes, piece: bytes) -> None:
    sink = Collected()
    reader = Reader(GATE, sink)
    reader.feed(start)
    taken = 0
    while not reader.broken:
        reader.feed(piece)
        taken += len(piece)
        assert taken < MAX_HEAD + 2 * len(piece)
    assert sink.incoming[-1].refused is not None
    assert sink.incoming[-1].refused.code == 431
