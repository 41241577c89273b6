"""`podium version`: what is installed."""

from __future__ import annotations

import click

from podium import __version__


@click.command()
def version() -> None:
    """Print podium's version."""
    click.echo(f"podium {__version__}")
