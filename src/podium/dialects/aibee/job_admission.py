"""Jobs that survive any number of take-backs.

A Job counts pods that were evicted as failed, and gives up at its backoffLimit.  A rule of its podFailurePolicy
says otherwise: pods with the condition DisruptionTarget do not count.  Admission adds it to new Jobs whose pods
ask for ai-scheduler; where no admission is asked, the Job's users learn what to add (`job_controller.py`).
"""

from __future__ import annotations

from typing import Any

from podium.dialects.aibee.names import SCHEDULER
from podium.kube.admission import Hook, Surroundings
from podium.kube.resources import JOBS

Document = dict[str, Any]

_ASKS_FOR_IT = (
    f"has(object.spec.template.spec.schedulerName) && object.spec.template.spec.schedulerName == '{SCHEDULER}'"
)

DISRUPTED: Document = {
    "action": "Ignore",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}


_MOST_RULES = 20  # Kubernetes refuses a Job with more


def counts_evicted(spec: Document) -> bool:
    """Whether a Job is about ai-scheduler's pods, and those of them that are evicted count as failed."""
    if _pods(spec).get("schedulerName") != SCHEDULER:
        return False
    return not any(isinstance(rule, dict) and _decides(rule) for rule in _rules(spec))


def may_have_rule(spec: Document) -> bool:
    """Whether Kubernetes lets a Job have one more rule: those whose pods restart in place have none."""
    return _pods(spec).get("restartPolicy") == "Never" and len(_rules(spec)) < _MOST_RULES


def _pods(spec: Document) -> Document:
    template = spec.get("template")
    pods = template.get("spec") if isinstance(template, dict) else None
    return pods if isinstance(pods, dict) else {}


def _rules(spec: Document) -> list[Any]:
    policy = spec.get("podFailurePolicy")
    rules = policy.get("rules") if isinstance(policy, dict) else None
    return rules if isinstance(rules, list) else []


def _decides(rule: Document) -> bool:
    """Whether a rule says what becomes of evicted pods: what its author wants holds, whatever it is."""
    conditions = rule.get("onPodConditions") or []
    return any(
        isinstance(each, dict)
        and each.get("type") == "DisruptionTarget"
        and each.get("status") in (None, "", "True")
        for each in conditions
    )


def fill_job(job: Document, old: Document | None, around: Surroundings) -> None:
    """Puts the rule before those that the user has: the first that matches decides."""
    spec = job.get("spec")
    if old is not None or not isinstance(spec, dict) or not counts_evicted(spec) or not may_have_rule(spec):
        return
    policy = spec.get("podFailurePolicy") or {}
    if not isinstance(policy, dict) or not isinstance(policy.get("rules") or [], list):
        return  # refused as it is
    spec["podFailurePolicy"] = {**policy, "rules": [DISRUPTED, *_rules(spec)]}
    spec["podReplacementPolicy"] = "Failed"  # the only one that goes with a podFailurePolicy


HOOKS = (
    Hook(
        JOBS,
        mutate=fill_job,
        new_only=True,
        condition=_ASKS_FOR_IT,
    ),
)
