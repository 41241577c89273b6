"""Nobody names a dialect or a plugin but who must: what others know of them stands in a record or an attribute.

`lint-imports` says which room may use which; this says that within what is allowed nothing is known by name.  It
looks at the names and strings of the code.  Prose (comments, docstrings) may say whom a rule is taken from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from podium.core.profiles.registry import Registry
from podium.dialects import DIALECTS

SOURCE = Path(__file__).parent.parent / "src" / "podium"

# Where the name of a dialect stands outside of its folder, each with the reason.
SAID_TO_USERS = {
    "cli/process_options.py": "the help says whose file --config takes, and which name it is for by default",
    "cli/sim_options.py": "the help says which profile is the default",
    "core/profiles/profile.py": "a warning says what the scheduler whose file it is would do",
    "core/actions/enqueue.py": "the documentation of an argument says whose files still have it",
    "dialects/volcano/podgroup_controller.py": "an operator has a kind of that name",
    "runtime/metrics.py": "metrics have the names that dashboards look for",
    "runtime/queue_metrics.py": "metrics have the names that dashboards look for",
}

# Names of plugins that are words of the model or of Kubernetes, and meant as such.
WORDS = {
    "core/cluster/nodes.py": {"capacity"},
    "core/model/model.py": {"gang", "priority"},
    "dialects/koordinator/marks.py": {"gang"},
    "dialects/koordinator/pages.py": {"gang"},
    "numbers.py": {"gang"},
    "dialects/aibee/translate.py": {"priority"},
    "dialects/queue_report.py": {"capacity"},
    "explain/nodes_ladders.py": {"capacity"},
    "explain/queues.py": {"gang"},
    "runtime/pool_metrics.py": {"capacity"},
    "runtime/queue_metrics.py": {"capacity"},
    "sim/following.py": {"gang"},
    "sim/histories/faults/nodes.py": {"capacity"},
    "sim/snapshot.py": {"capacity"},
    "sim/traces/table.py": {"priority"},
    "web/details.py": {"gang", "priority"},
    "web/job_rows.py": {"priority"},
}
# Files that hold profiles, which name plugins.
PROFILES = {
    "core/profiles/own_profiles.py",
    "dialects/koordinator/profile.py",
    "dialects/arranger/profile.py",
    "dialects/aibee/profile.py",
    "dialects/volcano/profile.py",
    "sim/histories/faults/preemption.py",
    "sim/policies.py",
    "sim/presets.py",
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())


def strings(tree: ast.Module) -> set[str]:
    """The strings of a module that are no docstrings."""
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in prose)
    return {node.value for node in constants if isinstance(node.value, str)}


def imported(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found


def identifiers(tree: ast.Module) -> set[str]:
    """What a module calls things: variables, attributes, functions, classes, arguments and what it imports."""
    found = imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg | ast.keyword) and node.arg is not None:
            found.add(node.arg)
    return found


def test_a_dialects_name_stands_in_its_folder_only() -> None:
    names = [dialect.name for dialect in DIALECTS]
    found: dict[str, str] = {}
    for file, tree in modules():
        if file == "dialects/__init__.py" or file.startswith("cli/vc/"):
            continue
        for text in identifiers(tree) | strings(tree):
            for name in names:
                if name in text.lower() and not file.startswith(f"dialects/{name}/"):
                    found[file] = f"{file} knows {name} by name: {text!r}"
    assert not [reported for file, reported in found.items() if file not in SAID_TO_USERS]
    assert not SAID_TO_USERS.keys() - found.keys(), "these name no dialect any more: take them off the list"


def test_dialects_do_not_know_each_other() -> None:
    for dialect in DIALECTS:
        others = tuple(f"podium.dialects.{each.name}" for each in DIALECTS if each is not dialect)
        for file, tree in modules():
            if file.startswith(f"dialects/{dialect.name}/"):
                foreign = [name for name in imported(tree) if name.startswith(others)]
                assert not foreign, f"{file} imports {foreign[0]} of another dialect"


def test_every_dialect_has_its_folder() -> None:
    """What is beside these folders is shared by all."""
    folders = {path.parent.name for path in (SOURCE / "dialects").glob("*/__init__.py")}
    assert folders == {"kubernetes", *(dialect.name for dialect in DIALECTS)}


def test_a_plugins_name_stands_in_its_file_and_the_profiles_only() -> None:
    plugins = Registry().plugins
    homes = {name: kind.__module__ for name, kind in plugins.items()}
    found: dict[str, set[str]] = {}
    for file, tree in modules():
        module = "podium." + file.removesuffix(".py").replace("/", ".")
        if file in PROFILES or file.startswith(("core/plugins/", "embedded/", "kube/", "schema/")):
            continue  # plugins may share code with each other
        texts, names = strings(tree) - WORDS.get(file, set()), imported(tree)
        known = {name for name, home in homes.items() if home != module and (name in texts or home in names)}
        if known:
            found[file] = known
    assert found == {}, "plugins say of themselves what others rely on: see the attributes of Plugin"
