"""Scenes as SVG: inside a page with the page's colours, or as a file with its own."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from podium.sim.drawing.palette import DARK, LIGHT, variables
from podium.sim.drawing.scene import MARGIN, TEXT, Area, Boxes, Mark, Point, Scene, Stroke, Text

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"

# What every page and file with pictures needs: inks as classes, `f-` to fill with and `l-` to draw lines with.
RULES = "".join(f".f-{ink}{{fill:var(--{ink})}}.l-{ink}{{fill:none;stroke:var(--{ink})}}" for ink in LIGHT)


def inline(scene: Scene) -> str:
    """For a page that has the inks and `RULES`."""
    name = scene.name
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(scene.width)} {_n(scene.height)}" '
        f'font-size="{_n(TEXT)}" role="img" aria-labelledby="{name}-title {name}-about">'
        f'<title id="{name}-title">{escape(scene.title)}</title>'
        f'<desc id="{name}-about">{escape(scene.about)}</desc>'
    )
    return head + "".join(map(_mark, scene.marks)) + "</svg>"


def standalone(scene: Scene) -> str:
    """A file of its own: it has a size, a background, and follows the reader's choice of light or dark."""
    style = (
        f"<style>svg{{{variables(LIGHT)}font-family:{FONT}}}"
        f"@media (prefers-color-scheme:dark){{svg{{{variables(DARK)}}}}}{RULES}</style>"
        f'<rect class="f-paper" x="{_n(-MARGIN)}" y="{_n(-MARGIN)}" width="100%" height="100%"/>'
    )
    drawn = inline(scene)
    width, height = scene.width + 2 * MARGIN, scene.height + 2 * MARGIN
    size = f'<svg width="{_n(width)}" height="{_n(height)}" '
    box = f'viewBox="{_n(-MARGIN)} {_n(-MARGIN)} {_n(width)} {_n(height)}"'
    drawn = drawn.replace(f'viewBox="0 0 {_n(scene.width)} {_n(scene.height)}"', box, 1)
    return drawn.replace("<svg ", size, 1).replace("</desc>", "</desc>" + style, 1) + "\n"


def _mark(mark: Mark) -> str:
    match mark:
        case Boxes():
            return _boxes(mark)
        case Stroke():
            dashes = f' stroke-dasharray="{mark.dashes}"' if mark.dashes else ""
            width = f' stroke-width="{_n(mark.width)}"' if mark.width != 1 else ""
            joined = ' stroke-linejoin="round"' if len(mark.points) > 2 else ""
            return _with(
                "path", f'class="l-{mark.ink}" d="{_path(mark.points)}"{width}{dashes}{joined}', mark.title
            )
        case Area():
            return f'<path class="f-{mark.ink}" fill-opacity=".13" d="{_path(mark.points)}z"/>'
        case Text():
            return _text(mark)


def _boxes(mark: Boxes) -> str:
    if len(mark.boxes) == 1:
        x, y, width, height = mark.boxes[0]
        place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
        return _with("rect", f'class="f-{mark.ink}" {place}', mark.title)
    path = "".join(f"M{_n(x)} {_n(y)}h{_n(w)}v{_n(h)}h{_n(-w)}z" for x, y, w, h in mark.boxes)
    return _with("path", f'class="f-{mark.ink}" d="{path}"', mark.title)


def _text(mark: Text) -> str:
    size = f' font-size="{_n(mark.size)}"' if mark.size != TEXT else ""
    anchor = f' text-anchor="{mark.anchor}"' if mark.anchor != "start" else ""
    bold = ' font-weight="600"' if mark.bold else ""
    x, y = mark.at
    return (
        f'<text class="f-{mark.ink}" x="{_n(x)}" y="{_n(y)}"{anchor}{size}{bold}>{escape(mark.text, False)}</text>'
    )


def _with(tag: str, attributes: str, title: str) -> str:
    if not title:
        return f"<{tag} {attributes}/>"
    return f"<{tag} {attributes}><title>{escape(title, False)}</title></{tag}>"


def _path(points: Iterable[Point]) -> str:
    """Steps along an axis are written as such: a curve of steps is half as long then."""
    parts: list[str] = []
    last: tuple[str, str] | None = None
    for x, y in points:
        here = _n(x), _n(y)
        if last is None:
            parts.append(f"M{here[0]} {here[1]}")
        elif here == last:
            continue
        elif here[1] == last[1]:
            parts.append(f"H{here[0]}")
        elif here[0] == last[0]:
            parts.append(f"V{here[1]}")
        else:
            parts.append(f"L{here[0]} {here[1]}")
        last = here
    return "".join(parts)


def _n(value: float) -> str:
    """A number with one place behind the point at most."""
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"
