"""CPU time and memory of a piece of work, and how they grow."""

from __future__ import annotations

import math
import multiprocessing
import resource
import statistics
from collections.abc import Callable, Sequence
from typing import Any

GIB = 1 << 30


def _in_process(job: Callable[[], float], answers: Any) -> None:
    seconds = job()
    answers.put((seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 / 1024))


def measure(job: Callable[[], float], runs: int = 3) -> tuple[float, float]:
    """Median seconds and largest memory in GiB of some runs, each in a fresh process."""
    context = multiprocessing.get_context("fork")
    results = []
    for _ in range(runs):
        answers = context.Queue()
        process = context.Process(target=_in_process, args=(job, answers))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit("a case failed")
        results.append(answers.get())
    return statistics.median(seconds for seconds, _ in results), max(memory for _, memory in results)


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The slope of seconds over sizes, both as logarithms: 1 is linear growth."""
    return statistics.linear_regression([math.log(s) for s in sizes], [math.log(t) for t in seconds]).slope
