"""One mistake in a process of its own.  The module is changed where it is imported; no file is touched."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest

from tests.mutants.changes import Mutant, compiled
from tests.mutants.covering import OPTIONS, ROOT, few_examples, fewer_examples

SURVIVED, KILLED = 0, 1
MEMORY = 6 << 30  # a mistake may eat all there is


@dataclass
class Try:
    """A mutant, the tests that look for it, and what came of it."""

    mutant: Mutant
    tests: Sequence[str]
    seconds: float  # after which it counts as noticed: it does not end
    survived: bool = False


def put_in(mutant: Mutant) -> None:
    """From now on this process imports the changed module instead of the one that is there."""
    target = str(ROOT / mutant.path)
    plain = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        if self.path != target:
            return plain(self, fullname)
        return compiled(Path(target).read_text(), mutant.number, target)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


class Chosen:
    """A plugin of pytest that runs some tests, in their order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._order = {id: index for index, id in enumerate(tests)}

    def pytest_sessionstart(self) -> None:
        few_examples()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (each for each in items if each.nodeid in self._order), key=lambda each: self._order[each.nodeid]
        )
        fewer_examples(items)


def run(each: Try) -> int:
    """What its tests say of a mutant, in this process."""
    put_in(each.mutant)
    files = dict.fromkeys(id.partition("::")[0] for id in each.tests)
    code = pytest.main([*OPTIONS, *files], plugins=[Chosen(each.tests)])
    return SURVIVED if code == pytest.ExitCode.OK else KILLED


def try_all(tries: Iterable[Try], workers: int) -> Iterator[Try]:
    """Tries them, so many at a time, and gives each back when it is known."""
    ahead, running = iter(tries), dict[int, tuple[Try, float]]()
    while True:
        while len(running) < workers and (each := next(ahead, None)) is not None:
            if each.tests:
                running[_fork(lambda each=each: run(each))] = each, time.monotonic() + each.seconds  # type: ignore[misc]
            else:
                each.survived = True
                yield each
        if not running:
            return
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in running:
            each, _ = running.pop(pid)
            _end(pid)  # whatever it has started
            each.survived = os.waitstatus_to_exitcode(status) == SURVIVED
            yield each
            continue
        for pid, (each, until) in list(running.items()):
            if time.monotonic() > until:
                del running[pid]
                _end(pid)
                os.waitpid(pid, 0)
                yield each
        time.sleep(0.02)


def in_process(work: Callable[[], None]) -> None:
    """Does something in a process of its own, and waits for it."""

    def done() -> int:
        work()
        return 0

    os.waitpid(_fork(done), 0)


def _fork(work: Callable[[], int]) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = KILLED
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        code = work()
    finally:
        os._exit(code)


def _end(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
