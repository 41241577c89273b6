"""Configuration files: Volcano's and podium's, and what is wrong with one in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.dialects import built_in_profiles
from podium.errors import UsageError
from podium.runtime.configuration import default_profiles, embedded_profiles, load_profiles

VOLCANO_FILE = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}, {name: priority}]
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "scheduler.yaml"
    path.write_text(text)
    return path


def actions(profiles: dict[str, object], name: str) -> list[str]:
    return [action.name for action in profiles[name].actions]  # type: ignore[attr-defined]


def test_every_name_has_a_default() -> None:
    assert set(default_profiles()) == set(built_in_profiles())
    assert {"volcano", "podium", "podium-gpu"} <= set(default_profiles())


def test_volcanos_file_configures_volcano(tmp_path: Path) -> None:
    profiles = load_profiles(write(tmp_path, VOLCANO_FILE))
    assert actions({**profiles}, "volcano") == ["enqueue", "allocate"]
    assert "podium" in profiles


def test_or_the_names_it_is_said_to_be_for(tmp_path: Path) -> None:
    profiles = load_profiles(write(tmp_path, VOLCANO_FILE), ["mine", "yours"])
    assert actions({**profiles}, "mine") == actions({**profiles}, "yours") == ["enqueue", "allocate"]
    assert actions({**profiles}, "volcano") == ["enqueue", "allocate", "backfill"]


def test_podiums_file_has_a_profile_for_each_name(tmp_path: Path) -> None:
    profiles = load_profiles(write(tmp_path, 'profiles: {fast: {actions: "allocate", tiers: []}}'))
    assert actions({**profiles}, "fast") == ["allocate"]


def test_an_embedded_cluster_schedules_what_names_no_scheduler(tmp_path: Path) -> None:
    assert embedded_profiles()["default-scheduler"] is not None
    named = 'profiles: {default-scheduler: {actions: "allocate", tiers: []}}'
    assert actions({**embedded_profiles(write(tmp_path, named))}, "default-scheduler") == ["allocate"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[]", "a configuration is a mapping"),
        ("{", "is not YAML"),
        ("profiles: []", "profiles: it must be a mapping"),
        ('actions: "alocate"', "there is no action 'alocate'"),
        ("profiles: {x: {tiers: [{plugins: [{name: gnag}]}]}}", "profiles.x: tiers[0]"),
        ("action: allocate", "unknown key 'action', did you mean actions"),
        ("actions: allocate\ntier: []", "unknown key 'tier', did you mean tiers"),
        ("actions: allocate\ntiers: [{plugin: []}]", "tiers[0]: unknown key 'plugin', did you mean plugins"),
        ("actions: allocate\nweight: 1", "unknown key 'weight'; there are actions, tiers, configurations"),
        ("actions: allocate\nconfigurations: [{nmae: allocate}]", "configurations[0]: unknown key 'nmae', did"),
        ("profiles: {x: {acions: allocate}}", "profiles.x: unknown key 'acions', did you mean actions"),
        ("profiles: {arranger: {failafter: 5m}}", "unknown key 'failafter', did you mean failAfter"),
        ("profiles: {arranger: {weight: 1}}", "metrics, queuePolicy, basicPolicy, drfBase, gangScope"),
        ("profiles: {koord-scheduler: {waitTime: 5s}}", "unknown key 'waitTime', did you mean waitingTime"),
        ("profiles: {koord-scheduler: {zzz: 5s}}", "metrics, waitingTime, mode, matchPolicy, makePodGroups"),
        (
            "profiles: {ai-scheduler: {takeBackGraceSecond: 5}}",
            "ai-scheduler: unknown key 'takeBackGraceSecond', did you mean takeBackGraceSeconds",
        ),
        ("profiles: {ai-scheduler: {foo: 5}}", "period, quotaGate, metrics, preemption, order, takeBack"),
        ("profiles: {x: {actions: allocate}}\ntiers: []", "tiers must stand inside a profile"),
        ("actions: allocate\nactions: enqueue", "the key 'actions' stands there twice"),
        ("actions: allocate\n---\nactions: enqueue", "it holds 2 documents"),
        ("tiers: []", "actions are missing"),
        (
            "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: team}\nspec: {weight: 1}",
            "it is a Queue team and no scheduler's configuration",
        ),
        ("apiVersion: v1\nkind: List\nitems: []", "it is a List and no scheduler's configuration"),
        ("kind: ConfigMap\nmetadata: {name: c}\ndata: {a: '', b: ''}", "a ConfigMap c has the keys a, b, and not"),
        ("kind: ConfigMap\nmetadata: {name: c}", "a ConfigMap c has no data, and not volcano-scheduler.conf"),
        ("kind: ConfigMap\ndata: {a: 'action: allocate'}", "data[a]: unknown key 'action', did you mean actions"),
        ("kind: ConfigMap\ndata: {a: 'kind: ConfigMap'}", "data[a]: it is a ConfigMap and no"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_profiles(write(tmp_path, text))
    assert sentence in str(caught.value)
    assert "scheduler.yaml" in str(caught.value)


@pytest.mark.parametrize("more", ["", "  other.conf: 'nothing'\n"], ids=["one key", "among others"])
def test_volcanos_config_map_as_kubectl_prints_it(tmp_path: Path, more: str) -> None:
    inside = "".join(f"    {line}\n" for line in VOLCANO_FILE.strip().splitlines())
    text = (
        f"apiVersion: v1\ndata:\n{more}  volcano-scheduler.conf: |\n{inside}kind: ConfigMap\n"
        "metadata:\n  name: volcano-scheduler-configmap\n  namespace: volcano-system\n  resourceVersion: '7'\n"
    )
    profiles = load_profiles(write(tmp_path, text))
    assert actions({**profiles}, "volcano") == ["enqueue", "allocate"]
    assert [entry.kind.name for entry in profiles["volcano"].tiers[0]] == ["gang", "priority"]


def test_what_volcano_says_about_metrics_has_no_effect_and_that_is_said(tmp_path: Path) -> None:
    profiles = load_profiles(write(tmp_path, VOLCANO_FILE + "metrics: {type: prometheus}\n"))
    assert [each.split(": ", 1)[1] for each in profiles["volcano"].warnings] == ["metrics has no effect yet"]


def test_jobs_know_who_looks_at_their_groups() -> None:
    """A Job waits for a word of these about its group, and for nobody else's."""
    assert default_profiles().keys() == built_in_profiles().keys()
