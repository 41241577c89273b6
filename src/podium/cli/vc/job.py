"""`podium vc job`: run, list, view, suspend, resume, delete."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from podium.cli.options import Commands
from podium.cli.vc.target import Target, needed, of_a_cluster

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_AMOUNTS = "cpu=1000m,memory=100Mi"


@click.group(cls=Commands)
def job() -> None:
    """Jobs: run, list, view, suspend, resume and delete them."""


def _namespace(function: F) -> F:
    return click.option(
        "-n", "--namespace", default="default", show_default=True, metavar="NAME", help="The job's namespace."
    )(function)


def _name(function: F) -> F:
    return click.option("-N", "--name", default="", metavar="NAME", help="The job's name.")(function)


def sized(function: F) -> F:
    """The flags that say how large a job is."""
    for decorate in (
        click.option(
            "-L", "--limits", default=DEFAULT_AMOUNTS, show_default=True, help="What each pod may use at most."
        ),
        click.option(
            "-R", "--requests", default=DEFAULT_AMOUNTS, show_default=True, help="What each pod asks for."
        ),
        click.option("-r", "--replicas", default=1, show_default=True, help="How many pods it has."),
        click.option("-m", "--min", "minimum", default=1, show_default=True, help="How many must start together."),
    ):
        function = decorate(function)
    return function


@job.command()
@_name
@click.option("-n", "--namespace", default="", metavar="NAME", help="The job's namespace: the file's, or default.")
@click.option("-i", "--image", default="busybox", show_default=True, help="The image of its pods.")
@sized
@click.option("-S", "--scheduler", default="volcano", show_default=True, help="The scheduler of its pods.")
@click.option(
    "-f", "--filename", type=click.Path(path_type=Path), metavar="FILE", help="A job as YAML, instead of flags."
)
@of_a_cluster
def run(target: Target, namespace: str, filename: Path | None, **wish: Any) -> None:
    """Create a job of equal pods, or the job of a file."""
    from podium.cli.vc.making import Wish, job_document, job_in, namespace_in

    if filename is None:
        needed(wish["name"], "job")
    document = job_document(Wish(**wish)) if filename is None else job_in(filename)
    run_job(target, namespace or namespace_in(document), document)


def run_job(target: Target, namespace: str, document: dict[str, Any]) -> None:
    from podium.dialects.volcano.job.names import JOBS

    made = target.ask(lambda client: client.create(JOBS, namespace, document, strict=True))
    click.echo(f"run job {made['metadata']['name']} successfully")


@job.command(name="list")
@_namespace
@click.option("-A", "--all-namespaces", is_flag=True, help="The jobs of all namespaces.")
@click.option("-q", "--queue", default="", metavar="NAME", help="Only those of this queue.")
@click.option("-S", "--scheduler", default="", metavar="NAME", help="Only those of this scheduler.")
@click.option("--selector", default="", metavar="TEXT", help="Only those with this text in their name.")
@of_a_cluster
def list_command(target: Target, **selection: Any) -> None:
    """List jobs and how they stand."""
    list_jobs(target, **selection)


def list_jobs(
    target: Target, namespace: str, all_namespaces: bool, scheduler: str, selector: str, queue: str = ""
) -> None:
    from podium.cli.vc import calls
    from podium.cli.vc.tables import job_table

    where = "" if all_namespaces else namespace
    jobs = target.ask(
        lambda client: calls.list_jobs(client, where, queue=queue, scheduler=scheduler, part_of_name=selector)
    )
    click.echo(job_table(jobs, all_namespaces))


@job.command()
@_name
@_namespace
@of_a_cluster
def view(target: Target, name: str, namespace: str) -> None:
    """Show everything about a job."""
    view_job(target, namespace, name)


def view_job(target: Target, namespace: str, name: str) -> None:
    import time

    from podium.cli.vc import calls
    from podium.cli.vc.details import job_details

    needed(name, "job")
    found, events = target.ask(lambda client: calls.job_and_events(client, namespace, name))
    click.echo(job_details(found, events, time.time()))


@job.command()
@_name
@_namespace
@of_a_cluster
def suspend(target: Target, name: str, namespace: str) -> None:
    """Stop a job's pods and keep the job."""
    order_job(target, namespace, name, "AbortJob", "suspend")


@job.command()
@_name
@_namespace
@of_a_cluster
def resume(target: Target, name: str, namespace: str) -> None:
    """Start a suspended job again."""
    order_job(target, namespace, name, "ResumeJob", "resume")


def order_job(target: Target, namespace: str, name: str, action: str, word: str) -> None:
    from podium.cli.vc import calls
    from podium.dialects.volcano.job.names import JOBS

    needed(name, "job")
    target.ask(lambda client: calls.give_order(client, JOBS, namespace, name, action))
    click.echo(f"{word} job {name} successfully")


@job.command()
@_name
@_namespace
@of_a_cluster
def delete(target: Target, name: str, namespace: str) -> None:
    """Delete a job and its pods."""
    delete_job(target, namespace, name, "delete")


def delete_job(target: Target, namespace: str, name: str, word: str) -> None:
    from podium.dialects.volcano.job.names import JOBS

    needed(name, "job")
    target.ask(lambda client: client.delete(JOBS, namespace, name, propagation="Background"))
    click.echo(f"{word} job {name} successfully")
