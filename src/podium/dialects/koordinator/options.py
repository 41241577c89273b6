"""What a configuration file may say of Koordinator's gangs: `profiles.koord-scheduler.<option>`."""

from __future__ import annotations

import msgspec

from podium.core.framework.arguments import Argument, Arguments
from podium.core.model.durations import duration
from podium.core.model.model import MatchPolicy, Mode
from podium.errors import UsageError

MODES = {"Strict": Mode.STRICT, "NonStrict": Mode.NON_STRICT}
MODE_NAMES = {mode: name for name, mode in MODES.items()}
POLICIES = {
    "once-satisfied": MatchPolicy.ONCE_SATISFIED,
    "only-waiting": MatchPolicy.ONLY_WAITING,
    "waiting-and-running": MatchPolicy.WAITING_AND_RUNNING,
}
POLICY_NAMES = {policy: name for name, policy in POLICIES.items()}

OPTIONS = (
    Argument("waitingTime", "600s", "how long a gang without a time of its own may hold places, such as 10m"),
    Argument("mode", "Strict", "the mode of gangs that name none: Strict or NonStrict"),
    Argument(
        "matchPolicy",
        "once-satisfied",
        "the policy of gangs that name none: once-satisfied, only-waiting or waiting-and-running",
    ),
    Argument("makePodGroups", True, "whether gangs of annotations get a PodGroup, which shows how they stand"),
)


class Defaults(msgspec.Struct, frozen=True):
    """What holds for gangs that do not say otherwise."""

    waiting_time: float = 600.0
    mode: Mode = Mode.STRICT
    policy: MatchPolicy = MatchPolicy.ONCE_SATISFIED
    make_groups: bool = True


def read_options(given: Arguments) -> Defaults:
    """The options of a file; UsageError says what is wrong with one."""
    waiting_time = duration(given.text("waitingTime"), zero=True)
    if waiting_time is None:
        raise UsageError(f"waitingTime: want a duration such as 600s, got {given.values['waitingTime']!r}")
    mode, policy = MODES.get(given.text("mode")), POLICIES.get(given.text("matchPolicy"))
    if mode is None:
        raise UsageError(f"mode: want Strict or NonStrict, got {given.values['mode']!r}")
    if policy is None:
        names = ", ".join(POLICIES)
        raise UsageError(f"matchPolicy: want one of {names}, got {given.values['matchPolicy']!r}")
    made = given.values.get("makePodGroups", True)
    if not isinstance(made, bool):
        raise UsageError(f"makePodGroups: want true or false, got {made!r}")
    return Defaults(waiting_time, mode, policy, made)
