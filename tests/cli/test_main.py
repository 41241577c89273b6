"""The command line as a whole: help, errors, exit codes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from podium import __version__
from podium.cli import main as cli
from podium.errors import StorageError, UsageError
from tests.cli.running import podium


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["version"]) == 0
    assert capsys.readouterr().out == f"podium {__version__}\n"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    listed = capsys.readouterr().out
    for name in ("crds", "up", "down", "demo", "version"):
        assert f"\n  {name} " in listed


def test_the_list_of_commands_has_whole_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["sim"], ["vc"], ["vc", "job"]):
        assert cli.run([*words, "--help"]) == 0
        assert "..." not in capsys.readouterr().out.partition("Commands:")[2]


@pytest.mark.parametrize(("typed", "hint"), [("queu", "is it queue?"), ("xyzzy", "see podium --help")])
def test_a_command_that_is_none(typed: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([typed]) == 2
    assert capsys.readouterr().err == f"podium: there is no command {typed}: {hint}\n"


@pytest.mark.parametrize("command", ["crds", "up", "down", "demo", "version"])
def test_each_command_has_help_of_its_own(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([command, "-h"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: podium {command}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_one_sentence() -> None:
    command = f"{sys.executable} -m podium.cli.main crds >/dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "podium: not everything could be written: no space left on device\n"


def test_no_command_shows_the_help_as_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([]) == 2
    assert "Commands:" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["up", "--nonsense"], ["up", "--nodes", "many"], ["up", "--port", "99999"], ["up", "x"]],
)
def test_wrong_usage_is_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("podium: ")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"), [(UsageError("wrong"), 2), (StorageError("broken"), 1), (KeyboardInterrupt(), 1)]
)
def test_errors_become_exit_codes(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli.podium, "main", fail)
    assert cli.run([]) == code
    said = capsys.readouterr().err
    assert said == f"podium: {str(error) or 'interrupted'}\n"


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from podium.cli.main import run; run(['--help']); print(sorted(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("asyncio", "rich", "yaml", "cryptography", "prometheus_client", "msgspec", "podium.kube"):
        assert f"'{heavy}'" not in modules


def test_help_is_quick() -> None:
    best = 10.0
    for _ in range(3):
        began = time.monotonic()
        assert podium("--help").returncode == 0
        best = min(best, time.monotonic() - began)
    assert best < 1.0  # a fraction of this on a machine at rest
