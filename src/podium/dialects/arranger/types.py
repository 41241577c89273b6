"""TYJob as it is on the wire.  This is the only place where a field is declared.

Pod templates and volumes stay as they came: they go from the job into its pods untouched.
"""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec

from podium.dialects.arranger.names import TYJOBS
from podium.kube.wire import Object, View
from podium.reasons import NEVER_FITS
from podium.schema.crd import Column, Definition, Rule, Scale, said

Document = dict[str, Any]

_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_LONGEST_LABEL = 63
# Far beyond any use; without bounds a server refuses the rules over these lists as too costly.
_MOST_SETS = 256
_MOST_VOLUMES = 64
# What status.allocations can list within the largest object that a server keeps.
MOST_WORKERS = 10_000

PRIORITY, DRF = "Priority", "DRF"
QUEUE_POLICIES = (PRIORITY, DRF)
GANG, BINPACK = "Gang", "BinPack"
BASIC_POLICIES = (GANG, BINPACK, "LeaderFirst", "MinFragment", "JobAffinity", "JobAntiAffinity")
CLEAN_RUNNING, CLEAN_ALL, CLEAN_NONE = "Running", "All", "None"
CLEAN_POLICIES = (CLEAN_RUNNING, CLEAN_ALL, CLEAN_NONE)

PENDING, STARTING, RUNNING = "Pending", "Starting", "Running"
RESCHEDULING, SUCCEEDED, FAILED = "Rescheduling", "Succeeded", "Failed"
STAGES = (PENDING, STARTING, RUNNING, RESCHEDULING, SUCCEEDED, FAILED)
FINISHED = frozenset({SUCCEEDED, FAILED})

UNSCHEDULED, SCHEDULED = "Unscheduled", "ScheduledSucceed"
SCHEDULED_FAILED, SCHEDULED_PARTLY = "ScheduledFailed", "ScheduledPartly"
SCHEDULE_STATES = (UNSCHEDULED, SCHEDULED, SCHEDULED_FAILED, SCHEDULED_PARTLY)

SCHEDULED_CONDITION = "Scheduled"  # the condition that the scheduler writes

LEAST_PRIORITY, MOST_PRIORITY = 1, 10

# What is wrong between fields, in the same words wherever it is found.
MIN_TOO_LARGE = "must not be above the counts of all worker sets together"
SAME_SETS = "worker sets can neither be added nor removed"
REPLICAS_OF_ONE = "it is for jobs with one worker set; change the counts of the set that is meant"


# --- what is wanted ----------------------------------------------------------------------------------------


class Leader(View):
    """The pod that leads."""

    REQUIRED: ClassVar[tuple[str, ...]] = ("name", "template")

    name: Annotated[
        str, said("Its name; the pod is called <job>-<name>.", maxLength=_LONGEST_LABEL, pattern=_LABEL)
    ] = ""
    template: Annotated[msgspec.Raw, said("The pod.", built_in="PodTemplateSpec")] = msgspec.Raw(b"{}")


class WorkerSet(View):
    """Workers that are all alike."""

    REQUIRED: ClassVar[tuple[str, ...]] = ("name", "template")

    name: Annotated[
        str, said("Its name; the pods are called <job>-<name>-<i>.", maxLength=_LONGEST_LABEL, pattern=_LABEL)
    ] = ""
    template: Annotated[msgspec.Raw, said("The pods.", built_in="PodTemplateSpec")] = msgspec.Raw(b"{}")
    counts: Annotated[int, said("How many workers.", minimum=1, maximum=MOST_WORKERS)] = 1


class SchedulerPolicy(View):
    """How the job is scheduled."""

    job_queue_policy: Annotated[str, said("How it stands in line with other jobs.", enum=list(QUEUE_POLICIES))] = (
        PRIORITY
    )
    basic_policy: Annotated[str, said("Where its pods go.", enum=list(BASIC_POLICIES))] = BINPACK


class TYJobSpec(View):
    """What the job runs."""

    REQUIRED: ClassVar[tuple[str, ...]] = ("leader", "workerSets")
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.minWorkersNum) || !has(self.workerSets) || self.minWorkersNum <= "
            "self.workerSets.map(each, has(each.counts) ? each.counts : 1).sum()",
            MIN_TOO_LARGE,
            ".minWorkersNum",
        ),
        Rule(
            "!has(self.replicas) || !has(self.workerSets) || size(self.workerSets) == 1",
            REPLICAS_OF_ONE,
            ".replicas",
        ),
    )

    restart_limit: Annotated[
        int, said("Restarts after which the leader, or a worker set, has failed.", minimum=0, default=3)
    ] = 3
    volumes: Annotated[
        list[Annotated[msgspec.Raw, said("A volume.", built_in="Volume")]] | None,
        said("Volumes of all pods; containers mount them by name.", maxItems=_MOST_VOLUMES),
    ] = None
    leader: Leader = Leader()
    worker_sets: Annotated[
        list[WorkerSet],
        said(
            "The workers.",
            minItems=1,
            maxItems=_MOST_SETS,
            **{
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "x-kubernetes-validations": [
                    {
                        "rule": "size(self) == size(oldSelf) && "
                        "self.all(each, oldSelf.exists(old, old.name == each.name))",
                        "message": SAME_SETS,
                    }
                ],
            },
        ),
    ] = msgspec.field(default_factory=list)
    clean_pod_policy: Annotated[
        str, said("Which pods are deleted when the job is over.", enum=list(CLEAN_POLICIES))
    ] = CLEAN_ALL
    terminating: Annotated[bool, said("True ends the job, which has then succeeded.", default=False)] = False
    min_workers_num: Annotated[int, said("Workers without which the job does not start.", minimum=0)] = 1
    priority: Annotated[int, said("The larger goes first.", minimum=LEAST_PRIORITY, maximum=MOST_PRIORITY)] = 5
    scheduler_policy: Annotated[SchedulerPolicy, said("How it is scheduled.", default={})] = SchedulerPolicy()
    replicas: Annotated[
        int | None,
        said(
            "podium's own: the workers of a job with one set, for `kubectl scale`.",
            minimum=1,
            maximum=MOST_WORKERS,
        ),
    ] = None

    @property
    def workers(self) -> int:
        """Workers that are wanted."""
        return sum(each.counts for each in self.worker_sets)


# --- what is so --------------------------------------------------------------------------------------------


class Allocation(View):
    """A place that was found for a pod, before the pod is made."""

    role: Annotated[str, said("leader or worker.")] = ""
    name: Annotated[str, said("What the pod is called.")] = ""
    node: Annotated[str, said("The node.")] = ""
    set: Annotated[str, said("The worker set.")] = ""
    index: Annotated[int, said("Which of its set it is.")] = 0


class WorkerSetStatus(View):
    """How a worker set stands."""

    name: Annotated[str, said("The set.")] = ""
    ready: Annotated[int, said("Workers that are ready.")] = 0
    restarts: Annotated[int, said("Restarts of containers, and pods that were made again.")] = 0
    replaced: Annotated[int, said("Those restarts that are of pods which are gone.")] = 0
    replacing: Annotated[
        list[str] | None, said("UIDs of failed pods that count as replaced and are on their way.")
    ] = None


class JobCondition(View):
    """Whether something is so, since when, and why."""

    type: Annotated[str, said("What it is about: Scheduled.")] = ""
    status: Annotated[str, said("True, False or Unknown.")] = "Unknown"
    reason: Annotated[str, said("Why, as a word.")] = ""
    message: Annotated[str, said("Why, as a sentence.")] = ""
    last_transition_time: Annotated[
        str | None, said("Since when the status is so.", format="date-time", nullable=True)
    ] = None


class TYJobStatus(View):
    """What has become of the job.

    The scheduler writes scheduleState, allocations and conditions, the controller everything else.
    """

    stage: Annotated[str, said("How far the job has come.", enum=["", *STAGES])] = ""
    reason: Annotated[str, said("Why it is in this stage, as a word.")] = ""
    message: Annotated[str, said("The same as a sentence.")] = ""
    stage_since: Annotated[str | None, said("Since when.", format="date-time", nullable=True)] = None
    restarts: Annotated[int, said("Restarts of the leader.")] = 0
    leader_address: Annotated[str, said("The leader's IP address.")] = ""
    total_workers: Annotated[int, said("Workers that are wanted.")] = 0
    ready_workers: Annotated[int, said("Workers that are ready.")] = 0
    ready: Annotated[str, said("Both as kubectl prints them: 3/4.")] = ""
    worker_sets: Annotated[list[WorkerSetStatus] | None, said("Each set.")] = None
    # By default, so that a job that no turn has looked at yet says so as well.
    schedule_state: Annotated[
        str, said("How far the scheduler has come.", enum=["", *SCHEDULE_STATES], default=UNSCHEDULED)
    ] = ""
    allocations: Annotated[list[Allocation] | None, said("The places that were found.")] = None
    conditions: Annotated[
        list[JobCondition] | None, said("Scheduled: whether it has the places that it needs, and why not.")
    ] = None


class TYJob(Object):
    """A leader and sets of workers that do one piece of work together."""

    REQUIRED: ClassVar[tuple[str, ...]] = ("spec",)

    spec: TYJobSpec = TYJobSpec()
    status: Annotated[TYJobStatus, said("What has become of it.", default={})] = TYJobStatus()

    @property
    def scheduled(self) -> JobCondition | None:
        """What the scheduler says of its places."""
        return next((each for each in self.status.conditions or () if each.type == SCHEDULED_CONDITION), None)

    @property
    def stage(self) -> str:
        """A job on which nothing was written is new."""
        return self.status.stage or PENDING

    @property
    def over(self) -> bool:
        return self.status.stage in FINISHED

    @property
    def given_up(self) -> str:
        """Why the scheduler tries no more; "" while it does, also of a job that may wait for a larger node."""
        found = self.scheduled
        if self.status.schedule_state != SCHEDULED_FAILED or (found and found.reason == NEVER_FITS.code):
            return ""
        return (found.message if found is not None else "") or "the scheduler has given it up"

    @property
    def asks_for_nothing(self) -> bool:
        """Whether it needs no places, now or later.  One that runs is never given up."""
        return self.over or (self.given_up != "" and self.stage != RUNNING)


TYJOB = Definition(
    TYJOBS,
    TYJob,
    short_names=("tyj",),
    columns=(
        Column("Stage", ".status.stage"),
        Column("State", ".status.scheduleState"),
        Column("Ready", ".status.ready"),
        Column("Restarts", ".status.restarts", "integer"),
        Column("Leader", ".status.leaderAddress"),
        Column("Age", ".metadata.creationTimestamp", "date"),
        Column("Policy", ".spec.schedulerPolicy.basicPolicy", priority=1),
        Column("Priority", ".spec.priority", "integer", priority=1),
        Column("Reason", ".status.reason", priority=1),
    ),
    status=True,
    scale=Scale(".spec.replicas", ".status.totalWorkers"),
)
