"""The log as JSON, and the version."""

from __future__ import annotations

import json
import logging

import pytest

from podium import __version__
from podium.cli import main as cli
from podium.cli.log_format import JsonFormatter


def test_a_line_is_one_object_also_with_a_trace() -> None:
    try:
        raise ValueError("no\nline")
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
    record = logging.LogRecord("podium.x", logging.ERROR, "f", 1, "it %s", ("broke\nhere",), info)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    entry = json.loads(line)
    assert (entry["level"], entry["logger"], entry["msg"]) == ("error", "podium.x", "it broke\nhere")
    assert "ValueError" in entry["error"]


def test_the_version_is_an_option_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"podium {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_told_how_to_complete(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["completion", shell]) == 0
    assert "_PODIUM_COMPLETE" in capsys.readouterr().out
