"""Which tests call which function, and how long each takes.

A mistake in a function is looked for by the tests that call it, the quickest first.  What was found out about a
file of tests is kept until it, or the room's code, is another one.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, settings

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".cache" / "mutants"
OPTIONS = ["-q", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=no"]


_EXAMPLES = 30
_LONG = 1.0  # seconds


class Covered(msgspec.Struct):
    """One test: how long it takes, and what it calls, as `path:line`."""

    id: str
    seconds: float
    calls: list[str]


class Cover(msgspec.Struct):
    """All tests of a room that pass, in the order of their runs, and what is called when they are loaded."""

    tests: list[Covered]
    loading: set[str]

    def of(self, function: str, seconds: float) -> list[str]:
        """The tests that call a function, for so many seconds; a function that makes tables concerns all tests."""
        found = [each for each in self.tests if function in each.calls]
        if not found and function in self.loading:
            found = self.tests
        chosen, spent = [], 0.0
        for each in found:
            if spent + each.seconds <= seconds:
                spent += each.seconds
                chosen.append(each.id)
        return chosen


def few_examples() -> None:
    """Tests by hypothesis look at a few examples, always the same ones, and do not look for the smallest."""
    settings.register_profile(
        "mutants",
        deadline=None,
        database=None,
        derandomize=True,
        max_examples=_EXAMPLES,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("mutants")


def fewer_examples(items: list[pytest.Item]) -> None:
    """The same for tests that say themselves how many they want."""
    for item in items:
        given = getattr(item, "obj", None)
        for owner, name in (
            (given, "_hypothesis_internal_use_settings"),
            (getattr(item, "cls", None), "settings"),
        ):
            wanted = getattr(owner, name, None)
            if isinstance(wanted, settings):
                count = min(wanted.max_examples, _EXAMPLES)
                setattr(owner, name, settings(wanted, max_examples=count, derandomize=True, database=None))


class Recorder:
    """A plugin of pytest that notes what each test calls."""

    def __init__(self, sources: Sequence[Path]) -> None:
        self.cover = Cover([], set())
        self._sources = {str(source) for source in sources}
        self._seen: set[CodeType] = set()
        self._shared: dict[str, set[CodeType]] = {}  # by fixtures that several tests have
        self._passed: dict[str, bool] = {}
        self._seconds: dict[str, float] = {}

    def pytest_sessionstart(self) -> None:
        few_examples()
        sys.settrace(self._called)
        threading.settrace(self._called)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        fewer_examples(items)

    def pytest_collection_finish(self) -> None:
        self.cover.loading = {*self._functions()}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            yield
            return
        before, self._seen = self._seen, set()
        yield
        self._shared.setdefault(fixturedef.argname, set()).update(self._seen)
        self._seen |= before

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._seen = set()
        sys.settrace(self._called)
        yield
        sys.settrace(None)
        for name in getattr(item, "fixturenames", ()):
            self._seen |= self._shared.get(name, set())
        if self._passed.get(item.nodeid):
            calls = sorted(self._functions())
            self.cover.tests.append(Covered(item.nodeid, round(self._seconds[item.nodeid], 3), calls))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        good = report.passed and self._passed.get(report.nodeid, True)
        self._passed[report.nodeid] = good
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration

    def _functions(self) -> Iterator[str]:
        for code in self._seen:
            if code.co_filename in self._sources:
                yield f"{Path(code.co_filename).relative_to(ROOT)}:{code.co_firstlineno}"

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        self._seen.add(frame.f_code)


def cover_of(
    files: Sequence[Path], sources: Sequence[Path], in_process: Callable[[Callable[[], None]], None]
) -> Cover:
    """What some files of tests cover of some modules; those that are new are run, each in a process of its own."""
    every = _digest(sources)
    covers = []
    for file in files:
        helpers = [each for each in file.parent.glob("*.py") if not each.name.startswith("test_")]
        digest = hashlib.sha256((every + _digest([file, *sorted(helpers)])).encode()).hexdigest()[:16]
        kept = KEPT / f"{file.relative_to(ROOT).with_suffix('')}-{digest}.json"
        if not kept.exists():
            print(f"which functions does {file.relative_to(ROOT)} call?", flush=True)
            in_process(lambda file=file, kept=kept: _record(file, sources, kept))  # type: ignore[misc]
        covers.append(msgspec.json.decode(kept.read_bytes(), type=Cover) if kept.exists() else Cover([], set()))
    loading = set[str]().union(*(cover.loading for cover in covers))
    return Cover(in_turn([test for cover in covers for test in cover.tests]), loading)


def in_turn(tests: Sequence[Covered]) -> list[Covered]:
    """The quickest first, and one of each function of tests before the second of any: others are much like it.

    Those that take long come last.
    """
    ranks: Counter[str] = Counter()
    ranked = []
    for test in sorted(tests, key=lambda test: (test.seconds, test.id)):
        function = test.id.partition("[")[0]
        ranked.append((test.seconds > _LONG, ranks[function], test))
        ranks[function] += 1
    return [test for *_, test in sorted(ranked, key=lambda each: each[:2])]


def _record(file: Path, sources: Sequence[Path], kept: Path) -> None:
    recorder = Recorder(sources)
    options = [each for each in OPTIONS if each != "-x"]
    pytest.main([*options, "--timeout=0", str(file)], plugins=[recorder])
    kept.parent.mkdir(parents=True, exist_ok=True)
    for old in kept.parent.glob(f"{file.stem}-*.json"):
        old.unlink()
    kept.write_text(json.dumps(msgspec.to_builtins(recorder.cover)))


def _digest(files: Sequence[Path]) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
