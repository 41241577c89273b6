"""Lives of Jobs, in virtual time: controllers, scheduler and simulated kubelets together, through the API."""

from __future__ import annotations

from typing import Any

import pytest

from podium.dialects.volcano.job.names import JOBS, SCALED_BELOW
from podium.dialects.volcano.job.types import TaskSpec
from podium.dialects.volcano.names import COMMANDS, PODGROUPS, QUEUES
from podium.errors import ApiError
from podium.kube.changes import Create, Delete, Patch, request_of
from podium.kube.controller import Ticket
from podium.kube.resources import (
    CONFIGMAPS,
    CUSTOMRESOURCEDEFINITIONS,
    EVENTS,
    PERSISTENTVOLUMECLAIMS,
    PODS,
    PRIORITYCLASSES,
)
from podium.kube.transport import MERGE_PATCH, Request
from podium.schema.crd import schema_of
from tests.dialects.job_stage import job_document, task, template
from tests.dialects.virtual import Virtual

Document = dict[str, Any]


class Story(Virtual):
    """One Job and what becomes of it."""

    def start(self, *tasks: Document, **spec: Any) -> None:
        self.apply(job_document(*tasks, **spec))
        self.pass_seconds(3)

    @property
    def the_job(self) -> Document:
        return self.get(JOBS, "job")

    @property
    def phase(self) -> str:
        phase: str = self.the_job["status"]["state"]["phase"]
        return phase

    def count(self, field: str) -> int:
        return int(self.the_job["status"].get(field, 0))

    def living(self) -> list[str]:
        """Pods that have not ended, without the Job's name."""
        return [each.removeprefix("job-") for each in sorted(p["metadata"]["name"] for p in self.running())]

    def ended(self, name: str, code: int = 0) -> None:
        self.annotate(PODS, f"job-{name}", exit_code=str(code))
        self.pass_seconds(5)

    def order(self, action: str) -> None:
        target = {
            "apiVersion": JOBS.api_version,
            "kind": "Job",
            "name": "job",
            "uid": self.the_job["metadata"]["uid"],
        }
        document = {
            "apiVersion": COMMANDS.api_version,
            "kind": "Command",
            "metadata": {"generateName": "job-order-"},
            "action": action,
            "target": target,
        }
        self.request(request_of(Create(COMMANDS, "default", document)))
        self.pass_seconds(40)

    def edit(self, **spec: Any) -> None:
        self.patch(JOBS, "job", {"spec": spec})
        self.pass_seconds(40)

    def scale(self, *replicas: int) -> None:
        tasks = self.the_job["spec"]["tasks"]
        for each, count in zip(tasks, replicas, strict=True):
            each |= {"replicas": count, "minAvailable": min(each["minAvailable"], count)}
        total = sum(replicas)
        self.edit(tasks=tasks, minAvailable=min(self.the_job["spec"]["minAvailable"], total))


@pytest.fixture
def story() -> Story:
    return Story(4)


def on(event: str, action: str, **more: Any) -> Document:
    return {"event": event, "action": action, **more}


# --- to the end --------------------------------------------------------------------------------------------


def test_from_submission_to_completion(story: Story) -> None:
    story.start(task("ps"), task("worker", 2, policies=[on("TaskCompleted", "CompleteJob")]))
    assert story.phase == "Running"
    assert story.living() == ["ps-0", "worker-0", "worker-1"]
    assert "volcano.sh/partition-id" not in story.get(PODS, "job-worker-0")["metadata"]["labels"]
    story.ended("worker-0")
    assert story.phase == "Running"
    story.ended("worker-1")
    story.pass_seconds(40)
    assert story.phase == "Completed"
    assert story.living() == []
    assert story.names(PODS) == ["job-worker-0", "job-worker-1"]
    assert story.names(PODGROUPS) == []
    assert story.count("succeeded") == 2
    assert [each["status"] for each in story.the_job["status"]["conditions"]] == [
        "Pending",
        "Running",
        "Completing",
        "Completed",
    ]
    assert story.the_job["status"]["runningDuration"] == "8s"


def test_a_deleted_pod_restarts_the_job(story: Story) -> None:
    story.start(task("ps"), task("worker", 2), policies=[on("PodEvicted", "RestartJob")], plugins={"svc": []})
    before = {each["metadata"]["uid"] for each in story.objects(PODS)}
    story.delete("job-worker-1")
    story.pass_seconds(60)
    assert (story.phase, story.count("retryCount"), story.count("version")) == ("Running", 1, 1)
    pods = story.objects(PODS)
    assert len(pods) == 3
    assert not before & {each["metadata"]["uid"] for each in pods}
    assert {each["metadata"]["annotations"]["volcano.sh/job-version"] for each in pods} == {"1"}


def test_a_deleted_pod_of_a_job_without_policies_is_made_again(story: Story) -> None:
    story.start(task("worker", 3))
    kept = [each["metadata"]["uid"] for each in story.objects(PODS)][:2]
    story.delete("job-worker-2")
    story.pass_seconds(60)
    assert (story.phase, story.count("retryCount")) == ("Running", 0)
    assert [each["metadata"]["uid"] for each in story.objects(PODS)][:2] == kept
    assert story.living() == ["worker-0", "worker-1", "worker-2"]


def test_a_job_fails_after_its_last_try_and_leaves_the_pods(story: Story) -> None:
    story.start(task("worker", 2), policies=[on("PodFailed", "RestartJob")], maxRetry=2)
    for expected in ("Running", "Failed"):
        story.ended("worker-1", code=7)
        story.pass_seconds(40)
        assert story.phase == expected
    assert story.count("retryCount") == 2
    assert story.names(PODS) == ["job-worker-1"]
    assert "maxRetry" in story.the_job["status"]["state"]["message"]


def test_pods_that_fail_without_a_policy(story: Story) -> None:
    story.start(task("worker", 2))
    story.ended("worker-0", code=1)
    assert story.phase == "Running"
    story.ended("worker-1")
    assert story.phase == "Failed"
    assert (story.count("failed"), story.count("succeeded")) == (1, 1)


def test_enough_successes_end_a_job_at_once(story: Story) -> None:
    story.start(task("worker", 3), minSuccess=1)
    story.ended("worker-1")
    story.pass_seconds(40)
    assert story.phase == "Completed"
    assert story.living() == []


def test_a_job_is_deleted_some_time_after_its_end(story: Story) -> None:
    story.start(task("worker"), ttlSecondsAfterFinished=30)
    story.ended("worker-0")
    assert story.phase == "Completed"
    story.pass_seconds(20)
    assert story.names(JOBS) == ["job"]
    story.pass_seconds(20)
    assert story.names(JOBS) == []
    story.pass_seconds(40)
    assert story.names(PODS) == []


# --- parts -------------------------------------------------------------------------------------------------


def test_one_task_restarts(story: Story) -> None:
    story.start(task("ps"), task("worker", 2, policies=[on("PodFailed", "RestartTask")]))
    kept = story.get(PODS, "job-ps-0")["metadata"]["uid"]
    lost = {each: story.get(PODS, f"job-{each}")["metadata"]["uid"] for each in ("worker-0", "worker-1")}
    story.ended("worker-1", code=1)
    story.pass_seconds(60)
    assert (story.phase, story.count("retryCount"), story.count("version")) == ("Running", 1, 0)
    assert story.get(PODS, "job-ps-0")["metadata"]["uid"] == kept
    assert all(story.get(PODS, f"job-{each}")["metadata"]["uid"] != uid for each, uid in lost.items())


def test_one_pod_restarts(story: Story) -> None:
    story.start(task("worker", 2, policies=[on("PodFailed", "RestartPod")]))
    kept = story.get(PODS, "job-worker-0")["metadata"]["uid"]
    story.ended("worker-1", code=1)
    story.pass_seconds(60)
    assert (story.phase, story.count("retryCount")) == ("Running", 1)
    assert story.get(PODS, "job-worker-0")["metadata"]["uid"] == kept
    assert story.living() == ["worker-0", "worker-1"]


def test_one_part_restarts(story: Story) -> None:
    parts = {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1}
    policies = [on("PodFailed", "RestartPartition")]
    story.start(task("worker", 4, partitionPolicy=parts, policies=policies))
    uids = [story.get(PODS, f"job-worker-{i}")["metadata"]["uid"] for i in range(4)]
    labels = [story.get(PODS, f"job-worker-{i}")["metadata"]["labels"] for i in range(4)]
    assert [each["volcano.sh/partition-id"] for each in labels] == ["0", "0", "1", "1"]
    (group,) = story.objects(PODGROUPS)
    assert group["spec"]["subGroupPolicy"] == [
        {
            "name": "worker",
            "subGroupSize": 2,
            "minSubGroups": 1,
            "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "worker"}},
            "matchLabelKeys": ["volcano.sh/partition-id"],
        }
    ]
    story.ended("worker-2", code=1)
    story.pass_seconds(60)
    after = [story.get(PODS, f"job-worker-{i}")["metadata"]["uid"] for i in range(4)]
    assert after[:2] == uids[:2]
    assert not set(after[2:]) & set(uids[2:])


# --- the user's hand ---------------------------------------------------------------------------------------


def test_suspended_and_resumed(story: Story) -> None:
    story.start(task("worker", 3))
    story.order("AbortJob")
    assert (story.phase, story.living(), story.names(PODGROUPS)) == ("Aborted", [], [])
    assert story.names(COMMANDS) == []
    story.order("ResumeJob")
    assert (story.phase, story.count("retryCount"), len(story.living())) == ("Running", 1, 3)


def test_ended_by_hand(story: Story) -> None:
    story.start(task("worker", 3))
    story.order("TerminateJob")
    assert (story.phase, story.living()) == ("Terminated", [])


def test_an_order_to_a_job_that_is_not_there(story: Story) -> None:
    story.start(task("worker"))
    story.request(request_of(Delete(JOBS, "default", "job", propagation="Background")))
    target = {"apiVersion": JOBS.api_version, "kind": "Job", "name": "job", "uid": ""}
    document = {"apiVersion": COMMANDS.api_version, "kind": "Command", "metadata": {"name": "late"}}
    story.apply(document | {"action": "AbortJob", "target": target})
    story.pass_seconds(10)
    assert story.names(COMMANDS) == []


def test_scaled_by_editing(story: Story) -> None:
    story.start(task("ps"), task("worker", 2), plugins={"svc": []})
    uids = {each["metadata"]["name"]: each["metadata"]["uid"] for each in story.objects(PODS)}
    story.scale(1, 4)
    assert story.living() == ["ps-0", "worker-0", "worker-1", "worker-2", "worker-3"]
    hosts = story.get(CONFIGMAPS, "job-svc")["data"]["worker.host"]
    assert len(hosts.split()) == 4
    story.scale(1, 1)
    assert story.living() == ["ps-0", "worker-0"]
    assert (story.phase, story.count("retryCount")) == ("Running", 0)
    assert {
        each["metadata"]["name"]: each["metadata"]["uid"] for each in story.objects(PODS)
    }.items() <= uids.items()
    (group,) = story.objects(PODGROUPS)
    assert (group["spec"]["minMember"], group["spec"]["minTaskMember"]) == (2, {"ps": 1, "worker": 1})


def test_scaled_through_the_subresource(story: Story) -> None:
    policies = [on("PodFailed", "RestartJob"), {"exitCode": 3, "action": "AbortJob"}]
    story.start(task("worker", 2, policies=policies, topologyPolicy="none"))
    path = JOBS.path("default", "job", "scale")
    assert story.request(Request("GET", path))["spec"]["replicas"] == 2
    for replicas in (4, 1):
        story.patch(JOBS, "job", {"spec": {"replicas": replicas}}, subresource="scale")
        story.pass_seconds(40)
        assert len(story.living()) == replicas
        assert story.request(Request("GET", path))["status"]["replicas"] == replicas
        assert story.the_job["spec"]["tasks"][0]["replicas"] == replicas
    story.scale(3)
    assert len(story.living()) == 3
    assert story.request(Request("GET", path))["spec"]["replicas"] == 3


def scaled(story: Story, replicas: int) -> tuple[int, int, int]:
    """`kubectl scale`; the minimums of Job, task and group afterwards."""
    story.patch(JOBS, "job", {"spec": {"replicas": replicas}}, subresource="scale")
    story.pass_seconds(40)
    assert len(story.living()) == replicas
    spec = story.the_job["spec"]
    (group,) = story.objects(PODGROUPS)
    return spec["minAvailable"], spec["tasks"][0]["minAvailable"], group["spec"]["minMember"]


def reasons(story: Story, beginning: str) -> dict[str, str]:
    found = (each for each in story.objects(EVENTS) if each["reason"].startswith(beginning))
    return {each["reason"]: each["message"] for each in found}


@pytest.mark.parametrize(
    ("given", "own"), [({}, (4, 4)), ({"minAvailable": 2}, (2, 4))], ids=["a whole gang", "a written minimum"]
)
def test_scaled_to_nothing_and_back_a_job_is_the_gang_that_it_was(
    story: Story, given: Document, own: tuple[int, int]
) -> None:
    story.start(task("worker", 4), **given)
    for replicas in (0, 1, 4, 0, 6, 3, 4):
        of_job, of_task = (min(number, replicas) for number in own)
        assert scaled(story, replicas) == (of_job, of_task, of_job), replicas
    assert "annotations" not in story.the_job["metadata"]
    found = reasons(story, "MinAvailable")
    assert sorted(found) == ["MinAvailableLowered", "MinAvailableRestored"]
    assert f"until there are {own[0]} pods again" in found["MinAvailableLowered"]


def test_a_minimum_that_is_written_while_a_job_is_scaled_below_the_old_one_stays(story: Story) -> None:
    story.start(task("worker", 4))
    assert scaled(story, 2) == (2, 2, 2)
    story.edit(minAvailable=1)
    assert scaled(story, 4) == (1, 4, 1)


@pytest.mark.parametrize(
    "note",
    [
        "",
        "[]",
        "{}",
        '{"replicas": 1e400}',
        '{"replicas": 0, "job": 4, "x": ' + "[" * 5000 + "]" * 5000 + "}",
        '{"replicas": -1, "job": 9223372036854775807, "task": -7}',
    ],
    ids=range(6),
)
def test_a_note_about_minimums_that_somebody_else_has_written_stops_no_job(story: Story, note: str) -> None:
    story.start(task("worker", 4), minAvailable=2)
    story.patch(JOBS, "job", {"metadata": {"annotations": {SCALED_BELOW: note}}})
    story.pass_seconds(5)
    assert scaled(story, 3)[0] == 2
    assert scaled(story, 4)[0] == 2
    assert story.phase == "Running"


def test_a_minimum_comes_back_when_the_task_grows_by_hand(story: Story) -> None:
    story.start(task("worker", 4))
    assert scaled(story, 1) == (1, 1, 1)
    story.scale(3)
    spec = story.the_job["spec"]
    assert (spec["minAvailable"], spec["tasks"][0]["minAvailable"], spec["replicas"]) == (3, 3, 3)
    assert scaled(story, 4) == (4, 4, 4)


def test_a_job_from_before_its_definition_knew_the_fields_of_pods(story: Story) -> None:
    """What nobody reads in its template goes with the next write, and is no change that its user has made."""
    definition = story.get(CUSTOMRESOURCEDEFINITIONS, "jobs.batch.volcano.sh")

    def define(template: Document) -> None:
        (version,) = definition["spec"]["versions"]
        tasks = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["tasks"]
        tasks["items"]["properties"]["template"] = template
        story.patch(CUSTOMRESOURCEDEFINITIONS, "jobs.batch.volcano.sh", {"spec": definition["spec"]})

    define({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    story.start(task("worker", 2, template=template(typo=1)))
    assert story.the_job["spec"]["tasks"][0]["template"]["spec"]["typo"] == 1
    define(schema_of(TaskSpec)["properties"]["template"])
    assert scaled(story, 3) == (2, 2, 2)
    for each in range(3):
        story.ended(f"worker-{each}")
    story.pass_seconds(40)
    assert story.phase == "Completed"
    assert "typo" not in story.the_job["spec"]["tasks"][0]["template"]["spec"]


def test_nobody_knows_which_of_two_tasks_to_scale(story: Story) -> None:
    story.start(task("ps"), task("worker", 2))
    body = b'{"spec": {"replicas": 5}}'
    request = Request("PATCH", JOBS.path("default", "job", "scale"), body=body, content_type=MERGE_PATCH)
    with pytest.raises(ApiError, match="change those of the task that is meant"):
        story.request(request)


def test_a_change_that_a_policy_waits_for(story: Story) -> None:
    story.start(task("worker", 2), policies=[on("JobUpdated", "RestartJob")])
    story.pass_seconds(10)
    assert (story.phase, story.count("retryCount")) == ("Running", 0)
    story.scale(3)
    assert (story.phase, story.count("retryCount"), len(story.living())) == ("Running", 1, 3)


# --- tasks after tasks, volumes, room ----------------------------------------------------------------------


def test_tasks_that_wait_for_others(story: Story) -> None:
    first = task("first", 2)
    story.start(first, task("second", dependsOn={"name": ["first"]}), minAvailable=2)
    assert story.living() == ["first-0", "first-1", "second-0"]


def test_a_task_waits_until_those_before_it_are_ready(story: Story) -> None:
    never = template(nodeSelector={"there-is": "none"})
    tasks = [task("a"), {"name": "b", "replicas": 1, "template": never}]
    story.start(*tasks, task("c", dependsOn={"name": ["a", "b"]}), minAvailable=1)
    assert "c-0" not in story.living()
    other = Story(4)
    other.start(*tasks, task("c", dependsOn={"name": ["a", "b"], "iteration": "any"}), minAvailable=1)
    assert "c-0" in other.living()


def test_claims_are_made_and_mounted(story: Story) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    story.make(PERSISTENTVOLUMECLAIMS, "data", spec=claim)
    volumes = [{"mountPath": "/data", "volumeClaimName": "data"}, {"mountPath": "/out", "volumeClaim": claim}]
    pod = template(initContainers=[{"name": "early", "image": "app:1"}])
    story.start({"name": "worker", "replicas": 1, "template": pod}, volumes=volumes)
    made = story.the_job["spec"]["volumes"][1]["volumeClaimName"]
    assert made.startswith("job-pvc-")
    assert story.names(PERSISTENTVOLUMECLAIMS) == ["data", made]
    assert story.the_job["status"]["controlledResources"] == {
        "volume-pvc-data": "data",
        f"volume-pvc-{made}": made,
    }
    spec = story.get(PODS, "job-worker-0")["spec"]
    claims = {each["name"]: each["persistentVolumeClaim"]["claimName"] for each in spec["volumes"]}
    mounts = {each["mountPath"]: claims[each["name"]] for each in spec["containers"][0]["volumeMounts"]}
    assert mounts == {"/data": "data", "/out": made}
    assert "volumeMounts" not in spec["initContainers"][0]


def test_what_of_a_templates_metadata_its_pods_have(story: Story) -> None:
    marked = {"labels": {"team": "a"}, "annotations": {"note": "b"}, "finalizers": ["example.com/never"]}
    story.start({"name": "worker", "replicas": 1, "template": {**template(), "metadata": marked}})
    metadata = story.get(PODS, "job-worker-0")["metadata"]
    assert (metadata["labels"]["team"], metadata["annotations"]["note"]) == ("a", "b")
    assert "finalizers" not in metadata, "nobody would take them off again"


def test_a_claim_that_is_missing_is_waited_for(story: Story) -> None:
    story.start(task("worker"), volumes=[{"mountPath": "/data", "volumeClaimName": "data"}])
    assert (story.phase, story.living()) == ("Pending", [])
    assert any(each["reason"] == "PVCError" for each in story.events())
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    story.make(PERSISTENTVOLUMECLAIMS, "data", spec=claim)
    story.pass_seconds(5)
    assert story.living() == ["worker-0"]


def test_no_pods_before_the_group_is_let_in(story: Story) -> None:
    big = template()
    big["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100000"}}
    story.start({"name": "worker", "replicas": 2, "template": big})
    assert (story.phase, story.names(PODS)) == ("Pending", [])
    (group,) = story.objects(PODGROUPS)
    assert group["status"]["phase"] == "Pending"


def test_a_job_of_a_scheduler_that_knows_no_groups(story: Story) -> None:
    """Nobody lets its group in, so nobody is waited for: the pods are made, and left to that scheduler."""
    story.start(task("main", 2), schedulerName="somebody-else")
    assert story.names(PODS) == []
    story.pass_seconds(5)
    assert story.names(PODS) == ["job-main-0", "job-main-1"]
    assert {each["spec"]["schedulerName"] for each in story.objects(PODS)} == {"somebody-else"}
    assert not any(each["spec"].get("nodeName") for each in story.objects(PODS))
    for each in story.objects(PODS):
        name, target = each["metadata"]["name"], {"kind": "Node", "name": "node-0"}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        story.request(request_of(Create(PODS, "default", binding, name=name, subresource="binding")))
    story.pass_seconds(5)
    assert (story.phase, story.count("running")) == ("Running", 2)


def test_a_job_says_why_its_pods_wait(story: Story) -> None:
    """Once it is let in, too: there is room for four pods, and it has five."""
    big = template()
    big["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "600"}}
    story.start({"name": "worker", "replicas": 5, "template": big})
    assert (story.phase, story.count("pending")) == ("Pending", 5)
    (reported,) = (each["message"] for each in story.events() if each["reason"] == "PodGroupPending")
    assert "5 minAvailable" in reported
    assert "cpu" in reported


def test_a_scheduler_that_is_not_there_is_asked_for(story: Story) -> None:
    story.start({"name": "worker", "replicas": 1, "template": template()}, schedulerName="nobody")
    assert (story.phase, story.events()) == ("Pending", [])
    story.pass_seconds(30)
    (reported,) = (each["message"] for each in story.events() if each["reason"] == "PodGroupPending")
    assert "no scheduler has looked at group" in reported
    assert "nobody" in reported


def test_what_the_server_refuses_is_told(story: Story) -> None:
    """The Job is good as far as podium can see; the server does not take its pods."""
    pod = template(priorityClassName="urgent")
    story.start({"name": "worker", "replicas": 3, "template": pod})
    reported = [each["message"] for each in story.events() if each["reason"] == "FailedCreate"]
    assert reported == [
        'Pod job-worker-0 could not be created: pods "job-worker-0" is forbidden: '
        "no PriorityClass with name urgent was found"
    ]
    story.make(PRIORITYCLASSES, "urgent", value=5)
    story.pass_seconds(70)
    assert story.phase == "Running"


def test_arguments_that_no_plugin_knows_are_told(story: Story) -> None:
    story.start(task("worker"), plugins={"svc": ["--disable-network-polici"], "ssh": ["--ssh-port=many"]})
    reported = sorted(each["message"] for each in story.events() if each["reason"] == "PluginError")
    assert reported == [
        "plugin ssh: --ssh-port=many: 'many' is no whole number",
        "plugin svc: --disable-network-polici: no such argument; "
        "known are disable-network-policy, inject-hosts-env, publish-not-ready-addresses",
    ]
    assert story.phase == "Running"


def test_jobs_that_start_at_once_complain_of_nothing(story: Story) -> None:
    story.start(task("worker", 5))
    assert story.phase == "Running"
    assert [each["reason"] for each in story.events() if each["type"] != "Normal"] == []


def test_elastic_jobs_run_with_what_there_is(story: Story) -> None:
    big = template()
    big["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "600"}}
    story.start({"name": "worker", "replicas": 6, "template": big}, minAvailable=2)
    assert story.phase == "Running"
    assert (story.count("running"), story.count("pending")) == (4, 2)


def test_an_owner_by_the_same_name_is_not_robbed(story: Story) -> None:
    story.pod("job-worker-0", node="")
    story.start(task("worker"))
    assert any(each["reason"] == "FailedCreate" for each in story.events())
    story.delete("job-worker-0", grace=0)
    story.pass_seconds(15)
    assert story.phase == "Running"


# --- who writes what ---------------------------------------------------------------------------------------


class Audited(Story):
    """Notes who writes which field of a status."""

    def __init__(self, nodes: int) -> None:
        self.writers: dict[tuple[str, str], set[str]] = {}
        super().__init__(nodes)

    def carry_out(self, ticket: Ticket) -> None:
        change = ticket.change
        if isinstance(change, Patch) and change.resource in (JOBS, PODGROUPS, QUEUES):
            for field in change.patch.get("status", {}):
                self.writers.setdefault((change.resource.kind, field), set()).add(ticket.purpose)
        super().carry_out(ticket)


def test_no_field_of_a_status_has_two_writers() -> None:
    story = Audited(4)
    policies = [on("PodFailed", "RestartJob")]
    story.start(task("a", 2), task("b", dependsOn={"name": ["a"]}), policies=policies, plugins={"svc": []})
    story.ended("a-0", code=1)
    story.pass_seconds(30)
    story.order("AbortJob")
    story.order("ResumeJob")
    for name in ("a-0", "a-1", "b-0"):
        story.ended(name)
    assert story.phase == "Completed"
    kinds = {kind for kind, _ in story.writers}
    assert kinds == {"Job", "PodGroup", "Queue"}
    assert {field: who for field, who in story.writers.items() if len(who) > 1} == {}
    assert story.writers["Job", "state"] == {"volcano-job"}
    assert story.writers["Queue", "state"] == {"queue"} != story.writers["Queue", "allocated"]
