"""What `kubectl logs` prints of a simulated container."""

from __future__ import annotations

from typing import Any

import pytest

from podium.embedded.nodes.logs import simulated_log
from podium.errors import ApiError
from podium.kube.times import parse_time
from tests.embedded.server import Document

BEGIN, END = "2026-01-01T00:00:10Z", "2026-01-01T00:00:40Z"
NOW = parse_time("2026-01-01T00:01:00Z")
TERMINATED: Document = {"startedAt": BEGIN, "finishedAt": END, "exitCode": 3, "reason": "Error"}


def pod(state: Document | None, last: Document | None = None, **container: Any) -> Document:
    spec = {"nodeName": "node-1", "containers": [{"name": "main", "image": "app:1", **container}]}
    status: Document = {}
    if state is not None:
        status["containerStatuses"] = [{"name": "main", "state": state, "lastState": last or {}}]
    return {"metadata": {"name": "p"}, "spec": spec, "status": status}


def log(document: Document, container: str = "", **options: Any) -> str:
    return simulated_log(document, container, now=NOW, **options).decode()


def test_a_run_from_its_start_to_its_end() -> None:
    document = pod({"terminated": TERMINATED}, command=["sh", "-c"], args=["echo hi"])
    assert log(document) == (
        f"{BEGIN} started on node node-1: sh -c 'echo hi'\n{END} ended after 30 s with exit code 3 (Error)\n"
    )


def test_a_running_container_has_only_started() -> None:
    running = {"running": {"startedAt": BEGIN}}
    assert log(pod(running)) == f"{BEGIN} started on node node-1: (app:1)\n"
    assert log(pod(running, args=["--fast"])) == f"{BEGIN} started on node node-1: (app:1) --fast\n"


def test_options() -> None:
    document = pod({"terminated": TERMINATED})
    first, second = log(document).splitlines(keepends=True)
    assert log(document, tail_lines=1) == second
    assert log(document, tail_lines=0) == ""
    assert log(document, tail_lines=9) == first + second
    assert log(document, since_seconds=30) == second
    assert log(document, since_seconds=5) == ""
    assert log(document, since_time=parse_time(END)) == second
    assert log(document, limit_bytes=10) == first[:10]
    stamped = log(document, timestamps=True).splitlines(keepends=True)
    assert stamped == ["2026-01-01T00:00:10.000000000Z " + first, "2026-01-01T00:00:40.000000000Z " + second]


def test_the_run_before() -> None:
    document = pod({"running": {"startedAt": END}}, {"terminated": TERMINATED})
    assert "exit code 3" in log(document, previous=True)
    assert "exit code" not in log(document)


def test_held_back_the_last_run_is_shown() -> None:
    document = pod({"waiting": {"reason": "CrashLoopBackOff"}}, {"terminated": TERMINATED})
    assert "exit code 3" in log(document)


def test_a_pod_without_a_node_has_no_log_yet() -> None:
    document = pod(None)
    del document["spec"]["nodeName"]
    assert log(document) == ""


@pytest.mark.parametrize(
    ("document", "options", "message"),
    [
        (pod(None), {}, 'container "main" in pod "p" is not available'),
        (pod({}), {}, 'container "main" in pod "p" is waiting to start - no logs yet'),
        (
            pod({"waiting": {"reason": "ContainerCreating"}}),
            {},
            'container "main" in pod "p" is waiting to start: ContainerCreating',
        ),
        (
            pod({"running": {"startedAt": BEGIN}}),
            {"previous": True},
            'previous terminated container "main" in pod "p" not found',
        ),
        (pod({"terminated": {"exitCode": 137}}), {}, 'container "main" in pod "p" is terminated'),
        (pod(None), {"container": "other"}, "container other is not valid for pod p"),
    ],
)
def test_refusals(document: Document, options: Any, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        log(document, **options)
    assert caught.value.code == 400
    assert caught.value.message == message


def test_of_several_containers_one_must_be_named() -> None:
    document = pod({"running": {"startedAt": BEGIN}})
    document["spec"]["containers"].append({"name": "side"})
    document["spec"]["initContainers"] = [{"name": "fetch"}]
    with pytest.raises(ApiError) as caught:
        log(document)
    reported = "a container name must be specified for pod p, choose one of: [fetch main side]"
    assert caught.value.message == reported
    assert "started" in log(document, "main")
