"""kubectl and running things: jobs, deployments, logs, scaling, rollouts, waiting."""

from __future__ import annotations

import pytest

from tests.compat.client import Server, eventually
from tests.compat.objects import EXIT_CODE, RUN_SECONDS, container, deployment, job, pod, unplaced_pod


def test_a_job_to_its_end(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=job("work", 4))
    server.kubectl("wait", "-n", ns, "--for=condition=complete", "job/work", "--timeout=30s")
    head, row = server.kubectl("get", "job", "work", "-n", ns).lines
    assert head.split() == ["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE"]
    assert row.split()[:3] == ["work", "Complete", "4/4"]
    pods = server.kubectl("get", "pods", "-n", ns, "-l", "job-name=work", "--no-headers").lines
    assert len(pods) == 4
    assert all(line.split()[1:3] == ["0/1", "Completed"] for line in pods)
    status = server.kubectl("get", "job", "work", "-n", ns, "-o", "json").json["status"]
    assert status["succeeded"] == 4
    assert {"startTime", "completionTime"} <= set(status)
    types = [condition["type"] for condition in status["conditions"] if condition["status"] == "True"]
    assert types == ["SuccessCriteriaMet", "Complete"]


def test_a_job_that_fails_too_often(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=job("work", exit_code="3", backoffLimit=0))
    server.kubectl("wait", "-n", ns, "--for=condition=failed", "job/work", "--timeout=30s")
    conditions = server.kubectl("get", "job/work", "-n", ns, "-o", "json").json["status"]["conditions"]
    failed = next(condition for condition in conditions if condition["type"] == "Failed")
    assert (failed["reason"], failed["message"]) == (
        "BackoffLimitExceeded",
        "Job has reached the specified backoff limit",
    )
    state = server.kubectl("get", "pods", "-n", ns, "-o", "json").json["items"][0]["status"]
    terminated = state["containerStatuses"][0]["state"]["terminated"]
    assert (state["phase"], terminated["exitCode"], terminated["reason"]) == ("Failed", 3, "Error")


def test_an_indexed_job_numbers_its_pods(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=job("work", 3, completionMode="Indexed"))
    server.kubectl("wait", "-n", ns, "--for=condition=complete", "job/work", "--timeout=30s")
    indexes = server.kubectl(
        "get",
        "pods",
        "-n",
        ns,
        "-o",
        r"jsonpath={.items[*].metadata.annotations.batch\.kubernetes\.io/job-completion-index}",
    )
    assert sorted(indexes.out.split()) == ["0", "1", "2"]
    assert server.kubectl("get", "job/work", "-n", ns, "-o", "jsonpath={.status.completedIndexes}").out == "0-2"


def test_a_suspended_job_waits(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=job("work", suspend=True))
    server.kubectl("wait", "-n", ns, "--for=condition=suspended", "job/work", "--timeout=30s")
    assert server.kubectl("get", "pods", "-n", ns, "-o", "name").out == ""
    server.kubectl("patch", "job/work", "-n", ns, "--type=merge", "-p", '{"spec":{"suspend":false}}')
    server.kubectl("wait", "-n", ns, "--for=condition=complete", "job/work", "--timeout=30s")


def test_a_finished_job_is_cleared_away_after_its_time(server: Server, ns: str) -> None:
    with server.watch(f"/apis/batch/v1/namespaces/{ns}/jobs") as watch:
        server.kubectl("apply", "-n", ns, "-f", "-", input=job("work", ttlSecondsAfterFinished=1))
        last = watch.until(lambda event: event["type"] == "DELETED")[-1]["object"]
    assert "completionTime" in last["status"]
    eventually(lambda: server.get(f"/api/v1/namespaces/{ns}/pods")["items"] == [], "its pods went with it")


def test_a_running_pod_is_ended_by_an_annotation(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=pod("p", restartPolicy="Never"))
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/p", "--timeout=30s")
    server.kubectl("annotate", "-n", ns, "pod/p", f"{EXIT_CODE}=0")
    server.kubectl("wait", "-n", ns, "--for=jsonpath={.status.phase}=Succeeded", "pod/p", "--timeout=30s")


def test_a_container_that_fails_is_restarted_and_counted(server: Server, ns: str) -> None:
    body = pod("p", annotations={RUN_SECONDS: "0", EXIT_CODE: "1"}, restartPolicy="OnFailure")
    server.kubectl("apply", "-n", ns, "-f", "-", input=body)
    path = "jsonpath={.status.containerStatuses[0].restartCount}"
    eventually(lambda: int(server.kubectl("get", "pod/p", "-n", ns, "-o", path).out or "0") >= 1, "a restart")
    status = eventually(
        lambda: next(
            (
                found
                for found in server.kubectl("get", "pod/p", "-n", ns, "-o", "json").json["status"][
                    "containerStatuses"
                ]
                if found["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff"
            ),
            None,
        ),
        "a back-off",
    )
    assert status["lastState"]["terminated"]["exitCode"] == 1


def test_logs(server: Server, ns: str) -> None:
    body = pod("p", annotations={RUN_SECONDS: "0"}, restartPolicy="Never")
    server.kubectl("apply", "-n", ns, "-f", "-", input=body)
    server.kubectl("wait", "-n", ns, "--for=jsonpath={.status.phase}=Succeeded", "pod/p", "--timeout=30s")
    lines = server.kubectl("logs", "-n", ns, "p").lines
    assert len(lines) == 2
    assert "echo hello" in lines[0]
    assert "exit code 0" in lines[1]
    assert server.kubectl("logs", "-n", ns, "p", "--tail=1").lines == lines[1:]
    assert server.kubectl("logs", "-n", ns, "p", "-c", "main").lines == lines
    assert server.kubectl("logs", "-n", ns, "p", "-f").lines == lines
    assert server.kubectl("logs", "-n", ns, "p", "--limit-bytes=7").out == lines[0][:7]
    stamped = server.kubectl("logs", "-n", ns, "p", "--timestamps").lines
    assert all(line.endswith(plain) and line != plain for line, plain in zip(stamped, lines, strict=True))


def test_logs_that_cannot_be_had(server: Server, ns: str) -> None:
    two = pod("two", containers=[container("one"), container("two")])
    server.kubectl("apply", "-n", ns, "-f", "-", input=[two, unplaced_pod("waits")])
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/two", "--timeout=30s")
    previous = server.kubectl("logs", "-n", ns, "two", "-c", "one", "--previous", check=False)
    assert previous.code == 1
    assert 'previous terminated container "one" in pod "two" not found' in previous.err
    unknown = server.kubectl("logs", "-n", ns, "two", "-c", "three", check=False)
    assert "container three is not valid for pod two" in unknown.err
    chosen = server.kubectl("logs", "-n", ns, "two")
    assert "Defaulted container" in chosen.err
    absent = server.kubectl("logs", "-n", ns, "absent", check=False)
    assert 'pods "absent" not found' in absent.err
    unsaid = server.http("GET", f"/api/v1/namespaces/{ns}/pods/two/log")
    assert (unsaid.status, unsaid.reason) == (400, "BadRequest")
    assert unsaid.json["message"] == "a container name must be specified for pod two, choose one of: [one two]"


def test_followed_logs_end_with_the_pod(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=pod("p", restartPolicy="Never"))
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/p", "--timeout=30s")
    with server.kubectl_running("logs", "-f", "-n", ns, "p") as follower:
        assert follower.stdout is not None
        assert "started" in follower.stdout.readline()
        server.kubectl("annotate", "-n", ns, "pod/p", f"{EXIT_CODE}=0")
        assert "exit code 0" in follower.stdout.readline()
        assert follower.wait(timeout=20) == 0


def test_a_deployment_from_first_to_last(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=deployment("web", 3))
    done = server.kubectl("rollout", "status", "-n", ns, "deployment/web", "--timeout=30s")
    assert 'deployment "web" successfully rolled out' in done.out
    head, row = server.kubectl("get", "deploy", "web", "-n", ns).lines
    assert head.split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert row.split()[:4] == ["web", "3/3", "3", "3"]
    replicasets = server.kubectl("get", "rs", "-n", ns, "--no-headers").lines
    assert [line.split()[1:4] for line in replicasets] == [["3", "3", "3"]]

    server.kubectl("scale", "-n", ns, "deployment/web", "--replicas=1")
    server.kubectl("wait", "-n", ns, "--for=jsonpath={.status.readyReplicas}=1", "deployment/web", "--timeout=30s")
    wrong = server.kubectl(
        "scale", "-n", ns, "deployment/web", "--current-replicas=5", "--replicas=2", check=False
    )
    assert wrong.code == 1
    assert "Expected replicas to be 5, was 1" in wrong.err

    server.kubectl("set", "image", "-n", ns, "deployment/web", "main=registry.example/busybox:2")
    server.kubectl("rollout", "status", "-n", ns, "deployment/web", "--timeout=30s")
    history = server.kubectl("rollout", "history", "-n", ns, "deployment/web").out
    assert [line.split()[0] for line in history.strip().splitlines()[2:]] == ["1", "2"]
    server.kubectl("rollout", "undo", "-n", ns, "deployment/web")
    server.kubectl("rollout", "status", "-n", ns, "deployment/web", "--timeout=30s")
    image = "jsonpath={.spec.template.spec.containers[0].image}"
    assert server.kubectl("get", "deploy", "web", "-n", ns, "-o", image).out == "registry.example/busybox:1"
    server.kubectl("rollout", "restart", "-n", ns, "deployment/web")
    server.kubectl("rollout", "status", "-n", ns, "deployment/web", "--timeout=30s")
    server.kubectl("rollout", "pause", "-n", ns, "deployment/web")
    assert server.kubectl("get", "deploy", "web", "-n", ns, "-o", "jsonpath={.spec.paused}").out == "true"
    server.kubectl("rollout", "resume", "-n", ns, "deployment/web")


def test_a_statefulset_starts_and_scales_in_order(server: Server, ns: str) -> None:
    body = {**deployment("db", 3, serviceName="db"), "kind": "StatefulSet"}
    server.kubectl("apply", "-n", ns, "-f", "-", input=body)
    server.kubectl("rollout", "status", "-n", ns, "statefulset/db", "--timeout=30s")
    names = server.kubectl("get", "pods", "-n", ns, "-o", "name").lines
    assert names == ["pod/db-0", "pod/db-1", "pod/db-2"]
    server.kubectl("scale", "-n", ns, "statefulset/db", "--replicas=1")
    for gone in ("db-2", "db-1"):
        server.kubectl("wait", "-n", ns, "--for=delete", f"pod/{gone}", "--timeout=30s")
    assert server.kubectl("get", "sts", "db", "-n", ns, "--no-headers").lines[0].split()[:2] == ["db", "1/1"]
    label = "jsonpath={.metadata.labels.apps\\.kubernetes\\.io/pod-index}"
    assert server.kubectl("get", "pod", "db-0", "-n", ns, "-o", label).out == "0"


def test_run_and_expose(server: Server, ns: str) -> None:
    server.kubectl("run", "web", "-n", ns, "--image=registry.example/web", "--port=80", "--labels=app=web")
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/web", "--timeout=30s")
    server.kubectl("expose", "pod", "web", "-n", ns, "--port=8080", "--target-port=80")
    head, row = server.kubectl("get", "svc", "web", "-n", ns, "-o", "wide").lines
    assert head.split() == ["NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE", "SELECTOR"]
    cells = row.split()
    assert (cells[1], cells[3], cells[4], cells[6]) == ("ClusterIP", "<none>", "8080/TCP", "app=web")
    assert cells[2].startswith("10.")


def test_wait_gives_up_after_its_time(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=unplaced_pod("p"))
    late = server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/p", "--timeout=1s", check=False)
    assert late.code == 1
    assert "timed out waiting for the condition on pods/p" in late.err
    absent = server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/absent", "--timeout=1s", check=False)
    assert 'pods "absent" not found' in absent.err


def test_a_pod_that_fits_nowhere_says_so(server: Server, ns: str) -> None:
    resources = {"requests": {"cpu": "10k"}}
    server.kubectl("apply", "-n", ns, "-f", "-", input=pod("p", containers=[container(resources=resources)]))
    wanted = "--for=jsonpath={.status.conditions[?(@.type=='PodScheduled')].reason}=Unschedulable"
    server.kubectl("wait", "-n", ns, wanted, "pod/p", "--timeout=30s")
    assert server.kubectl("get", "pod", "p", "-n", ns, "--no-headers").lines[0].split()[2] == "Pending"


@pytest.mark.parametrize("kind", ["deployment", "statefulset", "replicaset"])
def test_the_scale_subresource(server: Server, ns: str, kind: str) -> None:
    names = {"deployment": "Deployment", "statefulset": "StatefulSet", "replicaset": "ReplicaSet"}
    more = {"serviceName": "x"} if kind == "statefulset" else {}
    server.kubectl("apply", "-n", ns, "-f", "-", input={**deployment("x", 0, **more), "kind": names[kind]})
    path = f"/apis/apps/v1/namespaces/{ns}/{kind}s/x/scale"
    scale = server.get(path)
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["spec"] == {}
    assert scale["status"] == {"replicas": 0, "selector": "app=x"}
    scale["spec"]["replicas"] = 2
    del scale["metadata"]["resourceVersion"]  # the controller writes its status meanwhile
    assert server.http("PUT", path, scale).expect(200)["spec"]["replicas"] == 2
    assert server.get(path.removesuffix("/scale"))["spec"]["replicas"] == 2
    assert server.merge(path, {"spec": {"replicas": 0}})["spec"] == {}
    scale["metadata"]["resourceVersion"] = "1"
    stale = server.http("PUT", path, scale)
    assert (stale.status, stale.reason) == (409, "Conflict")
    del scale["metadata"]["resourceVersion"]
    scale["spec"]["replicas"] = -1
    assert server.http("PUT", path, scale).status == 422
