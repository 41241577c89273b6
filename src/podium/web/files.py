"""The pages' own files: read once, named by what is in them, with the inks of the simulator's reports.

Colours come from one place, the palette that reports are drawn with.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files

import msgspec

from podium.sim.drawing.palette import DARK, DASHES, HEATS, LIGHT, SERIES, variables

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
# What the page of the login needs: it is shown to everybody.
PUBLIC = frozenset({"login.html", "login.js", "style.css", "inks.css", "icon.svg"})

_MORE_LIGHT = "--panel:#f6f8fb;--raised:#ffffff;--shadow:0 1px 2px rgb(20 30 50/.08),0 4px 16px rgb(20 30 50/.06);"
_MORE_DARK = "--panel:#0d1015;--raised:#161b23;--shadow:none;"


class File(msgspec.Struct, frozen=True):
    """A file as it is sent."""

    type: str
    body: bytes
    tag: str


def _file(name: str, body: bytes) -> File:
    return File(TYPES[name.rpartition(".")[2]], body, f'"{hashlib.sha256(body).hexdigest()[:16]}"')


def inks() -> bytes:
    """The palette as CSS: light or dark as the reader's system says, or as the page is told."""
    light, dark = variables(LIGHT) + _MORE_LIGHT, variables(DARK) + _MORE_DARK
    return (
        f":root{{{light}color-scheme:light}}"
        f'@media (prefers-color-scheme:dark){{:root:not([data-theme="light"]){{{dark}color-scheme:dark}}}}'
        f':root[data-theme="dark"]{{{dark}color-scheme:dark}}'
    ).encode()


def palette_module() -> bytes:
    """What scripts must know of the palette: how many inks there are, and the dashes of lines."""
    dashes = [[float(part) for part in each.split()] for each in DASHES]
    return (
        f"export const SERIES = {SERIES};\nexport const HEATS = {HEATS};\n"
        f"export const DASHES = {msgspec.json.encode(dashes).decode()};\n"
    ).encode()


def load() -> dict[str, File]:
    """All files by name."""
    folder = files("podium.web") / "static"
    found = {each.name: _file(each.name, each.read_bytes()) for each in folder.iterdir() if "." in each.name}
    return found | {"inks.css": _file("inks.css", inks()), "palette.js": _file("palette.js", palette_module())}
