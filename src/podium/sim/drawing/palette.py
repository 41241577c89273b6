"""Colours by what they stand for, in light and in dark.

Marks name an ink, never a colour.  In a page inks are CSS variables, so that one picture follows the reader's
choice of light or dark; a PNG is drawn in the light ones.  Every ink of a series has a contrast of at least 3:1 to
the paper and every text of at least 4.5:1, in both.
"""

from __future__ import annotations

# Runs, or queues, in order.  No two differ by colour alone: lines differ in their dashes too.
SERIES = 8
HEATS = 8

LIGHT = {
    "paper": "#ffffff",
    "text": "#1b2330",
    "muted": "#566073",
    "grid": "#e3e7ee",
    "axis": "#8a94a6",
    "wait": "#c9d0dc",
    "good": "#2f855a",
    "bad": "#c53030",
    "series0": "#1f5fd0",
    "series1": "#c2500a",
    "series2": "#0d7a6b",
    "series3": "#8b35c9",
    "series4": "#b81d5b",
    "series5": "#55720b",
    "series6": "#0b728f",
    "series7": "#7a4b25",
    "heat0": "#eef3fb",
    "heat1": "#d3e2f7",
    "heat2": "#b0ccf1",
    "heat3": "#86b0e9",
    "heat4": "#5a90de",
    "heat5": "#3570cc",
    "heat6": "#1f54ab",
    "heat7": "#143a7d",
}
DARK = {
    "paper": "#12161d",
    "text": "#e8ecf3",
    "muted": "#a3adbd",
    "grid": "#2a313c",
    "axis": "#6b7585",
    "wait": "#454e5c",
    "good": "#58c48b",
    "bad": "#f27d7d",
    "series0": "#74a8ff",
    "series1": "#ff9d57",
    "series2": "#3fd0bb",
    "series3": "#c795f7",
    "series4": "#ff86b0",
    "series5": "#b3d14b",
    "series6": "#4fc8e8",
    "series7": "#d9a878",
    "heat0": "#1b222d",
    "heat1": "#1f3049",
    "heat2": "#234069",
    "heat3": "#2a558d",
    "heat4": "#356eb4",
    "heat5": "#4b8bd8",
    "heat6": "#74abf0",
    "heat7": "#abcffb",
}

DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 4", "1 2", "8 2 1 2 1 2")


def series(number: int) -> str:
    """The ink of a run or a queue."""
    return f"series{number % SERIES}"


def dashes(number: int) -> str:
    return DASHES[number % len(DASHES)]


def heat(share: float) -> str:
    """The ink of a share from 0 to 1."""
    return f"heat{min(HEATS - 1, max(0, int(share * HEATS)))}"


def variables(inks: dict[str, str]) -> str:
    """The inks as CSS variables."""
    return "".join(f"--{name}:{colour};" for name, colour in inks.items())
