"""Jobs of several kinds, and how each must end whatever happens to the controllers meanwhile."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.dialects.job_stage import job_document, task, template

Document = dict[str, Any]

RESTART = [{"event": "PodFailed", "action": "RestartJob"}]


class Kind(msgspec.Struct, frozen=True):
    """A Job, the phase in which it ends, its tries, and how many pods are made for it in all."""

    document: Document
    phase: str
    retries: int
    pods: int


def _running(name: str, replicas: int, seconds: int, code: int = 0, **more: Any) -> Document:
    pod = template(terminationGracePeriodSeconds=1)
    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "100m"
    pod["metadata"] = {"annotations": {"podium.dev/run-seconds": str(seconds), "podium.dev/exit-code": str(code)}}
    return {**task(name, replicas), "template": pod, **more}


def _endless(name: str, replicas: int = 1) -> Document:
    return _running(name, replicas, 100_000)


def kinds(unit: int, prefix: str = "", *, evicted_after: int = 0) -> dict[str, Kind]:
    """One Job of each kind, by what they are about.  `unit` is how many seconds a short pod runs.

    A pod of `evicted` has to be deleted while it runs, within `evicted_after` seconds; `aborted` must be told to.
    """

    def made(name: str, *tasks: Document, **spec: Any) -> Document:
        return job_document(*tasks, name=f"{prefix}{name}", **spec)

    completes = [{"event": "TaskCompleted", "action": "CompleteJob"}]
    restarts_task = [{"event": "PodFailed", "action": "RestartTask"}]
    evicted = [{"event": "PodEvicted", "action": "RestartJob"}]
    plugins: Document = {"svc": [], "ssh": [], "env": []}
    return {
        "plain": Kind(made("plain", _running("w", 3, 2 * unit)), "Completed", 0, 3),
        "servers": Kind(
            made("servers", _endless("ps"), _running("w", 2, 3 * unit, policies=completes), plugins=plugins),
            *("Completed", 0, 3),
        ),
        "failing": Kind(made("failing", _running("w", 2, unit, 1), policies=RESTART, maxRetry=2), "Failed", 2, 4),
        "part": Kind(
            made("part", _endless("long"), _running("w", 2, unit, 1, policies=restarts_task), maxRetry=2),
            *("Failed", 2, 5),
        ),
        "evicted": Kind(
            made("evicted", _running("w", 3, evicted_after or 6 * unit), policies=evicted), "Completed", 1, 6
        ),
        "chain": Kind(
            made("chain", _running("a", 2, 2 * unit), _running("b", 1, 2 * unit, dependsOn={"name": ["a"]})),
            *("Completed", 0, 3),
        ),
        "enough": Kind(made("enough", _running("w", 3, unit), _endless("never"), minSuccess=2), "Completed", 0, 4),
        "aborted": Kind(made("aborted", _endless("w", 3)), "Aborted", 0, 3),
    }
