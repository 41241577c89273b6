"""The documentation is tested: what can be typed is written down, and what is written down can be typed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from podium.cli.main import podium
from podium.sim.histories import invariants

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])
VC = (ROOT / "docs" / "vc.md").read_text()
COMMANDS = "\n## ".join(((ROOT / "docs" / "commands.md").read_text(), VC))


def commands() -> dict[str, click.Command]:
    """Every command by the words that call it, also those inside groups."""
    found: dict[str, click.Command] = {}

    def walk(words: str, command: click.Command) -> None:
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                assert child is not None
                walk(f"{words} {name}", child)
        else:
            found[words] = command

    walk("podium", podium)
    return found


def section(words: str) -> str:
    """The part of a page under the heading of a command; what docs/vc.md begins with is about all of its own."""
    found = re.search(rf"^## {re.escape(words)}$(.*?)(?=^## |\Z)", COMMANDS, re.MULTILINE | re.DOTALL)
    asks = words.startswith("podium vc ") and words != "podium vc version"
    common = VC.partition("\n## ")[0] if asks else ""
    return found.group(1) + common if found else ""


def flags(command: click.Command) -> list[str]:
    return [
        flag
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for flag in (*parameter.opts, *parameter.secondary_opts)
    ]


@pytest.mark.parametrize("words", sorted(commands()))
def test_every_command_and_flag_is_documented(words: str) -> None:
    text = section(words)
    assert text, f"no page has a section '## {words}'"
    missing = [flag for flag in flags(commands()[words]) if f"`{flag}" not in text]
    assert not missing, f"no page says what {words} {' '.join(missing)} means"


def test_nothing_is_documented_that_does_not_exist() -> None:
    headings = set(re.findall(r"^## (podium .+)$", COMMANDS, re.MULTILINE))
    assert headings == set(commands())
    for words, command in commands().items():
        documented = set(re.findall(r"^\| .*?`(--[a-z-]+)", section(words), re.MULTILINE))
        assert documented <= set(flags(command)), words


def shell_lines(page: Path) -> list[str]:
    """Lines of code blocks without a language: what a reader is told to type, or will see."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [line for language, block in blocks if not language for line in block.splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_on_pages_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in shell_lines(page):
        words = shlex.split(line, comments=True) if not line.strip().startswith("the ") else []
        if not words:
            continue
        if words[0] == "make":
            assert {word for word in words[1:] if "=" not in word} <= targets, line
        if Path(words[0]).name == "podium":
            called = (" ".join(["podium", *words[1:end]]) for end in range(len(words), 1, -1))
            command = next((commands()[each] for each in called if each in commands()), None)
            assert command is not None, line
            given = {word.split("=")[0] for word in words if word.startswith("--")}
            assert given <= set(flags(command)), line
        if words[0] == "kubectl" and "-f" in words:
            file = words[words.index("-f") + 1]
            assert file == "-" or (ROOT / file).exists(), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",  # not with --quiet: what is not logged is not counted
        "--site-dir",
        str(tmp_path / "site"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    assert (tmp_path / "site" / "index.html").exists()
    assert (tmp_path / "site" / "ARCHITECTURE.html").exists()


def test_the_map_shows_every_room_and_nothing_that_is_not_there() -> None:
    """ARCHITECTURE.md: packages by their folder, modules by the end of their path."""
    package = ROOT / "src" / "podium"
    text = (ROOT / "ARCHITECTURE.md").read_text()
    modules = [f"/{path.relative_to(package)}" for path in package.rglob("*.py")]
    named = set(re.findall(r"`([\w/<>*]+\.py)`", text))
    patterns = {name: re.compile("/" + re.sub(r"\*|<\w+>", "[^/]*", name) + "$") for name in named}
    assert [name for name in sorted(named) if not any(map(patterns[name].search, modules))] == []
    rooms = [path.parent for path in package.rglob("__init__.py") if path.parent != package]
    assert [room.name for room in sorted(rooms) if f"{room.name}/" not in text] == []


def test_a_newcomer_sees_how_to_try_it_before_how_to_test_it() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "\nmake demo\n" in readme
    assert "make test" not in readme, "that is for developers: CONTRIBUTING.md"


def test_every_rule_of_the_histories_is_on_their_page() -> None:
    rules = re.findall(r"^    (I\d+) ", str(invariants.__doc__), re.MULTILINE)
    assert rules == [f"I{number}" for number in range(1, len(rules) + 1)]
    assert re.findall(r"^\| (I\d+) \|", (ROOT / "docs" / "simulator.md").read_text(), re.MULTILINE) == rules
