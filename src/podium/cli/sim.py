"""`podium sim`: the scheduler in virtual time, over traces and scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.sim_replay import replay_option

if TYPE_CHECKING:
    from podium.core.profile import Profile
    from podium.sim.runs import Answer, Progress, Question

# Kinds of traces, each with the profile that is taken if none is told.
_DEFAULTS = {"openb": "podium-gpu", "muri": "volcano", "csv": "volcano", "scenario": "podium"}
_FORMATS = ("table", "json", "csv")


@click.group()
def sim() -> None:
    """Try a policy, a queue's weight or more nodes on a trace, in virtual time."""


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """What both commands are told."""
    for option in reversed(
        (
            click.option(
                "--trace", type=click.Choice(list(_DEFAULTS)), required=True, help="What kind of file --pods is."
            ),
            click.option(
                "--pods",
                type=click.Path(path_type=Path),
                required=True,
                metavar="FILE",
                help="The pods of openb, the jobs of muri or csv, or the scenario.",
            ),
            click.option(
                "--nodes",
                "nodes",
                metavar="FILE|N",
                multiple=True,
                help="openb: its list of nodes.  muri, csv: a number of nodes, or a file with groups of them.",
            ),
            click.option(
                "--gpus-per-node",
                type=click.IntRange(min=0),
                default=8,
                show_default=True,
                metavar="G",
                help="GPUs of each of N nodes.",
            ),
            click.option(
                "--queue",
                "queues",
                multiple=True,
                metavar="NAME=WEIGHT",
                help="A queue beside `default` that jobs of a csv trace may name; may be repeated.",
            ),
            click.option(
                "--profile",
                "profiles",
                multiple=True,
                metavar="NAME",
                help="A built-in profile, or a policy of the FGD paper.  "
                "[default: podium-gpu for openb, volcano for muri and csv, podium for scenarios]",
            ),
            click.option(
                "--config",
                "configs",
                type=click.Path(path_type=Path),
                multiple=True,
                metavar="FILE",
                help="A profile from a file, as for `podium scheduler`.",
            ),
            click.option(
                "--load",
                type=click.FloatRange(min=0, min_open=True),
                metavar="X",
                help="openb: how much is asked for in the end, by the cluster's GPUs.  [default: 1.3]  "
                "muri, csv: jobs come X times as fast.",
            ),
            click.option(
                "--seed", type=click.IntRange(min=0), default=42, show_default=True, help="Of everything random."
            ),
            click.option(
                "-o", "--output", type=click.Choice(_FORMATS), default="table", show_default=True, help="The form."
            ),
        )
    ):
        command = option(command)
    return command


@sim.command("run")
@replay_option
@_options
def run(**told: Any) -> None:
    """Run a trace under one profile.

    The figures go to stdout.  Pods of a scenario may ask for the schedulers podium, volcano and default-scheduler.
    """
    choices = _choices(told)
    if len(choices) > 1 or len(told["nodes"]) > 1:
        raise click.UsageError("one profile and one --nodes: several are for `podium sim compare`")
    from podium.cli.sim_output import print_answer

    for _, answer in _answers(told, choices):
        print_answer(answer, told["output"])


@sim.command("compare")
@_options
def compare(**told: Any) -> None:
    """Run a trace under several profiles, configuration files or numbers of nodes, and show them side by side.

    --profile, --config and --nodes may be repeated; every combination is run.
    """
    from podium.cli.sim_output import print_comparison

    print_comparison(dict(_answers(told, _choices(told))), told["output"])


def _answers(told: dict[str, Any], choices: list[tuple[str, Profile]]) -> Iterator[tuple[str, Answer]]:
    """Each combination by its name, with what came of it."""
    import time

    import msgspec

    from podium.sim.runs import run as simulate

    for nodes in told["nodes"] or ("",):
        question = _question(told, nodes)
        for name, profile in choices:
            with _shown(name) as progress:
                began = time.perf_counter()
                answer = simulate(question, profile, progress)
                took = round(time.perf_counter() - began, 3)
            about = {"trace": told["trace"], "profile": name, "seed": told["seed"]}
            summary = {**about, **answer.summary, "wall_seconds": took}
            label = f"{name}, {Path(nodes).name} nodes" if len(told["nodes"]) > 1 else name
            yield label, msgspec.structs.replace(answer, summary=summary)


def _question(told: dict[str, Any], nodes: str) -> Question:
    from podium.embedded.nodes.nodes_file import read_shapes
    from podium.embedded.nodes.shapes import Shape
    from podium.runtime.configuration import read_file
    from podium.sim.runs import Question, Trace

    trace = Trace(told["trace"])
    shapes: tuple[Shape, ...] = ()
    file: Path | None = None
    if nodes and trace is Trace.OPENB:
        file = Path(nodes)
    elif nodes.isdigit():
        shapes = (Shape(count=int(nodes), gpus=told["gpus_per_node"]),)
    elif nodes:
        shapes = tuple(read_shapes(read_file(Path(nodes)), nodes))
    return Question(
        trace=trace,
        pods=told["pods"],
        nodes_file=file,
        shapes=shapes,
        queues=tuple(map(_queue, told["queues"])),
        load=told["load"],
        seed=told["seed"],
    )


def _queue(text: str) -> Any:
    from podium.sim.replay import QueueShape

    name, _, weight = text.partition("=")
    if not name or not weight.isdigit() or not int(weight):
        raise click.UsageError(f"--queue: want NAME=WEIGHT with a weight of at least 1, got {text!r}")
    return QueueShape(name, int(weight))


def _choices(told: dict[str, Any]) -> list[tuple[str, Profile]]:
    """The profiles that are asked for, by the names they were asked for."""
    from podium.runtime.configuration import default_profiles, load_profiles
    from podium.sim.jobs import SCHEDULER
    from podium.sim.policies import POLICIES, policy

    built_in = default_profiles()
    found = []
    for name in told["profiles"] or (() if told["configs"] else (_DEFAULTS[told["trace"]],)):
        if name in POLICIES:
            found.append((name, policy(name, told["seed"])))
        elif name in built_in:
            found.append((name, built_in[name]))
        else:
            known = ", ".join(sorted({*POLICIES, *built_in}))
            raise click.UsageError(f"--profile: there is no profile {name!r}; there are {known}")
    for path in told["configs"]:
        found.append((str(path), load_profiles(path, (SCHEDULER,))[SCHEDULER]))
    return found


@contextmanager
def _shown(name: str) -> Iterator[Progress]:
    """A bar on the terminal, where there is one; it goes away when the run is over."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True, disable=not Console(stderr=True).is_terminal) as bar:
        task = bar.add_task(name, total=None)
        shown = 0

        def progress(done: int, of: int) -> None:
            nonlocal shown
            if done - shown >= max(1, of // 200) or done == of:
                shown = done
                bar.update(task, completed=done, total=of)

        yield progress
