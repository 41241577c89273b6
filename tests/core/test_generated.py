"""The pages that are made from the code say what the code says, and no argument is without a test."""

from __future__ import annotations

import re
from typing import Any

import pytest

from podium.core.framework.arguments import Arguments
from podium.core.framework.framework import EnabledPlugin
from podium.core.framework.session import Session
from podium.core.profiles.registry import misfit
from tests.core.world import NOW, World
from tests.generated import COMPARISON, DOCS, PAGES, declared, pictures, shown_by_argument
from tests.reference import without_meaning


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name](), f"docs/{name} is stale: run python -m tests.generated"


def test_every_field_of_every_kind_says_what_it_is_for() -> None:
    assert without_meaning() == []


def test_the_examples_on_the_page_work() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / "plugins.md").read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert misfit(names["Quiet"]) is None
    world = World()
    world.node("quiet", {"example.com/quiet": "yes"})
    world.node("street")
    for index in range(2):
        world.task(f"band-{index}", labels={"noise": "yes"})
    plugin = names["Quiet"](Arguments({}, names["Quiet"].ARGUMENTS))
    session = Session(world.cluster, [[EnabledPlugin(plugin, {})]], NOW)
    band = session.cluster.tasks["ns/band-0"]
    assert session.candidates(band).choose([band]) == [1]
    assert list(session.steps(names["Auction"]())) == [None, None]


def test_every_argument_has_a_test_or_a_reason() -> None:
    shown = shown_by_argument()
    missing = [
        key
        for key, argument in declared().items()
        if key not in shown and not (argument is not None and argument.ignored)
    ]
    assert not missing, f"no test is marked as being about {missing}"


def test_every_mark_is_about_an_argument_that_has_an_effect() -> None:
    known = declared()
    for key in shown_by_argument():
        argument = known.get(key)
        assert key in known, f"{key} is not declared"
        assert argument is None or not argument.ignored, f"{key} is said to have no effect"


def test_pictures_are_what_the_simulator_draws_now() -> None:
    found = pictures()
    kept = {file.name: file.read_text() for file in (DOCS / "pictures").glob("*.svg")}
    assert found.keys() <= kept.keys()
    stale = [name for name in found if kept[name] != found[name]]
    assert not stale, f"docs/pictures/{stale[0]} is stale: run python -m tests.generated"


def test_the_command_that_makes_them_is_told() -> None:
    assert COMPARISON in (DOCS / "simulator.md").read_text()
