"""What commands that read a cluster have in common: which cluster and namespace, in what form, how often."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
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


class Look(NamedTuple):
    """Something to be looked at: the question to a scheduler and the form of its answer, and how else to find it.

    A namespace of "" in the question is that of the flags.
    """

    kind: str
    form: Any
    query: dict[str, str]
    read: Callable[[AsyncClient], Awaitable[Any]]


class Asked(NamedTuple):
    """A cluster and a namespace as the flags name them."""

    kubeconfig: Path | None
    context: str | None
    namespace: str
    config: Path | None
    dashboard: str = ""

    def look(self, look: Look) -> Any:
        """Asks the scheduler that runs, if one can be reached, and otherwise reads the cluster."""
        from podium.cli.running_scheduler import address_beside, ask
        from podium.errors import PodiumError, UsageError

        named = self.kubeconfig or own_cluster(self.context)
        kubeconfig = named if self.context and not self.kubeconfig else named or _named_kubeconfig()
        address = self.dashboard or (address_beside(kubeconfig) if self.config is None else "")
        if address:
            query = look.query
            if query.get("namespace") is not None:
                query = query | {"namespace": query["namespace"] or self._namespace(kubeconfig)}
            try:
                return ask(address, look.kind, look.form, query)
            except UsageError:
                raise
            except PodiumError:
                if self.dashboard:
                    raise
        return self.ask(look.read, reading=True)

    def _namespace(self, kubeconfig: Path | None) -> str:
        """The one that is meant where none is said.  Most kubeconfigs name none, and reading YAML takes time."""
        if self.namespace or kubeconfig is None or b"namespace" not in kubeconfig.read_bytes():
            return self.namespace or "default"
        from podium.kube.kubeconfig import resolve

        return resolve(kubeconfig, self.context).namespace or "default"

    def ask(self, work: Callable[[AsyncClient], Awaitable[T]], *, reading: bool = False) -> T:
        """Does `work` with a client of the cluster; `reading` if that begins with a look at all of it.

        Then the largest lists are asked for before anything else, and while the server writes them podium's own
        modules are loaded: on a large cluster both take about as long.  Meanwhile no garbage is looked for: what
        is made is modules and a model, which stay until the answer is there.
        """
        import asyncio

        from podium.cli.loop import collect_rarely, loop_factory
        from podium.kube.client import Client
        from podium.kube.http_client import HttpTransport
        from podium.kube.kubeconfig import resolve
        from podium.kube.resources import NODES, PODS
        from podium.runtime.collecting import without_collecting

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
        collecting = without_collecting() if reading else nullcontext()
        with collecting, asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(talk())


def _client_class() -> type[AsyncClient]:
    from podium.client import AsyncClient

    return AsyncClient


def _named_kubeconfig() -> Path | None:
    """The one file that $KUBECONFIG names."""
    import os

    named = os.environ.get("KUBECONFIG", "")
    return Path(named) if named and os.pathsep not in named else None


def own_cluster(context: str | None) -> Path | None:
    """The kubeconfig of a cluster of `podium up` on this machine, where nothing else says which one is meant.

    With a context that is the cluster of that name, `podium` or `podium-NAME`.
    """
    import os

    from podium.cli.clusters import of_context

    if os.environ.get("KUBECONFIG") or os.environ.get("KUBERNETES_SERVICE_HOST"):
        return None
    if (Path(os.environ.get("HOME") or Path.home()) / ".kube" / "config").exists():
        return None
    return of_context(context)


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


dashboard_option = click.option(
    "--dashboard",
    default="",
    metavar="URL",
    help="Ask the scheduler behind this dashboard (its address with the token) instead of reading the cluster.",
)


def of_a_cluster(function: Callable[..., Any]) -> Callable[..., Any]:
    """The flags that say which cluster and namespace; the command gets them as its first argument."""

    @cluster_options
    @functools.wraps(function)
    def command(kubeconfig: Path | None, context: str | None, namespace: str, **given: Any) -> Any:
        config, dashboard = given.pop("config", None), given.pop("dashboard", "")
        return function(Asked(kubeconfig, context, namespace, config, dashboard), **given)

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


def printed(asked: Asked, look: Look, show: Callable[[Any], str], *, watch: bool) -> None:
    """Prints what is to be seen: once, or whenever it is another."""
    last = show(asked.look(look))
    click.echo(last)
    while watch:
        import time

        time.sleep(_LOOK_AGAIN)
        text = show(asked.look(look))
        if text != last:
            click.echo(f"\n{text}")
        last = text
