"""Workloads: what makes pods, and what limits their disruption."""

from __future__ import annotations

from typing import Any

from podium.embedded.printers.cells import (
    AGE,
    NAME,
    NONE,
    SELECTOR,
    TEMPLATE_HEADINGS,
    UNSET,
    Document,
    Heading,
    Printer,
    age,
    boolean,
    deleting,
    human_duration,
    integer,
    items,
    labels_text,
    name_of,
    part,
    selector_text,
    since,
    template_cells,
    true_conditions,
)
from podium.kube import selectors
from podium.kube.times import parse_time

# Conditions that are the word for a job's state, what counts most first.  Its deletion stands between the two.
_JOB_ENDS = ("Complete", "Failed")
_JOB_STATES = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def deployment_cells(deployment: Document, now: float) -> list[Any]:
    spec, status = part(deployment, "spec"), part(deployment, "status")
    try:
        selector = selectors.format_selector(spec.get("selector"))
    except ValueError:
        selector = "<invalid>"
    return [
        name_of(deployment),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(deployment, now),
        *template_cells(part(spec, "template")),
        selector,
    ]


def replica_set_cells(replica_set: Document, now: float) -> list[Any]:
    spec = part(replica_set, "spec")
    return [*_replica_cells(replica_set, now), selector_text(spec.get("selector"))]


def replication_controller_cells(controller: Document, now: float) -> list[Any]:
    spec = part(controller, "spec")
    return [*_replica_cells(controller, now), labels_text(spec.get("selector"))]


def _replica_cells(document: Document, now: float) -> list[Any]:
    spec, status = part(document, "spec"), part(document, "status")
    return [
        name_of(document),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(document, now),
        *template_cells(part(spec, "template")),
    ]


def stateful_set_cells(stateful_set: Document, now: float) -> list[Any]:
    spec, status = part(stateful_set, "spec"), part(stateful_set, "status")
    return [
        name_of(stateful_set),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        age(stateful_set, now),
        *template_cells(part(spec, "template")),
    ]


def daemon_set_cells(daemon_set: Document, now: float) -> list[Any]:
    spec, status = part(daemon_set, "spec"), part(daemon_set, "status")
    return [
        name_of(daemon_set),
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        labels_text(part(spec, "template", "spec").get("nodeSelector")),
        age(daemon_set, now),
        *template_cells(part(spec, "template")),
        selector_text(spec.get("selector")),
    ]


def job_cells(job: Document, now: float) -> list[Any]:
    spec = part(job, "spec")
    return [
        name_of(job),
        _job_word(job),
        _completions_text(job),
        _job_duration(part(job, "status"), now),
        age(job, now),
        *template_cells(part(spec, "template")),
        selector_text(spec.get("selector")),
    ]


def _job_word(job: Document) -> str:
    true = true_conditions(part(job, "status"))
    ends = [word for word in _JOB_ENDS if word in true]
    states = [word for word in _JOB_STATES if word in true]
    return [*ends, *(["Terminating"] if deleting(job) else []), *states, "Running"][0]


def _completions_text(job: Document) -> str:
    spec = part(job, "spec")
    succeeded = part(job, "status").get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    # A work queue: any one success completes it, however many pods work on it.
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(status: Document, now: float) -> str:
    started = parse_time(status.get("startTime"))
    if not started:
        return ""
    return human_duration((parse_time(status.get("completionTime")) or now) - started)


def cron_job_cells(cron_job: Document, now: float) -> list[Any]:
    spec, status = part(cron_job, "spec"), part(cron_job, "status")
    job = part(spec, "jobTemplate", "spec")
    suspend = spec.get("suspend")
    return [
        name_of(cron_job),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        UNSET if suspend is None else str(suspend),
        len(items(status, "active")),
        since(status["lastScheduleTime"], now) if status.get("lastScheduleTime") else NONE,
        age(cron_job, now),
        *template_cells(part(job, "template")),
        selector_text(job.get("selector")),
    ]


def disruption_budget_cells(budget: Document, now: float) -> list[Any]:
    spec = part(budget, "spec")
    return [
        name_of(budget),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        part(budget, "status").get("disruptionsAllowed", 0),
        age(budget, now),
    ]


def controller_revision_cells(revision: Document, now: float) -> list[Any]:
    controller = NONE
    for owner in items(part(revision, "metadata"), "ownerReferences"):
        if owner.get("controller"):
            group = owner["apiVersion"].rpartition("/")[0]
            kind = owner["kind"].lower()
            controller = f"{kind}.{group}/{owner['name']}" if group else f"{kind}/{owner['name']}"
    return [name_of(revision), controller, revision.get("revision", 0), age(revision, now)]


_REPLICA_HEADINGS = (
    NAME,
    integer("Desired", "How many pods there should be"),
    integer("Current", "How many pods there are"),
    integer("Ready", "How many pods are ready"),
    AGE,
    *TEMPLATE_HEADINGS,
    SELECTOR,
)

DEPLOYMENT = Printer(
    (
        NAME,
        Heading("Ready", "Ready pods of desired pods"),
        Heading("Up-to-date", "How many pods have the newest template"),
        Heading("Available", "How many pods have been ready for long enough"),
        AGE,
        *TEMPLATE_HEADINGS,
        SELECTOR,
    ),
    deployment_cells,
)
REPLICA_SET = Printer(_REPLICA_HEADINGS, replica_set_cells)
REPLICATION_CONTROLLER = Printer(_REPLICA_HEADINGS, replication_controller_cells)
STATEFUL_SET = Printer(
    (NAME, Heading("Ready", "Ready pods of desired pods"), AGE, *TEMPLATE_HEADINGS), stateful_set_cells
)
DAEMON_SET = Printer(
    (
        NAME,
        integer("Desired", "How many nodes should run the pod"),
        integer("Current", "How many nodes run the pod and should"),
        integer("Ready", "On how many nodes the pod is ready"),
        integer("Up-to-date", "On how many nodes the pod has the newest template"),
        integer("Available", "On how many nodes the pod has been ready for long enough"),
        Heading("Node Selector", "Which nodes the pods are for"),
        AGE,
        *TEMPLATE_HEADINGS,
        SELECTOR,
    ),
    daemon_set_cells,
)
JOB = Printer(
    (
        NAME,
        Heading("Status", "The state of the job in one word"),
        Heading("Completions", "Succeeded pods of needed ones"),
        Heading("Duration", "How long the job ran, or has been running"),
        AGE,
        *TEMPLATE_HEADINGS,
        SELECTOR,
    ),
    job_cells,
)
CRON_JOB = Printer(
    (
        NAME,
        Heading("Schedule", "When jobs are started, in cron's format"),
        Heading("Timezone", "The time zone of the schedule"),
        boolean("Suspend", "Whether no more jobs are started"),
        integer("Active", "How many jobs are running"),
        Heading("Last Schedule", "Time since a job was last started"),
        AGE,
        *TEMPLATE_HEADINGS,
        SELECTOR,
    ),
    cron_job_cells,
)
DISRUPTION_BUDGET = Printer(
    (
        NAME,
        Heading("Min Available", "How many pods must stay available"),
        Heading("Max Unavailable", "How many pods may be unavailable"),
        integer("Allowed Disruptions", "How many pods may be evicted now"),
        AGE,
    ),
    disruption_budget_cells,
)
CONTROLLER_REVISION = Printer(
    (
        NAME,
        Heading("Controller", "The workload whose state is kept"),
        Heading("Revision", "The number of the state"),
        AGE,
    ),
    controller_revision_cells,
)
