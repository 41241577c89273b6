"""What podium makes of a Job, beside what Volcano makes of it: names, labels, variables, files, mounts, groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.names import PODGROUPS
from podium.kube.resources import CONFIGMAPS, NETWORKPOLICIES, PODS, SECRETS, SERVICES, Resource
from tests.dialects.virtual import Virtual

Document = dict[str, Any]

CASES: dict[str, Document] = yaml.safe_load((Path(__file__).parent / "volcano_objects.yaml").read_text())


class Made:
    """Everything that became of one Job."""

    def __init__(self, name: str) -> None:
        case = CASES[name]
        self.world = Virtual(4)
        self.name: str = self.world.apply(case["job"])["metadata"]["name"]
        self.world.pass_seconds(5)
        self.uid = self.world.get(JOBS, self.name)["metadata"]["uid"]
        self.wanted: Document = self._of_this_job(case["wanted"])

    def _of_this_job(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._of_this_job(each) for key, each in value.items()}
        return value.replace("$UID", self.uid) if isinstance(value, str) else value

    def all(self, resource: Resource) -> dict[str, Document]:
        """The Job's objects of a kind by name; each must be its own."""
        found = {}
        for each in self.world.objects(resource):
            for owner in each["metadata"].get("ownerReferences", ()):
                if owner["uid"] == self.uid:
                    assert owner == {
                        "apiVersion": JOBS.api_version,
                        "kind": "Job",
                        "name": self.name,
                        "uid": self.uid,
                        "controller": True,
                        "blockOwnerDeletion": True,
                    }
                    found[each["metadata"]["name"]] = each
        return found


@pytest.fixture(scope="module", params=CASES)
def made(request: pytest.FixtureRequest) -> Made:
    return Made(request.param)


def contains(found: Any, wanted: Any, path: str = "") -> None:
    """All that is wanted is there, with the same value."""
    if isinstance(wanted, dict):
        assert isinstance(found, dict), path
        for key, value in wanted.items():
            assert key in found, f"{path}.{key} is missing"
            contains(found[key], value, f"{path}.{key}")
    else:
        assert found == wanted, path


def test_the_jobs_status(made: Made) -> None:
    contains(made.world.get(JOBS, made.name)["status"], made.wanted["status"])


def test_the_group(made: Made) -> None:
    (group,) = made.all(PODGROUPS).values()
    wanted = made.wanted["group"]
    assert group["metadata"]["name"] == wanted["name"]
    contains(group["metadata"].get("labels", {}), wanted["labels"])
    contains(group["spec"], wanted["spec"])
    assert (group["status"]["phase"], group["status"]["running"]) == (wanted["phase"], wanted["running"])


def test_the_pods(made: Made) -> None:
    pods = made.all(PODS)
    assert set(pods) == set(made.wanted["pods"])
    for name, wanted in made.wanted["pods"].items():
        metadata, spec = pods[name]["metadata"], pods[name]["spec"]
        contains(metadata["annotations"], wanted["annotations"], name)
        contains(metadata["labels"], wanted["labels"], name)
        contains(spec, wanted["spec"], name)
        contains({each["name"]: each for each in spec.get("volumes", ())}, wanted.get("volumes", {}), name)
        container = spec["containers"][0]
        contains(_variables(container), wanted.get("env", {}), name)
        contains({m["mountPath"]: m for m in container.get("volumeMounts", ())}, wanted.get("mounts", {}), name)
        contains({p["name"]: p["containerPort"] for p in container.get("ports", ())}, wanted["ports"], name)


def _variables(container: Document) -> Document:
    found: Document = {}
    for each in container.get("env", ()):
        reference = each.get("valueFrom", {}).get("configMapKeyRef")
        assert reference is None or reference["key"] == each["name"]
        assert each["name"] not in found
        found[each["name"]] = each.get("value") if reference is None else {"from": reference["name"]}
    return found


@pytest.mark.parametrize(
    ("resource", "kind", "content"),
    [(SERVICES, "services", "spec"), (CONFIGMAPS, "configmaps", "data"), (NETWORKPOLICIES, "policies", "spec")],
)
def test_what_plugins_make(made: Made, resource: Resource, kind: str, content: str) -> None:
    contains({name: each[content] for name, each in made.all(resource).items()}, made.wanted[kind])


def test_secrets(made: Made) -> None:
    secrets = made.all(SECRETS)
    for name, keys in made.wanted["secrets"].items():
        assert set(keys) <= set(secrets[name]["data"])
        assert secrets[name]["type"] == "Opaque"
