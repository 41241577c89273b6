"""How answers look: columns, ages, and the forms that programs read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

_GAP = "  "


def columns(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int = 0) -> str:
    """A table with as much room as its cells need; the last column is cut where a terminal ends."""
    widths = [
        max([len(heading), *(len(row[index]) for row in rows)]) for index, heading in enumerate(headings[:-1])
    ]
    lines = []
    for row in (headings, *rows):
        cells = [cell.ljust(size) for cell, size in zip(row, widths, strict=False)]
        line = _GAP.join([*cells, row[-1]]).rstrip()
        lines.append(cut(line, width))
    return "\n".join(lines)


def cut(line: str, width: int) -> str:
    return line if not width or len(line) <= width else line[: max(1, width - 1)] + "…"


def terminal_width() -> int:
    """How wide a line may be; 0 for as wide as it is, where nobody looks at a terminal."""
    import shutil
    import sys

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def age(seconds: float) -> str:
    """A time that has passed, as kubectl has it."""
    whole = max(0, int(seconds))
    if whole < 120:
        return f"{whole}s"
    if whole < 7200:
        return f"{whole // 60}m"
    if whole < 172800:
        return f"{whole // 3600}h"
    return f"{whole // 86400}d"


def count(number: float) -> str:
    """A number of GPUs: whole ones without a point."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def encoded(answer: Any, form: str) -> str:
    """An answer as JSON or YAML."""
    plain = msgspec.to_builtins(answer)
    if form == "json":
        return json.dumps(plain, indent=2, ensure_ascii=False)
    import yaml

    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True).rstrip()


def node_list(names: Iterable[str]) -> str:
    """Names in few words, as Slurm has them: node-[000-003,007]."""
    groups: dict[str, list[str]] = {}
    for name in sorted(names):
        stem = name.rstrip("0123456789")
        groups.setdefault(stem, []).append(name[len(stem) :])
    found = []
    for stem, ends in groups.items():
        numbered = [end for end in ends if end]
        if len(numbered) > 1:
            found.append(f"{stem}[{','.join(_runs(numbered))}]")
        else:
            found += [stem + end for end in ends]
            continue
        if "" in ends:
            found.append(stem)
    return ",".join(found)


def _runs(ends: Sequence[str]) -> list[str]:
    runs: list[list[str]] = []
    for end in sorted(ends, key=lambda each: (len(each), int(each))):
        last = runs[-1][-1] if runs else ""
        if last and len(last) == len(end) and int(end) == int(last) + 1:
            runs[-1].append(end)
        else:
            runs.append([end])
    return [run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
