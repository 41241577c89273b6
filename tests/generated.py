"""Parts of the documentation that are made from the code: hooks, reasons, every argument with its test, pictures.

    python -m tests.generated    writes them

A test compares them with what the code says now, so they cannot go stale.  A test is shown with an argument when
it is marked `pytest.mark.argument(owner, name)`, a scenario when its table says `argument: [owner, name]`.
"""

from __future__ import annotations

import ast
import inspect
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from podium import queue_reasons, reasons
from podium.cli.main import run as podium
from podium.core.actions import BUILT_IN as ACTIONS
from podium.core.framework.arguments import Argument
from podium.core.framework.hooks import HOOKS, OFF_BY_DEFAULT, SWITCHES, Hook
from podium.core.framework.plugin import Plugin
from podium.core.plugins import BUILT_IN as PLUGINS
from podium.reasons import Reason
from tests import mixed_day, mixed_day_rules, pool_picture, tyjob_policies
from tests.reference import kinds_page, profiles_page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

SWITCH = "switch"  # the owner of what is no plugin's own argument

Shown = dict[tuple[str, str], list[str]]


# --- hooks -------------------------------------------------------------------------------------------------------


def hooks_page() -> str:
    """A section for each hook, in the order of the base class."""
    lines = [
        "# Hooks",
        "",
        "<!-- made by python -m tests.generated from the docstrings of podium.core.framework.plugin -->",
        "",
        "Everything a plugin can be asked. [Plugins](plugins.md) says how to write one. A hook that a plugin",
        "does not define is never called; one whose switch is `false` in the profile is not called either.",
        "",
        "An action may have hooks of its own beside these: it makes a `Hook` with a name, a rule and a switch,",
        "lists it in its `HOOKS`, and asks it with `session.ask(hook, ...)`. Plugins that define a method of that",
        "name answer.",
        "",
    ]
    section = ""
    for title, name in _in_source_order():
        if title != section:
            section = title
            lines += [f"## {section[0].upper()}{section[1:]}", ""]
        lines += _hook_section(HOOKS[name])
    return "\n".join(lines).rstrip() + "\n"


def _hook_section(hook: Hook) -> list[str]:
    method = getattr(Plugin, hook.name)
    signature = str(inspect.signature(method)).replace("'", "").replace("(self, ", "(").replace("(self)", "()")
    lines = [f"### {hook.name}", "", "```python", f"def {hook.name}{signature}", "```", ""]
    lines += [" ".join(part.split()) + "\n" for part in (inspect.getdoc(method) or "").split("\n\n")]
    facts = [f"- asked by: {hook.asked_by or 'no built-in action'}", f"- answers combine: {hook.rule.value}"]
    if hook.grade:
        facts.append(f"- grade: {hook.grade}")
    if hook.switch:
        off = ", off unless it is `true`" if hook.switch in OFF_BY_DEFAULT else ""
        facts.append(f"- switch: `{hook.switch}`{off}")
    return [*lines, *facts, ""]


def _in_source_order() -> Iterator[tuple[str, str]]:
    """The hooks as the base class lists them, each with the comment that opens its section."""
    section = ""
    for line in inspect.getsource(Plugin).splitlines():
        if heading := re.match(r"    # --- (.+?):? -+$", line):
            section = heading.group(1).partition(":")[0]
        elif (method := re.match(r"    def (\w+)\(", line)) and method.group(1) in HOOKS:
            yield section, method.group(1)


# --- arguments --------------------------------------------------------------------------------------------------


def arguments_page() -> str:
    """Every argument of every built-in plugin and action, and every switch, with a test that shows its effect."""
    shown = shown_by_argument()
    lines = [
        "# Arguments",
        "",
        "<!-- made by python -m tests.generated from what plugins and actions declare, and from the tests -->",
        "",
        "Every argument with the test that shows a placement or an order that it changes. What is read without",
        "effect says why. A name that is not here is reported when a profile is read: `binpack.weigth: unknown",
        "argument, did you mean binpack.weight`.",
        "",
    ]
    for title, kinds in _declaring().items():
        lines += [
            f"## Of {title}s",
            "",
            f"| {title} | argument | default | meaning | test |",
            "|---|---|---|---|---|",
        ]
        for name, arguments in sorted(kinds.items()):
            lines += [_row(name, argument, shown) for argument in arguments]
            if not arguments:
                lines.append(f"| {name} | none | | | |")
        lines.append("")
    lines += ["## Switches of plugins", "", "| switch | default | hooks | test |", "|---|---|---|---|"]
    for switch in sorted(SWITCHES, key=lambda each: each.removeprefix("enabled").removeprefix("enable")):
        hooks = ", ".join(f"[{h.name}](hooks.md#{h.name})" for h in HOOKS.values() if h.switch == switch)
        default = "false" if switch in OFF_BY_DEFAULT else "true"
        tests = "<br>".join(shown.get((SWITCH, switch), ()))
        lines.append(
            f"| `{switch}` | {default} | {hooks or 'whether queues form a tree for the plugin'} | {tests} |"
        )
    return "\n".join(lines) + "\n"


def _row(owner: str, argument: Argument, shown: Shown) -> str:
    default = str(argument.default).lower() if isinstance(argument.default, bool) else str(argument.default)
    tests = (
        f"no effect: {argument.ignored}"
        if argument.ignored
        else "<br>".join(shown.get((owner, argument.name), ()))
    )
    reported = f"`{default}`" if default else "none"
    return f"| {owner} | `{argument.name}` | {reported} | {argument.about} | {tests} |"


def declared() -> dict[tuple[str, str], Argument | None]:
    """Everything that needs a test or a reason why there is none."""
    found: dict[tuple[str, str], Argument | None] = {(SWITCH, switch): None for switch in SWITCHES}
    for kinds in _declaring().values():
        for name, arguments in kinds.items():
            found |= {(name, argument.name): argument for argument in arguments}
    return found


def _declaring() -> dict[str, dict[str, tuple[Argument, ...]]]:
    """What plugins and actions declare."""
    return {
        "plugin": {name: kind.ARGUMENTS for name, kind in PLUGINS.items()},
        "action": {name: kind.ARGUMENTS for name, kind in ACTIONS.items()},
    }


def shown_by_argument() -> Shown:
    """The tests that are marked as being about an argument, by its owner and name."""
    found: Shown = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for owner, name, test in _marked(ast.parse(path.read_text())):
            found.setdefault((owner, name), []).append(f"`{path.relative_to(ROOT / 'tests')}: {test}`")
    for path in sorted((ROOT / "tests" / "core" / "scenarios").glob("*.yaml")):
        for table in yaml.load(path.read_text(), yaml.CSafeLoader)["scenarios"]:
            if "argument" in table:
                owner, name = table["argument"]
                found.setdefault((owner, name), []).append(f"`{path.name}`: {table['about']}")
    return found


def _marked(module: ast.Module) -> Iterable[tuple[str, str, str]]:
    for function in ast.walk(module):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for decorator in function.decorator_list:
            for node in ast.walk(decorator):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.argument":
                    owner, name = (ast.literal_eval(each) for each in node.args)
                    yield owner, name, function.name


# --- pictures ----------------------------------------------------------------------------------------------------

# The run of docs/simulator.md: anybody can make it, and it gives the same pictures everywhere.
COMPARISON = (
    "sim compare --trace csv --pods examples/sim/jobs.csv --nodes 4 --queue research=1,production=3 "
    "--profile binpack --profile spread"
)


def pictures() -> dict[str, str]:
    """The pictures of docs/pictures by their files' names."""
    with tempfile.TemporaryDirectory() as directory:
        words = COMPARISON.replace("examples/", f"{ROOT}/examples/").split()
        assert podium([*words, "-o", f"json={directory}/figures.json", "--plots", directory]) == 0
        found = {file.name: file.read_text() for file in sorted(Path(directory).glob("*.svg"))}
    return found | {"pools.svg": pool_picture.picture()}


# --- reasons -----------------------------------------------------------------------------------------------------


def reasons_page() -> str:
    """Every reason for which something waits, in alphabetical order."""
    lines = [
        "# Reasons",
        "",
        "<!-- made by python -m tests.generated from podium.reasons -->",
        "",
        "Every reason for which a pod, group or queue waits. The sentence stands in conditions and events, the",
        "code in `podium_refusals_total`. What can lift it is what the scheduler waits for: nothing else makes it",
        "look at the pod again, but for a look at everything now and then.",
        "",
        "| code | sentence | what helps | lifted by |",
        "|---|---|---|---|",
    ]
    every = [*vars(reasons).values(), *vars(queue_reasons).values()]
    for reason in sorted((each for each in every if isinstance(each, Reason)), key=_code):
        wake_on = ", ".join(sorted(lift.value for lift in reason.wake_on))
        lines.append(f"| `{reason.code}` | {reason.sentence} | {reason.hint} | {wake_on} |")
    return "\n".join(lines) + "\n"


def _code(reason: Reason[...]) -> str:
    return reason.code


PAGES = {
    "hooks.md": hooks_page,
    "arguments.md": arguments_page,
    "reasons.md": reasons_page,
    "kinds.md": kinds_page,
    "profiles.md": profiles_page,
}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (DOCS / name).write_text(make())
    drawn = {**pictures(), **tyjob_policies.pictures(tyjob_policies.all_figures())}
    for name, text in (drawn | mixed_day.pictures(mixed_day_rules.play().used)).items():
        (DOCS / "pictures" / name).write_text(text)
