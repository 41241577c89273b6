"""Scenes as PNG, for slides and chats that take no SVG.  Drawn in light colours, at twice the size."""

from __future__ import annotations

from functools import cache
from io import BytesIO
from itertools import pairwise

from PIL import Image, ImageDraw, ImageFont

from podium.sim.drawing.palette import LIGHT
from podium.sim.drawing.scene import MARGIN, Area, Boxes, Mark, Point, Scene, Stroke, Text

_SCALE = 2
_FINER = 2  # drawn so much larger still and then made smaller, which smoothes edges
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
_FAINT = 0.13


def png(scene: Scene) -> bytes:
    """The picture as a file's content."""
    factor = _SCALE * _FINER
    width, height = (round((each + 2 * MARGIN) * _SCALE) for each in (scene.width, scene.height))
    large = Image.new("RGB", (width * _FINER, height * _FINER), LIGHT["paper"])
    draw = ImageDraw.Draw(large)
    for mark in scene.marks:
        _mark(draw, mark, factor)
    image = large.resize((width, height), Image.Resampling.BOX)
    # Text is smooth by itself, and sharper when it is not made smaller.
    draw = ImageDraw.Draw(image)
    for mark in scene.marks:
        if isinstance(mark, Text):
            font = _font(mark.size * _SCALE)
            stroke = 0.4 if mark.bold else 0
            draw.text(
                _moved(mark.at, _SCALE),
                mark.text,
                LIGHT[mark.ink],
                font,
                _ANCHORS[mark.anchor],
                stroke_width=stroke,
            )
    file = BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def _moved(point: Point, factor: int) -> Point:
    return (point[0] + MARGIN) * factor, (point[1] + MARGIN) * factor


def _mark(draw: ImageDraw.ImageDraw, mark: Mark, factor: int) -> None:
    match mark:
        case Boxes():
            for x, y, width, height in mark.boxes:
                left, top = _moved((x, y), factor)
                right, bottom = left + width * factor - 1, top + height * factor - 1
                if right >= left and bottom >= top:
                    draw.rectangle((left, top, right, bottom), LIGHT[mark.ink])
        case Area():
            draw.polygon([_moved(point, factor) for point in mark.points], _fainter(LIGHT[mark.ink]))
        case Stroke():
            pattern = [float(part) * factor for part in mark.dashes.split()]
            for piece in _pieces([_moved(point, factor) for point in mark.points], pattern):
                draw.line(piece, LIGHT[mark.ink], max(1, round(mark.width * factor)), joint="curve")


def _pieces(points: list[Point], pattern: list[float]) -> list[list[Point]]:
    """A line as the pieces that its dashes leave of it."""
    if not pattern:
        return [points]
    pieces: list[list[Point]] = []
    number, left = 0, pattern[0]
    piece = [points[0]]
    for (x, y), (to_x, to_y) in pairwise(points):
        length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
        gone = 0.0
        while length - gone > left:
            gone += left
            at = (x + (to_x - x) * gone / length, y + (to_y - y) * gone / length)
            if number % 2 == 0:
                pieces.append([*piece, at])
            piece = [at]
            number += 1
            left = pattern[number % len(pattern)]
        left -= length - gone
        piece.append((to_x, to_y))
    if number % 2 == 0 and len(piece) > 1:
        pieces.append(piece)
    return pieces


@cache
def _font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _fainter(colour: str) -> tuple[int, ...]:
    paper = _parts(LIGHT["paper"])
    return tuple(
        round(_FAINT * ink + (1 - _FAINT) * under) for ink, under in zip(_parts(colour), paper, strict=True)
    )


def _parts(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))
