"""The objects of a TrainingJob, its defaults, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.dialects.kubernetes.policies import Priorities
from podium.dialects.paddle.admission import check_document, check_job
from podium.dialects.paddle.names import ETCD, MASTER, PSERVER, TRAINER, TRAININGJOBS
from podium.dialects.paddle.pods import environment, etcd_service, object_of, replicas_of, roles_of
from podium.dialects.paddle.profile import PROFILE
from podium.dialects.paddle.translate import read_job, slots_of
from podium.dialects.paddle.types import TRAININGJOB, TrainingJob
from podium.errors import UsageError
from podium.kube.admission import Facet
from podium.kube.resources import Resource
from podium.runtime.configuration import read_profiles

Document = dict[str, Any]


class Nothing:
    """Nothing else is there."""

    def get(self, resource: Resource, namespace: str, name: str) -> Document | None:
        return None

    def all(self, resource: Resource) -> list[Document]:
        return []

    def having(self, resource: Resource, facet: Facet, value: str) -> list[Document]:
        return []


def job(name: str = "example", trainers: tuple[int, int] = (2, 10), **spec: Any) -> TrainingJob:
    given = {"fault_tolerant": True, "pserver": {"min-instance": 2, "max-instance": 2}, **spec}
    trainer = {"min-instance": trainers[0], "max-instance": trainers[1], **given.pop("trainer", {})}
    metadata = {"name": name, "namespace": "default", "uid": "u1"}
    document = {"metadata": metadata, "spec": {**given, "trainer": trainer}}
    return msgspec.json.decode(msgspec.json.encode(document), type=TrainingJob)


def made(one: TrainingJob) -> list[Document]:
    return [object_of(one, role, replicas_of(one, role)) for role in roles_of(one)]


def first_container(document: Document) -> Document:
    found: Document = document["spec"]["template"]["spec"]["containers"][0]
    return found


def test_defaults() -> None:
    spec = job().spec
    assert (spec.port, spec.ports_num, spec.ports_num_for_sparse, spec.passes) == (7164, 1, 1, 1)
    assert spec.image == "paddlepaddle/paddlecloud-job"
    assert (spec.level, spec.window, spec.etcd.replicas) == (1000, 60.0, 1)
    schema = TRAININGJOB.document()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert schema["properties"]["port"]["default"] == 7164
    assert schema["properties"]["image"]["default"] == "paddlepaddle/paddlecloud-job"


def test_the_objects_of_a_job_that_tolerates_faults() -> None:
    master, pserver, trainer = made(job())
    assert [(each["kind"], each["metadata"]["name"]) for each in (master, pserver, trainer)] == [
        ("ReplicaSet", "example-master"),
        ("ReplicaSet", "example-pserver"),
        ("Job", "example-trainer"),
    ]
    assert (master["spec"]["replicas"], pserver["spec"]["replicas"], trainer["spec"]["parallelism"]) == (1, 2, 2)
    assert "completions" not in trainer["spec"]
    assert [each["spec"]["template"]["metadata"]["labels"] for each in (master, pserver, trainer)] == [
        {"paddle-job-master": "example"},
        {"paddle-job-pserver": "example"},
        {"paddle-job": "example"},
    ]
    assert [first_container(each)["command"] for each in (master, pserver, trainer)] == [
        ["paddle_k8s", "start_master"],
        ["paddle_k8s", "start_new_pserver"],
        ["paddle_k8s", "start_new_trainer"],
    ]
    assert [each["name"] for each in master["spec"]["template"]["spec"]["containers"]] == [MASTER, ETCD]
    assert {each["spec"]["template"]["spec"]["schedulerName"] for each in (master, pserver, trainer)} == {"paddle"}
    assert trainer["spec"]["template"]["spec"]["restartPolicy"] == "Never"


def test_the_objects_of_one_that_does_not() -> None:
    pserver, trainer = made(job("j", (3, 3), fault_tolerant=False, pserver={"min-instance": 1}))
    assert pserver["metadata"]["name"] == "j-pserver"
    assert first_container(pserver)["command"] == ["paddle_k8s", "start_pserver"]
    assert trainer["spec"]["parallelism"] == 3
    assert first_container(trainer)["command"] == ["paddle_k8s", "start_trainer", "v2"]


def test_ports_run_upwards() -> None:
    trainer = made(job(ports_num=2))[-1]
    assert [(each["name"], each["containerPort"]) for each in first_container(trainer)["ports"]] == [
        ("jobport-7164", 7164),
        ("jobport-7165", 7165),
        ("jobport-7166", 7166),
    ]


def test_the_environment() -> None:
    trainer = {"entrypoint": "python t.py", "workspace": "/w", "resources": {"limits": {"cpu": "1500m"}}}
    known = {each["name"]: each.get("value", "") for each in environment(job(trainer=trainer, passes=50))}
    assert known == {
        "PADDLE_JOB_NAME": "example", "TRAINERS": "2", "PSERVERS": "2", "ENTRY": "python t.py",
        "TOPOLOGY": "python t.py", "TRAINER_PACKAGE": "/w", "PADDLE_INIT_PORT": "7164",
        "PADDLE_INIT_TRAINER_COUNT": "2", "PADDLE_INIT_PORTS_NUM": "1", "PADDLE_INIT_PORTS_NUM_FOR_SPARSE": "1",
        "PADDLE_INIT_NUM_GRADIENT_SERVERS": "2", "PADDLE_INIT_NUM_PASSES": "50", "PADDLE_INIT_USE_GPU": "0",
        "LD_LIBRARY_PATH": "/usr/local/cuda/lib64", "NAMESPACE": "", "POD_IP": "",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["alpha.kubernetes.io/nvidia-gpu", "nvidia.com/gpu"])
def test_gpus_under_their_old_name(name: str) -> None:
    trainer = {"resources": {"limits": {"cpu": "4", name: "2"}}}
    one = job(trainer=trainer)
    assert first_container(made(one)[-1])["resources"] == {"limits": {"cpu": "4", "nvidia.com/gpu": "2"}}
    known = {each["name"]: each.get("value") for each in environment(one)}
    assert (known["PADDLE_INIT_USE_GPU"], known["PADDLE_INIT_TRAINER_COUNT"]) == ("1", "2")
    slots = [each for each in slots_of(one) if each.role == TRAINER]
    requests = slots[0].pod.spec.containers[0].resources
    assert requests is not None
    assert requests.requests == {"cpu": "4", "nvidia.com/gpu": "2"}


@pytest.mark.parametrize("where", ["master", "trainer"])
def test_an_etcd_that_is_there_is_used(where: str) -> None:
    given: dict[str, Any] = {where: {"etcd-endpoint": "http://etcd:2379"}}
    one = job(**given, etcd={"replicas": 3})
    assert roles_of(one) == [MASTER, PSERVER, TRAINER]
    (master,) = made(one)[0]["spec"]["template"]["spec"]["containers"]
    assert {"name": "ETCD_ENDPOINTS", "value": "http://etcd:2379"} in master["env"]


def test_several_etcds_are_a_stateful_set() -> None:
    one = job(etcd={"replicas": 3})
    assert roles_of(one) == [MASTER, ETCD, PSERVER, TRAINER]
    master, etcd = made(one)[:2]
    assert len(master["spec"]["template"]["spec"]["containers"]) == 1
    assert (etcd["kind"], etcd["metadata"]["name"], etcd["spec"]["replicas"]) == ("StatefulSet", "example-etcd", 3)
    assert "example-etcd-2=http://example-etcd-2.example-etcd:2380" in first_container(etcd)["args"][-3]
    assert etcd_service(one)["spec"]["clusterIP"] == "None"


def test_what_users_add_is_on_all_pods() -> None:
    one = job(
        volumes=[{"name": "v", "emptyDir": {}}], VolumeMounts=[{"name": "v", "mountPath": "/v"}],
        NodeSelector={"disk": "ssd"}, HostNetwork=True, imagePullSecrets=[{"name": "s"}],
    )  # fmt: skip
    for each in made(one):
        pod = each["spec"]["template"]["spec"]
        assert pod["volumes"][0]["name"] == "v"
        assert all(container["volumeMounts"] for container in pod["containers"])
        assert (pod["nodeSelector"], pod["hostNetwork"]) == ({"disk": "ssd"}, True)
        assert pod["imagePullSecrets"] == [{"name": "s"}]
    assert not check_job(one)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"trainers": (3, 2)}, "spec.trainer.min-instance"),
        ({"trainers": (2, 3), "fault_tolerant": False}, "spec.fault_tolerant"),
        ({"trainers": (0, 3)}, "spec.trainer.min-instance"),
        ({"trainers": (-1, 3)}, "spec.trainer.min-instance"),
        ({"trainers": (1, 10**9)}, "spec.trainer.max-instance"),
        ({"pserver": {"min-instance": -1}}, "spec.pserver.min-instance"),
        ({"pserver": {"min-instance": 3, "max-instance": 2}}, "spec.pserver.min-instance"),
        ({"trainer": {"resources": {"limits": {"nvidia.com/gpu": 1}}}}, "spec.trainer.resources.requests.cpu"),
        ({"trainer": {"resources": {"limits": {"cpu": "many"}}}}, "spec.trainer.resources.limits[cpu]"),
        ({"trainer": {"resources": {"requests": {"cpu": "-1"}}}}, "spec.trainer.resources.requests[cpu]"),
        ({"priority": "Urgent"}, "spec.priority"),
        ({"priority": 0}, "spec.priority"),
        ({"freezingWindow": "soon"}, "spec.freezingWindow"),
        ({"freezingWindow": -5}, "spec.freezingWindow"),
        ({"etcd": {"replicas": 0}}, "spec.etcd.replicas"),
        ({"port": 65_535}, "spec.port"),
        ({"passes": 0}, "spec.passes"),
        ({"VolumeMounts": [{"name": "none", "mountPath": "/v"}]}, "spec"),
    ],
)
def test_what_is_refused_and_where(spec: dict[str, Any], path: str) -> None:
    trainers = spec.pop("trainers", (2, 10))
    wrong = check_job(job(trainers=trainers, **spec))
    assert path in [each.path for each in wrong], wrong
    facts, refusal = read_job(job(trainers=trainers, **spec), Priorities())
    assert refusal is not None
    assert facts.size is None


def test_a_name_that_is_too_long_for_its_parts() -> None:
    assert [each.path for each in check_job(job("a" * 60))] == ["metadata.name"]


@pytest.mark.parametrize(
    ("written", "level"),
    [
        ("Experiment", 10),
        ("Experiement", 10),
        ("Offline", 100),
        ("Normal", 1000),
        ("Production", 10_000),
        (50, 50),
    ],
)
def test_priorities(written: str | int, level: int) -> None:
    one = job(priority=written)
    assert one.spec.level == level
    assert not check_job(one)


@pytest.mark.parametrize(
    ("written", "seconds"), [(None, 60), (0, 0), ("0s", 0), (90, 90), ("90", 90), ("2m", 120), ("1m30s", 90)]
)
def test_windows(written: str | int | None, seconds: float) -> None:
    assert job(freezingWindow=written).spec.window == seconds


def test_a_fixed_job_need_not_tolerate_faults() -> None:
    assert not check_job(job(trainers=(3, 3), fault_tolerant=False))


def test_what_cannot_be_read_is_refused_with_its_place() -> None:
    document = {"metadata": {"name": "j"}, "spec": {"trainer": {"min-instance": "two"}}}
    (wrong,) = check_document(document, None, Nothing())
    assert wrong.path == "spec.trainer.min-instance"
    assert not check_document(document, document, Nothing()), "what is not changed is not asked about"


# --- options -------------------------------------------------------------------------------------------------


def test_options_of_the_profile() -> None:
    text = """
profiles:
  paddle:
    policy: fulfilment
    period: 2s
    patience: 0
    quotas: {alice: {cpu: 4, memory: 1Gi}}
    productionMayEnd: true
"""
    arguments = read_profiles(text, "f")["paddle"].arguments["elastic"]
    assert arguments.text("policy") == "fulfilment"
    assert arguments.flag("mayEnd")
    assert arguments.values["quotas"] == {"alice": {"cpu": 4000, "memory": 1 << 30}}
    assert {each.name for each in PROFILE.options} >= {
        "period", "policy", "scoreMode", "maxLoadDesired", "evennessThreshold", "patience", "minCpuPerGpu",
        "quotas", "productionMayEnd",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("policy: best", "there is no 'best'"),
        ("scoreMode: 3", "weighted and literal"),
        ("period: soon", "want a duration"),
        ("patience: -1", "want a duration"),
        ("maxLoadDesired: 2", "from 0 to 1"),
        ("productionMayEnd: perhaps", "true or false"),
        ("quotas: 5", "by user"),
        ("quotas: {alice: 5}", "quotas.alice"),
        ("quotas: {alice: {cpu: lots}}", "cpu"),
        ("quota: {}", "quota"),
    ],
)
def test_options_that_are_refused(option: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        read_profiles(f"profiles:\n  paddle:\n    {option}\n", "f")


def test_the_resource_s_name() -> None:
    assert TRAININGJOBS.group_resource == "trainingjobs.paddlepaddle.org"
