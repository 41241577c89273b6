"""resourcequota: a gang is admitted only when its minimum fits into every quota of its namespace.

    minimum + used + admitted in this session <= hard

Without this the gang's pods would be refused one by one when they are created, and those that came through would
hold their places for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from podium.core.framework.plugin import Plugin, Vote
from podium.core.framework.session import Session
from podium.core.model.model import Gang, Quota
from podium.queue_reasons import QUOTA
from podium.reasons import Refusal, refuse


class ResourceQuota(Plugin):
    name = "resourcequota"

    def on_session_open(self, session: Session) -> None:
        self._quotas: dict[str, list[Quota]] = {}
        for quota in session.cluster.quotas.values():
            self._quotas.setdefault(quota.namespace, []).append(quota)
        self._admitted: dict[str, dict[str, int]] = {}

    def job_enqueueable(self, gang: Gang) -> Vote:
        return Vote.PERMIT if self.admission_refusal(gang) is None else Vote.REJECT

    def admission_refusal(self, gang: Gang) -> Refusal | None:
        wanted = gang.minimum_resources or {}
        admitted = self._admitted.get(gang.namespace, {})
        for quota in self._quotas.get(gang.namespace, ()):
            for name, hard in quota.hard.items():
                amount, used = _amount(wanted, name), quota.used.get(name, 0) + _amount(admitted, name)
                if amount and amount + used > hard:
                    return refuse(QUOTA, quota.id.rpartition("/")[2], name, amount, used, hard)
        return None

    def job_enqueued(self, gang: Gang) -> None:
        admitted = self._admitted.setdefault(gang.namespace, {})
        for name, amount in (gang.minimum_resources or {}).items():
            admitted[name] = admitted.get(name, 0) + amount


def _amount(amounts: Mapping[str, int], name: str) -> int:
    """An amount under the name a quota has for it: `requests.cpu` is `cpu`, `count/pods` is `pods`."""
    if name in amounts:
        return amounts[name]
    return amounts.get(name.removeprefix("requests.").removeprefix("count/"), 0)
