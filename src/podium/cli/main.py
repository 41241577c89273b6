"""The entrance: `podium COMMAND`.

Commands are imported when they are named, and what they need when they run, so that `podium --help` and shell
completion answer at once.  Errors that podium says on purpose are one sentence on stderr.  Exit codes: 0 done,
1 failed, 2 wrong usage, 3 timed out.
"""

from __future__ import annotations

import errno
import importlib
import sys

import click

from podium import __version__
from podium.cli.exits import DONE, FAILED, WRONG_USAGE
from podium.cli.options import Commands
from podium.errors import ApiError, PodiumError, UsageError, why_unreadable

_COMMANDS = (
    "cancel",
    "completion",
    "controllers",
    "crds",
    "demo",
    "doctor",
    "down",
    "hold",
    "logs",
    "nodes",
    "pools",
    "queue",
    "release",
    "run",
    "scheduler",
    "sim",
    "status",
    "submit",
    "top",
    "up",
    "vc",
    "version",
    "webhook",
    "why",
)


class _Commands(Commands):
    """The commands by name: each is the function of that name in the module of that name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(importlib.import_module(f"podium.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in _COMMANDS:
            import difflib

            meant = difflib.get_close_matches(args[0], _COMMANDS, 1)
            hint = f"is it {meant[0]}?" if meant else "see podium --help"
            ctx.fail(f"there is no command {args[0]}: {hint}")
        return super().resolve_command(ctx, args)


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", prog_name="podium", message="%(prog)s %(version)s")
def podium() -> None:
    """A batch scheduler for AI jobs on Kubernetes, and a Kubernetes to try it on.

    Begin with `podium up -d --nodes 8 --gpus-per-node 8`, or look at `podium demo`.  Then `podium submit FILE`,
    `podium queue` for who runs and who waits, and `podium why KIND/NAME` for why.
    """


def main() -> None:
    """Runs the command line and exits."""
    sys.exit(run(sys.argv[1:]))


def kubectl() -> None:
    """The same as `kubectl podium`: kubectl runs the program of that name."""
    main()


def run(arguments: list[str]) -> int:
    """Runs one command; returns the exit code."""
    try:
        code = podium.main(arguments, prog_name="podium", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else error.format_message())
        return WRONG_USAGE
    except click.ClickException as error:
        _complain(error.format_message())
        return WRONG_USAGE
    except UsageError as error:
        _complain(str(error))
        return WRONG_USAGE
    except PodiumError as error:
        stranger = isinstance(error, ApiError) and error.code == 401
        _complain(f"the server does not know who asks, by this kubeconfig: {error}" if stranger else str(error))
        return FAILED
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise  # that is a bug: everything else is said where it comes up
        _complain(f"not everything could be written: {why_unreadable(error)}")
        return FAILED
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted")
        return FAILED
    return code if isinstance(code, int) else DONE


def _complain(sentence: str) -> None:
    click.echo(f"podium: {sentence}", err=True)


if __name__ == "__main__":
    main()
