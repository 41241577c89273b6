"""`podium completion`: what a shell needs to complete podium's commands."""

from __future__ import annotations

import click

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print a script that completes commands and flags.

    For example `source <(podium completion bash)`, in a file that the shell reads when it starts.
    """
    from click.shell_completion import get_completion_class

    from podium.cli.main import podium

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(podium, {}, "podium", "_PODIUM_COMPLETE").source())
