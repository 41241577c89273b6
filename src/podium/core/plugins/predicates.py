"""predicates: which nodes can take a task at all, as kube-scheduler's filters say it."""

from __future__ import annotations

import numpy as np

from podium.core.labels import matches, tolerates
from podium.core.model import Constraints, TaskClass
from podium.core.nodes import NodeFacts, Taint
from podium.core.plugin import Arguments, Mask, Plugin
from podium.core.session import Session
from podium.reasons import CORDONED, SELECTOR, TAINT, Refusal, refuse

_BLOCKING = ("NoSchedule", "NoExecute")
_CORDON = Taint("node.kubernetes.io/unschedulable", "NoSchedule")


class Predicates(Plugin):
    name = "predicates"

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._affinity = arguments.flag("predicate.NodeAffinityEnable", True)
        self._taints = arguments.flag("predicate.TaintTolerationEnable", True)

    def on_session_open(self, session: Session) -> None:
        self._nodes = session.cluster.nodes

    def mask(self, cls: TaskClass, session: Session) -> Mask:
        result: Mask = np.zeros(session.cluster.nodes.count, dtype=bool)
        for row, facts in enumerate(session.cluster.nodes.facts):
            if facts is not None:
                result[row] = self._refusal(cls.constraints, facts) is None
        return result

    def explain(self, cls: TaskClass, row: int) -> Refusal | None:
        facts = self._nodes.facts[row]
        return None if facts is None else self._refusal(cls.constraints, facts)

    def _refusal(self, wanted: Constraints, facts: NodeFacts) -> Refusal | None:
        if facts.unschedulable and not tolerates(wanted.tolerations, _CORDON):
            return refuse(CORDONED)
        if self._affinity and not _selected(wanted, facts):
            return refuse(SELECTOR)
        if self._taints:
            for taint in facts.taints:
                if taint.effect in _BLOCKING and not tolerates(wanted.tolerations, taint):
                    return refuse(TAINT, taint=f"{{{taint.key}: {taint.value}}}")
        return None


def _selected(wanted: Constraints, facts: NodeFacts) -> bool:
    if any(facts.labels.get(key) != value for key, value in wanted.selector):
        return False
    return wanted.required is None or any(matches(term, facts) for term in wanted.required)
