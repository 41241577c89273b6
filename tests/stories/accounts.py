"""podium under its own service account, as its chart makes it, on a server that writes down what it does.

The roles are those of the plain manifests (`charts/podium.yaml`), which are the chart's.  The server's audit log
says of every request of the account whether it was allowed, and what it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import yaml

from podium.kube.rights import Need
from tests.chart import MANIFESTS, NAMESPACE, documents
from tests.compat.client import Document, Server
from tests.controlplane.server import write_kubeconfig

ACCOUNT = "podium"
WEBHOOK = "podium-webhook"

_GRANTING = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


def audit_flags(directory: Path) -> tuple[str, ...]:
    """Flags of a kube-apiserver that writes down what podium's accounts ask for, and nothing else."""
    directory.mkdir(parents=True, exist_ok=True)
    users = [f"system:serviceaccount:{NAMESPACE}:{name}" for name in (ACCOUNT, WEBHOOK)]
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "users": users}, {"level": "None"}],
    }
    file = directory / "audit-policy.yaml"
    file.write_text(yaml.safe_dump(policy))
    return f"--audit-policy-file={file}", f"--audit-log-path={audit_log(directory)}"


def audit_log(directory: Path) -> Path:
    return directory / "audit.log"


def granting(objects: list[Document]) -> list[Document]:
    """The objects of a chart that grant rights, and who has them."""
    return [each for each in objects if each["kind"] in _GRANTING]


def install(server: Server, objects: list[Document] | None = None) -> None:
    """Makes the accounts and their roles."""
    server.kubectl("apply", "-f", "-", input=granting(objects or documents(MANIFESTS.read_text())))


def kubeconfig_of(server: Server, account: str = ACCOUNT) -> Path:
    """How somebody reaches the server who is that account and nobody else."""
    token = server.kubectl("create", "token", account, "-n", NAMESPACE, "--duration=24h").out.strip()
    path = server.home / f"{account}.kubeconfig"
    write_kubeconfig(path, server.url, server.ca, token)
    return path


# --- what the server has written down ---------------------------------------------------------------------------


def requests(log: Path, account: str = ACCOUNT) -> Iterator[tuple[Need, str, str]]:
    """What the account has asked for: the need, "allow" or "forbid", and the path."""
    user = f"system:serviceaccount:{NAMESPACE}:{account}"
    for line in log.read_text().splitlines() if log.exists() else ():
        event = json.loads(line)
        if event["user"]["username"] != user or "objectRef" not in event:
            continue
        ref = event["objectRef"]
        called = ref["resource"] + (f"/{ref['subresource']}" if ref.get("subresource") else "")
        need = Need(ref.get("apiGroup", ""), called, event["verb"])
        decision = event.get("annotations", {}).get("authorization.k8s.io/decision", "forbid")
        yield need, decision, event["requestURI"]


def used(log: Path, account: str = ACCOUNT) -> set[Need]:
    return {need for need, decision, _ in requests(log, account) if decision == "allow"}


def forbidden(log: Path, account: str = ACCOUNT) -> list[str]:
    found = {
        f"{need.verb} {need.resource}: {path}"
        for need, decision, path in requests(log, account)
        if decision != "allow"
    }
    return sorted(found)


def granted(objects: list[Document], account: str = ACCOUNT) -> set[Need]:
    """What the roles that are bound to an account allow."""
    bound = {
        (each["roleRef"]["kind"], each["roleRef"]["name"])
        for each in objects
        if each["kind"].endswith("RoleBinding") and any(who["name"] == account for who in each["subjects"])
    }
    roles = [each for each in objects if (each["kind"], each["metadata"]["name"]) in bound]
    return {
        Need(group, resource, verb)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
