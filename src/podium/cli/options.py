"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_SENTENCE = 200


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one decorator, shown in this order."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class Commands(click.Group):
    """Commands whose list has the first sentence of each to its end: click cuts it, however wide a terminal is."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(_SENTENCE)) for name, command in named if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class WholeNumber(click.IntRange):
    """A whole number within bounds; click calls what is none "not a valid integer range"."""

    name = "whole number"


class Number(click.FloatRange):
    """A number within bounds."""

    name = "number"


def data_dir_option(function: F) -> F:
    return click.option(
        "--data-dir",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Where the cluster keeps its state and its kubeconfig.  [default: $PODIUM_HOME, or ~/.podium]",
    )(function)
