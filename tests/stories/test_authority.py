"""Rights that come and go, hints that others forge, and input without measure, on a real server with RBAC on.

podium runs under the chart's service account.  It is never started again: whatever is taken from it, it says so,
asks for little meanwhile, and goes on when it is given back.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from bench.population import GROUP, READY_NODES, bound_pod, create_all, node_name, waiting_pod
from bench.servers import resident_bytes

from podium.dialects.volcano.names import PODGROUPS
from podium.engine.effects import GANG_PLAN
from podium.kube.resources import PODS
from podium.runtime.prometheus import MOST_SERIES
from tests.chart import MANIFESTS, NAMESPACE, documents
from tests.compat.client import Server
from tests.controlplane.fixtures import ensure_real
from tests.controlplane.server import ControlPlane, write_kubeconfig
from tests.stories import accounts
from tests.stories.field import Field, all_bound, check_room, field
from tests.stories.test_replicas import replica, said, until

Document = dict[str, Any]

NODES, GPUS, MEMBERS = 4, 8, 4
SOAK = bool(os.environ.get("PODIUM_SOAK"))

pytestmark = pytest.mark.timeout(300)


class Cluster:
    """A real server, and podium's ways to it."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        self.server = Server("real", plane.kubeconfig, plane.url, plane.token, plane.ca, directory)
        self.directory = directory
        self.audit = accounts.audit_log(directory)

    def token(self, *flags: str) -> str:
        found = self.server.kubectl("create", "token", accounts.ACCOUNT, "-n", NAMESPACE, *flags)
        return found.out.strip()

    def refused(self) -> int:
        """Requests of podium that the server has refused so far."""
        found = accounts.requests(self.audit)
        return sum(decision != "allow" for _, decision, _ in found)


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    ensure_real(request.config)
    directory = tmp_path_factory.mktemp("authority")
    flags = (READY_NODES, *accounts.audit_flags(directory))
    with ControlPlane(directory / "plane", flags=flags) as plane:
        found = Cluster(plane, directory)
        accounts.install(found.server)
        asyncio.run(prepared(plane))
        yield found


async def prepared(plane: ControlPlane) -> None:
    async with field(plane.kubeconfig) as some:
        await some.prepare(NODES)


@pytest.fixture
def kubeconfig(cluster: Cluster, tmp_path: Path) -> Path:
    """The account with a token in a file, as a pod has it."""
    path = tmp_path / "kubeconfig"
    write_kubeconfig(path, cluster.server.url, cluster.server.ca, "")
    document = json.loads(path.read_text())
    document["users"][0]["user"] = {"tokenFile": str(tmp_path / "token")}
    path.write_text(json.dumps(document))
    (tmp_path / "token").write_text(cluster.token())
    return path


def url_of(log: Path) -> str:
    (found,) = re.findall(r"health and metrics: (http://[0-9.:]+)", log.read_text())
    return str(found)


def ask(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return int(answer.status), answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def of(prefix: str, pods: list[Document]) -> list[Document]:
    return [pod for pod in pods if pod["metadata"]["name"].startswith(prefix)]


def bound(prefix: str, pods: list[Document]) -> bool:
    return all_bound(of(prefix, pods))


async def served(some: Field, prefix: str, within: float = 60.0) -> None:
    """A gang that is made now is bound."""
    await some.gangs(prefix, 1, MEMBERS)
    await some.until(partial(bound, prefix), within)


async def waiting(some: Field, prefix: str, seconds: float) -> None:
    """Pods stay unbound for a while."""
    await asyncio.sleep(seconds)
    pods = of(prefix, await some.pods())
    assert pods
    assert not any("nodeName" in pod["spec"] for pod in pods)


async def ready(log: Path) -> None:
    await until(partial(said, log, "health and metrics: "), "it listens")
    await until(lambda: ask(f"{url_of(log)}/readyz")[0] == 200, "it is ready")


async def test_a_token_that_ends_and_is_replaced(cluster: Cluster, kubeconfig: Path, tmp_path: Path) -> None:
    log, file = tmp_path / "log", tmp_path / "token"
    cluster.server.kubectl("create", "secret", "generic", "handle", "-n", NAMESPACE)
    first = cluster.token("--bound-object-kind=Secret", "--bound-object-name=handle")
    file.write_text(first)
    async with field(cluster.server.kubeconfig) as some:
        with replica(kubeconfig, log) as process:
            await ready(log)
            await served(some, "before")
            cluster.server.kubectl("delete", "secret", "handle", "-n", NAMESPACE)  # the token ends with it
            probe = "/api/v1/pods?limit=1"
            await until(
                lambda: cluster.server.http("GET", probe, token=first).status == 401, "the token has ended"
            )
            await some.gangs("during", 1, MEMBERS)
            await waiting(some, "during", 5.0)
            second = cluster.token()
            file.write_text(second)
            await some.until(partial(bound, "during"), 60.0)
            await served(some, "after")
            assert process.poll() is None
        await some.clear()
    text = log.read_text()
    assert first not in text
    assert second not in text


async def test_a_right_that_is_taken_away_and_given_back(
    cluster: Cluster, kubeconfig: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    (role,) = (each for each in documents(MANIFESTS.read_text()) if each["kind"] == "ClusterRole")
    less = {**role, "rules": [rule for rule in role["rules"] if "pods/binding" not in rule["resources"]]}
    assert less != role
    async with field(cluster.server.kubeconfig) as some:
        with replica(kubeconfig, log) as process:
            await ready(log)
            await served(some, "allowed")
            cluster.server.kubectl("apply", "-f", "-", input=less)
            try:
                before = cluster.refused()
                await some.gangs("forbidden", 1, MEMBERS)
                url = url_of(log)
                await until(lambda: ask(f"{url}/readyz")[0] == 503, "it says that it cannot work")
                _, why = ask(f"{url}/readyz")
                assert "no pod can be bound" in why
                assert 'podium_bind_failures_total{reason="Forbidden"}' in ask(f"{url}/metrics")[1]
                await waiting(some, "forbidden", 10.0)
                # Each of them tries anew a little later each time, and not as often as the network allows.
                assert cluster.refused() - before <= 6 * MEMBERS
            finally:
                cluster.server.kubectl("apply", "-f", "-", input=role)
            await some.until(partial(bound, "forbidden"), 90.0)
            await until(lambda: ask(f"{url}/readyz")[0] == 200, "it is ready again")
            assert process.poll() is None
        await some.clear()


async def test_what_others_write_on_their_pods(cluster: Cluster, kubeconfig: Path, tmp_path: Path) -> None:
    """Plans that nobody has made, and pods that somebody has put on nodes."""
    log = tmp_path / "log"
    async with field(cluster.server.kubeconfig) as some:
        with replica(kubeconfig, log):
            await ready(log)
            await served(some, "honest")
            (plan,) = {pod["metadata"]["annotations"][GANG_PLAN] for pod in of("honest", await some.pods())}
            half = {"metadata": {"name": "forged"}, "spec": {"minMember": MEMBERS, "queue": "default"}}
            kind = {"apiVersion": PODGROUPS.api_version, "kind": PODGROUPS.kind}
            await create_all(some.transport, PODGROUPS, [{**kind, **half}])
            forged = []
            plans = (plan, plan.replace("honest-000", "forged"), "default/forged/999999/99")
            for number, text in enumerate(plans[: MEMBERS - 1]):
                document = waiting_pod(f"forged-{number}", "volcano", "forged")
                document["metadata"]["annotations"][GANG_PLAN] = text
                forged.append(document)
            await create_all(some.transport, PODS, forged)
            preset = (bound_pod(f"preset-{number}", node_name(0)) for number in range(GPUS - 1))
            await create_all(some.transport, PODS, preset)
            # All the room that is left, if what others have put there is counted.
            left = NODES * GPUS - (GPUS - 1) - MEMBERS
            await some.gangs("rest", left // MEMBERS, MEMBERS)
            pods = await some.until(partial(bound, "rest"), 60.0)
            check_room(pods, GPUS)
            await waiting(some, "forged", 3.0)
            annotations = [pod["metadata"]["annotations"][GROUP] for pod in of("forged", pods)]
            assert annotations == ["forged"] * (MEMBERS - 1)
        await some.clear()


async def test_input_without_measure(cluster: Cluster, kubeconfig: Path, tmp_path: Path) -> None:
    """Annotations as large as a server takes, labels of which each is another, and clients that say nothing."""
    large, labels = (400, 5000) if SOAK else (60, 500)
    log = tmp_path / "log"
    async with field(cluster.server.kubeconfig) as some:
        with replica(kubeconfig, log) as process:
            await ready(log)
            url = url_of(log)
            await served(some, "before")
            series = ask(f"{url}/metrics")[1].count("\n")
            size = resident_bytes(process.pid)
            heavy = []
            for number in range(large):
                document = waiting_pod(f"heavy-{number}", "volcano")
                document["metadata"]["annotations"]["example.com/note"] = "x" * 250_000
                document["spec"]["nodeSelector"] = {"example.com/absent": "true"}
                heavy.append(document)
            await create_all(some.transport, PODS, heavy)
            motley = []
            for number in range(labels):
                document = waiting_pod(f"motley-{number}", "volcano")
                document["metadata"]["labels"] = {"example.com/mine": f"value-{number}"}
                document["spec"]["nodeSelector"] = {"example.com/wanted": f"value-{number}"}
                motley.append(document)
            await create_all(some.transport, PODS, motley)
            host, port = url.removeprefix("http://").split(":")
            silent = [socket.create_connection((host, int(port))) for _ in range(200)]
            try:
                began = time.monotonic()
                await served(some, "beside")
                took = time.monotonic() - began
                assert ask(f"{url}/healthz")[0] == 200
            finally:
                for each in silent:
                    each.close()
            grown = resident_bytes(process.pid) - size
            more = ask(f"{url}/metrics")[1].count("\n") - series
            assert process.poll() is None
        await some.clear()
    print(f"\nbeside {large} pods of 250 kB and {labels} labels: bound in {took:.1f} s, {grown >> 20} MB more")
    assert took < 30.0
    assert grown < 200 << 20  # the pods' own bytes are not kept
    assert more < 3 * MOST_SERIES  # two metrics have a series for each job that waits, up to so many


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="there is no prlimit here")
@pytest.mark.parametrize("files", [40, 28])
async def test_few_files(cluster: Cluster, kubeconfig: Path, tmp_path: Path, files: int) -> None:
    """It may open fewer files than it watches kinds: it is slower, and goes on."""
    log = tmp_path / "log"
    async with field(cluster.server.kubeconfig) as some:
        with replica(kubeconfig, log, files=files) as process:
            await until(partial(said, log, "leading: "), "it leads")
            for number in range(3):
                await served(some, f"few-{number}", 90.0)
                await some.clear()
            assert process.poll() is None
