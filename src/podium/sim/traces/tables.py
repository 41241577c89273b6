"""CSV files with a header line, read strictly: what is not understood would give figures that mean nothing.

Whatever is wrong is one sentence that names the file, the line and the column.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from podium.errors import UsageError


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

    def number_of(self, column: str, default: float | None = None) -> float:
        """A number that is not negative."""
        value = self._cells.get(column, "").strip()
        if not value and default is not None:
            return default
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self.error(column, f"want a number, got {value!r}")
        if number < 0:
            raise self.error(column, f"want a number that is not negative, got {value}")
        return number

    def whole(self, column: str, default: int | None = None) -> int:
        """A whole number that is not negative."""
        number = self.number_of(column, default)
        if number != int(number):
            raise self.error(column, f"want a whole number, got {self._cells[column].strip()}")
        return int(number)

    def error(self, column: str, complaint: str) -> UsageError:
        return UsageError(f"{self._path}, line {self.number}, column {column}: {complaint}")


def read_table(path: Path, required: Iterable[str]) -> Iterator[Line]:
    """The lines of a file that has at least these columns, and at least one line."""
    try:
        file = path.open(newline="", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    with file:
        yield from _lines(path, csv.reader(file, strict=True), tuple(required))


def _lines(path: Path, reader: csv._reader, required: tuple[str, ...]) -> Iterator[Line]:  # type: ignore[name-defined]
    try:
        header = [name.strip() for name in next(reader, ())]
        if not header:
            raise UsageError(f"{path}, line 1: the file is empty; want a header with {', '.join(required)}")
        missing = [name for name in required if name not in header]
        if missing:
            told = ", ".join(header)
            raise UsageError(
                f"{path}, line 1, column {missing[0]}: it is missing; want {', '.join(required)}, got {told}"
            )
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
            raise UsageError(f"{path}, line 2: there is nothing below the header")
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.line_num}: it is no CSV: {error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}, line {reader.line_num + 1}: it is no text") from None
