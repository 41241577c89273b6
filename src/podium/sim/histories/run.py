"""Runs histories: a fault and a seed in, what came of it out; and files from which one is run again.

    fault: 6
    name: binds that fail
    seed: 17
    rule: I4
    violation: ...

Such a file needs nothing else: everything in a history follows from its fault and its seed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from podium.core.profiles.profile import Profile
from podium.errors import UsageError
from podium.sim.histories.fault import Fault
from podium.sim.histories.faults import FAULTS
from podium.sim.histories.invariants import Invariants, limits_of
from podium.sim.histories.rights import Rights
from podium.sim.histories.stage import Stage, Violation

_PATIENCE = 1800.0  # seconds within which a cluster has to come to rest
_AFRESH = 70.0  # seconds that a scheduler has which starts at rest


class Replay(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A history in a file."""

    fault: int
    seed: int
    name: str = ""
    rule: str = ""
    violation: str = ""
    trace_hash: str = ""
    trace: list[str] = []  # its last lines


class Result(msgspec.Struct, frozen=True):
    """What came of a history."""

    fault: int
    name: str
    seed: int
    seconds: float  # of virtual time
    steps: int
    checks: int
    writes: int
    trace_hash: str
    rule: str = ""  # the one that was broken, if any
    violation: str = ""
    trace: tuple[str, ...] = ()

    @property
    def replay(self) -> Replay:
        return Replay(
            self.fault, self.seed, self.name, self.rule, self.violation, self.trace_hash, list(self.trace)
        )


def run_history(number: int, seed: int, profiles: Mapping[str, Profile]) -> Result:
    """A history of a fault.  UsageError if there is no such fault."""
    kind = FAULTS.get(number)
    if kind is None:
        known = ", ".join(map(str, sorted(FAULTS)))
        raise UsageError(f"there is no fault {number}; there are {known}")
    stage = Stage(seed * 1009 + number, kind.profiles(profiles))
    rules = Invariants(stage)
    stage.watchers += (rules, Rights(stage))
    fault = kind(stage, rules, seed)
    rule = violation = ""
    trace: tuple[str, ...] = ()
    heard = _Heard()
    logger = logging.getLogger("podium")
    logger.addHandler(heard)
    try:
        _play(fault, stage, rules)
        if heard.said:
            raise Violation("I7", f"something was logged as an error: {heard.said[0]}", stage.elapsed)
    except Violation as broken:
        rule, violation, trace = broken.rule, str(broken), tuple(stage.trace)
    except Exception as error:  # whoever it was would have ended there
        rule, violation, trace = "I7", f"I7 at {stage.elapsed:.3f} s: {error!r} was raised", tuple(stage.trace)
    finally:
        logger.removeHandler(heard)
    return Result(
        number,
        kind.name,
        seed,
        round(stage.elapsed, 3),
        stage.steps,
        rules.checks,
        stage.writes,
        stage.digest,
        rule,
        violation,
        trace,
    )


class _Heard(logging.Handler):
    """What is logged as an error: in a history nothing is, whatever happens to it."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        reported = record.getMessage()
        self.said.append(f"{reported}: {record.exc_info[1]!r}" if record.exc_info else reported)


def _play(fault: Fault, stage: Stage, rules: Invariants) -> None:
    fault.populate()
    rules.limit(limits_of(stage))
    fault.start()
    fault.arrange()
    stage.run(fault.horizon)
    fault.end()
    _rest(fault, stage)
    rules.at_rest()
    fault.verify()
    # Nobody has anything left to do at rest; neither has a scheduler that knows only what stands in the API.
    # Places that are held for gangs are forgotten then, and may go to others.
    before, holding = dict(stage.standing), rules.holding
    fault.begin_anew()
    stage.run(stage.elapsed + _AFRESH)
    moved = sorted(name for name, stands in stage.standing.items() if before.get(name) != stands)
    if moved and not holding:
        raise Violation("I7", f"a fresh scheduler finds work at rest: {', '.join(moved[:3])}", stage.elapsed)
    rules.at_rest()


def _rest(fault: Fault, stage: Stage) -> None:
    if not stage.run_to_rest(fault.quiet, _PATIENCE):
        raise Violation("I7", f"the cluster does not come to rest in {_PATIENCE:g} s", stage.elapsed)


def write_replay(path: Path, replay: Replay) -> None:
    path.write_bytes(msgspec.yaml.encode(replay))


def read_replay(path: Path) -> Replay:
    """A history from a file.  UsageError says what is wrong with it."""
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=Replay)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{path}: want a history with a fault and a seed: {' '.join(str(error).split())}"
        ) from None
