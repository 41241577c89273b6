"""`podium up -d`: the same command in a process of its own, and the wait until it is ready."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import click

from podium.embedded.data_directory import DataDirectory, Lock, holder, in_use
from podium.errors import StorageError

LOG = "podium.log"
_LOOK_AGAIN = 0.05


def words_of(ctx: click.Context, without: tuple[str, ...]) -> list[str]:
    """The flags of a command as they were given, in their long form."""
    words: list[str] = []
    for parameter in ctx.command.params:
        value = ctx.params.get(parameter.name or "")
        given = ctx.get_parameter_source(parameter.name or "") is click.core.ParameterSource.COMMANDLINE
        if not given or parameter.name in without or not isinstance(parameter, click.Option):
            continue
        flag = max(parameter.opts if value or not parameter.secondary_opts else parameter.secondary_opts, key=len)
        if parameter.is_flag:
            words.append(flag)
        else:
            words += [flag, str(Path(value).absolute() if isinstance(value, Path) else value)]
    return words


def start(words: list[str], directory: DataDirectory, timeout: float) -> int:
    """Starts `podium up` in the background; its pid, when it is ready.  Its log is in the data directory."""
    before = holder(directory)
    if before is not None:
        raise in_use(directory, before)
    Lock(directory).close()  # a directory that cannot be one of a cluster is known before anything is started
    directory.kubeconfig.unlink(missing_ok=True)  # it is written when the server is ready: its return is the sign
    path = directory.path / LOG
    command = [sys.executable, "-m", "podium.cli.main", "up", *words]
    with path.open("w") as log:
        path.chmod(0o600)
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    deadline = time.monotonic() + timeout
    while not directory.kubeconfig.exists():
        if process.poll() is not None:
            said = path.read_text(errors="replace").strip().splitlines()
            raise StorageError(said[-1].removeprefix("podium: ") if said else f"podium up ended; {path} is empty")
        if time.monotonic() > deadline:
            process.terminate()
            raise StorageError(f"the cluster was not ready after {timeout:g} s: see {path}")
        time.sleep(_LOOK_AGAIN)
    return process.pid
