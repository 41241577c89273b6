"""The parts of the chart that are made from the code, and the plain manifests that are made from the chart.

    python -m tests.chart    writes both (the manifests need a helm: `python -m tests.controlplane.build helm3`)

Rights and definitions of every dialect come from the registry, so a new dialect is in the chart with nobody
thinking of it.  Tests compare the files with what the code says now.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from podium.dialects import DIALECTS
from podium.kube.rights import rules_of
from podium.runtime import rights
from podium.runtime.webhook import webhook_rights
from tests.controlplane import build

Document = dict[str, Any]

ROOT = Path(__file__).parent.parent
CHART = ROOT / "charts" / "podium"
FILES = CHART / "files"
MANIFESTS = ROOT / "charts" / "podium.yaml"
MADE = "# made by python -m tests.chart from what the code declares"

# The release and the namespace of the plain manifests.
RELEASE, NAMESPACE = "podium", "podium-system"
HELMS = (build.HELM3, build.HELM4)
# A helm that is built by its module's name does not know for which Kubernetes it is made.
_VERSION = ("--kube-version", build.KUBE_APISERVER.version)


def made_files() -> dict[str, str]:
    """The generated files of the chart by their paths below files/."""
    found = {
        "rights/base.yaml": _text(rights.base_rules()),
        "rights/metrics.yaml": _text(rights.metrics_rules()),
        "rights/own.yaml": _text(rights.own_rules()),
        "rights/webhook.yaml": _text(rights.webhook_rules(())),
    }
    for dialect in DIALECTS:
        folder = f"dialects/{dialect.name}"
        found[f"{folder}/rights.yaml"] = _text(rights.dialect_rules(dialect))
        looked_at = rules_of(webhook_rights([dialect]), without=webhook_rights(()))
        found[f"{folder}/webhook-rights.yaml"] = _text(looked_at)
        for document in dialect.documents():
            found[f"{folder}/crds/{document['metadata']['name']}.yaml"] = _text(document)
    return found


def _text(document: object) -> str:
    """YAML without anchors; nothing at all for an empty list, so that lists can be put one below the other."""
    if document == []:
        return f"{MADE}\n"
    plain = msgspec.json.decode(msgspec.json.encode(document))
    return f"{MADE}\n" + yaml.dump(plain, Dumper=yaml.CSafeDumper, sort_keys=False, width=115)


def rendered(*flags: str, helm: build.Binary = build.HELM3) -> str:
    """What `helm template` prints."""
    with tempfile.TemporaryDirectory() as home:
        command = [str(helm.path), "template", RELEASE, str(CHART), "--namespace", NAMESPACE, *_VERSION, *flags]
        return _run(command, home)


def linted(*flags: str, helm: build.Binary = build.HELM3) -> str:
    """What `helm lint` says."""
    with tempfile.TemporaryDirectory() as home:
        return _run([str(helm.path), "lint", "--strict", str(CHART), *_VERSION, *flags], home)


def _run(command: Sequence[str], home: str) -> str:
    environment = {"HOME": home, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{done.stdout}\n{done.stderr}".strip())
    return done.stdout


def documents(text: str) -> list[Document]:
    return [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]


def manifests_page() -> str:
    """The plain manifests: what the chart gives with its defaults, without definitions, and the namespace."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    objects = [namespace, *documents(rendered("--set", "crds.install=false"))]
    for each in objects:
        labels = each["metadata"].get("labels", {})
        for key in ("helm.sh/chart", "app.kubernetes.io/managed-by"):
            labels.pop(key, None)
        pod = each.get("spec", {}).get("template", {}).get("metadata", {}).get("labels", {})
        for key in ("helm.sh/chart", "app.kubernetes.io/managed-by"):
            pod.pop(key, None)
        each["metadata"].pop("annotations", None)
    head = (
        "# podium without Helm, once the image below is the one that you have pushed:\n"
        "#   podium crds | kubectl apply -f -\n"
        "#   kubectl apply --server-side -f charts/podium.yaml\n"
        "# Made by python -m tests.chart from the chart with its defaults.\n"
    )
    return head + yaml.dump_all(objects, Dumper=yaml.CSafeDumper, sort_keys=False, width=115)


def write() -> None:
    shutil.rmtree(FILES / "dialects", ignore_errors=True)
    for name, text in made_files().items():
        (FILES / name).parent.mkdir(parents=True, exist_ok=True)
        (FILES / name).write_text(text)
    build.ensure([build.HELM3])
    MANIFESTS.write_text(manifests_page())


if __name__ == "__main__":
    write()
