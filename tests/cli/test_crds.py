"""`podium crds`."""

from __future__ import annotations

import pytest
import yaml

from podium.cli import main as cli
from podium.dialects import DIALECTS


def test_every_definition_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["crds"]) == 0
    printed = capsys.readouterr().out
    names = [document["metadata"]["name"] for document in yaml.safe_load_all(printed)]
    assert names == [each.resource.group_resource for dialect in DIALECTS for each in dialect.definitions]
    assert "&id" not in printed, "no anchors: people read it"
    assert cli.run(["crds", "--dialect", "volcano"]) == 0
    assert printed.startswith(capsys.readouterr().out)


def test_a_family_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["crds", "--dialect", "esperanto"]) == 2
    reported = capsys.readouterr().err
    assert reported.startswith("podium: there is no dialect 'esperanto'; there are ")
    assert "volcano" in reported
