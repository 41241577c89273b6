"""Configuration files: Volcano's own load as they are, mistakes are told with their place."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from podium.core.profiles.profile import read_profile
from podium.errors import UsageError
from tests.volcano_files import BUILT_IN, HELM

OLD = """
actions: "reserve, elect, enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: reservation
- plugins:
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
    arguments:
      leastrequested.weight: "2"
"""


@pytest.mark.parametrize("text", [BUILT_IN, HELM])
def test_volcanos_default_files_load_without_a_word(text: str) -> None:
    profile = read_profile(yaml.safe_load(text))
    assert [action.name for action in profile.actions] == ["enqueue", "allocate", "backfill"]
    assert [len(tier) for tier in profile.tiers] == [3, text.count("- name") - 3]
    assert profile.warnings == ()


def test_helm_switches_preemption_of_two_plugins_off() -> None:
    enabled = {each.plugin.name: each for tier in read_profile(yaml.safe_load(HELM)).plugins() for each in tier}
    assert not enabled["gang"].has("preemptable")
    assert not enabled["drf"].has("preemptable")
    assert enabled["gang"].has("reclaimable")
    assert enabled["conformance"].has("preemptable")


def test_an_old_file_loads_with_warnings_and_strings_as_numbers() -> None:
    profile = read_profile(yaml.safe_load(OLD), "volcano.yaml")
    assert profile.warnings == (
        "volcano.yaml: actions: reserve has no effect yet",
        "volcano.yaml: actions: elect has no effect yet",
        "volcano.yaml: tiers[0].plugins[2].name: reservation has no effect yet",
    )
    assert [entry.kind.name for entry in profile.tiers[0]] == ["priority", "gang"]


@pytest.mark.parametrize(
    "name",
    [
        *("cdp", "deviceshare", "extender", "network-topology-aware", "numa-aware", "rescheduling"),
        *("reservation", "resource-strategy-fit", "task-topology", "tdm", "usage"),
    ],
)
def test_plugins_to_come_are_accepted(name: str) -> None:
    profile = read_profile({"actions": "allocate, shuffle", "tiers": [{"plugins": [{"name": name}]}]})
    assert profile.tiers == ((),)
    assert [action.name for action in profile.actions] == ["allocate"]
    assert len(profile.warnings) == 2


@pytest.mark.parametrize(
    ("document", "reported"),
    [
        ({"actions": "allocate, alocate"}, "actions: there is no action 'alocate'; there are allocate,"),
        ({"actions": ["allocate"]}, "actions: want names separated by commas"),
        ({"tiers": [{"plugins": [{"name": "gagn"}]}]}, "tiers[0].plugins[0].name: there is no plugin 'gagn'"),
        ({"tiers": [{"plugins": ["gang"]}]}, "tiers[0].plugins[0]: want a table"),
        ({"tiers": {"plugins": []}}, "tiers: want a list"),
        ({"tiers": ["gang"]}, "tiers[0]: want a table"),
        (
            {"tiers": [{"plugins": [{"name": "gang", "enableJobOrder": "no"}]}]},
            "enableJobOrder: want true or false",
        ),
        ({"tiers": [{"plugins": [{"name": "gang", "arguments": 1}]}]}, "arguments: want a table"),
        ({"configurations": ["allocate"]}, "configurations[0]: want a table"),
        ({"minRuntime": "soon"}, "minRuntime: want a duration such as 5m, got 'soon'"),
        (
            {"configurations": [{"name": "preempt", "argument": {}}]},
            "configurations[0]: unknown key 'argument', did you mean arguments",
        ),
    ],
)
def test_mistakes_are_told_with_their_place(document: dict[str, Any], reported: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_profile(document, "file.yaml")
    assert str(caught.value).startswith("file.yaml: ")
    assert reported in str(caught.value)


def test_what_the_profile_says_holds_for_every_action_that_does_not_say_otherwise() -> None:
    profile = read_profile(
        {
            "actions": "preempt, reclaim",
            "minRuntime": "5m",
            "configurations": [{"name": "reclaim", "arguments": {"minRuntime": "1h"}}],
        }
    )
    assert profile.arguments["preempt"].text("minRuntime") == "5m"
    assert profile.arguments["reclaim"].text("minRuntime") == "1h"


def test_an_empty_file_is_an_empty_profile() -> None:
    profile = read_profile({})
    assert profile.actions == ()
    assert profile.tiers == ()


@pytest.mark.parametrize(
    ("document", "warning"),
    [
        (
            {"tiers": [{"plugins": [{"name": "binpack", "arguments": {"binpack.weigth": 5}}]}]},
            "tiers[0].plugins[0].arguments: binpack.weigth: unknown argument, did you mean binpack.weight",
        ),
        (
            {"tiers": [{"plugins": [{"name": "gang", "arguments": {"zzz": 5}}]}]},
            "tiers[0].plugins[0].arguments: zzz: unknown argument",
        ),
        (
            {"tiers": [{"plugins": [{"name": "predicates", "arguments": {"predicate.CacheEnable": True}}]}]},
            "tiers[0].plugins[0].arguments: predicate.CacheEnable: no effect, they always are",
        ),
        (
            {"tiers": [{"plugins": [{"name": "gang", "enableJobOrders": True}]}]},
            "tiers[0].plugins[0].enableJobOrders: unknown switch, did you mean enableJobOrder",
        ),
        (
            {"configurations": [{"name": "preempt", "arguments": {"minRunTime": "5m"}}]},
            "configurations[0].arguments: minRunTime: unknown argument, did you mean minRuntime",
        ),
        ({"configurations": [{"name": "alocate"}]}, "configurations[0].name: alocate is no action"),
        ({"configurations": [{"name": "shuffle"}]}, "configurations[0].name: shuffle has no effect yet"),
    ],
)
def test_what_is_told_without_effect_is_warned_about(document: dict[str, Any], warning: str) -> None:
    assert read_profile(document, "file.yaml").warnings == (f"file.yaml: {warning}",)


def test_arguments_with_a_placeholder_in_their_name_are_known() -> None:
    reported = {"binpack.resources": "nvidia.com/gpu", "binpack.resources.nvidia.com/gpu": "5"}
    profile = read_profile({"tiers": [{"plugins": [{"name": "binpack", "arguments": reported}]}]})
    assert profile.warnings == ()


def test_two_plugins_that_order_queues_are_told_apart() -> None:
    tier = [{"name": "drf", "enableHierarchy": True}, {"name": "proportion"}]
    profile = read_profile({"actions": "allocate", "tiers": [{"plugins": tier}]}, "the file")
    assert profile.warnings == (
        "the file: tiers[0]: drf with enableHierarchy and proportion both order queues; drf, which is first, "
        "decides. Volcano refuses such a file",
    )
