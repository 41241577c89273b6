"""`podium up` and `podium down` as processes: starting, stopping, continuing."""

from __future__ import annotations

import hashlib
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from podium.cli import main as cli
from tests.cli.running import PODIUM, Up, podium, up
from tests.processes import end

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
NODES = "/api/v1/nodes"


def configmap(name: str) -> object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}


def profiles(actions: str, gate: bool = False) -> str:
    """A configuration for pods that name no scheduler."""
    profile = {
        "actions": actions,
        "tiers": [{"plugins": [{"name": "gang"}, {"name": "predicates"}]}],
        "quotaGate": gate,
    }
    return yaml.safe_dump({"profiles": {"default-scheduler": profile}})


def pod_document(name: str) -> object:
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1"}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def until(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One cluster for the tests that only look at it."""
    home = tmp_path_factory.mktemp("home") / "podium"
    with up("--nodes", "2", "--gpus-per-node", "8", env={"PODIUM_HOME": str(home)}) as started:
        yield started


def test_it_says_how_to_reach_it(running: Up) -> None:
    data = running.kubeconfig.parent
    assert data.name == "podium"  # $PODIUM_HOME
    assert running.kubeconfig.stat().st_mode & 0o777 == 0o600
    assert f"kubectl --kubeconfig {running.kubeconfig} get nodes" in running.greeting
    assert "2 simulated nodes" in running.greeting


def test_its_files_are_private(running: Up) -> None:
    data = running.kubeconfig.parent
    assert data.stat().st_mode & 0o777 == 0o700
    for path in data.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_it_serves_those_with_the_token(running: Up) -> None:
    assert running.names(NODES) == ["node-000", "node-001"]
    assert running.request("GET", NODES, token="wrong")[0] == 401
    assert running.request("GET", "/readyz", token="")[0] == 200
    assert running.request("GET", f"{NODES}/node-000")[1]["status"]["allocatable"]["nvidia.com/gpu"] == "8"


def test_it_speaks_volcanos_api_from_the_start(running: Up) -> None:
    queues = "/apis/scheduling.volcano.sh/v1beta1/queues"
    assert running.names(queues) == ["default", "root"]
    status, answer = running.request("DELETE", f"{queues}/default")
    assert (status, "is always there" in answer["message"]) == (403, True)
    wrong = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "a"}}
    assert running.request("POST", queues, {**wrong, "spec": {"parent": "gone"}})[0] == 422


def test_its_metrics_count_what_was_asked(running: Up) -> None:
    running.names(NODES)
    status, text = running.request("GET", "/metrics")
    assert status == 200
    assert 'apiserver_request_total{code="200",group="",resource="nodes",subresource="",verb="LIST"' in text
    assert "podium_log_commits_total" in text


def test_its_directory_is_locked(running: Up, capsys: pytest.CaptureFixture[str]) -> None:
    data = running.kubeconfig.parent
    assert cli.run(["up", "--port", "0", "--data-dir", str(data)]) == 1
    reported = capsys.readouterr().err
    stop = f"stop it with podium down --data-dir {data}, "
    assert reported.startswith(f"podium: {data} is in use by podium (pid {running.process.pid}): {stop}")
    assert reported.count("\n") == 1
    assert running.request("GET", "/readyz")[0] == 200


def test_its_port_is_taken(running: Up, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["up", "--port", str(running.port), "--data-dir", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"podium: port {running.port} is taken: choose another with --port")


def test_a_second_up_continues_where_it_was(tmp_path: Path) -> None:
    data = ("--data-dir", str(tmp_path))
    with up("--nodes", "2", *data) as first:
        assert first.request("POST", CONFIGMAPS, configmap("kept"))[0] == 201
        before = first.request("GET", f"{CONFIGMAPS}/kept")[1]
        token = first.token
        assert first.request("DELETE", f"{NODES}/node-001")[0] == 200
        assert first.stop(signal.SIGINT) == (0, "")
    assert not (tmp_path / "cluster.db-wal").exists()
    assert (tmp_path / "lock").read_text() == ""
    with up("--nodes", "1", *data) as second:
        assert second.token == token
        assert second.request("GET", f"{CONFIGMAPS}/kept")[1] == before
        assert second.names(NODES) == ["node-000"]
        second.stop(signal.SIGKILL)
    with up("--nodes", "3", *data) as third:
        assert "ready: 3 simulated nodes, API" in third.greeting
        assert third.names(NODES) == ["node-000", "node-001", "node-002"]
        third.stop(signal.SIGINT)
    with up("--nodes", "2", *data) as fourth:
        assert "ready: 3 simulated nodes (more than 2: others are there from before), API" in fourth.greeting


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    with up("--nodes", "0", "--data-dir", str(tmp_path)) as first:
        for number in range(20):
            assert first.request("POST", CONFIGMAPS, configmap(f"c-{number:02d}"))[0] == 201
        first.stop(signal.SIGKILL)
    with up("--nodes", "0", "--data-dir", str(tmp_path)) as second:
        names = [name for name in second.names(CONFIGMAPS) if name.startswith("c-")]
        assert names == [f"c-{number:02d}" for number in range(20)]


def test_in_memory_leaves_nothing_and_a_silent_client_does_not_hold_it_up(tmp_path: Path) -> None:
    described = tmp_path / "nodes.yaml"
    described.write_text("[{name: gpu, count: 2, gpus: 4}, {name: cpu, cpu: 32, memory: 128Gi}]")
    home = tmp_path / "home"
    with up("--nodes-file", str(described), "--in-memory", env={"PODIUM_HOME": str(home)}) as running:
        directory = running.kubeconfig.parent
        assert directory.stat().st_mode & 0o777 == 0o700
        assert running.names(NODES) == ["cpu-000", "gpu-000", "gpu-001"]
        assert not (directory / "cluster.db").exists()
        with socket.create_connection(("127.0.0.1", running.port)):
            began = time.monotonic()
            assert running.stop(signal.SIGTERM) == (0, "")
            assert time.monotonic() - began < 8
    assert not directory.exists()
    assert not home.exists()


def test_a_changed_configuration_is_in_force_and_a_bad_one_changes_nothing(tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(profiles("backfill"))  # which places only pods that ask for nothing
    pods = "/api/v1/namespaces/default/pods"

    def place(name: str) -> dict[str, object]:
        status, pod = cluster.request("POST", pods, pod_document(name))
        assert status == 201, pod
        found: dict[str, object] = pod["spec"]
        return found

    def is_placed(name: str) -> bool:
        return bool(cluster.request("GET", f"{pods}/{name}")[1]["spec"].get("nodeName"))

    with up("--in-memory", "--config", str(config)) as cluster:
        assert "schedulingGates" not in place("a")
        time.sleep(1)
        assert not is_placed("a")
        config.write_text("action: allocate\n")
        time.sleep(4)
        assert not is_placed("a")
        config.write_text(profiles("allocate, backfill", gate=True))
        until(lambda: is_placed("a"), "the new file is in force")
        assert place("b")["schedulingGates"] == [{"name": "podium.dev/quota"}]  # as the file says since
        until(lambda: is_placed("b"), "its queue has room")
        _, reported = cluster.stop(signal.SIGTERM)
    version = hashlib.sha256(profiles("backfill").encode()).hexdigest()[:12]
    assert f"{config}: unknown key 'action', did you mean actions; version {version} stays in force" in reported
    assert reported.count("\n") == 1


def test_down_ends_a_cluster_and_waits_for_its_end(tmp_path: Path) -> None:
    with up("--nodes", "0", "--data-dir", str(tmp_path)) as running:
        running.process.send_signal(signal.SIGSTOP)
        try:
            late = podium("down", "--data-dir", str(tmp_path), "--timeout", "0.2")
        finally:
            running.process.send_signal(signal.SIGCONT)
        assert late.returncode == 3
        assert late.stderr == f"podium: the cluster on {tmp_path} (pid {running.process.pid}) is still stopping\n"
        assert running.process.wait(timeout=10) == 0
    with up("--nodes", "0", "--data-dir", str(tmp_path)) as running:
        result = podium("down", "--data-dir", str(tmp_path))
        assert (result.returncode, result.stderr) == (0, "")
        assert "stopped the cluster" in result.stdout
        assert running.process.wait(timeout=5) == 0
    again = podium("down", "--data-dir", str(tmp_path))
    assert (again.returncode, again.stdout, again.stderr) == (0, f"no cluster is running on {tmp_path}\n", "")


def test_down_says_that_keep_has_no_effect(tmp_path: Path) -> None:
    result = podium("down", "--keep", "--data-dir", str(tmp_path))
    assert result.returncode == 0
    assert result.stderr == "podium: --keep has no effect: all pods are simulated, and end with their cluster\n"


@pytest.mark.timeout(120)
def test_who_runs_beside_it_stands_by_unless_it_is_left_out(tmp_path: Path) -> None:
    """`podium run` against `podium up` says that a scheduler is already there."""
    data, log = tmp_path / "data", tmp_path / "run.log"

    def beside(sentence: str, *flags: str) -> str:
        with up("--data-dir", str(data), *flags) as running, open(log, "wb") as output:
            command = [*PODIUM, "run", f"--kubeconfig={running.kubeconfig}", "--listen-address=:0"]
            process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
            try:
                deadline = time.monotonic() + 30
                while log.read_text().count(sentence) < 2 and time.monotonic() < deadline:
                    time.sleep(0.1)
            finally:
                end(process, 10)
        return log.read_text()

    inside = beside("standing by")
    hint = "it runs inside `podium up`, which leaves it out with"
    assert f"kube-system/podium-scheduler; {hint} --scheduler none" in inside
    assert f"{hint} --controllers none" in inside
    assert "leading" not in inside
    assert beside("leading: this process", "--scheduler", "none", "--controllers", "none").count("leading") == 2
