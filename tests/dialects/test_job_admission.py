"""Jobs that cannot run: refused with the field's path, or Failed with the same sentence if nobody refused them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from podium.dialects.volcano.job.admission import check_job
from podium.dialects.volcano.job.defaults import fill_job
from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.names import COMMANDS, QUEUES
from podium.errors import ApiError
from podium.kube.admission import Facet, having
from podium.kube.changes import Delete, request_of
from podium.kube.resources import PODS, Resource
from tests.dialects.job_stage import job_document, task, template
from tests.dialects.virtual import Virtual

Document = dict[str, Any]
Spoil = Callable[[Document], None]


def spec(**fields: Any) -> Spoil:
    return lambda job: job["spec"].update(fields)


def in_task(**fields: Any) -> Spoil:
    return lambda job: job["spec"]["tasks"][0].update(fields)


def in_pod(**fields: Any) -> Spoil:
    return lambda job: job["spec"]["tasks"][0]["template"]["spec"].update(fields)


def policies(*given: Document) -> Spoil:
    return spec(policies=list(given))


def in_container(**fields: Any) -> Spoil:
    return lambda job: job["spec"]["tasks"][0]["template"]["spec"]["containers"][0].update(fields)


def named(name: str) -> Spoil:
    return lambda job: job["metadata"].update(name=name)


def policy(**fields: Any) -> Document:
    return {"event": "PodFailed", "action": "RestartJob", **fields}


def waits_for(*names: str) -> Document:
    return {"name": list(names)}


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

INVALID: dict[str, tuple[Spoil, str]] = {
    "no task": (spec(tasks=[]), "spec.tasks"),
    "fewer pods than must start": (spec(minAvailable=4), "spec.minAvailable"),
    "a negative minimum": (spec(minAvailable=-1), "spec.minAvailable"),
    "negative retries": (spec(maxRetry=-1), "spec.maxRetry"),
    "a negative time to live": (spec(ttlSecondsAfterFinished=-1), "spec.ttlSecondsAfterFinished"),
    "no success needed": (spec(minSuccess=0), "spec.minSuccess"),
    "a Service with dots": (
        lambda job: (named("a.b")(job), spec(plugins={"svc": []})(job))[0],
        "spec.plugins[svc]",
    ),
    "a bad queue name": (spec(queue="No Queue"), "spec.queue"),
    "a queue that does not exist": (spec(queue="nowhere"), "spec.queue"),
    "the root queue": (spec(queue="root"), "spec.queue"),
    "a queue with queues below it": (spec(queue="parent"), "spec.queue"),
    "a closed queue": (spec(queue="shut"), "spec.queue"),
    "a bad priority class": (spec(priorityClassName="High!"), "spec.priorityClassName"),
    "a long scheduler name": (spec(schedulerName="s" * 64), "spec.schedulerName"),
    "negative replicas": (in_task(replicas=-1), "spec.tasks[0].replicas"),
    "more pods than anybody has": (in_task(replicas=2**31 - 1), "spec.tasks[0].replicas"),
    "more pods than anybody has, together": (
        spec(tasks=[task("a", 2**31 - 2), task("b", 2**31 - 1)], minAvailable=0),
        "spec.tasks[1].replicas",
    ),
    "more names than a ConfigMap holds": (
        spec(tasks=[task("main", 900_000)], plugins={"svc": []}),
        "spec.plugins[svc]",
    ),
    "more names than a Secret holds": (
        spec(tasks=[task("main", 900_000)], plugins={"ssh": []}),
        "spec.plugins[ssh]",
    ),
    "a task with more minimum than pods": (in_task(minAvailable=3), "spec.tasks[0]"),
    "a task with a negative minimum": (in_task(minAvailable=-1), "spec.tasks[0].minAvailable"),
    "a task name that is none": (in_task(name="Task_One"), "spec.tasks[0].name"),
    "a task name twice": (spec(tasks=[task("a"), task("a")]), "spec"),
    "pods with too long a name": (named("j" * 60), "spec.tasks[0].name"),
    "a job name that is too long": (named("j" * 64), "metadata.name"),
    "an unknown action": (policies(policy(action="Explode")), "spec.policies[0].action"),
    "an unknown event": (policies(policy(event="Boredom")), "spec.policies[0].event"),
    "an internal event": (policies(policy(event="OutOfSync")), "spec.policies[0].event"),
    "an internal action": (policies(policy(action="SyncJob")), "spec.policies[0].action"),
    "a policy about nothing": (policies({"action": "AbortJob"}), "spec.policies[0]"),
    "event and exit code": (policies(policy(exitCode=3)), "spec.policies[0]"),
    "exit code 0": (policies({"action": "AbortJob", "exitCode": 0}), "spec.policies[0]"),
    "an exit code twice": (
        policies({"action": "AbortJob", "exitCode": 3}, {"action": "RestartJob", "exitCode": 3}),
        "spec.policies[1].exitCode",
    ),
    "an event twice": (policies(policy(), policy(action="AbortJob")), "spec.policies[1].event"),
    "anything and something": (policies(policy(event="*"), policy()), "spec.policies"),
    "a timeout that is none": (policies(policy(timeout="soon")), "spec.policies[0].timeout"),
    "a bad policy of a task": (in_task(policies=[policy(), policy()]), "spec.tasks[0].policies[1].event"),
    "a plugin that nobody knows": (spec(plugins={"magic": []}), "spec.plugins[magic]"),
    "mpi without its master": (spec(plugins={"mpi": ["--master=boss"]}), "spec.plugins[mpi]"),
    "a volume without a path": (spec(volumes=[{"volumeClaimName": "data"}]), "spec.volumes[0]"),
    "a path with a colon": (
        spec(volumes=[{"mountPath": "/a:b", "volumeClaimName": "data"}]),
        "spec.volumes[0].mountPath",
    ),
    "replicas of all tasks": (spec(tasks=[task("a"), task("b")], replicas=3), "spec"),
    "a path twice": (spec(volumes=[{"mountPath": "/a", "volumeClaimName": c} for c in ("x", "y")]), "spec"),
    "a volume of nothing": (spec(volumes=[{"mountPath": "/a"}]), "spec.volumes[0].volumeClaimName"),
    "a volume of two claims": (
        spec(volumes=[{"mountPath": "/a", "volumeClaimName": "x", "volumeClaim": CLAIM}]),
        "spec.volumes[0].volumeClaim",
    ),
    "a claim of no size": (
        spec(volumes=[{"mountPath": "/a", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}]),
        "spec.volumes[0].volumeClaim",
    ),
    "tasks in a circle": (
        spec(tasks=[task("a", dependsOn=waits_for("b")), task("b", dependsOn=waits_for("a"))]),
        "spec.tasks[0].dependsOn",
    ),
    "a task that waits for itself": (
        spec(tasks=[task("a", dependsOn=waits_for("a"))]),
        "spec.tasks[0].dependsOn",
    ),
    "a task that waits for nobody": (in_task(dependsOn=waits_for("ghost")), "spec.tasks[0].dependsOn.name[0]"),
    "parts that do not add up": (
        in_task(partitionPolicy={"totalPartitions": 2, "partitionSize": 2}),
        "spec.tasks[0].replicas",
    ),
    "a minimum of no whole parts": (
        in_task(partitionPolicy={"totalPartitions": 2, "partitionSize": 1, "minPartitions": 1}, minAvailable=2),
        "spec.tasks[0].minAvailable",
    ),
    "parts of no pods": (
        in_task(partitionPolicy={"totalPartitions": 2, "partitionSize": 0}),
        "spec.tasks[0].partitionPolicy.partitionSize",
    ),
    "two limits in the network": (
        spec(networkTopology={"highestTierAllowed": 1, "highestTierName": "rack"}),
        "spec.networkTopology",
    ),
    "a mode of the network that is none": (spec(networkTopology={"mode": "loose"}), "spec.networkTopology.mode"),
    "half a CPU in a NUMA layout": (
        lambda job: (
            in_task(topologyPolicy="restricted")(job),
            in_container(resources={"requests": {"cpu": "500m"}})(job),
        )[0],
        "spec.tasks[0].template.spec.containers[0].resources.requests[cpu]",
    ),
    "no container": (in_pod(containers=[]), "spec.tasks[0].template.spec.containers"),
    "a container without an image": (in_container(image=""), "spec.tasks[0].template.spec.containers[0].image"),
    "an amount that is none": (
        in_container(resources={"requests": {"cpu": "lots"}}),
        "spec.tasks[0].template",
    ),
    "a container that is null": (in_pod(containers=[None]), "spec.tasks[0].template.spec.containers[0].name"),
    "a restart policy that is none": (in_pod(restartPolicy="Maybe"), "spec.tasks[0].template.spec.restartPolicy"),
    "containers that are no list": (in_pod(containers="main"), "spec.tasks[0].template"),
}


def spoilt(name: str) -> Document:
    job = job_document(task("main", 2), minAvailable=2)
    INVALID[name][0](job)
    return copy.deepcopy(job)


class World(Virtual):
    """With a queue that has another below it, and one that is closed."""

    def __init__(self, *, admission: bool) -> None:
        super().__init__(admission=admission)
        for name, parent in (("parent", "root"), ("child", "parent"), ("shut", "root")):
            self.make(QUEUES, name, spec={"weight": 1, "parent": parent})
        self.settle()
        self.patch(QUEUES, "shut", {"status": {"state": "Closed"}}, subresource="status")
        self.pass_seconds(5)

    def create_answer(self, document: Document) -> int:
        return self._server.call("POST", JOBS.path("default"), document).status

    def request_delete(self, name: str) -> None:
        self.request(request_of(Delete(JOBS, "default", name)))
        self.settle()

    def get_or_none(self, resource: Resource, namespace: str, name: str) -> Document | None:
        return self.get(resource, name) if name in self.names(resource, namespace) else None


class Around:
    """What is stored, as hooks see it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def get(self, resource: Resource, namespace: str, name: str) -> Document | None:
        return self._world.get_or_none(resource, namespace, name)

    def all(self, resource: Resource) -> list[Document]:
        return self._world.objects(resource)

    def having(self, resource: Resource, facet: Facet, value: str) -> list[Document]:
        return having(self.all(resource), facet, value)


@pytest.fixture(scope="module")
def guarded() -> World:
    return World(admission=True)


@pytest.fixture(scope="module")
def open_world() -> World:
    return World(admission=False)


@pytest.mark.parametrize(
    ("name", "complaints"),
    [
        ("replicas below 0", ["spec.tasks[0].replicas"]),
        ("a minimum below 0", ["spec.minAvailable"]),
        ("an amount that is none", ["spec.tasks[0].template.spec.containers[0].resources.limits[cpu]"]),
        ("a size that is none", ["spec.tasks[0].template.spec.volumes[0].emptyDir.sizeLimit"]),
        ("a claim for nothing", ["spec.volumes[0].volumeClaim.resources.requests[storage]"]),
    ],
)
def test_one_mistake_is_one_complaint_with_its_field(guarded: World, name: str, complaints: list[str]) -> None:
    """By the schema or by the hook, and never about what was only derived from the mistake."""
    amount = {"limits": {"cpu": "1x"}}
    container = {"name": "main", "image": "app", "resources": amount}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "much"}}}
    job = {
        "replicas below 0": job_document(task("main", -2)),
        "a minimum below 0": job_document(task("main", 2), minAvailable=-1),
        "an amount that is none": job_document(task("main", template={"spec": {"containers": [container]}})),
        "a size that is none": job_document(
            task("main", template=template(volumes=[{"name": "a", "emptyDir": {"sizeLimit": "1x"}}]))
        ),
        "a claim for nothing": job_document(volumes=[{"mountPath": "/a", "volumeClaim": claim}]),
    }[name]
    with pytest.raises(ApiError) as refused:
        guarded.apply(job)
    assert [cause["field"] for cause in refused.value.details["causes"]] == complaints


@pytest.mark.parametrize("name", INVALID)
def test_refused_with_the_path(guarded: World, name: str) -> None:
    with pytest.raises(ApiError) as refused:
        guarded.apply(spoilt(name))
    assert refused.value.code in (400, 422)
    assert INVALID[name][1] in str(refused.value)


@pytest.mark.parametrize("name", INVALID)
def test_failed_with_the_same_sentence(open_world: World, name: str) -> None:
    document = spoilt(name)
    asked = copy.deepcopy(document)
    fill_job(asked, None, Around(open_world))
    reported = "; ".join(map(str, check_job(asked, None, Around(open_world))))
    answer = open_world.create_answer(document)
    if answer != 201:
        assert answer == 422  # the definition alone is enough
        return
    open_world.pass_seconds(10)
    found = open_world.get(JOBS, document["metadata"]["name"])
    open_world.request_delete(document["metadata"]["name"])
    state = found["status"]["state"]
    assert (state["phase"], state["reason"]) == ("Failed", "InvalidSpec")
    assert state["message"] == reported
    assert INVALID[name][1] in reported
    assert [each["status"] for each in found["status"]["conditions"]] == ["Failed"]


def test_a_queue_that_comes_late_is_waited_for() -> None:
    world = World(admission=False)
    world.apply(job_document(task("main"), queue="late"))
    world.pass_seconds(2)
    assert "status" not in world.get(JOBS, "job")
    world.make(QUEUES, "late", spec={"weight": 1})
    world.pass_seconds(5)
    assert world.get(JOBS, "job")["status"]["state"]["phase"] == "Running"


# --- what is filled in -------------------------------------------------------------------------------------


def test_everything_left_open_is_filled_in(guarded: World) -> None:
    first = {"replicas": 2, "template": template(hostNetwork=True)}
    second = {"replicas": 4, "template": template(), "partitionPolicy": _parts(2, 2, 1)}
    job = job_document(first, second, name="open", plugins={"mpi": ["--master=default0", "--worker=default1"]})
    made = guarded.apply(job)["spec"]
    guarded.request_delete("open")
    assert (made["queue"], made["schedulerName"], made["maxRetry"], made["minAvailable"]) == (
        "default",
        "volcano",
        3,
        4,
    )
    assert [(each["name"], each["minAvailable"], each["maxRetry"]) for each in made["tasks"]] == [
        ("default0", 2, 3),
        ("default1", 2, 3),
    ]
    assert made["tasks"][0]["template"]["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert set(made["plugins"]) == {"mpi", "svc", "ssh"}


def _parts(total: int, size: int, least: int) -> Document:
    return {"totalPartitions": total, "partitionSize": size, "minPartitions": least}


def test_nulls_and_unknown_fields_say_nothing(open_world: World) -> None:
    """YAML that ends after a colon: Volcano's Go structs have nothing there, and no Job is held up by it."""
    world = open_world
    job = job_document(task("main"), name="empty", plugins={"env": None, "svc": [], "pytorch": ["--master=main"]})
    job["spec"]["volumes"] = [{"mountPath": "/a", "volumeClaim": CLAIM}]
    pod = job["spec"]["tasks"][0]["template"]["spec"]
    pod |= {"restartPolicy": None, "tolerations": None, "volumes": [{"name": "a", "emptyDirr": {}}]}
    pod["containers"][0] |= {"env": None, "ports": None, "volumeMounts": None, "command": ["sh", None]}
    pod["containers"][0]["resources"] = {"requests": {"cpu": None}, "limits": None}
    world.apply(job)
    world.pass_seconds(5)
    assert world.get(JOBS, "empty")["status"]["state"]["phase"] == "Running"
    made = world.get(PODS, "empty-main-0")["spec"]
    world.request_delete("empty")
    assert made["containers"][0]["command"] == ["sh", ""]
    assert made["containers"][0]["resources"] == {"requests": {"cpu": "0"}}
    assert {"VC_TASK_INDEX", "MASTER_ADDR"} <= {each["name"] for each in made["containers"][0]["env"]}


# --- what may change ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patch", "path"),
    [
        ({"queue": "child"}, "spec.queue"),
        ({"maxRetry": 9}, "spec.maxRetry"),
        ({"plugins": {"env": []}}, "spec.plugins"),
        ({"tasks": [task("main", 2, minAvailable=2, maxRetry=3), task("more")]}, "spec.tasks"),
        ({"tasks": [task("other", 2, minAvailable=2, maxRetry=3)]}, "spec.tasks[0].name"),
        ({"minAvailable": 3}, "spec.minAvailable"),
        ({"tasks": [task("main", 1, minAvailable=2, maxRetry=3)]}, "spec.tasks[0]"),
    ],
)
def test_what_may_not_change(guarded: World, patch: Document, path: str) -> None:
    guarded.apply(job_document(task("main", 2), name="fixed"))
    with pytest.raises(ApiError) as refused:
        guarded.patch(JOBS, "fixed", {"spec": patch})
    guarded.request_delete("fixed")
    assert path in str(refused.value)


def test_what_may_change(guarded: World) -> None:
    guarded.apply(job_document(task("main", 2), name="loose"))
    changed = {"tasks": [task("main", 5, minAvailable=1, maxRetry=3)], "minAvailable": 1, "priorityClassName": "p"}
    made = guarded.patch(JOBS, "loose", {"spec": changed})["spec"]
    guarded.request_delete("loose")
    assert (made["tasks"][0]["replicas"], made["minAvailable"], made["priorityClassName"]) == (5, 1, "p")


def test_a_change_that_nobody_refused_is_told_and_not_acted_on() -> None:
    """Without a hook a server lets it in; the pods stay as they are until it is mended."""
    world = World(admission=False)
    world.apply(job_document(task("main", 2, minAvailable=2), minAvailable=2))
    world.pass_seconds(5)
    pods = {each["metadata"]["uid"] for each in world.objects(PODS)}
    before = world.get(JOBS, "job")["status"]["state"]
    world.patch(JOBS, "job", {"spec": {"minAvailable": 3, "tasks": [task("main", 1)]}})
    world.pass_seconds(5)
    state = world.get(JOBS, "job")["status"]["state"]
    assert (state["phase"], state["reason"]) == ("Running", "InvalidSpec")
    assert state["lastTransitionTime"] == before["lastTransitionTime"]
    assert state["message"].startswith("spec.minAvailable: Invalid value: 3: must not be above 1")
    assert [each["reason"] for each in world.events()].count("InvalidSpec") == 1
    assert {each["metadata"]["uid"] for each in world.objects(PODS)} == pods

    world.patch(JOBS, "job", {"spec": {"minAvailable": 1}})
    world.pass_seconds(40)
    assert [each["metadata"]["name"] for each in world.objects(PODS)] == ["job-main-0"]
    assert "reason" not in world.get(JOBS, "job")["status"]["state"]


def test_orders_are_obeyed_whatever_was_changed() -> None:
    world = World(admission=False)
    world.apply(job_document(task("main", 2, minAvailable=2), minAvailable=2))
    world.pass_seconds(5)
    world.patch(JOBS, "job", {"spec": {"minAvailable": 3}})
    target = {"apiVersion": JOBS.api_version, "kind": "Job", "name": "job", "uid": ""}
    order = {"apiVersion": COMMANDS.api_version, "kind": "Command", "metadata": {"name": "stop"}}
    world.apply({**order, "action": "AbortJob", "target": target})
    world.pass_seconds(40)
    assert world.get(JOBS, "job")["status"]["state"]["phase"] == "Aborted"


def test_a_document_that_is_no_job() -> None:
    job = job_document()
    job["spec"]["tasks"][0]["replicas"] = "many"
    (error,) = check_job(job, None, Around(World(admission=False)))
    assert error.path.startswith("spec.tasks")
    assert msgspec.json.encode(str(error))
