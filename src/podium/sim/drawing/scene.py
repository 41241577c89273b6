"""A picture as plain data: marks with inks, in units of which text is 13 high.

Whoever draws says what there is; `svg` and `png` say how it is written.  Marks that are many and alike (the cells
of a map) are one mark, so that a picture of thousands of them stays small.
"""

from __future__ import annotations

import msgspec

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, width, height

MARGIN = 10.0  # around a picture that is a file of its own
TEXT = 13.0
SMALL = 12.0


class Boxes(msgspec.Struct, frozen=True):
    """Filled rectangles of one ink.  `title` is what a pointer on them shows."""

    ink: str
    boxes: list[Box]
    title: str = ""


class Stroke(msgspec.Struct, frozen=True):
    """A line through points."""

    ink: str
    points: list[Point]
    width: float = 1.0
    dashes: str = ""
    title: str = ""


class Area(msgspec.Struct, frozen=True):
    """What lies inside some points, faintly."""

    ink: str
    points: list[Point]


class Text(msgspec.Struct, frozen=True):
    """A word; `at` is its start, middle or end on the base line, as `anchor` says."""

    at: Point
    text: str
    ink: str = "text"
    anchor: str = "start"
    size: float = TEXT
    bold: bool = False


Mark = Boxes | Stroke | Area | Text


class Scene(msgspec.Struct, frozen=True):
    """A picture.  `about` says in a sentence what it shows, for those who do not see it."""

    name: str  # also of its file
    title: str
    about: str
    width: float
    height: float
    marks: list[Mark]


def text_width(text: str, size: float = TEXT) -> float:
    """How wide a text will be, roughly: fonts differ, so whoever asks leaves some room."""
    return size * sum(
        0.32 if letter in "il.,:;|'! j" else 0.82 if letter in "mwMW%=+<>≤" else 0.58 for letter in text
    )


def shortened(text: str, width: float, size: float = TEXT) -> str:
    """A text that fits, with its middle left out if it must: names differ at their beginnings and their ends."""
    if text_width(text, size) <= width:
        return text
    for kept in range(len(text) - 1, 1, -1):
        head = (kept + 1) // 2
        candidate = f"{text[:head]}…{text[len(text) - kept + head :]}"
        if text_width(candidate, size) <= width:
            return candidate
    return text[:1]
