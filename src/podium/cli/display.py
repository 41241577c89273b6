"""Showing workloads as they go: on a terminal a picture that changes in place, elsewhere a line a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from podium.amounts import counted
from podium.cli.chronicle import Chronicle, Entry
from podium.cli.progress import Picture, Workload
from podium.dialects.dialect import State

_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red", "bright_cyan", "bright_magenta", "bright_green")
_MARKS = {State.GOING: "…", State.DONE: "✓", State.FAILED: "✗"}
_LAST_LINES = 4
_TALL = 32  # lines of a terminal on which everything has room; of shorter ones the usual is 24


class Display:
    """Shows one picture after the other."""

    def __init__(self, gpus: Mapping[str, int], console: Console | None = None) -> None:
        """`gpus`: how many each node has, by name."""
        self._console = console or Console(highlight=False)
        self._live = Live(console=self._console, transient=True) if self._console.is_terminal else None
        self._gpus = dict(sorted(gpus.items()))
        self._shown: dict[str, Workload] = {}
        self._colours: dict[str, str] = {}
        self._lines: list[str] = []

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, seconds: float, line: str) -> None:
        """Something that there is to see from now on."""
        text = f"{seconds:4.0f} s  {line}"
        self._lines = [*self._lines, text][-_LAST_LINES:]
        if self._live is None:
            self._console.print(text, soft_wrap=True)

    def show(self, picture: Picture, seconds: float) -> None:
        """How things stand."""
        if self._live is not None:
            self._live.update(self._picture(picture, seconds))
            return
        for workload in picture.workloads:
            if self._shown.get(workload.name) != workload:
                self._shown[workload.name] = workload
                self._console.print(f"{workload.name}: {_sentence(workload)}", soft_wrap=True)

    def summarise(self, chronicle: Chronicle, after: Sequence[str] = ()) -> None:
        """What ran, where, how long each waited and why."""
        self._console.print(_summary(chronicle))
        for line in after:
            self._console.print(line, soft_wrap=True)

    # --- parts ---------------------------------------------------------------------------------------------------

    def _picture(self, picture: Picture, seconds: float) -> RenderableType:
        head = Text(f"podium demo, {seconds:.0f} s\n", style="bold")
        said = self._lines[-_LAST_LINES // 2 :] if self._short else self._lines
        return Group(head, Text("\n".join(said), style="dim"), Text(), self._map(picture), self._table(picture))

    @property
    def _short(self) -> bool:
        return self._console.size.height < _TALL

    def _map(self, picture: Picture) -> RenderableType:
        """A cell for each GPU, in the colour of who has it; two nodes beside each other if they fit."""
        rows, shown = Table.grid(padding=(0, 1)), []
        for node, count in self._gpus.items():
            cells = Text()
            for pod in picture.pods:
                if pod.node == node and pod.phase not in ("Succeeded", "Failed"):
                    cells.append("■ " * pod.gpus, style=self._colour(pod.workload))
            free = count - len(cells) // 2
            cells.append("· " * max(0, free), style="dim")
            shown.append((Text(node, style="dim"), cells))
        wide = max((len(name) + len(cells) + 2 for name, cells in shown), default=0)
        half = -(-len(shown) // 2) if 2 * wide <= self._console.size.width else len(shown)
        for left, right in zip_longest(shown[:half], shown[half:], fillvalue=()):
            rows.add_row(*left, *right)
        return rows

    def _table(self, picture: Picture) -> RenderableType:
        table = Table("", "WORKLOAD", "GPUS", "STATE", box=None, pad_edge=False)
        ended = [each for each in picture.workloads if each.state is not State.GOING] if self._short else []
        for workload in picture.workloads:
            if workload in ended:
                continue
            held = sum(
                pod.gpus
                for pod in picture.pods
                if pod.workload == workload.name and pod.node and pod.phase not in ("Succeeded", "Failed")
            )
            name = Text(workload.name, style=self._colour(workload.name))
            table.add_row(
                _MARKS[workload.state], name, str(held or ""), Text(_sentence(workload), overflow="fold")
            )
        for state in (State.DONE, State.FAILED):
            names = [each.name.partition("/")[2] for each in ended if each.state is state]
            if names:
                table.add_row(_MARKS[state], Text(f"{len(names)} ended", style="dim"), "", ", ".join(names))
        return table

    def _colour(self, workload: str) -> str:
        return self._colours.setdefault(workload, _COLOURS[len(self._colours) % len(_COLOURS)])


def _sentence(workload: Workload) -> str:
    waits = workload.why and workload.state is State.GOING
    return f"{workload.message}; waits: {_first(workload.why)}" if waits else workload.message


def _first(why: str) -> str:
    """What a person needs of a reason; the nodes by cause, which follow it, are for tools."""
    first, _, rest = why.partition("; ")
    if rest and first.endswith("could be placed"):
        first = f"{first}: {rest.partition('; ')[0]}"
    return first


def _summary(chronicle: Chronicle) -> Table:
    table = Table("", "WORKLOAD", "WAITED", "GPUS", "RAN ON", "WHAT BECAME OF IT", box=None, pad_edge=False)
    for entry in chronicle.entries.values():
        waited = "" if entry.waited is None else f"{entry.waited:.0f} s"
        gpus = str(entry.gpus or "")
        workload = entry.workload
        table.add_row(_MARKS[workload.state], workload.name, waited, gpus, _nodes(entry), _became(entry))
    return table


def _nodes(entry: Entry) -> str:
    names = sorted(entry.nodes)
    return ", ".join(names) if len(names) <= 2 else f"{len(names)} nodes"


def _became(entry: Entry) -> str:
    said = entry.workload.message
    if entry.taken:
        said += f"; gave up {counted(entry.taken, 'pod')} for others on the way"
    if entry.why and (entry.waited is None or entry.waited >= 1):
        said += f"; waited: {_first(entry.why)}"
    return said
