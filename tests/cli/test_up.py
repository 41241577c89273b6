"""`podium up` and `podium down` as processes: starting, refusing to start, stopping, continuing."""

from __future__ import annotations

import signal
import socket
import sqlite3
import subprocess
import time
from pathlib import Path

from tests.cli.running import Up, podium, up

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
NODES = "/api/v1/nodes"


def configmap(name: str) -> object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}


def complaint(result: subprocess.CompletedProcess[str]) -> str:
    """What a command said on stderr: exactly one line, and no traceback."""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("podium: ")
    assert result.stdout == ""
    return lines[0]


def test_it_starts_serves_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with up("--nodes", "2", "--gpus-per-node", "8", "--data-dir", str(data)) as running:
        assert running.kubeconfig == data / "kubeconfig"
        assert running.kubeconfig.stat().st_mode & 0o777 == 0o600
        assert f"kubectl --kubeconfig {data}/kubeconfig get nodes" in running.greeting
        assert running.names(NODES) == ["node-000", "node-001"]
        status, node = running.request("GET", f"{NODES}/node-000")
        assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
        assert running.request("GET", NODES, token="wrong")[0] == 401
        assert running.request("GET", "/readyz", token="")[0] == 200
        status, text = running.request("GET", "/metrics")
        assert status == 200
        assert 'apiserver_request_total{code="200",group="",resource="nodes",subresource="",verb="LIST"' in text
        assert running.stop(signal.SIGINT) == (0, "")
    assert not (data / "cluster.db-wal").exists()
    assert (data / "lock").read_text() == ""


def test_a_second_up_continues_where_it_was(tmp_path: Path) -> None:
    data = ("--data-dir", str(tmp_path))
    with up("--nodes", "2", *data) as first:
        assert first.request("POST", CONFIGMAPS, configmap("kept"))[0] == 201
        before = first.request("GET", f"{CONFIGMAPS}/kept")[1]
        token = first.token
        assert first.stop(signal.SIGTERM) == (0, "")
    with up("--nodes", "3", *data) as second:
        assert second.token == token
        assert second.request("GET", f"{CONFIGMAPS}/kept")[1] == before
        assert second.names(NODES) == ["node-000", "node-001", "node-002"]
        assert second.request("DELETE", f"{NODES}/node-001")[0] == 200
        second.stop()
    with up("--nodes", "1", *data) as third:
        assert third.names(NODES) == ["node-000", "node-002"]


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    with up("--nodes", "0", "--data-dir", str(tmp_path)) as first:
        for number in range(20):
            assert first.request("POST", CONFIGMAPS, configmap(f"c-{number:02d}"))[0] == 201
        first.stop(signal.SIGKILL)
    with up("--nodes", "0", "--data-dir", str(tmp_path)) as second:
        names = [name for name in second.names(CONFIGMAPS) if name.startswith("c-")]
        assert names == [f"c-{number:02d}" for number in range(20)]


def test_a_taken_port_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = podium("up", "--port", str(port), "--data-dir", str(tmp_path / "data"))
    assert result.returncode == 2
    assert f"port {port} is taken: choose another with --port" in complaint(result)


def test_a_locked_directory_is_one_sentence(tmp_path: Path) -> None:
    with up("--nodes", "0", "--data-dir", str(tmp_path)) as running:
        result = podium("up", "--port", "0", "--data-dir", str(tmp_path))
        assert result.returncode == 1
        told = complaint(result)
        assert f"{tmp_path} is in use by podium (pid {running.process.pid})" in told
        assert "podium down" in told
        assert running.request("GET", "/readyz")[0] == 200


def test_a_damaged_database_is_left_alone(tmp_path: Path) -> None:
    database = tmp_path / "cluster.db"
    database.write_bytes(b"this is no database" * 1000)
    result = podium("up", "--port", "0", "--data-dir", str(tmp_path))
    assert result.returncode == 1
    assert "cluster.db is damaged" in complaint(result)
    assert database.read_bytes() == b"this is no database" * 1000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cluster.db", "lock"]


def test_a_newer_database_is_left_alone(tmp_path: Path) -> None:
    with up("--nodes", "0", "--data-dir", str(tmp_path)) as running:
        running.stop()
    with sqlite3.connect(tmp_path / "cluster.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    result = podium("up", "--port", "0", "--data-dir", str(tmp_path))
    assert result.returncode == 1
    assert "newer podium" in complaint(result)


def test_a_directory_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = podium("up", "--port", "0", "--data-dir", str(tmp_path / "file" / "data"))
    assert result.returncode == 1
    assert "cannot be used as data directory" in complaint(result)


def test_in_memory_leaves_nothing(tmp_path: Path) -> None:
    with up("--nodes", "1", "--in-memory", env={"PODIUM_HOME": str(tmp_path / "home")}) as running:
        directory = running.kubeconfig.parent
        assert directory.stat().st_mode & 0o777 == 0o700
        assert running.names(NODES) == ["node-000"]
        assert not (directory / "cluster.db").exists()
        assert running.stop() == (0, "")
    assert not directory.exists()
    assert not (tmp_path / "home").exists()


def test_the_default_directory_is_podium_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with up("--nodes", "0", env={"PODIUM_HOME": str(home)}) as running:
        assert running.kubeconfig == home / "kubeconfig"
        result = podium("down", env={"PODIUM_HOME": str(home)})
        assert (result.returncode, result.stderr) == (0, "")
        assert running.stop()[0] == 0


def test_nodes_from_a_file(tmp_path: Path) -> None:
    described = tmp_path / "nodes.yaml"
    described.write_text("[{name: gpu, count: 2, gpus: 4}, {name: cpu, cpu: 32, memory: 128Gi}]")
    with up("--nodes-file", str(described), "--in-memory") as running:
        assert running.names(NODES) == ["cpu-000", "gpu-000", "gpu-001"]


def test_flags_that_exclude_each_other(tmp_path: Path) -> None:
    described = tmp_path / "nodes.yaml"
    described.write_text("[{name: gpu}]")
    assert "exclude each other" in complaint(podium("up", "--in-memory", "--data-dir", str(tmp_path)))
    both = podium("up", "--nodes", "3", "--nodes-file", str(described))
    assert both.returncode == 2
    assert "--nodes-file" in complaint(both)
    described.write_text("[{name: gpu, cuont: 2}]")
    wrong = podium("up", "--nodes-file", str(described))
    assert wrong.returncode == 2
    assert "cuont" in complaint(wrong)


def test_down_ends_a_cluster_and_waits_for_its_end(tmp_path: Path) -> None:
    with up("--nodes", "0", "--data-dir", str(tmp_path)) as running:
        began = time.monotonic()
        result = podium("down", "--data-dir", str(tmp_path))
        assert (result.returncode, result.stderr) == (0, "")
        assert "stopped the cluster" in result.stdout
        assert time.monotonic() - began < 10
        assert running.process.wait(timeout=5) == 0
        again = podium("down", "--data-dir", str(tmp_path))
        assert again.returncode == 2
        assert f"no cluster is running on {tmp_path}" in complaint(again)


def test_down_says_when_it_takes_too_long(tmp_path: Path) -> None:
    with up("--nodes", "0", "--data-dir", str(tmp_path)) as running:
        running.process.send_signal(signal.SIGSTOP)
        try:
            result = podium("down", "--data-dir", str(tmp_path), "--timeout", "0.2")
        finally:
            running.process.send_signal(signal.SIGCONT)
        assert result.returncode == 3
        assert "still stopping" in complaint(result)


def test_clients_that_say_nothing_do_not_hold_the_end_up() -> None:
    with up("--nodes", "0", "--in-memory") as running, socket.create_connection(("127.0.0.1", running.port)):
        began = time.monotonic()
        assert running.stop() == (0, "")
        assert time.monotonic() - began < 6


def test_up_can_be_started_twice_on_two_directories(tmp_path: Path) -> None:
    with (
        up("--nodes", "0", "--data-dir", str(tmp_path / "a")) as one,
        up("--nodes", "0", "--data-dir", str(tmp_path / "b")) as other,
    ):
        assert isinstance(one, Up)
        assert one.port != other.port
        assert one.request("GET", "/api", token=other.token)[0] == 401
