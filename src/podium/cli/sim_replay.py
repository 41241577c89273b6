"""`podium sim run --replay`: one history under a fault once more, as its file says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click


def replay_option(command: Callable[..., None]) -> Callable[..., None]:
    """The option.  What it names is all that a history needs, so nothing else is asked for."""
    return click.option(
        "--replay",
        type=click.Path(path_type=Path),
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_replay,
        help="Play a history under a fault again, from the file that a failing seed was written to; "
        "ends with 1 if a rule is broken.",
    )(command)


def _replay(context: click.Context, option: click.Parameter, path: Path | None) -> None:
    if path is None or context.resilient_parsing:
        return
    from podium.runtime.configuration import embedded_profiles
    from podium.sim.histories.run import read_replay, run_history

    reported = read_replay(path)
    result = run_history(reported.fault, reported.seed, embedded_profiles())
    click.echo(f"fault {result.fault} ({result.name}), seed {result.seed}")
    counts = f"{result.steps} steps, {result.checks} checks, {result.writes} writes"
    click.echo(f"{counts}, {result.seconds:g} s of virtual time")
    click.echo(f"trace hash {result.trace_hash}")
    for line in result.trace:
        click.echo(f"  {line}")
    click.echo(result.violation or "no violation")
    if reported.trace_hash and reported.trace_hash != result.trace_hash:
        click.echo(f"this is not the history that was written down: its trace hash was {reported.trace_hash}")
    context.exit(1 if result.violation else 0)
