"""One Job, its pods and its group in a cache, and what the controller makes of them in one look."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from podium.dialects.volcano.job.controller import JobController
from podium.dialects.volcano.job.names import JOB_VERSION, JOBS, TASK_INDEX
from podium.dialects.volcano.job.types import Job
from podium.dialects.volcano.names import COMMANDS, PODGROUPS, QUEUES, TASK_SPEC
from podium.dialects.volcano.types import Command, PodGroup, PodGroupStatus, Queue
from podium.kube.cache import Cache
from podium.kube.changes import Change, Create, Delete, Patch
from podium.kube.controller import Outcome
from podium.kube.resources import PODS
from podium.kube.times import format_time
from podium.kube.wire import Metadata, OwnerReference, Pod

Document = dict[str, Any]

NOW = 1_800_000_000.0
UID = "job-uid"
OWNER = OwnerReference(JOBS.kind, "job", UID, JOBS.api_version, controller=True)

_versions = itertools.count(1)


def template(**spec: Any) -> Document:
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}
    return {"spec": {"containers": [container], "restartPolicy": "Never", **spec}}


def task(name: str, replicas: int = 1, **more: Any) -> Document:
    return {"name": name, "replicas": replicas, "template": template(), **more}


def job_document(*tasks: Document, name: str = "job", **spec: Any) -> Document:
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"tasks": list(tasks) or [task("main")], **spec},
    }


class Stage:
    """Sets a scene, and lets the controller look at it once."""

    def __init__(
        self, *tasks: Document, phase: str = "Running", annotations: Document | None = None, **given: Any
    ):
        """`given` is what the spec says, and under `status` what the status says beside the phase."""
        self.cache = Cache()
        self.controller = JobController()
        status = {"state": {"phase": phase, "reason": given.pop("reason", "")}, **given.pop("status", {})}
        document = job_document(*tasks, **given)
        document["metadata"] |= {
            "uid": UID,
            "generation": 1,
            "resourceVersion": str(next(_versions)),
            "creationTimestamp": format_time(NOW - 600),
            "annotations": annotations or {},
        }
        self._apply_job(document | {"status": status})
        self.cache.apply(QUEUES, Queue(Metadata("default", uid="q", resource_version="1")))

    def _apply_job(self, document: Document) -> None:
        self.cache.apply(JOBS, msgspec.json.decode(msgspec.json.encode(document), type=Job))

    def group(self, phase: str = "Running", **more: Any) -> None:
        status = PodGroupStatus(phase=phase, **more)
        self.cache.apply(PODGROUPS, PodGroup(self._owned(f"job-{UID}"), status=status))

    def pod(
        self,
        name: str,
        phase: str = "Running",
        *,
        version: int = 0,
        code: int = 0,
        restarts: int = 0,
        ended: float = NOW,
        deleting: bool = False,
        ready: bool = True,
        node: str = "",
        marks: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """A pod called `<task>-<index>`."""
        of, _, index = name.rpartition("-")
        annotations = {TASK_SPEC: of, TASK_INDEX: index, JOB_VERSION: str(version), **marks}
        state: Document = {"running": {}}
        if phase in ("Succeeded", "Failed"):
            state = {"terminated": {"exitCode": code, "finishedAt": format_time(ended)}}
        container = {"name": "main", "state": state, "restartCount": restarts, "ready": ready}
        metadata = self._owned(f"job-{name}", annotations=annotations)
        if deleting:
            metadata = msgspec.structs.replace(metadata, deletion_timestamp=format_time(NOW))
        document: Document = {"metadata": metadata, "status": {"phase": phase, "containerStatuses": [container]}}
        if node:
            document["spec"] = {"nodeName": node}
        self.cache.apply(PODS, msgspec.json.decode(msgspec.json.encode(document), type=Pod))

    def gone(self, name: str) -> None:
        """The pod was here, and has gone."""
        self.pod(name)
        self.cache.remove(PODS, ("default", f"job-{name}"))

    def _owned(self, name: str, **more: Any) -> Metadata:
        version = str(next(_versions))
        more |= {"creation_timestamp": format_time(NOW - 60), "owner_references": [OWNER]}
        return Metadata(name, "default", f"uid-{name}", version, **more)

    def command(self, action: str, uid: str = UID, name: str = "order") -> None:
        metadata = Metadata(name, "default", f"uid-{name}", "1", creation_timestamp=format_time(NOW))
        target = OwnerReference(JOBS.kind, "job", uid, JOBS.api_version)
        self.cache.apply(COMMANDS, Command(metadata, action=action, target=target))

    def look(self, now: float = NOW) -> Seen:
        return Seen(self.controller.reconcile(("default", "job"), self.cache, now))


class Seen:
    """An outcome, taken apart."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.again_at = outcome.again_at

    def of(self, kind: type[Change], resource: Any = PODS) -> list[Any]:
        return [each for each in self.outcome.changes if isinstance(each, kind) and each.resource == resource]

    @property
    def deleted(self) -> set[str]:
        return {each.name.removeprefix("job-") for each in self.of(Delete)}

    @property
    def created(self) -> list[str]:
        return [each.document["metadata"]["name"].removeprefix("job-") for each in self.of(Create)]

    @property
    def group_deleted(self) -> bool:
        return bool(self.of(Delete, PODGROUPS))

    @property
    def commands_deleted(self) -> int:
        return len(self.of(Delete, COMMANDS))

    @property
    def status(self) -> Mapping[str, Any]:
        found = [each.patch["status"] for each in self.of(Patch, JOBS) if each.subresource == "status"]
        first: Mapping[str, Any] = found[0] if found else {}
        return first

    @property
    def phase(self) -> str:
        """The phase that is entered; "" when it stays."""
        return str(self.status.get("state", {}).get("phase", ""))

    @property
    def notes(self) -> Iterable[str]:
        return [each.reason for each in self.outcome.notes]
