"""CSV files with a header line, read strictly: what is not understood would give figures that mean nothing.

Whatever is wrong is one sentence that names the file, the line and the column.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from podium.errors import UsageError, why_unreadable

Aliases = Mapping[str, tuple[str, ...]]

# Beyond these a number is a mistake: thirty years in seconds, and 10^15 of anything.
MOST_SECONDS = 1e9
MOST = 1e15

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class Line:
    """One line of a table."""

    __slots__ = ("_cells", "_path", "number")

    def __init__(self, path: Path, number: int, cells: dict[str, str]) -> None:
        self._path = path
        self.number = number
        self._cells = cells

    def __contains__(self, column: str) -> bool:
        return bool(self._cells.get(column))

    def text(self, column: str, default: str | None = None) -> str:
        """What a column says; without a default it must say something."""
        value = self._cells.get(column, "").strip()
        if value:
            return value
        if default is None:
            raise self.error(column, "it is empty")
        return default

    def seconds(self, column: str) -> float:
        """A time in seconds."""
        return self.number_of(column, most=MOST_SECONDS)

    def number_of(self, column: str, default: float | None = None, most: float = MOST) -> float:
        """A number that is not negative, and not larger than anything can be."""
        value = self._cells.get(column, "").strip()
        if not value and default is not None:
            return default
        number = float(value) if _NUMBER.fullmatch(value) else math.nan
        if math.isnan(number):
            raise self.error(column, f"want a number, got {value[:40]!r}")
        if number < 0:
            raise self.error(column, f"want a number that is not negative, got {value[:40]}")
        if number > most:
            raise self.error(column, f"want at most {most:,.0f}, got {value[:40]}")
        return number

    def whole(self, column: str, default: int | None = None, most: float = MOST) -> int:
        """A whole number that is not negative."""
        number = self.number_of(column, default, most)
        if number != int(number):
            raise self.error(column, f"want a whole number, got {self._cells[column].strip()[:40]}")
        return int(number)

    def error(self, column: str, complaint: str) -> UsageError:
        return UsageError(f"{self._path}, line {self.number}, column {column}: {complaint}")


def read_table(path: Path, required: Iterable[str], known: Aliases | None = None) -> Iterator[Line]:
    """The lines of a file that has at least these columns, and at least one line.

    Other columns are no matter, but for those that have another name here: `known` are such names, each with
    others by which it may have been meant.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")  # spreadsheets put a mark at the beginning
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {why_unreadable(error)}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}, {no_text(error)}") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    yield from _lines(path, reader, tuple(required), known or {})


def no_text(error: UnicodeDecodeError) -> str:
    """Where a file stops being text."""
    before = error.object[: error.start]
    column = error.start - before.rfind(b"\n")
    return f"line {before.count(10) + 1}, column {column}: it is no text: a byte {error.object[error.start]:#04x}"


def _lines(
    path: Path,
    reader: csv._reader,  # type: ignore[name-defined]
    required: tuple[str, ...],
    known: Aliases,
) -> Iterator[Line]:
    wanted = ", ".join(required)
    try:
        header = [name.strip() for name in next(reader, ())]
        if not any(header):
            raise UsageError(f"{path}, line 1, column {required[0]}: there is no header; want {wanted}")
        missing = [name for name in required if name not in header]
        if missing:
            reported = ", ".join(header)
            reported = reported if reported.isprintable() and len(reported) <= 200 else f"{reported[:100]!r}..."
            raise UsageError(f"{path}, line 1, column {missing[0]}: it is missing; want {wanted}, got {reported}")
        twice = next((name for place, name in enumerate(header) if name and name in header[:place]), None)
        if twice is not None:
            raise UsageError(f"{path}, line 1, column {twice}: there are two columns of this name")
        for column, aliases in known.items():
            other = next((name for name in header if name.lower() in aliases), None)
            if other is not None and column not in header:
                raise UsageError(f"{path}, line 1, column {other}: it is not known, but {column} is: name it so")
        empty = True
        for cells in reader:
            if not cells:
                continue
            if len(cells) < len(header):
                raise UsageError(
                    f"{path}, line {reader.line_num}, column {header[len(cells)]}: the line ends before it; "
                    f"want {len(header)} values, got {len(cells)}"
                )
            if len(cells) > len(header):
                raise UsageError(
                    f"{path}, line {reader.line_num}, column {len(header) + 1}: the header has "
                    f"{len(header)} columns and the line {len(cells)} values"
                )
            empty = False
            yield Line(path, reader.line_num, dict(zip(header, cells, strict=True)))
        if empty:
            raise UsageError(f"{path}, line 2, column {required[0]}: there is nothing below the header")
    except csv.Error as error:
        raise UsageError(f"{path}, line {max(1, reader.line_num)}, column 1: it is no CSV: {error}") from None
