"""What the commands ask of a cluster."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from podium.cli.vc.making import order_document, queue_document
from podium.cli.vc.tables import PodRow
from podium.dialects.volcano.admission import keep_queue
from podium.dialects.volcano.job.names import JOB_NAME, JOB_QUEUE, JOBS
from podium.dialects.volcano.names import COMMANDS, PODGROUPS, QUEUE_NAME, QUEUES
from podium.errors import UsageError
from podium.kube.admission import Facet, having
from podium.kube.client import Client
from podium.kube.resources import EVENTS, PODS, Resource
from podium.kube.status import error_from_body, forbidden
from podium.kube.transport import Request

Document = dict[str, Any]

# The server itself says how pods stand, as it does for kubectl.
_AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_QUEUES_ORDERS = "default"  # the namespace of orders to queues, which have none


async def list_jobs(
    client: Client, namespace: str, *, queue: str = "", scheduler: str = "", part_of_name: str = ""
) -> list[Document]:
    """Jobs of a namespace, or of all if it is empty."""

    def wanted(job: Document) -> bool:
        spec = job.get("spec", {})
        return (
            (not queue or spec.get("queue", "") == queue)
            and (not scheduler or spec.get("schedulerName", "") == scheduler)
            and part_of_name in job["metadata"]["name"]
        )

    return [job for job in await client.list(JOBS, namespace) if wanted(job)]


async def job_and_events(client: Client, namespace: str, name: str) -> tuple[Document, list[Document]]:
    about = f"involvedObject.kind={JOBS.kind},involvedObject.name={name}"
    job, events = await asyncio.gather(
        client.get(JOBS, namespace, name), client.list(EVENTS, namespace, field_selector=about)
    )
    uid = job["metadata"]["uid"]
    reported = [event for event in events if event["involvedObject"].get("uid", uid) == uid]
    return job, sorted(reported, key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""))


async def give_order(client: Client, resource: Resource, namespace: str, name: str, action: str) -> None:
    """Orders something of a job or a queue, by a Command."""
    target = await client.get(resource, namespace, name)
    await client.create(COMMANDS, namespace or _QUEUES_ORDERS, order_document(resource, target, action))


async def create_queue(client: Client, name: str, weight: int, state: str) -> None:
    await client.create(QUEUES, "", queue_document(name, weight))
    # A state that comes with a new object is dropped by the server: it is a part of the status.
    await client.patch(QUEUES, "", name, {"status": {"state": state}}, subresource="status")


async def delete_queue(client: Client, name: str) -> None:
    """Deletes a queue, unless podium's admission would refuse it: not every server asks that."""
    queue = await client.get(QUEUES, "", name)
    listed = dict(zip((QUEUES, PODGROUPS), await queues_and_groups(client), strict=True))
    why = keep_queue(queue, _Listed(listed))
    if why is not None:
        raise forbidden(QUEUES, name, why)
    await client.delete(QUEUES, "", name, uid=queue["metadata"]["uid"])


class _Listed:
    """What has been listed, as admission looks at it."""

    def __init__(self, objects: dict[Resource, list[Document]]) -> None:
        self._objects = objects

    def get(self, resource: Resource, namespace: str, name: str) -> Document | None:
        return next((each for each in self._objects[resource] if each["metadata"]["name"] == name), None)

    def all(self, resource: Resource) -> list[Document]:
        return self._objects[resource]

    def having(self, resource: Resource, facet: Facet, value: str) -> list[Document]:
        return having(self._objects[resource], facet, value)


async def queues_and_groups(client: Client, name: str = "") -> tuple[list[Document], list[Document]]:
    """All queues or the one of a name, and all groups."""

    async def queues() -> list[Document]:
        return [await client.get(QUEUES, "", name)] if name else await client.list(QUEUES)

    found, groups = await asyncio.gather(queues(), client.list(PODGROUPS))
    return found, groups


async def list_pods(client: Client, namespace: str, *, job: str = "", queue: str = "") -> list[PodRow]:
    """Pods of a job; without one, of a queue, whoever made them; without that, of all jobs."""
    selector = f"{JOB_NAME}={job}" if job else "" if queue else JOB_NAME
    query = (("labelSelector", selector),) if selector else ()
    answer = await client.transport.request(Request("GET", PODS.path(namespace), query, accept=_AS_TABLE))
    if answer.status != 200:
        raise error_from_body(answer.status, answer.body)
    table = msgspec.json.decode(answer.body)
    columns = {column["name"]: index for index, column in enumerate(table["columnDefinitions"])}
    rows = []
    for row in table.get("rows") or ():
        metadata, cells = row["object"]["metadata"], row["cells"]
        if queue and queue not in _queues_of(metadata):
            if job:
                raise UsageError(f"job {job} is not in queue {queue}; leave one of --job and --queue out")
            continue
        rows.append(
            PodRow(
                namespace=metadata["namespace"],
                name=metadata["name"],
                cells=tuple(str(cells[columns[column]]) for column in ("Ready", "Status", "Restarts", "Age")),
            )
        )
    return sorted(rows, key=lambda row: (row.namespace, row.name))


def _queues_of(metadata: Document) -> tuple[str, str]:
    """A job's pods have a label, those of others an annotation."""
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return labels.get(JOB_QUEUE, ""), annotations.get(QUEUE_NAME, "")
