"""What units may hold together: quotas of users and of namespaces, and the load that is wanted at most.

Everything of a unit counts, the members that never change as well.  A start and one more member are asked for
alike.  What others hold in a namespace counts against its quota, and what has been planned and has no pod yet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from podium.core.elastic.unit import Unit
from podium.core.framework.session import Session
from podium.core.model.model import Gang, Quota, Task
from podium.core.model.resources import CPU, MEMORY
from podium.queue_reasons import LOAD_LIMIT, QUOTA, USER_QUOTA
from podium.reasons import Refusal, refuse

Sums = dict[int, int]


class Limits:
    """Counts up as units take more."""

    def __init__(
        self,
        session: Session,
        units: Iterable[Unit],
        quotas: Mapping[str, Mapping[str, int]],
        max_load: float,
        gpu: str,
    ) -> None:
        cluster = session.cluster
        self._find = cluster.dimensions.find
        self._names = cluster.dimensions.names
        self._quotas = quotas
        self._users: dict[str, Sums] = {user: {} for user in quotas}
        for unit in units:
            if unit.user in self._users and not unit.waiting:
                self._add(self._users[unit.user], unit.obj.tasks.values())
        self._by_namespace: dict[str, list[Quota]] = {}
        for quota in cluster.quotas.values():
            self._by_namespace.setdefault(quota.namespace, []).append(quota)
        self._namespaces = {each: dict(cluster.accounts.namespaces.get(each, {})) for each in self._by_namespace}
        self._planned = {each: _without_pods(cluster.gangs.values(), each) for each in self._by_namespace}
        self._taken: dict[str, Sums] = {}  # in this plan, by namespace
        self._load: Sums = {}
        self._most: Sums = {}
        if max_load < 1.0:
            nodes = cluster.nodes
            for column in {CPU, MEMORY, self._find(gpu)} - {None}:
                assert column is not None
                self._most[column] = math.floor(int(session.total[column]) * max_load)
                self._load[column] = int(nodes.used[: nodes.count, column].sum())

    def refusal(self, unit: Unit, tasks: Iterable[Task]) -> Refusal | None:
        """Why a unit may not have these tasks; None if it may, and then they count."""
        wanted: Sums = {}
        self._add(wanted, tasks)
        refusal = self._over_user(unit, wanted) or self._over_quota(unit.obj, wanted) or self._over_load(wanted)
        if refusal is None:
            self.count(unit, wanted, 1)
        return refusal

    def count(self, unit: Unit, amounts: Sums, sign: int) -> None:
        for sums in (
            self._users.get(unit.user),
            self._taken.setdefault(unit.obj.namespace, {}) if unit.obj.namespace in self._by_namespace else None,
            self._load if self._most else None,
        ):
            if sums is not None:
                for column, amount in amounts.items():
                    sums[column] = sums.get(column, 0) + sign * amount

    def give_back(self, unit: Unit, tasks: Iterable[Task]) -> None:
        """They found no place."""
        wanted: Sums = {}
        self._add(wanted, tasks)
        self.count(unit, wanted, -1)

    @property
    def binding(self) -> bool:
        """Whether there is any limit at all."""
        return bool(self._users or self._by_namespace or self._most)

    def _add(self, sums: Sums, tasks: Iterable[Task]) -> None:
        for task in tasks:
            for column, amount in task.cls.request.pairs:
                sums[column] = sums.get(column, 0) + amount

    def _over_user(self, unit: Unit, wanted: Sums) -> Refusal | None:
        held = self._users.get(unit.user)
        if held is None:
            return None
        for name, hard in self._quotas[unit.user].items():
            column = self._find(name)
            need = wanted.get(column, 0) if column is not None else 0
            used = held.get(column, 0) if column is not None else 0
            if need and used + need > hard:
                return refuse(USER_QUOTA, unit.user, name, need, used, hard)
        return None

    def _over_quota(self, gang: Gang, wanted: Sums) -> Refusal | None:
        taken = self._taken.get(gang.namespace, {})
        for quota in self._by_namespace.get(gang.namespace, ()):
            for name, hard in quota.hard.items():
                column = self._find(name.removeprefix("requests.").removeprefix("count/"))
                if column is None or not wanted.get(column):
                    continue
                # A server counts pods, also those that wait; here slots count, also those without a pod.
                told = quota.used.get(name, 0) + self._planned[gang.namespace].get(column, 0)
                used = max(told, self._namespaces[gang.namespace].get(column, 0)) + taken.get(column, 0)
                if used + wanted[column] > hard:
                    return refuse(QUOTA, quota.id.rpartition("/")[2], name, wanted[column], used, hard)
        return None

    def _over_load(self, wanted: Sums) -> Refusal | None:
        for column, most in self._most.items():
            need, used = wanted.get(column, 0), self._load[column]
            if need and used + need > most:
                return refuse(LOAD_LIMIT, self._names[column], need, used, most)
        return None


def _without_pods(gangs: Iterable[Gang], namespace: str) -> Sums:
    """What slots of a namespace hold for which there are no pods."""
    found: Sums = {}
    for gang in gangs:
        if gang.namespace == namespace and gang.size is not None:
            for task in gang.tasks.values():
                if not task.has_pod and task.row >= 0:
                    for column, amount in task.cls.request.pairs:
                        found[column] = found.get(column, 0) + amount
    return found
