"""Options of the commands that run on somebody's cluster: podium scheduler, controllers and run.

They are vc-scheduler's under their own names, so that its command line works as it is.  Go writes switches as
`--leader-elect` or `--leader-elect=false`; both work here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from podium import __version__
from podium.cli.dashboard import process_options as dashboard_options
from podium.cli.log_format import log_format_option
from podium.cli.options import Number, WholeNumber, together

F = TypeVar("F", bound=Callable[..., Any])


def duration(value: str | float) -> float:
    """Seconds, written as Go writes them: 500ms, 15s, 1m30s."""
    from podium.core.model.durations import duration as read

    seconds = read(str(value)) if isinstance(value, str) else float(value)
    if seconds is None:
        raise click.BadParameter(f"want a duration such as 500ms, 15s or 1m30s, not {value!r}")
    return seconds


def level(value: str | int) -> int:
    """How much is logged, as klog counts; `-v=4` is the same as `-v 4`."""
    text = str(value).removeprefix("=")
    if not text.isdigit():
        raise click.BadParameter(f"want a number, not {text!r}")
    return int(text)


def switch(name: str, default: bool, help: str) -> Callable[[F], F]:
    """A switch that may be given a value."""
    return click.option(
        name, type=click.BOOL, is_flag=False, flag_value="true", default=default, show_default=True, help=help
    )


def _lease_time(name: str, default: str, help: str) -> Callable[[F], F]:
    """One of the durations by which the lease is kept."""
    return click.option(name, type=duration, metavar="DURATION", default=default, show_default=True, help=help)


connection_options = together(
    click.option(
        "--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="How to reach the API server."
    ),
    click.option("--context", metavar="NAME", help="The kubeconfig's context to use."),
    click.option("--master", metavar="URL", help="The API server's address, instead of the kubeconfig's."),
)

verbosity_option = click.option(
    "-v",
    "--v",
    "--verbose",
    "verbosity",
    type=level,
    is_flag=False,
    flag_value="2",
    default="0",
    metavar="[LEVEL]",
    help="Log more: 1 to 3 what is done, 4 and above everything.",
)

process_options = together(
    switch("--leader-elect", True, "Work only while this process holds the lease."),
    _lease_time("--leader-elect-lease-duration", "15s", "How long others wait after the last renewal they saw."),
    _lease_time("--leader-elect-renew-deadline", "10s", "How long a leader goes on without a renewal."),
    _lease_time("--leader-elect-retry-period", "2s", "How often the lease is renewed or looked at."),
    click.option(
        "--leader-elect-resource-namespace",
        "--lock-object-namespace",
        "lease_namespace",
        metavar="NAME",
        help="The lease's namespace.  [default: the pod's own, or kube-system]",
    ),
    click.option(
        "--listen-address",
        metavar="[ADDRESS]:PORT",
        help="Where health and metrics are served.  Without an address for this machine alone; on another one, "
        "metrics are for whom the API server allows.  :0 takes a free port.  [default: :8080]",
    ),
    click.option("--healthz-address", metavar="[ADDRESS]:PORT", help="A second place where health is served."),
    switch("--enable-healthz", True, "Serve /healthz, /livez and /readyz."),
    switch("--enable-metrics", True, "Serve /metrics."),
    verbosity_option,
    log_format_option,
    click.version_option(__version__, message="podium %(version)s", help="Print podium's version and exit."),
)

lease_name_option = click.option(
    "--leader-elect-resource-name", "lease_name", metavar="NAME", help="The lease's name."
)

scheduler_options = together(
    click.option(
        "--config",
        "--scheduler-conf",
        "config",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Actions and plugins: Volcano's file as it is, or podium's with a profile for each scheduler name. "
        "Changes of the file are taken over while the scheduler runs.",
    ),
    click.option(
        "--scheduler-name",
        "names",
        multiple=True,
        metavar="NAME",
        help="Which pods Volcano's file is for; may be repeated.  [default: volcano]",
    ),
    click.option(
        "--schedule-period",
        type=duration,
        metavar="DURATION",
        default="1s",
        show_default=True,
        help="How often everything that waits is looked at again when nothing came free.",
    ),
    click.option(
        "--default-queue",
        default="default",
        show_default=True,
        metavar="NAME",
        help="The queue of pods that name none; it is created.",
    ),
    click.option(
        "--kube-api-qps",
        type=Number(min=0),
        default=0,
        show_default=True,
        help="Writes a second; 0 is no limit.",
    ),
    click.option(
        "--kube-api-burst",
        type=WholeNumber(min=0),
        default=0,
        help="Writes at once.  [default: as --kube-api-qps]",
    ),
    dashboard_options,
)

# Flags of vc-scheduler and of klog that have no meaning here, with the reason.
_EVERY_NODE = "every node is looked at, it costs next to nothing"
_LOG = "the log goes to stderr"
IGNORED = {
    "--priority-class": "priority classes always count",
    "--percentage-nodes-to-find": _EVERY_NODE,
    "--minimum-percentage-nodes-to-find": _EVERY_NODE,
    "--minimum-feasible-nodes": _EVERY_NODE,
    "--node-worker-threads": "nodes are looked at all at once",
    "--node-selector": "use taints or nodeSelectors to keep pods off nodes",
    "--plugins-dir": "plugins are Python packages with entry points in podium.plugins",
    "--csi-storage": "storage capacity always counts",
    "--ignored-provisioners": "volumes of all provisioners count alike",
    "--feature-gates": "there are no feature gates",
    "--enable-cache-dumper": "see /metrics for what the scheduler knows",
    "--cache-dumper": "see /metrics for what the scheduler knows",
    "--cache-dump-dir": "see /metrics for what the scheduler knows",
    "--enable-pprof": "there is no pprof in Python",
    "--resync-period": "watches are checked against lists when they have to be",
    "--resource-sync-timeout": "it starts when everything has been listed",
    "--gate-removal-worker-num": "gates are no work of threads",
    "--disable-default-scheduler-config": "names without a profile of their own have a built-in one",
    "--scheduler-sharding-mode": "one scheduler serves all nodes",
    "--scheduler-sharding-name": "one scheduler serves all nodes",
    "--leader-elect-resource-lock": "it is always a Lease",
    "--tls-cert-file": "nothing is served but on this machine",
    "--tls-private-key-file": "nothing is served but on this machine",
    "--ca-cert-file": "nothing is served but on this machine",
    "--logtostderr": _LOG,
    "--alsologtostderr": _LOG,
    "--stderrthreshold": _LOG,
    "--log_dir": _LOG,
    "--log-dir": _LOG,
    "--log_file": _LOG,
    "--log-file": _LOG,
    "--log_file_max_size": _LOG,
    "--log-file-max-size": _LOG,
    "--log-flush-frequency": _LOG,
    "--log_backtrace_at": _LOG,
    "--log-backtrace-at": _LOG,
    "--add_dir_header": _LOG,
    "--add-dir-header": _LOG,
    "--skip_headers": _LOG,
    "--skip-headers": _LOG,
    "--skip_log_headers": _LOG,
    "--skip-log-headers": _LOG,
    "--one_output": _LOG,
    "--one-output": _LOG,
    "--vmodule": "use -v",
}


def _report_ignored(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        flag = param.opts[0]
        click.echo(f"podium: {flag} has no effect: {IGNORED[flag]}", err=True)


ignored_options = together(
    *(
        click.option(
            flag,
            f"ignored_{number}",
            is_flag=False,
            flag_value="",
            hidden=True,
            expose_value=False,
            callback=_report_ignored,
        )
        for number, flag in enumerate(IGNORED)
    )
)
