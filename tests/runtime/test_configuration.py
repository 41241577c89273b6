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
    assert set(default_profiles()) == {"volcano", "podium", "podium-gpu"}


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
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_profiles(write(tmp_path, text))
    assert sentence in str(caught.value)
    assert "scheduler.yaml" in str(caught.value)


def test_jobs_know_who_looks_at_their_groups() -> None:
    """A Job waits for a word of these about its group, and for nobody else's."""
    assert default_profiles().keys() == built_in_profiles().keys() == {"podium", "podium-gpu", "volcano"}
