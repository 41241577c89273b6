"""The APIs that podium speaks.  A further one is a folder, and a line here.

Everything that podium does for a dialect it finds in its record (`dialect.Dialect`), and asks for it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from podium.core.framework.arguments import Argument, Arguments
from podium.core.profiles.own_profiles import OWN_PROFILES
from podium.core.profiles.profile import Profile
from podium.dialects.aibee.dialect import aibee
from podium.dialects.arranger.dialect import arranger
from podium.dialects.dialect import BuiltInProfile, Dialect, Setting
from podium.dialects.koordinator.dialect import koordinator
from podium.dialects.kubernetes.membership import Membership
from podium.dialects.paddle.dialect import paddle
from podium.dialects.upstream.dialect import upstream
from podium.dialects.volcano.dialect import volcano
from podium.dialects.workloads import Authoring
from podium.kube.wire import Pod

# The order is the order in which a pod's marks are read.
REGISTERED: tuple[Callable[[Setting], Dialect], ...] = (
    upstream,
    volcano,
    koordinator,
    arranger,
    aibee,
    paddle,
)


def speaking(
    default_queue: str = "",
    schedulers: Iterable[str] = (),
    *,
    with_controllers: bool = True,
    profiles: Callable[[], Mapping[str, Profile]] = dict,
) -> tuple[Dialect, ...]:
    """All dialects, where the queue of pods that name none may have another name, and schedulers further ones.

    A scheduler without controllers beside it does not wait for what these would make.  `profiles` are those in
    force, for what their options say.
    """
    spoken: list[Dialect] = []

    def named_groups(pod: Pod) -> tuple[Membership, ...]:
        marks = (each.marks for each in spoken if each.marks is not None)
        return tuple(group for mark in marks for group in mark.memberships(pod) if not group.awaited)

    def options(name: str, declared: tuple[Argument, ...]) -> Arguments:
        profile = profiles().get(name)
        return Arguments(profile.options if profile is not None else {}, declared)

    names = frozenset(built_in_profiles())
    setting = Setting(default_queue, tuple(schedulers), with_controllers, names, named_groups, options)
    spoken += (make(setting) for make in REGISTERED)
    return tuple(spoken)


def built_in_profiles() -> dict[str, BuiltInProfile]:
    """The profiles that are there without a file, by scheduler name: the dialects', and podium's own."""
    dialects = _records(REGISTERED)
    found = {name: profile for each in dialects for name, profile in each.profiles.items()}
    return found | {name: BuiltInProfile(text) for name, text in OWN_PROFILES.items()}


def unnamed_profile() -> str:
    """The scheduler name that a configuration file is for which names none."""
    return next(name for name, profile in built_in_profiles().items() if profile.unnamed)


def authoring() -> Authoring:
    """How traces and histories write their queues and gangs: as users of the first dialect that has both."""
    return next(each.authoring for each in _records(REGISTERED) if each.authoring is not None)


@cache
def _records(registered: tuple[Callable[[Setting], Dialect], ...]) -> tuple[Dialect, ...]:
    """The records, for what does not depend on where a dialect is spoken."""
    return tuple(make(Setting()) for make in registered)


DIALECTS: tuple[Dialect, ...] = speaking()
