"""kubectl and objects: create, apply, edit, patch, label, annotate, diff, and what the commands say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.compat.client import Server, eventually
from tests.compat.objects import configmap, deployment, job, unplaced_pod


def test_apply_three_times(server: Server, ns: str) -> None:
    def apply(body: object) -> str:
        return server.kubectl("apply", "-n", ns, "-f", "-", input=json.dumps(body)).out

    assert apply(configmap("c", a="1", b="2")) == "configmap/c created\n"
    assert apply(configmap("c", a="1", b="2")) == "configmap/c unchanged\n"
    assert apply(configmap("c", a="1", c="3")) == "configmap/c configured\n"
    kept = server.kubectl("get", "cm", "c", "-n", ns, "-o", "json").json
    assert kept["data"] == {"a": "1", "c": "3"}
    assert "kubectl.kubernetes.io/last-applied-configuration" in kept["metadata"]["annotations"]


def test_apply_keeps_what_others_wrote(server: Server, ns: str) -> None:
    body = deployment("d", 0)
    body["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "2"},
    ]
    server.kubectl("apply", "-n", ns, "-f", "-", input=body)
    theirs = {"spec": {"template": {"spec": {"containers": [{"name": "sidecar", "image": "s:1"}]}}}}
    server.kubectl("patch", "deploy", "d", "-n", ns, "-p", json.dumps(theirs))
    server.kubectl("label", "deploy", "d", "-n", ns, "theirs=yes")
    body["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "B", "value": "3"}]
    out = server.kubectl("apply", "-n", ns, "-f", "-", input=body).out
    assert out == "deployment.apps/d configured\n"
    merged = server.kubectl("get", "deploy", "d", "-n", ns, "-o", "json").json
    containers = {c["name"]: c for c in merged["spec"]["template"]["spec"]["containers"]}
    assert set(containers) == {"main", "sidecar"}
    assert containers["main"]["env"] == [{"name": "B", "value": "3"}]
    assert merged["metadata"]["labels"]["theirs"] == "yes"


def test_several_documents_and_lists(server: Server, ns: str) -> None:
    several = [configmap("one"), configmap("two")]
    out = server.kubectl("apply", "-n", ns, "-f", "-", input=several).out
    assert out == "configmap/one created\nconfigmap/two created\n"
    listed = {"apiVersion": "v1", "kind": "List", "items": [configmap("one", a="1"), configmap("three")]}
    out = server.kubectl("apply", "-n", ns, "-f", "-", input=listed).out
    assert out == "configmap/one configured\nconfigmap/three created\n"
    out = server.kubectl("delete", "-n", ns, "-f", "-", input=listed).out
    assert [line.split(" ")[0] for line in out.splitlines()] == ["configmap", "configmap"]
    assert server.kubectl("get", "cm", "-n", ns, "two", "-o", "name").out == "configmap/two\n"


def test_apply_of_a_folder_prunes_by_label(server: Server, ns: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps(configmap(name, labels={"set": "x"})))
    server.kubectl("apply", "-n", ns, "-f", str(tmp_path))
    (tmp_path / "two.json").unlink()
    prune = ("--prune", "-l", "set=x", "--prune-allowlist=core/v1/ConfigMap")
    out = server.kubectl("apply", "-n", ns, "-f", str(tmp_path), *prune).out
    assert out.endswith("configmap/two pruned\n")
    assert server.kubectl("get", "cm", "-n", ns, "-l", "set=x", "-o", "name").out == "configmap/one\n"


def test_create_refuses_what_exists_and_what_it_does_not_know(server: Server, ns: str) -> None:
    assert server.kubectl("create", "-n", ns, "-f", "-", input=configmap("c")).out == "configmap/c created\n"
    again = server.kubectl("create", "-n", ns, "-f", "-", input=configmap("c"), check=False)
    assert again.code == 1
    assert (
        again.err
        == 'Error from server (AlreadyExists): error when creating "STDIN": configmaps "c" already exists\n'
    )
    typo = deployment("d")
    typo["spec"]["replcas"] = 2
    refused = server.kubectl("create", "-n", ns, "-f", "-", input=typo, check=False)
    assert 'strict decoding error: unknown field "spec.replcas"' in refused.err
    unknown = {"apiVersion": "nope.example/v1", "kind": "Nope", "metadata": {"name": "x"}}
    refused = server.kubectl("create", "-n", ns, "-f", "-", input=unknown, check=False)
    assert 'no matches for kind "Nope" in version "nope.example/v1"' in refused.err


def test_create_by_command(server: Server, ns: str) -> None:
    commands = [
        "configmap c --from-literal=a=1 --from-literal=b=2",
        "secret generic s --from-literal=password=hush",
        "serviceaccount robot",
        "quota q --hard=pods=10,cpu=4",
        "deployment d --image=registry.example/x --replicas=0",
        "service clusterip d --tcp=80:8080",
        "role r --verb=get,list --resource=pods",
        "rolebinding rb --role=r --serviceaccount=default:robot",
        "poddisruptionbudget p --selector=app=x --min-available=1",
        "job j --image=registry.example/x -- echo hi",
    ]
    for command in commands:
        assert "created" in server.kubectl("create", "-n", ns, *command.split()).out
    secret = server.kubectl("get", "secret", "s", "-n", ns, "-o", "json").json
    assert secret["data"] == {"password": "aHVzaA=="}
    assert server.kubectl("get", "cm", "c", "-n", ns, "-o", "jsonpath={.data}").out == '{"a":"1","b":"2"}'
    hard = server.kubectl("get", "quota", "q", "-n", ns, "-o", "jsonpath={.spec.hard}").out
    assert json.loads(hard) == {"pods": "10", "cpu": "4"}


def test_priority_classes_resolve(server: Server, ns: str) -> None:
    server.kubectl("create", "priorityclass", "story-high", "--value=1000", "--description=for a story")
    server.kubectl("apply", "-n", ns, "-f", "-", input=unplaced_pod("p", priorityClassName="story-high"))
    spec = server.kubectl("get", "pod", "p", "-n", ns, "-o", "json").json["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "PreemptLowerPriority")
    listed = server.kubectl("get", "pc", "system-node-critical", "system-cluster-critical", "--no-headers").lines
    assert [line.split()[1] for line in listed] == ["2000001000", "2000000000"]
    server.kubectl("delete", "priorityclass", "story-high")


@pytest.mark.parametrize("kind", ["job", "replicaset"])
def test_a_missing_priority_class_is_told_by_an_event_of_who_makes_the_pods(
    server: Server, ns: str, kind: str
) -> None:
    made = job("work") if kind == "job" else deployment("work", 1)
    made["spec"]["template"]["spec"]["priorityClassName"] = "absent"
    server.kubectl("apply", "-n", ns, "-f", "-", input=made)

    def refusals() -> list[str]:
        found = server.get(f"/api/v1/namespaces/{ns}/events")["items"]
        return [
            each["message"]
            for each in found
            if (each["type"], each["reason"]) == ("Warning", "FailedCreate")
            and each["involvedObject"]["kind"].lower() == kind
        ]

    message = eventually(refusals, "an event that says why there is no pod")[0]
    assert message.startswith('Error creating: pods "work-')
    assert message.endswith("is forbidden: no PriorityClass with name absent was found")
    assert server.get(f"/api/v1/namespaces/{ns}/pods")["items"] == []
    # When the class comes, so do the pods.
    server.kubectl("create", "priorityclass", "absent", "--value=7")
    try:
        pods = eventually(lambda: server.get(f"/api/v1/namespaces/{ns}/pods")["items"], "its pods")
        assert pods[0]["spec"]["priority"] == 7
    finally:
        server.kubectl("delete", "priorityclass", "absent")


def test_edit(server: Server, ns: str, tmp_path: Path) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=configmap("c", color="red"))
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/red/blue/ "$1"\n')
    editor.chmod(0o755)
    out = server.kubectl("edit", "cm", "c", "-n", ns, env={"KUBE_EDITOR": str(editor)}).out
    assert out == "configmap/c edited\n"
    assert server.kubectl("get", "cm", "c", "-n", ns, "-o", "jsonpath={.data.color}").out == "blue"
    editor.write_text("#!/bin/sh\nexit 0\n")
    assert "no changes made" in server.kubectl("edit", "cm", "c", "-n", ns, env={"KUBE_EDITOR": str(editor)}).err


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("strategic", '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"new:1"}]}}}}'),
        ("merge", '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"new:1"}]}}}}'),
        ("json", '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"new:1"}]'),
    ],
)
def test_patch(server: Server, ns: str, kind: str, patch: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=deployment("d", 0))
    out = server.kubectl("patch", "deploy", "d", "-n", ns, f"--type={kind}", "-p", patch).out
    assert out == "deployment.apps/d patched\n"
    again = server.kubectl("patch", "deploy", "d", "-n", ns, f"--type={kind}", "-p", patch).out
    assert again == "deployment.apps/d patched (no change)\n"
    container = json.loads(
        server.kubectl("get", "deploy", "d", "-n", ns, "-o", "jsonpath={.spec.template.spec.containers[0]}").out
    )
    assert container["image"] == "new:1"
    assert ("command" in container) == (kind != "merge"), "a merge patch replaces the list"


def test_labels_and_annotations(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=[configmap("a"), configmap("b")])
    assert (
        server.kubectl("label", "cm", "a", "b", "-n", ns, "x=1").out
        == "configmap/a labeled\nconfigmap/b labeled\n"
    )
    taken = server.kubectl("label", "cm", "a", "-n", ns, "x=2", check=False)
    assert taken.code == 1
    assert "'x' already has a value (1), and --overwrite is false" in taken.err
    server.kubectl("label", "cm", "a", "-n", ns, "x=2", "--overwrite")
    assert server.kubectl("label", "cm", "a", "-n", ns, "x-").out == "configmap/a unlabeled\n"
    assert server.kubectl("get", "cm", "-n", ns, "-l", "x", "-o", "name").out == "configmap/b\n"
    assert server.kubectl("annotate", "cm", "a", "-n", ns, "note=hello world").out == "configmap/a annotated\n"
    path = "jsonpath={.metadata.annotations.note}"
    assert server.kubectl("get", "cm", "a", "-n", ns, "-o", path).out == "hello world"
    bad = server.kubectl("label", "cm", "a", "-n", ns, "x=no spaces", check=False)
    assert bad.code == 1


def test_diff(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=configmap("c", a="1"))
    assert server.kubectl("diff", "-n", ns, "-f", "-", input=configmap("c", a="1")).out == ""
    changed = server.kubectl("diff", "-n", ns, "-f", "-", input=configmap("c", a="2"), check=False)
    assert changed.code == 1
    assert '-  a: "1"' in changed.out
    assert '+  a: "2"' in changed.out
    assert server.kubectl("get", "cm", "c", "-n", ns, "-o", "jsonpath={.data.a}").out == "1"


def test_dry_runs(server: Server, ns: str) -> None:
    out = server.kubectl("apply", "-n", ns, "--dry-run=server", "-f", "-", input=configmap("c")).out
    assert out == "configmap/c created (server dry run)\n"
    absent = server.kubectl("get", "cm", "c", "-n", ns, check=False)
    assert absent.err == 'Error from server (NotFound): configmaps "c" not found\n'
    shown = server.kubectl(
        "create", "deployment", "d", "--image=x", "-n", ns, "--dry-run=server", "-o", "json"
    ).json
    assert shown["spec"]["progressDeadlineSeconds"] == 600  # defaults were filled in by the server


def test_replace(server: Server, ns: str) -> None:
    server.kubectl("create", "-n", ns, "-f", "-", input=configmap("c", a="1"))
    assert (
        server.kubectl("replace", "-n", ns, "-f", "-", input=configmap("c", b="2")).out == "configmap/c replaced\n"
    )
    assert server.kubectl("get", "cm", "c", "-n", ns, "-o", "jsonpath={.data}").out == '{"b":"2"}'
    absent = server.kubectl("replace", "-n", ns, "-f", "-", input=configmap("d"), check=False)
    assert 'configmaps "d" not found' in absent.err
    forced = server.kubectl("replace", "--force", "-n", ns, "-f", "-", input=configmap("c", c="3")).out
    assert forced.endswith("configmap/c replaced\n")


def test_namespaces(server: Server) -> None:
    server.kubectl("create", "namespace", "story-made")
    assert server.kubectl("get", "ns", "story-made", "--no-headers").lines[0].split()[:2] == [
        "story-made",
        "Active",
    ]
    server.kubectl("apply", "-n", "story-made", "-f", "-", input=[configmap("c"), deployment("d", 2)])
    server.kubectl("rollout", "status", "-n", "story-made", "deploy/d", "--timeout=30s")
    assert server.kubectl("delete", "namespace", "story-made", "--timeout=40s").out.startswith(
        'namespace "story-made"'
    )
    absent = server.kubectl("get", "ns", "story-made", check=False)
    assert 'namespaces "story-made" not found' in absent.err
    assert server.get("/api/v1/namespaces/story-made/pods")["items"] == []


def test_nothing_is_created_in_a_namespace_that_is_ending(server: Server, ns: str) -> None:
    held = configmap("held")
    held["metadata"]["finalizers"] = ["stories.example/hold"]
    server.kubectl("apply", "-n", ns, "-f", "-", input=held)
    server.kubectl("delete", "ns", ns, "--wait=false")
    refused = server.kubectl("apply", "-n", ns, "-f", "-", input=configmap("late"), check=False)
    assert "is being terminated" in refused.err
    assert "(Forbidden)" in refused.err
    server.kubectl("patch", "cm", "held", "-n", ns, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    server.kubectl("wait", "--for=delete", f"ns/{ns}", "--timeout=30s")


def test_what_the_server_offers(server: Server) -> None:
    versions = server.kubectl("api-versions").lines
    assert {"v1", "apps/v1", "batch/v1", "policy/v1", "coordination.k8s.io/v1", "apiextensions.k8s.io/v1"} <= set(
        versions
    )
    rows = server.kubectl("api-resources", "--no-headers").lines
    resources = {row.split()[-1]: row.split() for row in rows}
    assert resources["Deployment"] == ["deployments", "deploy", "apps/v1", "true", "Deployment"]
    assert resources["PersistentVolumeClaim"] == [
        "persistentvolumeclaims",
        "pvc",
        "v1",
        "true",
        "PersistentVolumeClaim",
    ]
    assert resources["Node"] == ["nodes", "no", "v1", "false", "Node"]
    assert resources["CustomResourceDefinition"][1] == "crd,crds"
    names = server.kubectl("api-resources", "--verbs=list,watch", "--namespaced=true", "-o", "name").lines
    assert {"pods", "jobs.batch", "deployments.apps", "events.events.k8s.io"} <= set(names)
    assert "deploy" in server.kubectl("api-resources", "--api-group=apps").out
    version = server.kubectl("version", "-o", "json").json
    assert {"major", "minor", "gitVersion", "platform"} <= set(version["serverVersion"])
    assert server.kubectl("get", "--raw", "/readyz").out == "ok"
    assert "ok" in server.kubectl("get", "--raw", "/livez?verbose").out
    assert "is running at" in server.kubectl("cluster-info").out
