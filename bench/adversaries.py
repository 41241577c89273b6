"""Objects that are dear to look at: what an author who means no good, or none in particular, fills a cluster with.

Each kind gives every pod something of its own: a term, a taint, a queue, a gang.  At the same size all kinds send
about as much, so that their costs can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from bench.population import GROUP, NAMESPACE, Document, group
from podium.dialects.aibee.names import POOL, POOLS
from podium.dialects.arranger.names import TYJOBS
from podium.dialects.koordinator import names as koordinator
from podium.dialects.paddle.names import TRAININGJOBS
from podium.dialects.volcano.names import PODGROUPS, QUEUES
from podium.kube.resources import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, PRIORITYCLASSES, Resource

Objects = Iterator[tuple[Resource, Document]]


def pod(name: str, labels: dict[str, str] | None = None, **spec: Any) -> Document:
    container: Document = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "10m"}}}
    container.update(spec.pop("container", {}))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels or {}, "annotations": {}},
        "spec": {"schedulerName": "podium", "containers": [container], **spec},
    }


def plain(size: int) -> Objects:
    """Nothing bad: what as many ordinary pods cost."""
    for n in range(size):
        yield PODS, pod(f"plain-{n}")


def selectors(size: int) -> Objects:
    """Required anti-affinity against whoever lacks a label that nobody else has."""
    for n in range(size):
        term = {
            "labelSelector": {"matchExpressions": [{"key": f"k-{n}", "operator": "DoesNotExist"}]},
            "topologyKey": "kubernetes.io/hostname",
        }
        terms = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        yield PODS, pod(f"selector-{n}", affinity={"podAntiAffinity": terms})


def preferences(size: int) -> Objects:
    """Preferred affinity to the same, of a weight of its own."""
    for n in range(size):
        term = {
            "labelSelector": {"matchExpressions": [{"key": f"k-{n}", "operator": "DoesNotExist"}]},
            "topologyKey": "kubernetes.io/hostname",
        }
        weighted = {"weight": 1 + n % 100, "podAffinityTerm": term}
        terms = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
        yield PODS, pod(f"preference-{n}", {"own": f"v-{n}"}, affinity={"podAffinity": terms})


def spreads(size: int) -> Objects:
    """A spread term of its own, and a label that only it looks at."""
    for n in range(size):
        term = {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": f"a-{n}"}},
        }
        yield PODS, pod(f"spread-{n}", {"app": f"a-{n}"}, topologySpreadConstraints=[term])


def taints(size: int) -> Objects:
    """Nodes with taints of their own, and pods with tolerations of their own."""
    for n in range(size // 10):
        taint = {"key": f"t-{n}", "value": "x", "effect": ("NoSchedule", "PreferNoSchedule")[n % 2]}
        room = {"cpu": "1", "memory": "1Gi", "pods": "1"}
        ready = [{"type": "Ready", "status": "True"}]
        yield (
            NODES,
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"tainted-{n}"},
                "spec": {"taints": [taint]},
                "status": {
                    "capacity": room,
                    "allocatable": room,
                    "conditions": ready,
                },
            },
        )
    for n in range(size):
        yield PODS, pod(f"tolerant-{n}", tolerations=[{"key": f"t-{n}", "operator": "Exists"}])


def volumes(size: int) -> Objects:
    """A volume and a claim of its own."""
    for n in range(size):
        spec: Document = {"accessModes": ["ReadWriteOnce"], "storageClassName": "slow"}
        room = {"storage": f"{1 + n % 50}Gi"}
        path = {"path": f"/data/{n}"}
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"volume-{n}"}}
        yield PERSISTENTVOLUMES, {**volume, "spec": {**spec, "capacity": room, "hostPath": path}}
    for n in range(size):
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"claim-{n}"}}
        yield PERSISTENTVOLUMECLAIMS, {**claim, "spec": {**spec, "resources": {"requests": room}}}
        source = {"name": "data", "persistentVolumeClaim": {"claimName": f"claim-{n}"}}
        yield PODS, pod(f"volume-{n}", volumes=[source])


def ports(size: int) -> Objects:
    """A host port of its own."""
    for n in range(size):
        yield PODS, pod(f"port-{n}", container={"ports": [{"containerPort": 80, "hostPort": 1024 + n}]})


def priorities(size: int) -> Objects:
    """A priority class of its own, each above the one before."""
    for n in range(size):
        name = {"name": f"class-{n}"}
        yield (
            PRIORITYCLASSES,
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": name, "value": n},
        )
    for n in range(size):
        yield PODS, pod(f"priority-{n}", priorityClassName=f"class-{n}")


def labels(size: int) -> Objects:
    """64 KB of labels on a pod; a hundredth of the pods of other kinds, which is as much to send."""
    for n in range(size // 100):
        own = {f"l-{n}-{m:03}": "x" * 55 for m in range(1000)}
        yield PODS, pod(f"labelled-{n}", own)


def queues(size: int) -> Objects:
    """A queue for every pod."""
    for n in range(size):
        head = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": f"queue-{n}"}}
        yield QUEUES, {**head, "spec": {"weight": 1 + n % 10}}
    for n in range(size):
        one = group(f"queued-{n}", 1)
        yield PODGROUPS, {**one, "spec": {**one["spec"], "queue": f"queue-{n}"}}
        member = pod(f"queued-{n}")
        member["metadata"]["annotations"][GROUP] = f"queued-{n}"
        member["spec"]["schedulerName"] = "volcano"
        yield PODS, member


def gangs(size: int) -> Objects:
    """Gangs of one, twice as many as of other kinds."""
    for n in range(2 * size):
        yield PODGROUPS, group(f"gang-{n}", 1)
        member = pod(f"gang-{n}")
        member["metadata"]["annotations"][GROUP] = f"gang-{n}"
        member["spec"]["schedulerName"] = "volcano"
        yield PODS, member


def annotated(size: int) -> Objects:
    """Gangs of one that only annotations describe, twice as many, each with values of its own."""
    for n in range(2 * size):
        own = {
            koordinator.NAME: f"annotated-{n}",
            koordinator.MIN_AVAILABLE: "1",
            koordinator.TOTAL_NUMBER: str(1 + n),
            koordinator.WAITING_TIME: f"{600 + n}s",
            koordinator.MODE: ("Strict", "NonStrict")[n % 2],
        }
        yield PODS, _of_koordinator(f"annotated-{n}", own)


def circle(size: int) -> Objects:
    """Gangs each of which starts with the next one, in a circle: one group of them all."""
    for n in range(size):
        own = {
            koordinator.NAME: f"link-{n}",
            koordinator.MIN_AVAILABLE: "1",
            koordinator.GROUPS: msgspec.json.encode([f"{NAMESPACE}/link-{(n + 1) % size}"]).decode(),
        }
        yield PODS, _of_koordinator(f"link-{n}", own)


def _of_koordinator(name: str, annotations: dict[str, str]) -> Document:
    document = pod(name)
    document["metadata"]["annotations"] |= annotations
    document["spec"]["schedulerName"] = koordinator.SCHEDULER
    return document


def pools(size: int) -> Objects:
    """Pools whose selectors overlap on every node, each with a pod and a lender of its own."""
    count = 2 * size // 5
    for n in range(count):
        selector: Document = {"matchLabels": {"kubernetes.io/os": "linux"}}
        if n % 2:
            selector = {"matchExpressions": [{"key": f"k-{n}", "operator": "DoesNotExist"}]}
        spec = {"nodeSelector": selector, "borrowingPools": [f"pool-{(n + 1) % count}"]}
        yield (
            POOLS,
            {"apiVersion": POOLS.api_version, "kind": POOLS.kind, "metadata": {"name": f"pool-{n}"}, "spec": spec},
        )
    for n in range(count):
        document = pod(f"pooled-{n}")
        document["metadata"]["annotations"][POOL] = f"pool-{n}"
        document["spec"]["schedulerName"] = "ai-scheduler"
        yield PODS, document


def training_jobs(size: int) -> Objects:
    """Elastic jobs of all levels that may become as large as the cluster."""
    for n in range(2 * size // 5):
        small = {"requests": {"cpu": f"{10 + n % 7}m"}}
        spec = {
            "fault_tolerant": True,
            "priority": 1 + n,
            "freezingWindow": f"{n}s",
            "trainer": {"entrypoint": "train", "min-instance": 1, "max-instance": 2000 + n, "resources": small},
            "pserver": {"min-instance": 1, "resources": small},
        }
        head = {
            "apiVersion": TRAININGJOBS.api_version,
            "kind": TRAININGJOBS.kind,
            "metadata": {"name": f"training-{n}"},
        }
        yield TRAININGJOBS, {**head, "spec": spec}


def ty_jobs(size: int) -> Objects:
    """Jobs of every policy, each with sets and templates of its own."""
    policies = ("Gang", "BinPack", "LeaderFirst", "MinFragment", "JobAffinity", "JobAntiAffinity")
    for n in range(2 * size // 5):
        template = {"spec": pod("any", container={"env": [{"name": "OWN", "value": str(n)}]})["spec"]}
        spec = {
            "leader": {"name": "lead", "template": template},
            "workerSets": [{"name": f"set-{m}", "counts": 1, "template": template} for m in range(2)],
            "minWorkersNum": 2,
            "priority": 1 + n % 10,
            "schedulerPolicy": {"jobQueuePolicy": ("Priority", "DRF")[n % 2], "basicPolicy": policies[n % 6]},
        }
        yield (
            TYJOBS,
            {"apiVersion": TYJOBS.api_version, "kind": TYJOBS.kind, "metadata": {"name": f"ty-{n}"}, "spec": spec},
        )


KINDS: dict[str, Callable[[int], Objects]] = {
    each.__name__: each
    for each in (
        plain,
        selectors,
        preferences,
        spreads,
        taints,
        volumes,
        ports,
        priorities,
        labels,
        queues,
        gangs,
        annotated,
        circle,
        pools,
        training_jobs,
        ty_jobs,
    )
}
