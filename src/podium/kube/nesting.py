"""JSON of strangers that nests deeper than anything reads it.

A server takes ten thousand lists and objects in each other, wherever a definition lets any fields through, and the
decoder gives up at a thousand.  One such object must not keep a list of all others from being read: what stands in
it deeper than any field that somebody reads, is read as 0.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from podium.kube.yaml_loading import MAX_DEPTH

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Decoder(Protocol[T_co]):
    """Such as those of msgspec."""

    def decode(self, body: bytes, /) -> T_co: ...


def decode(decoder: Decoder[T], body: bytes) -> T:
    """What a decoder makes of a text, however deep it is."""
    try:
        return decoder.decode(body)
    except RecursionError:
        return decoder.decode(without_depths(body))


def without_depths(body: bytes) -> bytes:
    """The same with 0 and blanks for lists and objects that stand in MAX_DEPTH others.

    All bytes at once: a text that is made to cost much, of a million brackets, would hold everybody up otherwise.
    """
    import numpy as np

    text = np.frombuffer(body, dtype=np.uint8).copy()
    places = np.arange(len(text), dtype=np.int32)
    # A quote is a part of its text when an odd number of backslashes is in front of it.
    plain = np.maximum.accumulate(np.where(text != ord("\\"), places, -1))
    backslashes = np.concatenate(([0], (places - plain)[:-1]))
    quotes = (text == ord('"')) & (backslashes % 2 == 0)
    outside = np.cumsum(quotes, dtype=np.int32) % 2 == 0
    opened = ((text == ord("[")) | (text == ord("{"))) & outside
    closed = ((text == ord("]")) | (text == ord("}"))) & outside
    depth = np.cumsum(opened.astype(np.int8) - closed, dtype=np.int32)  # behind each byte
    inside = (depth > MAX_DEPTH) | (closed & (depth == MAX_DEPTH))
    text[inside] = ord(" ")
    text[opened & (depth == MAX_DEPTH + 1)] = ord("0")
    return text.tobytes()
