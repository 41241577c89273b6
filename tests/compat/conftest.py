"""Every story runs twice: on the embedded server, and on a real kube-apiserver, which is the judge.

The real one is built from source on first use (`tests.controlplane.build`).  Where that is impossible its stories
are skipped, and the summary says so loudly; with PODIUM_REQUIRE_REAL=1, as in `.ci/run`, they fail instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat import cluster
from tests.compat.client import Server
from tests.controlplane import build
from tests.controlplane.fixtures import ensure, ensure_real, missing

SERVERS = ("embedded", "real")
_numbers = itertools.count(1)


@pytest.fixture(scope="session", params=SERVERS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running cluster with a few simulated nodes, one for all stories."""
    directory: Path = tmp_path_factory.mktemp(f"compat-{request.param}")
    if request.param == "embedded":
        ensure(request.config, build.KUBECTL)
        with cluster.embedded(directory) as running:
            yield running
    else:
        ensure_real(request.config)
        with cluster.real(directory) as running:
            yield running


@pytest.fixture
def ns(server: Server) -> Iterator[str]:
    """A namespace for one story; thrown away without waiting."""
    name = f"story-{next(_numbers)}"
    server.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    server.http("DELETE", f"/api/v1/namespaces/{name}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The stories on the real server come last of all tests: it may still be building."""

    def is_real(item: pytest.Item) -> bool:
        return isinstance(item, pytest.Function) and _server_of(item) == "real"

    items.sort(key=is_real)


def _server_of(item: pytest.Function) -> object:
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("server") if callspec else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many stories each server passed: the figure that says whether the two agree."""
    outcomes = ("passed", "failed", "error", "skipped")
    for name in SERVERS:
        counts = {
            outcome: sum(
                f"[{name}" in report.nodeid and "tests/compat/" in report.nodeid
                for report in terminalreporter.getreports(outcome)
                if outcome != "passed" or report.when == "call"
            )
            for outcome in outcomes
        }
        if any(counts.values()):
            reported = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
            terminalreporter.write_line(f"compat on the {name} server: {reported}", bold=True)
    if missing:
        terminalreporter.write_sep("!", "THE STORIES ON THE REAL SERVER WERE SKIPPED", red=True, bold=True)
        terminalreporter.write_line(missing[0], red=True)
