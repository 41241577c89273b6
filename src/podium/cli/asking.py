"""What commands that read a cluster have in common: which cluster and namespace, in what form, how often."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from podium.cli.options import together

if TYPE_CHECKING:
    from podium.client import AsyncClient
    from podium.client.reading import Begun

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_LOOK_AGAIN = 2.0


class Asked(NamedTuple):
    """A cluster and a namespace as the flags name them."""

    kubeconfig: Path | None
    context: str | None
    namespace: str
    config: Path | None

    def ask(self, work: Callable[[AsyncClient], Awaitable[T]], *, reading: bool = False) -> T:
        """Does `work` with a client of the cluster; `reading` if that begins with a look at all of it.

        Then the largest lists are asked for before anything else, and while the server writes them podium's own
        modules are loaded: on a large cluster both take about as long.
        """
        import asyncio

        from podium.cli.loop import collect_rarely, loop_factory
        from podium.kube.client import Client
        from podium.kube.http_client import HttpTransport
        from podium.kube.kubeconfig import resolve
        from podium.kube.resources import NODES, PODS

        connection = resolve(self.kubeconfig or own_cluster(self.context), self.context)

        async def talk() -> T:
            transport = HttpTransport(connection)
            calls = Client(transport)
            begun: Begun = {}
            for each in (PODS, NODES) if reading else ():
                begun[each] = asyncio.ensure_future(calls.list_encoded(each))
            try:
                made = await asyncio.to_thread(_client_class)
                async with made(
                    namespace=self.namespace or connection.namespace,
                    config=self.config,
                    transport=transport,
                    warn=_warn,
                    begun=begun,
                ) as client:
                    return await work(client)
            finally:
                for under_way in begun.values():
                    under_way.cancel()
                await transport.close()

        collect_rarely()
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(talk())


def _client_class() -> type[AsyncClient]:
    from podium.client import AsyncClient

    return AsyncClient


def own_cluster(context: str | None) -> Path | None:
    """The kubeconfig of a cluster of `podium up` on this machine, where nothing else says which one is meant."""
    import os

    from podium.embedded.data_directory import DataDirectory, default_directory

    if context or os.environ.get("KUBECONFIG") or os.environ.get("KUBERNETES_SERVICE_HOST"):
        return None
    if (Path(os.environ.get("HOME") or Path.home()) / ".kube" / "config").exists():
        return None
    found = DataDirectory(default_directory()).kubeconfig
    return found if found.exists() else None


def _warn(warning: str) -> None:
    click.echo(f"podium: {warning}", err=True)


cluster_options = together(
    click.option(
        "--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="How to reach the cluster."
    ),
    click.option("--context", metavar="NAME", help="The kubeconfig's context to use."),
    click.option("-n", "--namespace", default="", metavar="NAME", help="The namespace; the context's by default."),
)
config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The configuration of the scheduler there, if it has one of its own.",
)


def of_a_cluster(function: Callable[..., Any]) -> Callable[..., Any]:
    """The flags that say which cluster and namespace; the command gets them as its first argument."""

    @cluster_options
    @functools.wraps(function)
    def command(kubeconfig: Path | None, context: str | None, namespace: str, **given: Any) -> Any:
        config = given.pop("config", None)
        return function(Asked(kubeconfig, context, namespace, config), **given)

    return command


def output_option(*forms: str) -> Callable[[F], F]:
    return click.option(
        "-o",
        "--output",
        type=click.Choice(forms),
        metavar="FORM",
        help=f"In what form: {', '.join(forms)}.",
    )


watch_option = click.option("-w", "--watch", is_flag=True, help="Show it again when it has changed, until Ctrl-C.")
all_namespaces_option = click.option("-A", "--all-namespaces", is_flag=True, help="In all namespaces.")


def printed(asked: Asked, work: Callable[[AsyncClient], Awaitable[str]], *, watch: bool) -> None:
    """Prints what `work` gives: once, or whenever it is another."""
    if not watch:
        click.echo(asked.ask(work, reading=True))
        return

    async def repeat(client: AsyncClient) -> None:
        import asyncio

        last = ""
        while True:
            text = await work(client)
            if text != last:
                click.echo(("\n" if last else "") + text)
            last = text
            await asyncio.sleep(_LOOK_AGAIN)

    asked.ask(repeat, reading=True)
