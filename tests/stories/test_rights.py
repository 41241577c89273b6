"""Both directions of podium's rights, on a real server with RBAC on.

All that it does is allowed, and all that it is allowed it does.

Here podium runs under exactly the service account of its chart through everything that its parts can do, and the
server's audit log is compared with the roles.  That nothing else is forbidden is asked of every other story, too
(`clusters.py`), and of every history in virtual time (`podium.sim.histories.rights`).
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from podium.dialects import DIALECTS
from podium.dialects.volcano.job.names import DIGEST
from podium.dialects.volcano.podgroup_controller import OWNERS
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import LEASES
from podium.kube.rights import Need
from podium.runtime.metrics_access import ReviewedAccess
from tests.chart import MANIFESTS, NAMESPACE, documents, rendered
from tests.cli.running import PODIUM
from tests.compat.client import Document, Server, eventually
from tests.compat.test_scheduled_volumes import local_volume, waiting_class
from tests.compat.test_volumes import claim
from tests.controlplane import build
from tests.controlplane.fixtures import ensure, ensure_real
from tests.processes import end
from tests.stories import accounts
from tests.stories.clusters import bare, podium_run
from tests.stories.test_upstream_groups import FEATURES
from tests.stories.test_upstream_groups import group as upstream_group

pytestmark = pytest.mark.timeout(300)

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rights")


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, directory: Path) -> Iterator[Server]:
    ensure_real(request.config)
    flags = (f"--feature-gates={FEATURES}", "--runtime-config=scheduling.k8s.io/v1alpha2=true")
    with bare(directory, 4, flags, (f"--feature-gates={FEATURES}",)) as running:
        yield running


# --- what the roles say ----------------------------------------------------------------------------------------


def test_no_wildcard_and_no_secret_is_read() -> None:
    objects = documents(MANIFESTS.read_text())
    needs = accounts.granted(objects)
    assert needs
    for need in needs:
        assert "*" not in (need.group, need.resource, need.verb)
    assert {need.verb for need in needs if need.resource == "secrets"} == {"create"}
    assert not [need for need in needs if need.verb in ("escalate", "bind", "impersonate", "deletecollection")]


# --- everything that podium can do -----------------------------------------------------------------------------


def pod(name: str, scheduler: str = "volcano", cpu: str = "100m", **spec: Any) -> Document:
    requests = {"resources": {"requests": {"cpu": cpu}}}
    containers = [{"name": "c", "image": "busybox", **requests}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"schedulerName": scheduler, "containers": containers, **spec},
    }


def job(name: str, replicas: int = 2, seconds: str = "", **spec: Any) -> Document:
    annotations = {"podium.dev/run-seconds": seconds} if seconds else {}
    template = {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]},
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "minAvailable": 1,
            "schedulerName": "volcano",
            "tasks": [{"name": "t", "replicas": replicas, "template": template}],
            **spec,
        },
    }


def phase(server: Server, name: str) -> str:
    return str(server.get(f"{JOBS}/{name}").get("status", {}).get("state", {}).get("phase", ""))


def bound(server: Server, name: str) -> bool:
    return "nodeName" in server.get(f"{PODS}/{name}")["spec"]


def apply(server: Server, *objects: Document) -> None:
    server.kubectl("apply", "-f", "-", input=list(objects))


def pods_that_wait(server: Server) -> None:
    """Conditions, events, and volumes."""
    apply(server, pod("huge", scheduler="podium", cpu="100k"))
    eventually(lambda: "PodScheduled" in str(server.get(f"{PODS}/huge")["status"]), "it says why it waits", 90)

    apply(server, waiting_class("local"), local_volume("v", "node-001", "local"), claim("c", "1Gi", "local"))
    made = {**waiting_class("made"), "provisioner": "example.com/made"}
    apply(server, made, claim("d", "1Gi", "made"))
    for name in ("c", "d"):
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
        apply(server, pod(f"with-{name}", scheduler="podium", volumes=volumes))
    eventually(lambda: bound(server, "with-c"), "the pod has its volume")
    selected = "volume.kubernetes.io/selected-node"
    path = "/api/v1/namespaces/default/persistentvolumeclaims/d"
    eventually(lambda: selected in server.get(path)["metadata"].get("annotations", {}), "a node was selected")


def groups_of_kubernetes(server: Server) -> None:
    apply(server, upstream_group("native", 1))
    member = pod("native-0", scheduler="podium", schedulingGroup={"podGroupName": "native"})
    apply(server, member)
    eventually(lambda: bound(server, "native-0"), "the member of a native group is bound")


def pools(server: Server) -> None:
    """What a pool has and holds stands on it."""
    kind = {"apiVersion": "resource.aibee.cn/v1alpha1", "kind": "Pool", "metadata": {"name": "training"}}
    apply(server, {**kind, "spec": {"nodeSelector": {"matchLabels": {"pool": "training"}}}})
    path = "/apis/resource.aibee.cn/v1alpha1/pools/training"
    eventually(lambda: "status" in server.get(path), "the pool says what it has")


def gangs_by_annotation(server: Server) -> None:
    """A group is made for them, says how they stand, and goes with them."""
    define(server, "scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")  # where these groups were before
    key = "gang.scheduling.koordinator.sh"
    member = pod("koord-0", scheduler="koord-scheduler")
    member["metadata"]["annotations"] = {f"{key}/name": "noted", f"{key}/min-available": "1"}
    apply(server, member)
    path = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups/noted"
    eventually(lambda: bound(server, "koord-0"), "the gang is bound", 60)
    eventually(lambda: "status" in server.http("GET", path).json, "its group says so", 60)
    server.kubectl("delete", "pod", "koord-0", "--grace-period=0", "--force")
    eventually(lambda: server.http("GET", path).status == 404, "its group goes with it", 60)


def leaders_and_workers(server: Server) -> None:
    """A job that is scaled while it runs; its leader fails once, and then it ends."""
    container = [{"name": "c", "image": "busybox"}]
    spec = {
        "minWorkersNum": 1,
        "leader": {"name": "learner", "template": {"spec": {"containers": container}}},
        "workerSets": [{"name": "actor", "counts": 1, "template": {"spec": {"containers": container}}}],
    }
    kind = {"apiVersion": "arranger.taiyi.io/v1alpha1", "kind": "TYJob", "metadata": {"name": "pong"}}
    apply(server, {**kind, "spec": spec})
    eventually(lambda: "nodeName" in str(server.http("GET", f"{PODS}/pong-actor-0").body), "workers come", 60)
    server.kubectl("scale", "tyjob", "pong", "--replicas=2")
    eventually(lambda: server.http("GET", f"{PODS}/pong-actor-1").status == 200, "one more comes", 60)


def elastic_training(server: Server) -> None:
    """A job with all of its parts that grows and ends."""
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "100m", "memory": "64Mi"}}
    spec = {
        "image": "paddlepaddle/paddlecloud-job",
        "fault_tolerant": True,
        "trainer": {"entrypoint": "train", "min-instance": 1, "max-instance": 3, "resources": resources},
        "pserver": {"min-instance": 1, "max-instance": 1, "resources": resources},
        "master": {"resources": resources},
        "etcd": {"replicas": 3, "resources": resources},
    }
    metadata = {"name": "elastic", "annotations": {"podium.dev/work-seconds": "30"}}
    apply(server, {"apiVersion": "paddlepaddle.org/v1", "kind": "TrainingJob", "metadata": metadata, "spec": spec})
    path = "/apis/paddlepaddle.org/v1/namespaces/default/trainingjobs/elastic"
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    grown = "there are more trainers than at the start"
    eventually(lambda: any(each["spec"]["parallelism"] > 1 for each in server.get(jobs)["items"]), grown, 60)
    fewer = '{"spec":{"trainer":{"max-instance":1}}}'
    server.kubectl("patch", "trainingjob", "elastic", "--type=merge", "-p", fewer)
    eventually(lambda: server.get(jobs)["items"][0]["spec"]["parallelism"] == 1, "there are fewer", 60)
    eventually(lambda: server.get(path).get("status", {}).get("phase") == "succeeded", "the training ends", 120)
    sets = "/apis/apps/v1/namespaces/default/replicasets"
    eventually(
        lambda: all(each["spec"]["replicas"] == 0 for each in server.get(sets)["items"]),
        "its other parts stop",
        60,
    )


def groups_for_others(server: Server) -> None:
    """Pods of operators' objects, which are asked for when nobody has seen them."""
    for number, kind in enumerate(OWNERS):
        owner = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "name": "unseen",
            "uid": f"00000000-0000-0000-0000-{number:012}",
            "controller": True,
        }
        define(server, kind.group, kind.version, kind.plural, kind.kind)
        owned = pod(f"owned-{number}")
        apply(server, {**owned, "metadata": {**owned["metadata"], "ownerReferences": [owner]}})
    apply(server, pod("lone"))
    eventually(lambda: bound(server, "lone"), "a pod without a group gets one")


def define(server: Server, group: str, version: str, plural: str, kind: str) -> None:
    """An operator's kind, if Kubernetes does not have it."""
    if "." not in group:
        return
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": f"{kind}List"}
    apply(
        server,
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": f"{plural}.{group}",
                "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"},
            },
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": names,
                "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
            },
        },
    )


def jobs_with_everything(server: Server) -> None:
    """All plugins, volumes, commands, another size, an end, and a Job that is removed after it."""
    volume = {"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none"}}
    volume["volumeClaim"]["resources"] = {"requests": {"storage": "1Gi"}}  # type: ignore[index]
    apply(server, job("volumes", volumes=[volume]))
    plugins: Document = {"ssh": [], "svc": [], "env": []}
    apply(server, job("all", plugins=plugins), job("quick", seconds="1", plugins=plugins))
    eventually(lambda: phase(server, "all") == "Running", "the job with all plugins runs", 60)
    for kind in ("service/all", "configmap/all-svc", "networkpolicy/all"):
        server.kubectl("annotate", kind, f"{DIGEST}-")  # as an older version made it
        eventually(partial(kept, server, kind), f"{kind} is as the plugin says")
    eventually(lambda: phase(server, "quick") == "Completed", "the quick job is over", 60)
    server.kubectl("patch", "vcjob", "quick", "--type=merge", "-p", '{"spec":{"ttlSecondsAfterFinished":0}}')
    eventually(lambda: server.http("GET", f"{JOBS}/quick").status == 404, "it is removed", 60)
    order = {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"name": "stop"},
        "action": "AbortJob",
        "target": {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "name": "all",
            "uid": server.get(f"{JOBS}/all")["metadata"]["uid"],
            "controller": True,
        },
    }
    apply(server, order)
    eventually(lambda: phase(server, "all") == "Aborted", "the job is suspended", 60)


def kept(server: Server, kind: str) -> bool:
    return DIGEST in server.kubectl("get", kind, "-o", "yaml").out


def the_same_twice(server: Server, file: Path) -> None:
    """An event that is told again: a configuration that cannot be used, twice."""
    good = file.read_text()
    path = f"/api/v1/namespaces/{NAMESPACE}/events"

    def refusals() -> int:
        events = (each for each in server.get(path)["items"] if each["reason"] == "ConfigurationRefused")
        return sum(each["count"] for each in events)

    for times in (1, 2):
        file.write_text("actions: [")
        eventually(lambda times=times: refusals() == times, "the file is refused", 60)  # type: ignore[misc]
        file.write_text(good)
        time.sleep(2.5)


def after_a_restart(server: Server) -> None:
    """A pod that the status has counted and that went while nobody looked."""
    eventually(lambda: server.http("GET", f"{PODS}/counted-t-0").status == 200, "the pod is made again", 60)


EXERCISES: tuple[Callable[[Server], None], ...] = (
    pods_that_wait,
    groups_of_kubernetes,
    pools,
    gangs_by_annotation,
    leaders_and_workers,
    elastic_training,
    groups_for_others,
    jobs_with_everything,
)


def test_all_that_is_done_is_allowed_and_all_that_is_allowed_is_done(server: Server, directory: Path) -> None:
    log = accounts.audit_log(directory)
    lease = f"--leader-elect-resource-namespace={NAMESPACE}"
    config = directory / "config.yaml"
    config.write_text("profiles: {}\n")
    with podium_run(server, directory, lease, f"--config={config}"):
        for exercise in EXERCISES:
            exercise(server)
        the_same_twice(server, config)
        apply(server, job("counted"))
        eventually(lambda: phase(server, "counted") == "Running", "the job runs", 60)
    server.kubectl("delete", "pod", "counted-t-0", "--grace-period=0", "--force")
    with podium_run(server, directory, lease):
        after_a_restart(server)
        with podium_run(server, directory, lease):
            watching = Need(LEASES.group, LEASES.plural, "watch")
            eventually(lambda: watching in accounts.used(log), "a second replica stands by and watches the leases")
    asyncio.run(somebody_scrapes(server))
    assert not accounts.forbidden(log)
    unused = accounts.granted(documents(MANIFESTS.read_text())) - accounts.used(log)
    assert not unused, f"nobody does what these rights allow: {sorted(unused)}"


async def somebody_scrapes(server: Server) -> None:
    """The metrics of a pod are for whom the server allows."""
    transport = HttpTransport(resolve(accounts.kubeconfig_of(server)))
    try:
        access = ReviewedAccess(transport)
        assert await access(server.token) is None
        known = server.kubectl("create", "token", "default", "-n", "default").out.strip()
        refused = await access(known)
        assert refused is not None
        assert refused.status == 403
        unknown = await access("nonsense")
        assert unknown is not None
        assert unknown.status == 401
    finally:
        await transport.close()


def test_the_webhook_has_an_account_of_its_own(
    server: Server, directory: Path, request: pytest.FixtureRequest
) -> None:
    ensure(request.config, build.HELM3)
    objects = documents(rendered("--set", "webhook.enabled=true"))
    accounts.install(server, objects)
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/podium"
    kubeconfig = accounts.kubeconfig_of(server, accounts.WEBHOOK)
    registered: list[str] = []

    def of_this_one() -> bool:
        """Whether the registration is that of the process which was started last: each has a port of its own."""
        answer = server.http("GET", path)
        if answer.status != 200:
            return False
        assert {each["failurePolicy"] for each in answer.json["webhooks"]} == {"Ignore"}
        url = answer.json["webhooks"][0]["clientConfig"]["url"]
        if url in registered:
            return False
        registered.append(url)
        return True

    for killed in (True, True, False):  # the second one finds what the first one has left
        command = [*PODIUM, "webhook", f"--kubeconfig={kubeconfig}", "--listen-address=:0"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        try:
            eventually(of_this_one, "the webhook is registered")
            if killed:
                process.kill()
        finally:
            end(process, 10)
    eventually(lambda: server.http("GET", path).status == 404, "it takes its configurations away")
    log = accounts.audit_log(directory)
    assert not accounts.forbidden(log, accounts.WEBHOOK)
    assert not accounts.granted(objects, accounts.WEBHOOK) - accounts.used(log, accounts.WEBHOOK)


def test_every_dialect_is_in_the_roles() -> None:
    """A new one is in them with nobody thinking of it; the story above fails if nothing uses its rights."""
    rules = documents(MANIFESTS.read_text())
    role = next(each for each in rules if each["kind"] == "ClusterRole")
    kinds = {(group, kind) for rule in role["rules"] for group in rule["apiGroups"] for kind in rule["resources"]}
    for dialect in DIALECTS:
        for definition in dialect.definitions:
            assert (definition.resource.group, definition.resource.plural) in kinds
