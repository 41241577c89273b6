"""Pictures: well formed, accessible, small, and the same in SVG and PNG."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import pytest
from PIL import Image

from podium.sim.drawing.axes import ceiling, duration, number, ticks, time_ticks
from podium.sim.drawing.charts import Bar, Curve, Row, bars, curves, gantt, heat_map
from podium.sim.drawing.palette import DARK, LIGHT, SERIES
from podium.sim.drawing.png import png
from podium.sim.drawing.scene import Scene, shortened, text_width
from podium.sim.drawing.svg import standalone

SCENES = (
    curves("one", "One line", "About it.", [Curve("a", [0, 10, 20], [1, 5, 2])]),
    curves(
        "two", "Two <lines> & more", "About them.", [Curve(f"r{n}", [0, 9], [n, 3]) for n in range(9)], unit=" %"
    ),
    curves("none", "Nothing", "There is nothing.", []),
    bars("bars", "Bars", "About bars.", ["1 s", "1 min", "more"], [("a", [1, 2, 3]), ("b", [0, 9, 1])]),
    gantt("gantt", "Jobs", "When jobs ran.", [Bar("a" * 60, 0, 5, 9), Bar("b", 1, None, None, 1)], 10, ["x", "y"]),
    heat_map(
        "map", "Nodes", "How full.", [Row(f"n{n}", [n / 40, 0.5, 1.0]) for n in range(40)], [(0.0, "0")], 9.0
    ),
)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_every_picture_is_svg_and_png(scene: Scene) -> None:
    text = standalone(scene)
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    assert root.attrib["role"] == "img"
    assert root.find(f"{space}title").text == scene.title  # type: ignore[union-attr]
    assert root.find(f"{space}desc").text == scene.about  # type: ignore[union-attr]
    assert "script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    with Image.open(io.BytesIO(png(scene))) as image:
        assert image.size == (2 * (scene.width + 20), round(2 * (scene.height + 20)))
        assert len(image.convert("RGB").getcolors(1 << 20) or ()) > 10  # something is drawn


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_nothing_is_drawn_outside(scene: Scene) -> None:
    for mark in scene.marks:
        for x, y, width, height in getattr(mark, "boxes", ()):
            assert 0 <= x <= x + width <= scene.width + 0.1
            assert 0 <= y <= y + height <= scene.height + 0.1
        for x, y in getattr(mark, "points", ()):
            assert 0 <= x <= scene.width + 0.1
            assert 0 <= y <= scene.height + 0.1


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("inks", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast(inks: dict[str, str]) -> None:
    for name in ("text", "muted"):
        assert contrast(inks[name], inks["paper"]) >= 4.5
    for place in range(SERIES):
        assert contrast(inks[f"series{place}"], inks["paper"]) >= 3
    assert inks.keys() == LIGHT.keys()


def test_round_numbers_and_words() -> None:
    assert ticks(0, 100, 5) == [0, 50, 100]
    assert ticks(0, 0) == [0]
    assert [reported for _, reported in time_ticks(7200, 5)] == ["0", "30 min", "60 min", "90 min", "120 min"]
    assert [reported for _, reported in time_ticks(190 * 86400, 5)] == ["0", "50 d", "100 d", "150 d"]
    assert [reported for _, reported in time_ticks(1e9, 5)] == ["0", "3,000 d", "6,000 d", "9,000 d"]
    assert (ceiling(0), ceiling(7), ceiling(510)) == (1, 8, 600)
    assert [duration(each) for each in (0, 1.5, 59, 90, 3600, 5400, 90000)] == [
        "0 s", "1.5 s", "59 s", "1 min 30 s", "1 h", "1 h 30 min", "1 d 1 h",
    ]  # fmt: skip
    assert duration(3599.9) == "1 h"
    assert [number(each) for each in (1234567, 0.5, 12.345, 3.0)] == ["1,234,567", "0.5", "12.35", "3"]
    assert text_width(shortened("a-very-long-name-of-a-job-0001", 80)) <= 80
    assert shortened("a-very-long-name-of-a-job-0001", 80).endswith("1")
