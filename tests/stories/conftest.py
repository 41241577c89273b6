"""What most stories begin with: a cluster with podium in it, embedded and real, and a namespace of one's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compat.client import Server
from tests.controlplane import build
from tests.controlplane.fixtures import ensure
from tests.stories import clusters


@pytest.fixture(scope="module", params=["embedded", "real"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    directory = tmp_path_factory.mktemp(f"story-{request.param}")
    if request.param == "embedded":
        ensure(request.config, build.KUBECTL)
        with clusters.embedded(directory) as running:
            yield running
    else:
        ensure(request.config, *build.FOR_TESTS)
        with clusters.real(directory) as running:
            yield running


@pytest.fixture
def ns(server: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"story-{abs(hash(request.node.name)) % 10_000}"
    server.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    server.http("DELETE", f"/api/v1/namespaces/{name}")
