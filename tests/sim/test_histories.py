"""Seeded histories under faults.  Five seeds of each here, two hundred with PODIUM_SOAK=1.

A seed that fails is printed with its violation and written to a file; `podium sim run --replay FILE` plays it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from podium.cli.main import run as podium
from podium.runtime.configuration import embedded_profiles
from podium.sim.histories.fault import Fault
from podium.sim.histories.faults import FAULTS
from podium.sim.histories.faults.crashes import SWEEP
from podium.sim.histories.run import Replay, Result, read_replay, run_history, write_replay
from podium.sim.histories.stage import Violation

SOAK = bool(os.environ.get("PODIUM_SOAK"))
SEEDS = range(200 if SOAK else 5)
FAILED = Path(".cache") / "histories"
PROFILES = embedded_profiles()
PLAYED: dict[tuple[int, int], Result] = {}


def report(result: Result) -> str:
    """Writes a failing seed down; the sentence to print."""
    FAILED.mkdir(parents=True, exist_ok=True)
    path = FAILED / f"fault-{result.fault}-seed-{result.seed}.yaml"
    write_replay(path, result.replay)
    return f"fault {result.fault}, seed {result.seed}: {result.violation}\n  podium sim run --replay {path}"


@pytest.mark.parametrize("number", FAULTS)
def test_histories(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    began = time.perf_counter()
    results = [run_history(number, seed, PROFILES) for seed in SEEDS]
    took = time.perf_counter() - began
    PLAYED.update({(number, result.seed): result for result in results})
    failed = [result for result in results if result.violation]
    reported = [report(result) for result in failed]
    with capsys.disabled():
        summary = f"{len(SEEDS)} seeds, {took:.1f} s, {len(failed)} violations"
        print(f"\nfault {number:2} ({FAULTS[number].name}): {summary}", end="")
    assert not reported, "\n".join(reported)


@pytest.mark.parametrize("number", FAULTS)
def test_the_same_seed_gives_the_same_history(number: int) -> None:
    hashes = set()
    for seed in SEEDS[:20] if SOAK else SEEDS[:1]:
        first = PLAYED.get((number, seed)) or run_history(number, seed, PROFILES)
        assert first == run_history(number, seed, PROFILES), "I8"
        hashes.add(first.trace_hash)
    assert len(hashes) == (20 if SOAK else 1)


def test_every_write_is_a_crash_point() -> None:
    """One small cluster, killed before and after its first write, its second, and so on to the last."""
    writes = run_history(1, SWEEP + 2 * 10_000, PROFILES).writes
    assert writes > 50
    step = 1 if SOAK else 16
    failed = [
        result
        for point in range(0, 2 * writes, step)
        if (result := run_history(1, SWEEP + point, PROFILES)).violation
    ]
    assert not failed, "\n".join(map(report, failed))


# --- that a violation is found, told and found again -------------------------------------------------------------


class Broken(Fault):
    """A history in which something does go wrong: a pod is moved under the scheduler's hands."""

    number = 99
    name = "somebody cheats"

    def arrange(self) -> None:
        self.stage.at(self.rng.between(5.0, 60.0), self._cheat)

    def _cheat(self) -> None:
        raise Violation("I1", "somebody cheated", self.stage.elapsed)


def test_a_failing_seed_replays_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(FAULTS, 99, Broken)
    result = run_history(99, 7, PROFILES)
    assert result.rule == "I1"
    path = tmp_path / "failed.yaml"
    write_replay(path, result.replay)
    assert read_replay(path) == result.replay
    assert podium(["sim", "run", "--replay", str(path)]) == 1
    reported = capsys.readouterr()
    assert result.violation in reported.out
    assert result.trace_hash in reported.out
    # A file by hand needs no more than these two; without its fault the history is a good one.
    path.write_text("fault: 5\nseed: 1\n")
    assert podium(["sim", "run", "--replay", str(path)]) == 0
    assert "no violation" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("fault: 4\nseed: 1\n", "there is no fault 4"),
        ("seed: 1\n", "want a history with a fault and a seed"),
        ("fault: one\nseed: 1\n", "want a history with a fault and a seed"),
        ("{", "want a history with a fault and a seed"),
    ],
)
def test_a_bad_file_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, complaint: str
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    assert podium(["sim", "run", "--replay", str(path)]) == 2
    reported = capsys.readouterr()
    assert complaint in reported.err
    assert reported.err.count("\n") == 1


def test_a_replay_needs_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert podium(["sim", "run"]) == 2
    assert "--trace" in capsys.readouterr().err
    assert Replay(fault=1, seed=2).trace == []
