"""The log of a simulated container: its command line, its start and its end.

A simulated process prints nothing, so the log is not stored anywhere.  It is made anew from the pod's document
each time somebody asks.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from podium.kube.status import bad_request
from podium.kube.times import parse_time

_LISTS = ("containers", "initContainers", "ephemeralContainers")
_STATUS_LISTS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def simulated_log(
    pod: Mapping[str, Any],
    container: str = "",
    *,
    previous: bool = False,
    tail_lines: int | None = None,
    since_seconds: int | None = None,
    since_time: float | None = None,
    timestamps: bool = False,
    limit_bytes: int | None = None,
    now: float,
) -> bytes:
    """What `kubectl logs` prints.  Refusals are ApiErrors in the API server's and the kubelet's words."""
    spec = _container(pod, container)
    if not pod["spec"].get("nodeName"):
        return b""
    run = _run(pod, spec["name"], previous)
    begin, end = parse_time(run.get("startedAt")), parse_time(run.get("finishedAt"))
    lines = [
        (begin, run.get("startedAt"), f"started on node {pod['spec']['nodeName']}: {_command_line(spec)}"),
    ]
    if end:
        reported = f"ended after {_span(end - begin)} with exit code {run['exitCode']} ({run.get('reason', '')})"
        lines.append((end, run["finishedAt"], reported))
    since = now - since_seconds if since_seconds is not None else since_time
    if since is not None:
        lines = [line for line in lines if line[0] >= since]
    if tail_lines is not None:
        lines = lines[max(0, len(lines) - tail_lines) :]
    # Each line has its time itself; `--timestamps` adds the runtime's stamp in front, in its own notation.
    text = "".join(
        (f"{str(at).removesuffix('Z')}.000000000Z " if timestamps else "") + f"{at} {reported}\n"
        for _, at, reported in lines
    )
    return text.encode()[:limit_bytes]


def _container(pod: Mapping[str, Any], wanted: str) -> Mapping[str, Any]:
    name = pod["metadata"]["name"]
    found: dict[str, Mapping[str, Any]] = {c["name"]: c for key in _LISTS for c in pod["spec"].get(key) or ()}
    if wanted:
        if wanted not in found:
            raise bad_request(f"container {wanted} is not valid for pod {name}")
        return found[wanted]
    main = pod["spec"]["containers"]
    if len(main) != 1:
        # The order in which the API server walks a pod's containers: initial ones first.
        names = [
            c["name"] for key in ("initContainers", "containers", "ephemeralContainers") for c in _of(pod, key)
        ]
        raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]")
    only: Mapping[str, Any] = main[0]
    return only


def _of(pod: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return pod["spec"].get(key) or []


def _run(pod: Mapping[str, Any], container: str, previous: bool) -> Mapping[str, Any]:
    """The run of the container that was asked for: its running or terminated state."""
    name = pod["metadata"]["name"]
    what = f'container "{container}" in pod "{name}"'
    statuses = pod.get("status") or {}
    for key in _STATUS_LISTS:
        for status in statuses.get(key) or ():
            if status["name"] != container:
                continue
            state, last = status.get("state") or {}, (status.get("lastState") or {}).get("terminated")
            if previous:
                if not last:
                    raise bad_request(f"previous terminated {what} not found")
                return _started(last, what)
            run = state.get("running") or state.get("terminated") or last
            if run:
                return _started(run, what)
            reason = (state.get("waiting") or {}).get("reason")
            raise bad_request(
                f"{what} is waiting to start: {reason}" if reason else f"{what} is waiting to start - no logs yet"
            )
    raise bad_request(f"{what} is not available")


def _started(run: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    """A container that was stopped before it started has a terminated state, but no run."""
    if not run.get("startedAt"):
        raise bad_request(f"{what} is terminated")
    return run


def _command_line(container: Mapping[str, Any]) -> str:
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    if not container.get("command"):
        words.insert(0, f"({container.get('image', '')})")
        return " ".join([words[0], shlex.join(words[1:])]).strip()
    return shlex.join(words)


def _span(seconds: float) -> str:
    return f"{seconds:g} s"
