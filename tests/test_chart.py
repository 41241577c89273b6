"""The chart: what it renders, that its generated parts are those of the code, and what its values may be."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import click
import pytest
import yaml

from podium.cli.main import podium
from podium.core.profiles.profile import _KEYS, _LATER_KEYS
from podium.dialects import DIALECTS
from tests import chart
from tests.chart import Document
from tests.controlplane import build
from tests.controlplane.fixtures import ensure

SOAK = bool(os.environ.get("PODIUM_SOAK"))
HELMS = chart.HELMS if SOAK else chart.HELMS[:1]  # the second one is built for long runs only
EVERYTHING = (
    "webhook.enabled=true",
    "metrics.serviceMonitor.enabled=true",
    "metrics.prometheusRule.enabled=true",
    "metrics.dashboard.enabled=true",
    "config.actions=allocate",
    "schedulerNames={night}",
)
RUNBOOK = chart.ROOT / "docs" / "operations.md"


@pytest.fixture(params=HELMS, ids=lambda each: each.name)
def helm(request: pytest.FixtureRequest) -> build.Binary:
    binary: build.Binary = request.param
    ensure(request.config, binary)
    return binary


def setting(*values: str) -> list[str]:
    return [word for value in values for word in ("--set", value)]


def objects(helm: build.Binary, *values: str) -> list[Document]:
    return chart.documents(chart.rendered(*setting(*values), helm=helm))


def kind(found: list[Document], name: str) -> list[Document]:
    return [each for each in found if each["kind"] == name]


# --- made from the code ----------------------------------------------------------------------------------------


def test_rights_and_definitions_are_those_of_the_code() -> None:
    made = chart.made_files()
    there = {str(file.relative_to(chart.FILES)) for file in chart.FILES.rglob("*.yaml")} - {"alerts.yaml"}
    assert there == set(made), "write them with python -m tests.chart"
    for name, text in made.items():
        assert (chart.FILES / name).read_text() == text, f"{name}: write it with python -m tests.chart"


def test_the_plain_manifests_are_the_charts(helm: build.Binary) -> None:
    assert chart.MANIFESTS.read_text() == chart.manifests_page(), "write them with python -m tests.chart"


def test_the_charts_version_is_the_projects() -> None:
    about = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
    project = re.search(r'^version = "(.+)"$', (chart.ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert project is not None
    assert about["appVersion"] == about["version"] == project.group(1)


# --- rendered --------------------------------------------------------------------------------------------------


def test_helm_finds_nothing_wrong(helm: build.Binary) -> None:
    assert "0 chart(s) failed" in chart.linted(helm=helm)
    assert "0 chart(s) failed" in chart.linted(*setting(*EVERYTHING), helm=helm)


@pytest.mark.skipif(not SOAK, reason="the second helm is built for long runs only")
def test_both_helms_render_the_same(request: pytest.FixtureRequest) -> None:
    ensure(request.config, *chart.HELMS)
    one, two = (sorted(map(repr, objects(helm, *EVERYTHING))) for helm in chart.HELMS)
    assert one == two


def test_two_replicas_that_can_do_no_harm(helm: build.Binary) -> None:
    found = objects(helm, *EVERYTHING)
    for deployment in kind(found, "Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]
        assert container["readinessProbe"]
    scheduler = kind(found, "Deployment")[0]
    assert scheduler["spec"]["replicas"] == 2
    assert scheduler["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]
    (budget,) = kind(found, "PodDisruptionBudget")
    assert budget["spec"]["minAvailable"] == 1
    assert kind(found, "NetworkPolicy")


def test_the_arguments_are_those_of_podium(helm: build.Binary) -> None:
    """Every flag in the chart is one that the command has."""
    for deployment in kind(objects(helm, *EVERYTHING), "Deployment"):
        command, *flags = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
        known = podium.get_command(click.Context(podium), command)
        assert known is not None
        options = {name for parameter in known.params for name in (*parameter.opts, *parameter.secondary_opts)}
        assert {flag.partition("=")[0] for flag in flags} <= options


def test_only_the_dialects_that_are_chosen(helm: build.Binary) -> None:
    chosen = next(dialect for dialect in DIALECTS if dialect.definitions)
    found = objects(helm, f"dialects={{{chosen.name}}}")
    defined = {each["metadata"]["name"] for each in kind(found, "CustomResourceDefinition")}
    assert defined == {document["metadata"]["name"] for document in chosen.documents()}
    arguments = kind(found, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert f"--dialects={chosen.name}" in arguments
    groups = {group for rule in kind(found, "ClusterRole")[0]["rules"] for group in rule["apiGroups"]}
    for other in DIALECTS:
        if other is not chosen:
            own = {definition.resource.group for definition in other.definitions}
            assert not own & groups - {definition.resource.group for definition in chosen.definitions}


def test_definitions_stay_when_the_chart_goes(helm: build.Binary) -> None:
    kept = kind(objects(helm), "CustomResourceDefinition")
    assert kept
    assert all(each["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep" for each in kept)
    assert not kind(objects(helm, "crds.install=false"), "CustomResourceDefinition")


def test_one_replica_has_no_budget(helm: build.Binary) -> None:
    """It would keep its node from ever being drained."""
    assert not kind(objects(helm, "replicas=1"), "PodDisruptionBudget")


def test_profiles_in_values(helm: build.Binary) -> None:
    found = objects(helm, "config.profiles.podium.actions=allocate")
    (config,) = kind(found, "ConfigMap")
    assert yaml.safe_load(config["data"]["config.yaml"]) == {"profiles": {"podium": {"actions": "allocate"}}}
    pod = kind(found, "Deployment")[0]["spec"]["template"]["spec"]
    assert "--config=/etc/podium/config.yaml" in pod["containers"][0]["args"]


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("replica=3", "replica"),
        ("replicas=two", "replicas"),
        ("dialects={klingon}", "there is no klingon; there are"),
        ("logging.format=xml", "format"),
        ("leaderElection.leaseDuration=15", "leaseDuration"),
        ("image.digest=latest", "digest"),
        ("metrics.port=0", "port"),
        ("config.action=allocate", "action"),
    ],
)
def test_values_that_are_refused(helm: build.Binary, value: str, complaint: str) -> None:
    with pytest.raises(RuntimeError, match=complaint):
        objects(helm, value)


def test_a_configuration_in_values_may_say_what_podium_reads() -> None:
    schema = json.loads((chart.CHART / "values.schema.json").read_text())["properties"]["config"]
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {"profiles", *_KEYS, *_LATER_KEYS}


# --- what people look at ---------------------------------------------------------------------------------------


def test_an_older_kubernetes_needs_definitions_of_its_own(helm: build.Binary) -> None:
    older = ("--kube-version", "1.33.0")
    with pytest.raises(RuntimeError, match=r"crds\.install: servers before Kubernetes 1\.34 refuse"):
        chart.rendered(*older, helm=helm)
    assert chart.rendered(*older, *setting("crds.install=false"), helm=helm)
    with pytest.raises(RuntimeError, match="kubeVersion"):
        chart.rendered("--kube-version", "1.32.0", *setting("crds.install=false"), helm=helm)


def alerts() -> list[Document]:
    found: list[Document] = yaml.safe_load((chart.FILES / "alerts.yaml").read_text())
    return found


def metrics() -> str:
    """The source of all metrics: the names stand there."""
    runtime = Path(chart.ROOT / "src" / "podium" / "runtime")
    return "".join(file.read_text() for file in runtime.glob("*metrics*.py"))


def named(text: str) -> set[str]:
    return {name.removesuffix("_bucket") for name in re.findall(r"\b(?:podium|volcano)_\w+", text)}


@pytest.mark.parametrize("alert", alerts(), ids=lambda each: str(each["alert"]))
def test_every_alert_has_its_page_and_its_metric(alert: Document) -> None:
    heading = f"\n### {alert['alert']}\n"
    assert heading in RUNBOOK.read_text(), f"docs/operations.md has no section ### {alert['alert']}"
    assert alert["annotations"]["runbook"] == f"docs/operations.md#{alert['alert'].lower()}"
    for name in named(alert["expr"]):
        assert f'"{name}"' in metrics(), f"there is no metric {name}"


def labels() -> dict[str, set[str]]:
    """Which labels each metric has, as the page lists them; another test compares that with what is served."""
    page = (chart.ROOT / "docs" / "scheduler.md").read_text()
    found: dict[str, set[str]] = {}
    those: set[str] = set()
    for names, of in re.findall(r"^\| (`.+?) \| ?(.*?) ?\|", page, re.MULTILINE):
        those = those if of == "the same" else set(re.findall(r"`(\w+)`", of))
        found |= dict.fromkeys(re.findall(r"`(\w+)`", names), those)
    return found


def asked() -> list[str]:
    board = json.loads((chart.FILES / "dashboard.json").read_text())
    return [alert["expr"] for alert in alerts()] + [
        target["expr"] for panel in board["panels"] for target in panel["targets"]
    ]


@pytest.mark.parametrize("expression", asked())
def test_labels_that_are_asked_for_are_there(expression: str) -> None:
    known = labels()
    there = {label for name in named(expression) for label in known[name]} | {"pod", "le"}
    wanted = set(re.findall(r"[{,]\s*(\w+)\s*=", expression))
    for group in re.findall(r"(?:by|on)\s*\(([^)]*)\)", expression):
        wanted |= {label.strip() for label in group.split(",")}
    assert wanted <= there


def test_the_dashboard_shows_what_there_is() -> None:
    board = json.loads((chart.FILES / "dashboard.json").read_text())
    names = named(" ".join(target["expr"] for panel in board["panels"] for target in panel["targets"]))
    source = metrics()
    for name in names:
        known = f'"{name}"' in source or name.startswith("volcano_queue_")
        assert known, f"there is no metric {name}"
