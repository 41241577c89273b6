"""The options of `podium sim run` and `podium sim compare`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from podium.cli.options import Number, WholeNumber, together

F = TypeVar("F", bound=Callable[..., Any])

# Kinds of traces, each with the profile that is taken by default: "" for that of the dialect that jobs are
# written in.
DEFAULTS = {"openb": "podium-gpu", "muri": "", "csv": "", "scenario": "podium"}
OF_A_CLUSTER = "podium"
FORMS = ("table", "json", "csv", "html")
SPLITS = ("turn", "size")
# What says nothing to some of them.
_JOBS = ("gpus_per_node", "queues", "split")
FOREIGN = {
    "openb": _JOBS,
    "muri": (),
    "csv": (),
    "scenario": ("gpus_per_node", "load", "split"),
    "cluster": ("gpus_per_node", "load", "split", "trace", "pods"),
}


class Output(NamedTuple):
    """A form in which the figures are wanted, and where; without a file on stdout."""

    form: str
    file: Path | None = None


class _OutputType(click.ParamType[Output]):
    name = "form"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Output:
        if isinstance(value, Output):
            return value
        form, equals, file = str(value).partition("=")
        if form not in FORMS:
            self.fail(
                f"want one of {', '.join(FORMS)}, or one of them with a file as in html=report.html, got {value!r}"
            )
        if equals and not file:
            self.fail(f"{value!r} names no file")
        return Output(form, Path(file) if file else None)


def _finite(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A number that can be counted with."""
    most = 1000.0 if param.name == "load" else 1e9
    if value is not None and not value <= most:
        raise click.BadParameter(f"want a number up to {most:,.0f}, got {value}", ctx, param)
    return value


_what = (
    click.option("--trace", type=click.Choice(list(DEFAULTS)), help="What kind of file --pods is."),
    click.option(
        "--pods",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The pods of openb, the jobs of muri or csv, or the scenario.",
    ),
    click.option(
        "--from-cluster",
        is_flag=True,
        help="Begin with what a cluster has now, instead of a trace: nodes, pods, queues, jobs.  It is only read.",
    ),
    click.option(
        "--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="How to reach that cluster."
    ),
    click.option("--context", metavar="NAME", help="The kubeconfig's context to use."),
    click.option(
        "--assume-seconds",
        type=Number(min=0, min_open=True),
        callback=_finite,
        metavar="S",
        help="How long pods of a cluster that do not say so will run from now on.  [default: to the end]",
    ),
)

_cluster = (
    click.option(
        "--nodes",
        "nodes",
        metavar="FILE|N",
        multiple=True,
        help="openb: its list of nodes.  muri, csv: a number of nodes, or a file with groups of them.  "
        "scenario, --from-cluster: so many more.",
    ),
    click.option(
        "--gpus-per-node",
        type=WholeNumber(min=0),
        metavar="G",
        help="muri, csv: GPUs of each of N nodes.  [default: 8]",
    ),
    click.option(
        "--queue",
        "queues",
        multiple=True,
        metavar="NAME=WEIGHT[,...]",
        help="Queues with their weights.  Repeated with the same names it is another run of a comparison.",
    ),
    click.option(
        "--split",
        type=click.Choice(SPLITS),
        help="How jobs that name no queue come to those of --queue: in turn, or by size.  [default: turn]",
    ),
)

_how = (
    click.option(
        "--profile",
        "profiles",
        multiple=True,
        metavar="NAME",
        help="A built-in profile, binpack or spread, or a policy of the FGD paper.  "
        "[default: podium-gpu for openb, volcano for muri and csv, podium for scenarios and clusters]",
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
        type=Number(min=0, min_open=True),
        callback=_finite,
        metavar="X",
        help="openb: how much is asked for in the end, by the cluster's GPUs.  [default: 1.3]  "
        "muri, csv: jobs come X times as fast.",
    ),
    click.option(
        "--seed",
        type=WholeNumber(min=0),
        help="Of everything random.  [default: 42, or what a scenario says]",
    ),
)

_form = (
    click.option(
        "-o",
        "--output",
        "outputs",
        type=_OutputType(),
        multiple=True,
        metavar="FORM[=FILE]",
        help="table, json, csv or html, on stdout or in a file; may be repeated.  [default: table]",
    ),
    click.option(
        "--plots",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Also write each picture there, as SVG and PNG.",
    ),
)

sim_options = together(*_what, *_cluster, *_how, *_form)
