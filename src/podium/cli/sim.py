"""`podium sim`: the scheduler in virtual time, over traces, scenarios and copies of clusters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from podium.cli.options import Commands
from podium.cli.sim_options import FOREIGN, sim_options
from podium.cli.sim_replay import replay_option

if TYPE_CHECKING:
    from podium.cli.sim_choices import Choice
    from podium.sim.runs import Answer, Progress
    from podium.sim.snapshot import Snapshot


@click.group(cls=Commands)
def sim() -> None:
    """Try a policy, a queue's weight or more nodes, on a trace or on a copy of a cluster, in virtual time."""


@sim.command("run")
@replay_option
@sim_options
def run(**reported: Any) -> None:
    """Run a trace, a scenario or a copy of a cluster under one profile.

    The figures go to stdout, or where -o says.
    """
    asked = _asked(reported)
    if len(asked) > 1:
        raise click.UsageError(
            "one profile, one --nodes and one weight a queue: several are for `podium sim compare`"
        )
    from podium.cli.sim_output import show

    show(dict(map(_answer, asked)), reported["outputs"], reported["plots"], several=False)


@sim.command("compare")
@sim_options
def compare(**reported: Any) -> None:
    """Run the same under several profiles, configuration files, numbers of nodes or queue weights, side by side.

    --profile, --config, --nodes and --queue may be repeated; every combination is run.
    """
    from podium.cli.sim_output import show

    show(dict(map(_answer, _asked(reported))), reported["outputs"], reported["plots"], several=True)


def _asked(reported: dict[str, Any]) -> list[Choice]:
    """The runs that are asked for, checked as far as that goes without running them."""
    from podium.cli.sim_choices import choices
    from podium.cli.sim_output import check

    if not reported["from_cluster"]:
        missing = [name for name in ("trace", "pods") if reported[name] is None]
        if missing:
            raise click.UsageError(f"--{missing[0]} is missing: name a trace and its file, or say --from-cluster")
        wrong = [name for name in ("kubeconfig", "context", "assume_seconds") if reported[name] is not None]
        if wrong:
            raise click.UsageError(f"{_flag(wrong[0])} is for --from-cluster")
    kind = "cluster" if reported["from_cluster"] else reported["trace"]
    wrong = [name for name in FOREIGN[kind] if reported[name] not in (None, ())]
    if wrong:
        of = "a copy of a cluster" if kind == "cluster" else f"--trace {kind}"
        raise click.UsageError(f"{_flag(wrong[0])} says nothing to {of}")
    check(reported["outputs"], reported["plots"])
    return choices(reported, _snapshot(reported) if reported["from_cluster"] else None)


def _flag(name: str) -> str:
    return {"queues": "--queue"}.get(name, f"--{name.replace('_', '-')}")


def _snapshot(reported: dict[str, Any]) -> Snapshot:
    """The cluster as it is now."""
    from podium.cli.sim_cluster import take

    return take(reported["kubeconfig"], reported["context"])


def _answer(choice: Choice) -> tuple[str, Answer]:
    """Runs one, with a bar on the terminal."""
    import time

    import msgspec

    from podium.sim.runs import SEED
    from podium.sim.runs import run as simulate

    with _shown(choice.label) as progress:
        began = time.perf_counter()
        answer = simulate(choice.question, choice.profile, progress)
        took = round(time.perf_counter() - began, 3)
    question = choice.question
    seed = SEED if question.seed is None else question.seed
    about = {"trace": question.trace.value, "profile": choice.profile_name, "seed": seed}
    return choice.label, msgspec.structs.replace(answer, summary={**about, **answer.summary, "wall_seconds": took})


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
