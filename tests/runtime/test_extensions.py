"""Plugins and actions of users: installed, named in a profile, and told of when they cannot be used."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from podium.core.cycle import run_cycle
from podium.core.model.decisions import Bind, Evict
from podium.core.profiles.profile import Profile, read_profile
from podium.errors import UsageError
from podium.runtime.extensions import Extensions
from tests.core.world import NOW, World

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugins"


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, installed where nothing else is."""
    folder = tmp_path_factory.mktemp("example")
    source = shutil.copytree(EXAMPLE, folder / "source")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        *options,
        "--target",
        str(folder / "installed"),
        str(source),
    ]
    subprocess.run(command, check=True, timeout=60)
    return folder / "installed"


@pytest.fixture
def example(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(package))


def profile(actions: str, *plugins: str | dict[str, Any]) -> Profile:
    entries = [{"name": each} if isinstance(each, str) else each for each in plugins]
    return read_profile({"actions": actions, "tiers": [{"plugins": entries}]}, "file.yaml", Extensions())


# --- the example -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("example")
def test_the_examples_plugin_keeps_nodes_for_their_owners() -> None:
    world = World()
    world.node("a", {"example.com/owner": "ns"})
    world.node("b")
    world.node("c", {"example.com/owner": "others"}, cpu=90_000, memory=900 << 30)
    for index in range(12):
        world.task(f"t-{index}")
    decisions = run_cycle(world.cluster, profile("allocate", "tenancy", "predicates", "nodeorder"), NOW)
    nodes = [each.node for each in decisions if isinstance(each, Bind)]
    assert sorted(nodes) == ["a"] * 10 + ["b"] * 2


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize(
    ("plugin", "gone"),
    [
        ({"name": "tenancy"}, {"ns/short"}),
        ({"name": "tenancy", "arguments": {"tenancy.max-seconds": 50}}, {"ns/short", "ns/plain"}),
        ({"name": "tenancy", "enableTaskLifetime": False}, set()),
    ],
)
def test_the_examples_action_asks_its_own_hook(plugin: dict[str, Any], gone: set[str]) -> None:
    world = World()
    world.node("n")
    for name, seconds in (("short", "60"), ("long", "6000"), ("plain", "")):
        labels = {"example.com/max-seconds": seconds} if seconds else {}
        world.task(name, at="n", started=NOW - 100, labels=labels)
    by = profile("expire", plugin)
    assert by.warnings == ()
    decisions = run_cycle(world.cluster, by, NOW)
    assert {each.task for each in decisions if isinstance(each, Evict)} == gone


@pytest.mark.usefixtures("example")
def test_a_name_that_nobody_has_is_told_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"there is no plugin 'tenacy'; there are .*, tenancy"):
        profile("allocate", "tenacy")
    with pytest.raises(UsageError, match=r"there is no action 'expires'; there are .*, expire, "):
        profile("expires")
    by = profile("allocate", {"name": "tenancy", "arguments": {"tenancy.wait": 1}})
    assert by.warnings == (
        "file.yaml: tiers[0].plugins[0].arguments: tenancy.wait: unknown argument, did you mean tenancy.weight",
    )


def test_without_the_package_there_is_no_such_plugin() -> None:
    with pytest.raises(UsageError, match=r"there is no plugin 'tenancy'"):
        profile("allocate", "tenancy")


# --- what cannot be used -----------------------------------------------------------------------------------------

MODULE = """
from podium.core.framework.action import Action
from podium.core.framework.plugin import Plugin

class Good(Plugin):
    name = "good"

class Misnamed(Plugin):
    name = "other"

class Deaf(Plugin):
    name = "deaf"
    def predicate(self, task):
        return None

class Binpack(Plugin):
    name = "binpack"

thing = 7
"""


@pytest.fixture
def declare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Installs a package with some entry points."""

    def make(*points: tuple[str, str, str], module: str = MODULE, name: str = "mine") -> None:
        (tmp_path / f"{name}.py").write_text(module)
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"[{group}]\n{key} = {value}\n" for group, key, value in points]
        (folder / "entry_points.txt").write_text("".join(lines))
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, name, raising=False)

    return make


@pytest.mark.parametrize(
    ("name", "value", "reported"),
    [
        ("gone", "mine:Gone", "cannot be loaded: AttributeError: module 'mine' has no attribute 'Gone'"),
        ("lost", "not_there:X", "cannot be loaded: ModuleNotFoundError: No module named 'not_there'"),
        ("thing", "mine:thing", "is no podium.core.framework.plugin.Plugin; derive its class from that"),
        ("mis", "mine:Misnamed", "has the name 'other'; class and entry point must have the same"),
        ("deaf", "mine:Deaf", "cannot be used: predicate must take (self, task, row)"),
        ("binpack", "mine:Binpack", "has the name of one of podium's own; rename it"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_told_with_its_entry_point(
    name: str, value: str, reported: str, declare: Any
) -> None:
    declare(("podium.plugins", name, value))
    with pytest.raises(UsageError) as caught:
        profile("allocate", name)
    assert str(caught.value) == f"entry point podium.plugins: {name} = {value} {reported}"


def test_a_package_that_raises_is_no_matter_until_it_is_used(declare: Any) -> None:
    declare(("podium.plugins", "loud", "loud:Loud"), module="raise OSError('disk\\nfull')", name="loud")
    assert profile("allocate", "gang").warnings == ()
    with pytest.raises(UsageError, match=r"loud = loud:Loud cannot be loaded: OSError: disk full$"):
        profile("allocate", "loud")


def test_an_action_that_is_none(declare: Any) -> None:
    declare(("podium.actions", "good", "mine:Good"))
    with pytest.raises(
        UsageError, match=r"podium\.actions: good = mine:Good is no podium\.core\.framework\.action\.Action"
    ):
        profile("good")


def test_two_packages_with_one_name(declare: Any) -> None:
    declare(("podium.plugins", "good", "mine:Good"))
    declare(("podium.plugins", "good", "yours:Good"), name="yours")
    with pytest.raises(UsageError, match=r"good is there twice \((mine|yours):Good, (mine|yours):Good\)"):
        profile("allocate", "good")
