"""Fills a server with what schedulers are measured on: plain Node objects, gangs, and pods that wait for a node.

There are no kubelets.  A node here is an object that offers 8 GPUs, and a pod is done with when it has a node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import yaml

from bench.pods import pod
from podium.dialects import DIALECTS
from podium.dialects.volcano.names import PODGROUPS, QUEUES
from podium.kube.client import Client
from podium.kube.resources import CUSTOMRESOURCEDEFINITIONS, NODES, PODS, Resource
from podium.kube.transport import Request, Transport

VOLCANO = next(each for each in DIALECTS if each.name == "volcano")
NAMESPACE = "default"
GROUP = "scheduling.k8s.io/group-name"
CLIENTS = 32
PATIENCE = 60.0

Document = dict[str, Any]

# A server marks every new node as not ready until a controller has looked at it, and here there is none.
READY_NODES = "--disable-admission-plugins=TaintNodesByCondition"

# Volcano's scheduler waits for this kind before it begins; podium has no use for it.
_NUMA_TOPOLOGIES = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: numatopologies.nodeinfo.volcano.sh}
spec:
  group: nodeinfo.volcano.sh
  names: {kind: Numatopology, listKind: NumatopologyList, plural: numatopologies, singular: numatopology}
  scope: Cluster
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


def node(name: str, gpus: int = 8) -> Document:
    room = {"cpu": "128", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": str(gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def node_name(number: int) -> str:
    return f"node-{number:05}"


def waiting_pod(name: str, scheduler: str, gang: str = "") -> Document:
    """A pod for a scheduler to place, alone or as a member of a gang."""
    document = pod(name)
    document["spec"]["schedulerName"] = scheduler
    annotations = document["metadata"]["annotations"]
    del annotations[GROUP]
    if gang:
        annotations[GROUP] = gang
    return document


def bound_pod(name: str, where: str) -> Document:
    """A pod that has its node already."""
    document = waiting_pod(name, "default-scheduler")
    document["spec"]["nodeName"] = where
    return document


async def create_all(transport: Transport, resource: Resource, documents: Iterable[Document]) -> None:
    """Creates objects with many clients at once."""
    namespace = NAMESPACE if resource.namespaced else ""
    path = resource.path(namespace)
    waiting = iter(documents)

    async def client() -> None:
        for document in waiting:
            request = Request("POST", path, body=msgspec.json.encode(document))
            answer = await transport.request(request, timeout=PATIENCE)
            if answer.status != 201:
                raise RuntimeError(f"{document['metadata']['name']}: {answer.status} {answer.body[:500]!r}")

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


async def create_nodes(transport: Transport, count: int, gpus: Callable[[int], int] = lambda number: 8) -> None:
    await create_all(transport, NODES, (node(node_name(n), gpus(n)) for n in range(count)))


async def create_waiting(transport: Transport, scheduler: str, count: int, gang: int) -> None:
    """Pods for one scheduler: single ones, or in gangs of so many."""
    if gang:
        await define_volcano(transport)
        await create_all(transport, PODGROUPS, (group(f"gang-{n:04}", gang) for n in range(count // gang)))
    await create_all(
        transport,
        PODS,
        (waiting_pod(f"pod-{n:05}", scheduler, f"gang-{n // gang:04}" if gang else "") for n in range(count)),
    )


async def define_volcano(transport: Transport) -> None:
    """The kinds that schedulers read, and the queues that are always there, as an installation leaves them."""
    definitions: Sequence[Document] = [
        *(each for each in VOLCANO.documents() if each["spec"]["group"] == QUEUES.group),
        yaml.safe_load(_NUMA_TOPOLOGIES),
    ]
    await create_all(transport, CUSTOMRESOURCEDEFINITIONS, definitions)
    for resource in (PODGROUPS, QUEUES):
        await _served(transport, resource)
    await create_all(transport, QUEUES, VOLCANO.objects)
    client = Client(transport)
    for queue in VOLCANO.objects:
        opened = {"status": {"state": "Open"}}
        await client.patch(QUEUES, "", queue["metadata"]["name"], opened, subresource="status")


async def _served(transport: Transport, resource: Resource) -> None:
    for _ in range(100):
        if (await transport.request(Request("GET", resource.path()))).status == 200:
            return
        await asyncio.sleep(0.1)
    raise RuntimeError(f"the server does not serve {resource.group_resource}")


def group(name: str, members: int) -> Document:
    return {
        "apiVersion": PODGROUPS.api_version,
        "kind": PODGROUPS.kind,
        "metadata": {"name": name},
        "spec": {"minMember": members, "queue": "default"},
    }
