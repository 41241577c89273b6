"""`podium vc vsub` and its like: the stand-alone commands of Volcano.

In these -n is the name and -N the namespace: the reverse of `podium vc job`, as Volcano has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from podium.cli.vc.job import delete_job, list_jobs, order_job, run_job, sized, view_job
from podium.cli.vc.queue import print_queues
from podium.cli.vc.target import Target, needed, of_a_cluster

F = TypeVar("F", bound=Callable[..., Any])


def _which(function: F) -> F:
    """The job's name and namespace."""
    function = click.option(
        "-N", "--namespace", default="default", show_default=True, metavar="NAME", help="The job's namespace."
    )(function)
    return click.option("-n", "--name", default="", metavar="NAME", help="The job's name.")(function)


@click.command()
@click.option("-n", "--name", default="", metavar="NAME", help="The job's name.")
@click.option(
    "-N",
    "--namespace",
    envvar="VOLCANO_DEFAULT_JOB_NAMESPACE",
    default="default",
    show_default=True,
    metavar="NAME",
    help="The job's namespace.",
)
@click.option(
    "-i",
    "--image",
    envvar="VOLCANO_DEFAULT_IMAGE",
    default="busybox",
    show_default=True,
    help="The image of its pods.",
)
@sized
@click.option(
    "-S",
    "--scheduler",
    envvar="VOLCANO_SCHEDULER_NAME",
    default="volcano",
    show_default=True,
    help="The scheduler of its pods.",
)
@click.option("-c", "--command", default="", metavar="TEXT", help="What its pods run.")
@of_a_cluster
def vsub(target: Target, namespace: str, **wish: Any) -> None:
    """Submit a job of equal pods."""
    from podium.cli.vc.making import Wish, job_document

    needed(wish["name"], "job")
    run_job(target, namespace, job_document(Wish(**wish)))


@click.command()
@_which
@click.option("-A", "--all-namespaces", is_flag=True, help="The jobs of all namespaces.")
@click.option("-S", "--scheduler", default="", metavar="NAME", help="Only those of this scheduler.")
@click.option("--selector", default="", metavar="TEXT", help="Only those with this text in their name.")
@of_a_cluster
def vjobs(target: Target, name: str, **selection: Any) -> None:
    """List jobs, or show everything about one."""
    if name:
        view_job(target, selection["namespace"], name)
    else:
        list_jobs(target, **selection)


@click.command()
@click.option("-n", "--name", default="", metavar="NAME", help="Only this queue.")
@of_a_cluster
def vqueues(target: Target, name: str) -> None:
    """List queues."""
    print_queues(target, name, in_short=True)


@click.command()
@_which
@of_a_cluster
def vcancel(target: Target, name: str, namespace: str) -> None:
    """Delete a job and its pods."""
    delete_job(target, namespace, name, "cancel")


@click.command()
@_which
@of_a_cluster
def vsuspend(target: Target, name: str, namespace: str) -> None:
    """Stop a job's pods and keep the job."""
    order_job(target, namespace, name, "AbortJob", "suspend")


@click.command()
@_which
@of_a_cluster
def vresume(target: Target, name: str, namespace: str) -> None:
    """Start a suspended job again."""
    order_job(target, namespace, name, "ResumeJob", "resume")


SHORT_FORMS = (vsub, vjobs, vqueues, vcancel, vsuspend, vresume)
