"""The configuration file while the scheduler runs: good ones are taken, bad ones told, half ones not read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from podium.errors import UsageError
from podium.runtime.reloading import Configuration

GOOD = 'actions: "enqueue, allocate"\ntiers: [{plugins: [{name: gang}]}]\n'
OTHER = 'actions: "allocate"\ntiers: [{plugins: [{name: gang}]}]\n'
BAD = 'actions: "alocate"\n'


def actions(configuration: Configuration) -> list[str]:
    return [action.name for action in configuration.profiles["volcano"].actions]


def version(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def settle(configuration: Configuration) -> int:
    """Looks a few times; how often there was something to tell."""
    return sum(configuration.look() for _ in range(4))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "scheduler.yaml"
    path.write_text(GOOD)
    return path


def test_the_first_one_must_be_good(path: Path) -> None:
    path.write_text(BAD)
    with pytest.raises(UsageError, match="there is no action 'alocate'"):
        Configuration(path)
    with pytest.raises(UsageError, match="cannot be read: no such file"):
        Configuration(path.with_name("missing"))


def test_without_a_file_there_is_nothing_to_look_at() -> None:
    configuration = Configuration(None, ["mine"])
    assert (configuration.version, settle(configuration)) == ("built-in", 0)
    assert configuration.profiles["mine"] == configuration.profiles["volcano"]


def test_a_good_file_is_taken_over_once(path: Path) -> None:
    configuration = Configuration(path)
    assert configuration.version == version(GOOD)
    assert settle(configuration) == 0
    path.write_text(OTHER)
    assert settle(configuration) == 1
    assert actions(configuration) == ["allocate"]
    assert (configuration.version, configuration.accepted) == (version(OTHER), 1)


def test_a_bad_file_changes_nothing_and_is_told_once(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    configuration = Configuration(path)
    path.write_text(BAD)
    assert settle(configuration) == 1
    assert settle(configuration) == 0
    assert actions(configuration) == ["enqueue", "allocate"]
    assert configuration.version == version(GOOD)
    assert configuration.refused is not None
    assert configuration.refused.version == version(BAD)
    assert "there is no action 'alocate'" in configuration.refused.why
    assert f"version {version(GOOD)} stays in force" in caplog.text
    assert configuration.refusals == 1
    path.write_text(OTHER)
    assert settle(configuration) == 1
    assert configuration.refused is None
    assert actions(configuration) == ["allocate"]


def test_back_to_what_is_in_force_nothing_is_refused(path: Path) -> None:
    configuration = Configuration(path)
    path.write_text(BAD)
    settle(configuration)
    path.write_text(GOOD)
    assert settle(configuration) == 0
    assert configuration.refused is None


def test_a_file_that_is_touched_is_not_new(path: Path) -> None:
    configuration = Configuration(path)
    os.utime(path, ns=(1, 1))
    assert settle(configuration) == 0
    assert configuration.accepted == 0


def test_a_file_that_is_being_written_is_not_read(path: Path) -> None:
    configuration = Configuration(path)
    with path.open("w") as file:
        for line in OTHER.splitlines(keepends=True):
            file.write(line)
            file.flush()
            assert not configuration.look()
    assert settle(configuration) == 1
    assert actions(configuration) == ["allocate"]
    assert configuration.refusals == 0


def test_a_file_that_is_gone_is_told(path: Path) -> None:
    configuration = Configuration(path)
    path.unlink()
    assert settle(configuration) == 1
    assert configuration.refused is not None
    assert "cannot be read: no such file" in configuration.refused.why
    assert actions(configuration) == ["enqueue", "allocate"]


def test_mounts_of_configmaps_swap_a_link(tmp_path: Path) -> None:
    """..data points at a directory of its own for each version; the file is a link through it."""
    for name, text in (("..v1", GOOD), ("..v2", OTHER)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scheduler.conf").write_text(text)
    (tmp_path / "..data").symlink_to("..v1")
    (tmp_path / "scheduler.conf").symlink_to("..data/scheduler.conf")
    configuration = Configuration(tmp_path / "scheduler.conf")
    (tmp_path / "..data_tmp").symlink_to("..v2")
    (tmp_path / "..data_tmp").rename(tmp_path / "..data")
    assert settle(configuration) == 1
    assert actions(configuration) == ["allocate"]
