"""`podium vc`: the commands of Volcano's vcctl, under their names and with their flags and columns.

Each module of commands only reads flags.  What is asked of the cluster stands in `calls`, what is made from flags
in `making`, and what is printed in `tables` and `details`, which know no cluster.
"""

from __future__ import annotations

import click

from podium.cli.options import Commands
from podium.cli.vc.job import job
from podium.cli.vc.pod import pod
from podium.cli.vc.queue import queue
from podium.cli.vc.short import SHORT_FORMS
from podium.cli.version import version


@click.group(cls=Commands)
def vc() -> None:
    """Jobs and queues of Volcano's API, as vcctl handles them."""


for _command in (job, queue, pod, version, *SHORT_FORMS):
    vc.add_command(_command)

__all__ = ["vc"]
