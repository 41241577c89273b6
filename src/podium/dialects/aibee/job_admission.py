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


def lacks_rule(spec: Document) -> bool:
    """Whether the spec of a Job could have the rule, is about ai-scheduler's pods, and does not have it."""
    template = spec.get("template") or {}
    pods = template.get("spec") or {} if isinstance(template, dict) else {}
    if (
        not isinstance(pods, dict)
        or pods.get("schedulerName") != SCHEDULER
        or pods.get("restartPolicy") != "Never"
    ):
        return False
    policy = spec.get("podFailurePolicy") or {}
    rules = policy.get("rules") or [] if isinstance(policy, dict) else []
    return not any(isinstance(rule, dict) and _spares_disrupted(rule) for rule in rules)


def _spares_disrupted(rule: Document) -> bool:
    conditions = rule.get("onPodConditions") or []
    return rule.get("action") == "Ignore" and any(
        isinstance(each, dict) and each.get("type") == "DisruptionTarget" for each in conditions
    )


def fill_job(job: Document, old: Document | None, around: Surroundings) -> None:
    """Puts the rule before those that the user has: the first that matches decides."""
    spec = job.get("spec")
    if old is not None or not isinstance(spec, dict) or not lacks_rule(spec):
        return
    policy = spec.get("podFailurePolicy") or {}
    spec["podFailurePolicy"] = {**policy, "rules": [DISRUPTED, *(policy.get("rules") or [])]}
    spec["podReplacementPolicy"] = "Failed"  # the only one that goes with a podFailurePolicy


HOOKS = (
    Hook(
        JOBS,
        mutate=fill_job,
        new_only=True,
        condition=_ASKS_FOR_IT,
    ),
)
