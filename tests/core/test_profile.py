"""Configuration files: Volcano's own load as they are, mistakes are told with their place."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from podium.core.profile import read_profile
from podium.errors import UsageError

BUILT_IN = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""

HELM = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""

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
    ("document", "told"),
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
    ],
)
def test_mistakes_are_told_with_their_place(document: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_profile(document, "file.yaml")
    assert str(caught.value).startswith("file.yaml: ")
    assert told in str(caught.value)


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
