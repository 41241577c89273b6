"""The arithmetic of a rollout: how large each ReplicaSet of a Deployment should be next.

All functions give new sizes by UID and only for ReplicaSets that change.  They look at sizes that are wanted
(spec) where promises count, and at available replicas (status) where users would notice.
"""

from __future__ import annotations

from podium.embedded.controllers.amounts import scaled
from podium.kube.numbers import whole_number
from podium.kube.times import parse_time
from podium.kube.wire import Deployment, ReplicaSet, RollingUpdate

DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"

Sizes = dict[str, int]


def limits(deployment: Deployment) -> tuple[int, int]:
    """How many pods may exist above the wanted number, and how many of it may be unavailable."""
    spec = deployment.spec
    if spec.strategy.type != "RollingUpdate":
        return 0, 0
    rolling = spec.strategy.rolling_update or RollingUpdate()
    surge = scaled(rolling.max_surge, spec.replicas, round_up=True, default="25%")
    unavailable = scaled(rolling.max_unavailable, spec.replicas, round_up=False, default="25%")
    if surge == 0 and unavailable == 0:
        unavailable = 1  # percentages of a small number may both round to nothing; the rollout must move
    return surge, min(unavailable, spec.replicas)


def by_age(sets: list[ReplicaSet]) -> list[ReplicaSet]:
    return sorted(sets, key=lambda each: (parse_time(each.metadata.creation_timestamp), each.name))


def wanted(sets: list[ReplicaSet]) -> int:
    return sum(each.spec.replicas for each in sets)


def first_size(deployment: Deployment, current: int, others: list[ReplicaSet]) -> int:
    """How large the new ReplicaSet may be beside the others, at most as large as the Deployment wants."""
    total = deployment.spec.replicas
    if deployment.spec.strategy.type != "RollingUpdate":
        return total
    room = total + limits(deployment)[0] - current - wanted(others)
    return current + max(0, min(room, total - current))


def roll(deployment: Deployment, new: ReplicaSet, old: list[ReplicaSet]) -> Sizes:
    """One step of a rolling update: first the new one grows, then the old ones shrink."""
    if new.spec.replicas > deployment.spec.replicas:
        return {new.uid: deployment.spec.replicas}
    size = first_size(deployment, new.spec.replicas, old)
    if size != new.spec.replicas:
        return {new.uid: size}
    return _shrink(deployment, new, by_age([each for each in old if each.spec.replicas]))


def _shrink(deployment: Deployment, new: ReplicaSet, old: list[ReplicaSet]) -> Sizes:
    """Unhealthy old replicas go at once, healthy ones as the new ones become available.

    New replicas that are not available yet are kept out of what may go, or a new version that never gets ready
    would eat up the old one.
    """
    least = deployment.spec.replicas - limits(deployment)[1]
    spare = wanted(old) + new.spec.replicas - least - (new.spec.replicas - new.status.available_replicas)
    if spare <= 0:
        return {}
    sizes = {each.uid: each.spec.replicas for each in old}
    for each in old:
        unhealthy = max(0, each.spec.replicas - each.status.available_replicas)
        cut = min(spare, unhealthy)
        sizes[each.uid] -= cut
        spare -= cut
    available = new.status.available_replicas + sum(each.status.available_replicas for each in old)
    surplus = max(0, available - least)
    for each in old:
        cut = min(sizes[each.uid], surplus)
        sizes[each.uid] -= cut
        surplus -= cut
    return {each.uid: sizes[each.uid] for each in old if sizes[each.uid] != each.spec.replicas}


def is_scaling(deployment: Deployment, sets: list[ReplicaSet]) -> bool:
    """Whether the wanted number changed since the ReplicaSets were last sized."""
    notes = [each.annotations.get(DESIRED, "") for each in sets if each.spec.replicas]
    sized = [whole_number(note) for note in notes]
    return any(number is not None and number != deployment.spec.replicas for number in sized)


def rescale(deployment: Deployment, new: ReplicaSet | None, old: list[ReplicaSet]) -> Sizes:
    """Sizes after the wanted number changed, or while the rollout is paused.

    In the middle of a rollout all versions grow or shrink in proportion: to give everything to one of them would
    hurry the rollout along, or undo it.
    """
    sets = [*by_age(old), *([new] if new is not None else [])]
    busy = [each for each in sets if each.spec.replicas]
    total = deployment.spec.replicas
    if len(busy) <= 1:
        one = busy[0] if busy else sets[-1] if sets else None
        return {one.uid: total} if one is not None and one.spec.replicas != total else {}
    saturated = new is not None and new.spec.replicas == total and new.status.available_replicas == total
    if saturated:
        return {each.uid: 0 for each in old if each.spec.replicas}
    if deployment.spec.strategy.type != "RollingUpdate":
        return {}
    return _in_proportion(deployment, busy)


def _in_proportion(deployment: Deployment, busy: list[ReplicaSet]) -> Sizes:
    total = deployment.spec.replicas
    most = total + limits(deployment)[0] if total else 0
    change = most - wanted(busy)
    if change == 0:
        return {}
    # The largest take the most; among equals the newest grows first and the oldest shrinks first.
    ordered = sorted(reversed(busy) if change > 0 else busy, key=lambda each: -each.spec.replicas)
    sizes: Sizes = {}
    left = change
    for each in ordered:
        share = _fraction(deployment, each, most)
        share = min(share, left) if change > 0 else max(share, left)
        sizes[each.uid] = each.spec.replicas + share
        left -= share
    sizes[ordered[0].uid] = max(0, sizes[ordered[0].uid] + left)
    return sizes


def _fraction(deployment: Deployment, each: ReplicaSet, most: int) -> int:
    """How much one ReplicaSet gains or loses when the largest allowed total becomes `most`."""
    size = each.spec.replicas
    if deployment.spec.replicas == 0:
        return -size
    note = each.annotations.get(MAXIMUM, "")
    before = whole_number(note) or deployment.status.replicas
    return (2 * size * most + before) // (2 * before) - size if before else 0
