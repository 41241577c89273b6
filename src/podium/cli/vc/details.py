"""One job in full, as `vcctl job view` prints it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from podium.embedded.printers.cells import since

Document = dict[str, Any]

_STATUS_COUNTS = (
    ("Succeeded:    ", "succeeded"),
    ("Pending:      ", "pending"),
    ("Running:      ", "running"),
    ("Failed:       ", "failed"),
    ("Terminating:  ", "terminating"),
    ("Unknown:      ", "unknown"),
    ("RetryCount:   ", "retryCount"),
    ("Min Available:", "minAvailable"),
    ("Version:      ", "version"),
)
_EVENT_WIDTHS = (15, 40, 30, 40)


def job_details(job: Document, events: Sequence[Document], now: float) -> str:
    """Everything of a job that people look for, and its events."""
    return "\n".join(
        (*_head(job), *_spec(job.get("spec", {})), *_status(job.get("status", {})), *_events(events, now))
    )


def _head(job: Document) -> Iterator[str]:
    metadata = job["metadata"]
    yield f"Name:       \t{metadata['name']}"
    yield f"Namespace:  \t{metadata.get('namespace', '')}"
    yield f"Labels:     \t{_pairs(metadata.get('labels'))}"
    yield f"Annotations:\t{_pairs(metadata.get('annotations'))}"
    yield f"API Version:\t{job.get('apiVersion', '')}"
    yield f"Kind:       \t{job.get('kind', '')}"
    yield "Metadata:"
    yield f"  Creation Timestamp:\t{metadata.get('creationTimestamp', '')}"
    yield f"  Generate Name:     \t{metadata.get('generateName', '')}"
    yield f"  Generation:        \t{metadata.get('generation', 0)}"
    yield f"  Resource Version:  \t{metadata.get('resourceVersion', '')}"
    yield f"  UID:               \t{metadata.get('uid', '')}"


def _spec(spec: Document) -> Iterator[str]:
    yield "Spec:"
    yield f"  Min Available:     \t{spec.get('minAvailable', 0)}"
    yield "  Plugins:"
    for name, arguments in sorted((spec.get("plugins") or {}).items()):
        yield f"    {name.capitalize()}:\t[{' '.join(arguments or ())}]"
    yield f"  Queue:             \t{spec.get('queue', '')}"
    yield f"  Scheduler Name:    \t{spec.get('schedulerName', '')}"
    yield "  Tasks:"
    for task in spec.get("tasks") or ():
        yield f"    Name:\t{task.get('name', '')}"
        yield f"    Replicas:\t{task.get('replicas', 0)}"
        yield "    Template:"
        yield from _indented(_template(task.get("template") or {}), 3)


def _template(template: Document) -> Iterator[str]:
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    spec = template.get("spec") or {}
    if annotations:
        yield "Metadata:"
        yield "  Annotations:"
        for name, value in sorted(annotations.items()):
            yield f"    {name}:\t{value}"
    yield "Spec:"
    yield "  Containers:"
    for container in spec.get("containers") or ():
        yield from _indented(_container(container), 2)
    yield "  Image Pull Secrets:"
    for secret in spec.get("imagePullSecrets") or ():
        yield f"    Name:     \t{secret.get('name', '')}"
    yield f"  Restart Policy:   \t{spec.get('restartPolicy', '')}"


def _container(container: Document) -> Iterator[str]:
    yield "Command:"
    for part in container.get("command") or ():
        yield from _indented(str(part).splitlines(), 1)
    yield f"Image:\t{container.get('image', '')}"
    yield f"Name: \t{container.get('name', '')}"
    yield "Ports:"
    for port in container.get("ports") or ():
        yield f"  Container Port:\t{port.get('containerPort', 0)}"
        yield f"  Name:          \t{port.get('name', '')}"
    resources = container.get("resources") or {}
    yield "Resources:"
    for heading, amounts in (("Limits", resources.get("limits")), ("Requests", resources.get("requests"))):
        yield f"  {heading}:"
        for name, amount in sorted(({"cpu": 0, "memory": 0} | (amounts or {})).items()):
            yield f"    {name.capitalize() + ':':<7}\t{amount}"
    yield f"Working Dir:\t{container.get('workingDir', '')}"


def _status(status: Document) -> Iterator[str]:
    state = status.get("state", {})
    yield "Status:"
    for heading, field in _STATUS_COUNTS:
        if status.get(field):
            yield f"  {heading}\t{status[field]}"
    yield "  State:"
    for field in ("phase", "reason", "message"):
        if field == "phase" or state.get(field):
            yield f"    {field.capitalize()}:\t{state.get(field, '')}"
    controlled = status.get("controlledResources") or {}
    if controlled:
        yield "  Controlled Resources:"
        for name, value in sorted(controlled.items()):
            yield f"    {name}: \t{value}"
    conditions = status.get("conditions") or ()
    if conditions:
        yield "  Conditions:"
        yield "    Status\tTransitionTime"
        for each in conditions:
            yield f"    {each.get('status', '')} \t{each.get('lastTransitionTime', '')} "


def _events(events: Sequence[Document], now: float) -> Iterator[str]:
    if not events:
        yield "Events: \t<none>"
        return
    yield "Events:"
    yield _event_line(("Type", "Reason", "Age", "Form"), "Message")
    yield _event_line(("-------",) * len(_EVENT_WIDTHS), "-------")
    for event in events:
        first, last = event.get("firstTimestamp") or event.get("eventTime"), event.get("lastTimestamp")
        count = event.get("count") or 1
        age = since(first, now) if count == 1 else f"{since(last, now)} (x{count} over {since(first, now)})"
        source = event.get("source") or {}
        component = (source.get("component") or event.get("reportingComponent"), source.get("host"))
        whole = (event.get("type", ""), event.get("reason", ""), age, ", ".join(filter(None, component)))
        yield _event_line(whole, str(event.get("message", "")).strip())


def _event_line(cells: Sequence[str], message: str) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, _EVENT_WIDTHS, strict=True))
    return "\t".join((*padded, message))


def _pairs(given: Document | None) -> str:
    return msgspec.json.encode(given, order="sorted").decode() if given else "<none>"


def _indented(lines: Iterable[str], levels: int) -> Iterator[str]:
    return ("  " * levels + line for line in lines)
