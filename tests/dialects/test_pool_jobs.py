"""Jobs whose pods borrow: evicted pods do not count as failed, or the Job's users are told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.dialects.aibee.job_admission import HOOKS
from podium.dialects.aibee.job_controller import REASON, JobController
from podium.kube.cache import Cache
from podium.kube.controller import Outcome
from podium.kube.events import WARNING
from podium.kube.resources import JOBS
from podium.kube.wire import Job
from tests.embedded.server import Document, Server

IGNORED = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
EXIT_42 = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}


def rule(action: str, status: str | None = None) -> Document:
    """One of a user's own about evicted pods."""
    condition = {"type": "DisruptionTarget", **({"status": status} if status else {})}
    return {"action": action, "onPodConditions": [condition]}


def job(*rules: Document, scheduler: str = "ai-scheduler", restart: str = "Never", **spec: Any) -> Document:
    """That of Ai-Scheduler's page, in short."""
    pods = {
        "schedulerName": scheduler,
        "restartPolicy": restart,
        "containers": [{"name": "pi", "image": "perl"}],
    }
    policy = {"podFailurePolicy": {"rules": list(rules)}} if rules else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "test-job", "namespace": "default"},
        "spec": {"backoffLimit": 3, "template": {"spec": pods}, **policy, **spec},
    }


# --- admission ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "rules"),
    [
        (job(), [IGNORED]),
        (job(EXIT_42), [IGNORED, EXIT_42]),
        (job(podFailurePolicy={"rules": []}), [IGNORED]),
        (job(podReplacementPolicy="TerminatingOrFailed"), [IGNORED]),
        (job(completionMode="Indexed", completions=2, backoffLimitPerIndex=1), [IGNORED]),
        (job(rule("Ignore", "False")), [IGNORED, rule("Ignore", "False")]),
        (job(EXIT_42, rule("Ignore")), [EXIT_42, IGNORED]),
        (job(rule("Count")), [rule("Count", "True")]),
        (job(rule("FailJob", "True")), [rule("FailJob", "True")]),
        (job(*[EXIT_42] * 19), [IGNORED, *[EXIT_42] * 19]),
        (job(*[EXIT_42] * 20), [EXIT_42] * 20),
        (job(scheduler="default-scheduler"), []),
        (job(restart="OnFailure"), []),
    ],
    ids=[
        "without rules",
        "before the user's own",
        "an empty policy",
        "with another replacement policy",
        "indexed",
        "a rule on pods that are not disrupted",
        "the same rule is there",
        "the user counts them",
        "the user ends the Job",
        "one more rule is allowed",
        "as many rules as Kubernetes takes",
        "of another scheduler",
        "pods that restart in place",
    ],
)
def test_new_jobs_get_the_rule_where_they_can_and_say_nothing_of_it(
    document: Document, rules: list[Document]
) -> None:
    made = Server(HOOKS).create(JOBS, document, "default")["spec"]
    assert made.get("podFailurePolicy", {}).get("rules", []) == rules
    assert made["podReplacementPolicy"] == ("Failed" if rules else "TerminatingOrFailed")


@pytest.mark.parametrize("policy", [7, {"rules": 7}, {"rules": [7]}, {"rules": [{"onPodConditions": [7]}]}])
def test_what_is_no_policy_is_refused_by_the_server_and_not_by_admission(policy: object) -> None:
    reply = Server(HOOKS).call("POST", JOBS.path("default"), job(podFailurePolicy=policy))
    assert reply.status in (400, 422), reply.body


# --- where there was no admission --------------------------------------------------------------------------------


def told(document: Document, **status: Any) -> Outcome:
    document["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    cache = Cache()
    cache.set_synced(JOBS)
    cache.apply(JOBS, msgspec.json.decode(msgspec.json.encode({**document, "status": status}), type=Job))
    return JobController().reconcile(("default", "test-job"), cache, 0.0)


def test_a_job_without_the_rule_is_told_what_to_write() -> None:
    outcome = told(job())
    assert not outcome.changes
    (note,) = outcome.notes
    assert (note.reason, note.type) == (REASON, WARNING)
    assert note.message == (
        "pods that are taken back from a borrowed place count as failed, and spec.backoffLimit is 3: create the "
        "Job with {action: Ignore, onPodConditions: [{type: DisruptionTarget}]} as the first of "
        "spec.podFailurePolicy.rules, or let `podium webhook` do so"
    )


@pytest.mark.parametrize(
    "document", [job(restart="OnFailure"), job(*[EXIT_42] * 20)], ids=["restarts in place", "20 rules"]
)
def test_one_that_cannot_have_it_is_told_why(document: Document) -> None:
    (note,) = told(document).notes
    assert note.message.startswith("pods that are taken back from a borrowed place count as failed")
    assert "only with restartPolicy Never, and fewer than 20 rules" in note.message


@pytest.mark.parametrize(
    ("document", "status"),
    [
        (job(rule("Ignore")), {}),
        (job(rule("Count")), {}),
        (job(scheduler="default-scheduler"), {}),
        (job(), {"startTime": "2027-01-15T08:00:00Z"}),
        (job(), {"failed": 4, "conditions": [{"type": "Failed", "status": "True"}]}),
    ],
    ids=["with the rule", "with a rule of its own", "of another scheduler", "told when it was new", "ended"],
)
def test_others_are_told_nothing(document: Document, status: Document) -> None:
    assert not told(document, **status).notes


def test_it_is_told_again_once_pods_have_counted() -> None:
    assert told(job(), startTime="2027-01-15T08:00:00Z", failed=1).notes
