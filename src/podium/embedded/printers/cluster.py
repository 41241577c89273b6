"""What a cluster consists of: nodes, namespaces, priorities, leases, roles and events."""

from __future__ import annotations

from typing import Any

from podium.embedded.printers.cells import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Document,
    Heading,
    Printer,
    age,
    boolean,
    integer,
    items,
    name_of,
    part,
    since,
    wide,
)

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def node_cells(node: Document, now: float) -> list[Any]:
    status = part(node, "status")
    info = part(status, "nodeInfo")
    kernel = info.get("kernelVersion") or UNKNOWN
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    return [
        name_of(node),
        _node_status(node),
        ",".join(_roles(node)) or NONE,
        age(node, now),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _node_status(node: Document) -> str:
    word = "Unknown"
    for condition in items(part(node, "status"), "conditions"):
        if condition.get("type") == "Ready":
            word = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if part(node, "spec").get("unschedulable") else word


def _roles(node: Document) -> list[str]:
    labels = part(node, "metadata", "labels")
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE_LABEL, ""))
    return sorted(roles - {""})


def _address(status: Document, kind: str) -> str:
    return next((a["address"] for a in items(status, "addresses") if a.get("type") == kind), NONE)


def namespace_cells(namespace: Document, now: float) -> list[Any]:
    return [name_of(namespace), part(namespace, "status").get("phase", ""), age(namespace, now)]


def priority_class_cells(priority: Document, now: float) -> list[Any]:
    return [
        name_of(priority),
        priority.get("value", 0),
        priority.get("globalDefault", False),
        age(priority, now),
        priority.get("preemptionPolicy", ""),
    ]


def lease_cells(lease: Document, now: float) -> list[Any]:
    return [name_of(lease), part(lease, "spec").get("holderIdentity") or "", age(lease, now)]


def binding_cells(binding: Document, now: float) -> list[Any]:
    role = part(binding, "roleRef")
    named: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in items(binding, "subjects"):
        names = named.get(subject.get("kind", ""))
        if names is not None:
            namespace = subject.get("namespace") if subject["kind"] == "ServiceAccount" else ""
            names.append(f"{namespace}/{subject['name']}" if namespace else subject["name"])
    return [
        name_of(binding),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age(binding, now),
        *(", ".join(names) for names in named.values()),
    ]


def event_cells(event: Document, now: float) -> list[Any]:
    """An event in the core form or in that of events.k8s.io, which names some fields differently."""
    about = part(event, "involvedObject") or part(event, "regarding")
    source = part(event, "source") or part(event, "deprecatedSource")
    series = event.get("series")
    first = since(
        event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp") or event.get("eventTime"), now
    )
    last_time = event.get("lastTimestamp") or event.get("deprecatedLastTimestamp")
    last = since(last_time, now) if last_time else first
    count = event.get("count") or event.get("deprecatedCount") or 1
    if series:
        last, count = since(series.get("lastObservedTime"), now), series.get("count", 0)
    kind, name = about.get("kind", "").lower(), about.get("name")
    reporter = source.get("component") or event.get("reportingComponent") or event.get("reportingController") or ""
    instance = source.get("host") or event.get("reportingInstance")
    return [
        last,
        event.get("type", ""),
        event.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        about.get("fieldPath", ""),
        f"{reporter}, {instance}" if instance else reporter,
        (event.get("message") or event.get("note") or "").strip(),
        first,
        count,
        name_of(event),
    ]


ROLE_BINDING = Printer(
    (
        NAME,
        Heading("Role", "The role that is granted"),
        AGE,
        wide("Users", "The users who get it"),
        wide("Groups", "The groups that get it"),
        wide("ServiceAccounts", "The service accounts that get it"),
    ),
    binding_cells,
)
EVENT = Printer(
    (
        Heading("Last Seen", "Time since it last happened"),
        Heading("Type", "Normal or Warning"),
        Heading("Reason", "Why it happened, in one word"),
        Heading("Object", "What it is about"),
        wide("Subobject", "The part of the object it is about"),
        wide("Source", "The component that reports it"),
        Heading("Message", "What happened"),
        wide("First Seen", "Time since it first happened"),
        wide("Count", "How often it happened"),
        Heading("Name", "The event's own name", priority=1, format="name"),
    ),
    event_cells,
)

NODE = Printer(
    (
        NAME,
        Heading("Status", "Whether the node is ready, and whether it takes new pods"),
        Heading("Roles", "What the node's labels say it is for"),
        AGE,
        Heading("Version", "The version of the node's kubelet"),
        wide("Internal-IP", "The node's address inside the cluster"),
        wide("External-IP", "The node's address for the outside"),
        wide("OS-Image", "The operating system"),
        wide("Kernel-Version", "The kernel and its architecture"),
        wide("Container-Runtime", "What runs the containers"),
    ),
    node_cells,
)
NAMESPACE = Printer((NAME, Heading("Status", "Active or Terminating"), AGE), namespace_cells)
PRIORITY_CLASS = Printer(
    (
        NAME,
        integer("Value", "The priority; higher goes first"),
        boolean("Global-Default", "Whether pods without a class get this one"),
        AGE,
        Heading("PreemptionPolicy", "Whether pods of this class may displace others"),
    ),
    priority_class_cells,
)
LEASE = Printer((NAME, Heading("Holder", "Who holds the lease"), AGE), lease_cells)
