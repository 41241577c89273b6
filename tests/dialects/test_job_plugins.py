"""What job plugins make of a Job: names, variables, mounts and objects as Volcano 1.15 makes them, and more."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import msgspec
import pytest

from podium.dialects.volcano.job import registry as job_registry
from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.job.plugin import JobPlugin, Wanted, WithKeys, add_variable, containers
from podium.dialects.volcano.job.plugins import BUILT_IN
from podium.dialects.volcano.job.types import Job, TaskSpec
from tests.dialects.job_stage import job_document, task
from tests.dialects.virtual import Virtual

Document = dict[str, Any]


def job(*tasks: tuple[str, int], name: str = "ess", template: Document | None = None) -> Job:
    document = {
        "metadata": {"name": name, "namespace": "default", "uid": "u"},
        "spec": {
            "tasks": [{"name": task, "replicas": count, "template": template or {}} for task, count in tasks]
        },
    }
    return msgspec.json.decode(msgspec.json.encode(document), type=Job)


TWO = job(("ps", 1), ("my-worker", 2))
TRAINING = job(("master", 1), ("worker", 2), name="pt")


def plugin(name: str, of: Job, *arguments: str) -> JobPlugin:
    return BUILT_IN[name](arguments, of)


def pod_of(one: JobPlugin, task: str, index: int, **spec: Any) -> Document:
    """A pod with a main container and one that runs before it, after the plugin has seen it."""
    spec = {"containers": [{"name": task}], "initContainers": [{"name": "before"}], **spec}
    pod: Document = {"metadata": {"name": f"{one.job.name}-{task}-{index}", "annotations": {}}, "spec": spec}
    found = one.job.task(task)
    assert found is not None
    one.on_pod(pod, found, index)
    return pod


def variables(pod: Document, kind: str = "containers") -> Document:
    found = pod["spec"][kind][0].get("env") or ()
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in found}


def objects(one: JobPlugin) -> dict[tuple[str, str], Document]:
    found: dict[tuple[str, str], Document] = {}
    for each in one.objects():
        document = each.document if isinstance(each, WithKeys) else each
        found[document["kind"], document["metadata"]["name"]] = document
    return found


def test_env_tells_the_index_under_both_names() -> None:
    pod = pod_of(plugin("env", TWO), "my-worker", 1)
    for kind in ("containers", "initContainers"):
        assert variables(pod, kind) == {"VK_TASK_INDEX": "1", "VC_TASK_INDEX": "1"}


def test_what_a_container_sets_itself_stays() -> None:
    own = {"name": "c", "env": [{"name": "VC_TASK_INDEX", "value": "mine"}]}
    pod = pod_of(plugin("env", TWO), "ps", 0, containers=[own])
    assert variables(pod) == {"VC_TASK_INDEX": "mine", "VK_TASK_INDEX": "0"}


class TestSvc:
    def test_files_list_the_hosts_in_both_spellings(self) -> None:
        (data,) = (each["data"] for key, each in objects(plugin("svc", TWO)).items() if key[0] == "ConfigMap")
        workers = ["ess-my-worker-0.ess", "ess-my-worker-1.ess"]
        today = {
            "ps.host": "ess-ps-0.ess",
            "VC_PS_HOSTS": "ess-ps-0.ess",
            "VC_PS_NUM": "1",
            "my_worker.host": "\n".join(workers),
            "VC_MY_WORKER_HOSTS": ",".join(workers),
            "VC_MY_WORKER_NUM": "2",
        }
        of_old = {
            "my-worker.host": "\n".join(workers),
            "VC_MY-WORKER_HOSTS": ",".join(workers),
            "VC_MY-WORKER_NUM": "2",
        }
        assert data == today | of_old

    def test_pods_have_names_files_and_variables(self) -> None:
        pod = pod_of(plugin("svc", TWO), "my-worker", 1)
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("ess-my-worker-1", "ess")
        assert pod["spec"]["volumes"] == [{"name": "ess-svc", "configMap": {"name": "ess-svc"}}]
        for kind in ("containers", "initContainers"):
            assert pod["spec"][kind][0]["volumeMounts"] == [{"name": "ess-svc", "mountPath": "/etc/volcano"}]
            found = variables(pod, kind)
            assert list(found)[:4] == ["VC_PS_HOSTS", "VC_PS_NUM", "VC_MY_WORKER_HOSTS", "VC_MY_WORKER_NUM"]
            assert found["VC_PS_NUM"] == {"configMapKeyRef": {"name": "ess-svc", "key": "VC_PS_NUM"}}

    def test_service_and_policy_are_about_the_jobs_own_pods(self) -> None:
        made = objects(plugin("svc", TWO))
        own = {"volcano.sh/job-name": "ess", "volcano.sh/job-namespace": "default"}
        assert made["Service", "ess"]["spec"] == {"clusterIP": "None", "selector": own}
        assert made["NetworkPolicy", "ess"]["spec"] == {
            "podSelector": {"matchLabels": own},
            "ingress": [{"from": [{"podSelector": {"matchLabels": own}}]}],
            "policyTypes": ["Ingress"],
        }

    def test_arguments(self) -> None:
        one = plugin("svc", TWO, "--publish-not-ready-addresses=true", "--disable-network-policy")
        made = objects(one)
        assert made["Service", "ess"]["spec"]["publishNotReadyAddresses"] is True
        assert ("NetworkPolicy", "ess") not in made
        assert variables(pod_of(plugin("svc", TWO, "--inject-hosts-env=false"), "ps", 0)) == {}

    def test_a_template_with_a_host_name_has_one_host(self) -> None:
        named = job(("ps", 3), template={"spec": {"hostname": "here", "subdomain": "there"}})
        (data,) = (each["data"] for key, each in objects(plugin("svc", named)).items() if key[0] == "ConfigMap")
        assert (data["ps.host"], data["VC_PS_NUM"]) == ("here.there", "1")
        pod = pod_of(plugin("svc", named), "ps", 2, hostname="here", subdomain="there")
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("here", "there")

    def test_a_task_without_pods_has_an_empty_list(self) -> None:
        (data,) = (
            each["data"] for key, each in objects(plugin("svc", job(("ps", 0)))).items() if key[0] == "ConfigMap"
        )
        assert data == {"ps.host": "", "VC_PS_HOSTS": "", "VC_PS_NUM": "0"}


class TestSsh:
    def test_a_key_pair_is_asked_for(self) -> None:
        (wanted,) = plugin("ssh", TWO).objects()
        assert isinstance(wanted, WithKeys)
        assert (wanted.private, wanted.public) == ("id_rsa", ("id_rsa.pub", "authorized_keys"))
        document = wanted.document
        assert (document["metadata"]["name"], document["type"]) == ("ess-ssh", "Opaque")
        assert base64.b64decode(document["data"]["config"]).decode() == (
            "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
            "Host ess-ps-0\n  HostName ess-ps-0.ess\n  Port 22\n"
            "Host ess-my-worker-0\n  HostName ess-my-worker-0.ess\n  Port 22\n"
            "Host ess-my-worker-1\n  HostName ess-my-worker-1.ess\n  Port 22\n"
        )

    def test_or_given(self) -> None:
        one = plugin("ssh", TWO, "--ssh-private-key=secret", "--ssh-public-key=open", "--ssh-port=2222")
        (document,) = one.objects()
        assert isinstance(document, dict)
        data = {key: base64.b64decode(text).decode() for key, text in document["data"].items()}
        assert (data["id_rsa"], data["id_rsa.pub"], data["authorized_keys"]) == ("secret", "open", "open")
        assert "  Port 2222\n" in data["config"]

    @pytest.mark.parametrize("port", ["0", "70000", "many"])
    def test_a_port_that_is_none_counts_as_not_given(self, port: str) -> None:
        (wanted,) = plugin("ssh", TWO, f"--ssh-port={port}").objects()
        assert isinstance(wanted, WithKeys)
        assert "  Port 22\n" in base64.b64decode(wanted.document["data"]["config"]).decode()

    @pytest.mark.parametrize(
        ("arguments", "path", "mode"),
        [((), "/root/.ssh", 0o600), (("--ssh-key-file-path=/home/a/.ssh",), "/home/a/.ssh", 0o644)],
    )
    def test_the_keys_are_mounted(self, arguments: tuple[str, ...], path: str, mode: int) -> None:
        pod = pod_of(plugin("ssh", TWO, *arguments), "ps", 0)
        keys = ("id_rsa", "id_rsa.pub", "authorized_keys", "config")
        assert pod["spec"]["volumes"] == [
            {
                "name": "ess-ssh",
                "secret": {
                    "secretName": "ess-ssh",
                    "defaultMode": mode,
                    "items": [{"key": key, "path": f".ssh/{key}"} for key in keys],
                },
            }
        ]
        for kind in ("containers", "initContainers"):
            mounts = pod["spec"][kind][0]["volumeMounts"]
            assert mounts == [{"name": "ess-ssh", "mountPath": path, "subPath": ".ssh"}]


class TestPytorch:
    @pytest.mark.parametrize(
        ("task", "index", "rank"), [("master", 0, "0"), ("worker", 0, "1"), ("worker", 1, "2")]
    )
    def test_pods_know_their_master_and_rank(self, task: str, index: int, rank: str) -> None:
        pod = pod_of(plugin("pytorch", TRAINING), task, index)
        assert variables(pod) == {
            "MASTER_ADDR": "pt-master-0.pt",
            "MASTER_PORT": "23456",
            "WORLD_SIZE": "3",
            "RANK": rank,
        }
        assert pod["spec"]["containers"][0]["ports"] == [{"name": "pytorchjob-port", "containerPort": 23456}]
        assert variables(pod, "initContainers") == {}

    def test_a_port_is_declared_once(self) -> None:
        own = {"name": "c", "ports": [{"name": "mine", "containerPort": 99}]}
        pod = pod_of(plugin("pytorch", TRAINING, "--port=99"), "worker", 0, containers=[own])
        assert own["ports"] == [{"name": "mine", "containerPort": 99}]
        assert variables(pod)["MASTER_PORT"] == "99"

    def test_others_have_no_rank_and_without_a_master_nobody_has_anything(self) -> None:
        more = job(("boss", 1), ("worker", 2), ("logger", 1), name="pt")
        pod = pod_of(plugin("pytorch", more, "--master", "boss"), "logger", 0)
        assert variables(pod)["WORLD_SIZE"] == "3"
        assert "RANK" not in variables(pod)
        assert variables(pod_of(plugin("pytorch", more), "worker", 0)) == {}

    def test_workers_can_wait_for_the_master(self) -> None:
        one = plugin("pytorch", TRAINING, "--wait-master-enabled", "--wait-master-timeout=7")
        waiter = pod_of(one, "worker", 0)["spec"]["initContainers"][-1]
        assert (waiter["name"], waiter["image"]) == ("wait-for-master", "busybox:1.36.1")
        assert "nc -z pt-master-0.pt 23456" in waiter["command"][2]
        assert "-ge 7" in waiter["command"][2]
        assert len(pod_of(one, "master", 0)["spec"]["initContainers"]) == 1


class TestTensorflow:
    def test_everyone_knows_the_cluster_and_the_own_part(self) -> None:
        of = job(("server", 1), ("worker", 2), ("logger", 1), name="tf")
        one = plugin("tensorflow", of, "--ps=server", "--port=3333")
        reported = msgspec.json.decode(variables(pod_of(one, "server", 0))["TF_CONFIG"])
        assert reported == {
            "cluster": {"ps": ["tf-server-0.tf:3333"], "worker": ["tf-worker-0.tf:3333", "tf-worker-1.tf:3333"]},
            "task": {"type": "ps", "index": 0},
        }
        reported = msgspec.json.decode(variables(pod_of(one, "logger", 0))["TF_CONFIG"])
        assert reported["task"] == {"type": "logger", "index": 0}

    def test_a_pod_alone_is_no_cluster(self) -> None:
        assert variables(pod_of(plugin("tensorflow", job(("worker", 1))), "worker", 0)) == {}


class TestMpi:
    def test_the_master_knows_its_workers_and_all_open_the_port(self) -> None:
        one = plugin("mpi", TRAINING, "--port=2200")
        for kind in ("containers", "initContainers"):
            master, worker = pod_of(one, "master", 0), pod_of(one, "worker", 1)
            assert variables(master, kind) == {"MPI_HOST": "pt-worker-0.pt,pt-worker-1.pt"}
            assert variables(worker, kind) == {}
            for pod in (master, worker):
                assert pod["spec"][kind][0]["ports"] == [{"name": "mpijob-port", "containerPort": 2200}]

    def test_without_a_master_it_is_refused(self) -> None:
        assert plugin("mpi", TRAINING).problems() == []
        assert plugin("mpi", TRAINING, "--master=boss").problems() == [
            "there is no task boss to be the master: name it by --master"
        ]


class TestRay:
    RAY = job(("head", 1), ("worker", 2), name="ray")

    def test_head_and_workers_run_ray(self) -> None:
        one = plugin("ray", self.RAY)
        head = pod_of(one, "head", 0)["spec"]["containers"][0]
        assert head["command"] == [
            "sh",
            "-c",
            "ray start --head --block --dashboard-host=0.0.0.0 --port=6379 --dashboard-port=8265"
            " --ray-client-server-port=10001",
        ]
        assert head["ports"] == [
            {"name": "gcs", "containerPort": 6379},
            {"name": "dashboard", "containerPort": 8265},
            {"name": "client-server", "containerPort": 10001},
        ]
        worker = pod_of(one, "worker", 1)["spec"]["containers"][0]
        assert worker["command"] == ["sh", "-c", "ray start --block --address=ray-head-0.ray:6379"]

    def test_other_containers_are_left_alone(self) -> None:
        own = {"name": "sidecar", "command": ["mine"]}
        pod = pod_of(plugin("ray", self.RAY), "worker", 0, containers=[own])
        assert pod["spec"]["containers"] == [own]

    def test_the_head_has_a_service(self) -> None:
        service = objects(plugin("ray", self.RAY, "--clientPort=7"))["Service", "ray-head-svc"]
        assert service["spec"]["selector"] == {
            "volcano.sh/job-name": "ray",
            "volcano.sh/job-namespace": "default",
            "volcano.sh/task-spec": "head",
        }
        assert service["spec"]["ports"][2] == {
            "name": "client-server",
            "port": 7,
            "targetPort": "client-server",
            "protocol": "TCP",
        }

    def test_without_a_head_it_is_refused(self) -> None:
        assert plugin("ray", TRAINING).problems() == ["there is no task head to be the head: name it by --head"]


class TestHcclRank:
    @pytest.mark.parametrize(
        ("task", "index", "rank"), [("master", 0, "0"), ("worker", 0, "1"), ("worker", 1, "2")]
    )
    def test_workers_come_after_masters(self, task: str, index: int, rank: str) -> None:
        pod = pod_of(plugin("hcclrank", TRAINING), task, index)
        assert pod["metadata"]["annotations"] == {"hccl/rankIndex": rank}

    def test_a_rank_that_the_template_gives_counts(self) -> None:
        own = {"name": "c", "env": [{"name": "RANK", "value": "7"}]}
        pod = pod_of(plugin("hcclrank", TRAINING), "worker", 0, containers=[own])
        assert pod["metadata"]["annotations"] == {"hccl/rankIndex": "7"}


class Licence(JobPlugin):
    """A plugin of a user's."""

    name = "licence"

    def on_pod(self, pod: Document, task: TaskSpec, index: int) -> None:
        for container in containers(pod):
            add_variable(container, {"name": "LICENCES", "value": "here"})


class Clumsy(JobPlugin):
    name = "clumsy"

    def objects(self) -> list[Wanted]:
        return [{"apiVersion": "example.org/v1", "kind": "Unheard", "metadata": {"name": "x"}}]

    def on_pod(self, pod: Document, task: TaskSpec, index: int) -> None:
        raise RuntimeError("no such licence")


class Hopeless(Clumsy):
    name = "hopeless"

    def objects(self) -> list[Wanted]:
        return []

    def problems(self) -> list[str]:
        return [str(1 // len(self.job.namespace.removeprefix("default")))]


class TestUsersPlugins:
    @pytest.fixture
    def installed(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """A package with a plugin, and with two things that are none."""
        here = __name__
        points = [
            EntryPoint(name, f"{here}:{what}", "podium.jobplugins")
            for name, what in (
                ("licence", "Licence"),
                ("wrong", "Document"),
                ("broken", "Nothing"),
                ("other", "Licence"),
                ("clumsy", "Clumsy"),
                ("hopeless", "Hopeless"),
            )
        ]

        def found(group: str, name: str | None = None) -> list[EntryPoint]:
            return [each for each in points if group == each.group and name in (None, each.name)]

        monkeypatch.setattr(job_registry, "entry_points", found)
        job_registry.find_plugin.cache_clear()
        yield
        job_registry.find_plugin.cache_clear()

    def test_are_found_by_their_entry_point(self, installed: None) -> None:
        kind = job_registry.find_plugin("licence")
        assert kind is Licence
        assert variables(pod_of(kind([], TWO), "ps", 0)) == {"LICENCES": "here"}
        assert "licence" in job_registry.plugin_names()
        assert "svc" in job_registry.plugin_names()
        assert job_registry.find_plugin("nobody") is None

    @pytest.mark.parametrize(
        ("name", "reported"),
        [
            ("wrong", "is not derived from"),
            ("broken", "cannot be loaded"),
            ("other", "has the name 'licence', and its entry point 'other'"),
        ],
    )
    def test_that_are_none_are_told(self, installed: None, name: str, reported: str) -> None:
        with pytest.raises(job_registry.UnusablePluginError, match=reported):
            job_registry.find_plugin(name)

    def test_what_they_raise_concerns_their_jobs_and_is_told(self, installed: None) -> None:
        world = Virtual(admission=False)
        world.apply(job_document(task("main"), name="sound"))
        world.apply(job_document(task("main"), name="strange", plugins={"clumsy": []}))
        world.apply(job_document(task("main"), name="lost", plugins={"hopeless": []}))
        world.pass_seconds(30)
        states = {
            each["metadata"]["name"]: each.get("status", {}).get("state", {}) for each in world.objects(JOBS)
        }
        assert states["sound"]["phase"] == "Running"
        assert (states["lost"]["phase"], states["strange"]["phase"]) == ("Failed", "Pending")
        assert "plugin hopeless failed in problems: ZeroDivisionError" in states["lost"]["message"]
        (reported,) = {each["message"] for each in world.events() if each["reason"] == "PluginError"}
        assert reported == "a plugin wants a Unheard of example.org/v1, and only built-in kinds can be made"

    def test_a_pod_that_cannot_be_made_is_told(self, installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Clumsy, "objects", lambda self: [])
        world = Virtual()
        world.apply(job_document(task("main"), name="strange", plugins={"clumsy": []}))
        world.pass_seconds(30)
        (reported,) = {each["message"] for each in world.events() if each["reason"] == "PluginError"}
        assert reported.startswith(
            "plugin clumsy failed in on_pod: RuntimeError: no such licence (test_job_plugins.py"
        )
