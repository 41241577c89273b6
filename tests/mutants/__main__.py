"""Draws mutants room by room, tries them, and prints what the tests did not notice."""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.mutants.changes import Mutant, count, mutant
from tests.mutants.covering import ROOT, cover_of
from tests.mutants.trying import Try, in_process, try_all

EQUIVALENT = Path(__file__).with_name("equivalent.txt")
PATIENCE = 15.0  # seconds of tests for a mutant, as long as they take without it


class Room:
    """Some modules, the tests that have to know them, and how many of a hundred mutants are drawn there."""

    def __init__(self, part: int, tests: str, *modules: str) -> None:
        self.part = part
        self.tests = tests
        self.modules = modules

    def sources(self) -> list[Path]:
        by_pattern = {each: list((ROOT / "src" / "podium").glob(each)) for each in self.modules}
        gone = [each for each, files in by_pattern.items() if not files]
        if gone:  # a module that has moved would silently be left out
            raise SystemExit(f"no module is called {', '.join(gone)}: see ROOMS in {__file__}")
        found = {file for files in by_pattern.values() for file in files}
        return sorted(file for file in found if file.name != "__init__.py")

    def test_files(self) -> list[Path]:
        return sorted((ROOT / "tests" / self.tests).rglob("test_*.py"))


ROOMS = {
    "core": Room(34, "core", "core/**/*.py"),
    "engine": Room(20, "engine", "engine/**/*.py"),
    "embedded": Room(
        16,
        "embedded",
        *(f"embedded/{each}.py" for each in ("deletion", "feeds", "log", "log_file", "objects", "patching")),
        *(f"embedded/{each}.py" for each in ("reading", "store", "strategies", "subresources")),
    ),
    "kube": Room(
        14,
        "kube",
        *(f"kube/{each}.py" for each in ("controller", "deltas", "driver", "lease", "list_watch", "manager")),
        *(f"kube/{each}.py" for each in ("reflector", "restarting", "watching")),
    ),
    "dialects": Room(
        17,
        "dialects",
        "dialects/volcano/*_controller.py",
        *(f"dialects/volcano/job/{each}.py" for each in ("controller", "depends_on", "groups", "objects", "plan")),
        *(f"dialects/volcano/job/{each}.py" for each in ("pod_counts", "pods", "policies", "scale", "state")),
        *(f"dialects/volcano/job/{each}.py" for each in ("status", "volumes")),
        "dialects/*/controller.py",
        "dialects/*/translate.py",
        *(f"dialects/arranger/{each}.py" for each in ("members", "pods", "state", "status")),
        *(f"dialects/koordinator/{each}.py" for each in ("gangs", "podgroup_controller")),
        *(f"dialects/paddle/{each}.py" for each in ("pods", "status")),
        *(f"dialects/aibee/{each}.py" for each in ("job_controller", "status")),
    ),
}


def drawn(room: Room, number: int, seed: int) -> list[Mutant]:
    """Some of all mutants of a room, each as likely as another."""
    texts = {file: file.read_text() for file in room.sources()}
    every = [(file, index) for file, text in texts.items() for index in range(count(text))]
    chosen = random.Random(seed).sample(every, min(number, len(every)))
    return [mutant(str(file.relative_to(ROOT)), texts[file], index) for file, index in sorted(chosen)]


def standing_at(room: Room, place: str) -> list[Mutant]:
    """All mutants of a module, or of one line of it: `core/model/quorum.py:70`."""
    path, _, line = place.partition(":")
    found = []
    for file in room.sources():
        if str(file.relative_to(ROOT / "src" / "podium")) == path:
            text = file.read_text()
            every = [mutant(str(file.relative_to(ROOT)), text, index) for index in range(count(text))]
            found += [each for each in every if not line or each.line == int(line)]
    return found


def equivalent() -> set[tuple[str, str, str]]:
    """Those that change nothing that anybody can see: `path: before -> after`, each below the reason for it."""
    return set(_equivalent(EQUIVALENT.read_text()))


def _equivalent(text: str) -> Iterator[tuple[str, str, str]]:
    for line in text.splitlines():
        if line and not line.startswith("#"):
            path, _, change = line.partition(": ")
            before, _, after = change.partition("  ->  ")
            yield path, before, after


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="which ones are drawn")
    parser.add_argument("--count", type=int, default=200, help="how many, of all rooms together")
    parser.add_argument("--room", choices=ROOMS, action="append", help="this room alone; may be repeated")
    parser.add_argument("--at", action="append", metavar="PATH[:LINE]", help="all of a module, or of one line")
    parser.add_argument("--least", type=int, default=90, help="percent that must be noticed in each room")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    os.nice(10)
    sys.path.insert(0, str(ROOT / "src"))
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    known, parts = equivalent(), sum(room.part for room in ROOMS.values())
    table, short = [], False
    for name in given.room or ROOMS:
        room = ROOMS[name]
        if given.at:
            sample = [each for place in given.at for each in standing_at(room, place)]
        else:
            sample = drawn(room, round(given.count * room.part / parts), given.seed)
        if not sample:
            continue
        cover = cover_of(room.test_files(), room.sources(), in_process)
        tries = []
        for each in sample:
            if (each.path, each.before, each.after) not in known:
                tests = cover.of(f"{each.path}:{each.function}", PATIENCE)
                tries.append(Try(each, tests, 30.0 + 4 * PATIENCE))
        outcomes: Counter[bool] = Counter()
        for done in try_all(tries, given.workers):
            outcomes[done.survived] += 1
            if done.survived:
                print(f"{done.mutant}   [{len(done.tests)} tests]", flush=True)
        short |= outcomes[False] * 100 < given.least * len(tries)
        table.append(f"{name:10} {outcomes[False]:4} of {len(tries):4} noticed")
        print(table[-1], flush=True)
    print("", *table, sep="\n")
    return int(short)


if __name__ == "__main__":
    sys.exit(main())
