"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one decorator, shown in this order."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


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
