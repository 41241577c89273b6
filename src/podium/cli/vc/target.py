"""Which cluster a command talks to, and the talking."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from podium.kube.client import Client

T = TypeVar("T")


class Target(NamedTuple):
    """A cluster as the flags name it."""

    kubeconfig: Path | None
    context: str | None
    master: str

    def ask(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Does `work` with a client of the cluster."""
        import asyncio

        import msgspec

        from podium.cli.asking import own_cluster
        from podium.errors import ApiError, UsageError
        from podium.kube.client import Client
        from podium.kube.http_client import HttpTransport
        from podium.kube.kubeconfig import resolve

        own = None if self.master else own_cluster(self.context)
        connection = resolve(self.kubeconfig or own, self.context)
        if self.master:
            if "://" not in self.master:
                raise UsageError(f"--master {self.master} is no URL: it begins with https:// or http://")
            connection = msgspec.structs.replace(connection, server=self.master)

        async def talk() -> T:
            transport = HttpTransport(connection)
            try:
                return await work(Client(transport))
            except ApiError as error:
                if error.code == 404 and not error.details.get("name"):
                    raise UsageError(
                        "the cluster does not serve Volcano's kinds:"
                        " install them by `podium crds --dialect volcano | kubectl apply -f -`"
                    ) from None
                raise
            finally:
                await transport.close()

        return asyncio.run(talk())


def of_a_cluster(function: Callable[..., None]) -> Callable[..., None]:
    """The flags of vcctl that say which cluster; the command gets them as its first argument."""

    @click.option(
        "-k", "--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="How to reach the API server."
    )
    @click.option("--context", metavar="NAME", help="The kubeconfig's context to use.")
    @click.option("-s", "--master", default="", metavar="URL", help="Another address of the API server.")
    @functools.wraps(function)
    def command(kubeconfig: Path | None, context: str | None, master: str, **given: Any) -> None:
        function(Target(kubeconfig, context, master), **given)

    return command


def needed(name: str, what: str) -> None:
    """Refuses a name that was left out."""
    from podium.errors import UsageError

    if not name:
        raise UsageError(f"which {what}? give its name by --name")
