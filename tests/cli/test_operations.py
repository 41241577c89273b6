"""What docs/operations.md tells to do, done: backups of an embedded cluster, and a dump of the model."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import urllib.request
from pathlib import Path

from tests.cli.running import PODIUM, podium, up
from tests.cli.test_up import CONFIGMAPS, configmap, until
from tests.processes import end

DOWN = ("--nodes", "0")


def test_a_copy_of_the_directory_is_a_backup(tmp_path: Path) -> None:
    data, backup = tmp_path / "D", tmp_path / "D.backup"
    with up(*DOWN, "--data-dir", str(data)) as first:
        assert first.request("POST", CONFIGMAPS, configmap("before"))[0] == 201
        assert podium("down", "--data-dir", str(data)).returncode == 0
    shutil.copytree(data, backup)
    with up(*DOWN, "--data-dir", str(data)) as second:
        assert second.request("DELETE", f"{CONFIGMAPS}/before")[0] == 200
        token = second.token
    shutil.rmtree(data)
    shutil.copytree(backup, data)
    with up(*DOWN, "--data-dir", str(data)) as third:
        assert "before" in third.names(CONFIGMAPS)
        assert third.token == token  # who had a kubeconfig still has one


def test_a_backup_that_is_made_while_it_runs(tmp_path: Path) -> None:
    data, backup = tmp_path / "D", tmp_path / "cluster-backup.db"
    with up(*DOWN, "--data-dir", str(data)) as first:
        assert first.request("POST", CONFIGMAPS, configmap("before"))[0] == 201
        with sqlite3.connect(data / "cluster.db") as store:
            store.execute(f"VACUUM INTO '{backup}'")
        store.close()
        status, after = first.request("POST", CONFIGMAPS, configmap("after"))
        assert status == 201
    record = data / "cluster.db-commit"
    for left in data.glob("cluster.db*"):
        if left != record:
            left.unlink()
    shutil.copy(backup, data / "cluster.db")
    refused = podium("up", *DOWN, "--data-dir", str(data))
    assert refused.returncode != 0
    assert "lacks acknowledged writes" in refused.stderr
    record.unlink()
    with up(*DOWN, "--data-dir", str(data)) as second:
        names = second.names(CONFIGMAPS)
        assert "before" in names
        assert "after" not in names
        # A client that watched from there must not take later objects for ones that it knows.
        _, answer = second.request("POST", CONFIGMAPS, configmap("later"))
        assert int(answer["metadata"]["resourceVersion"]) > int(after["metadata"]["resourceVersion"])


def ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_the_model_is_dumped_when_somebody_asks_for_it(tmp_path: Path) -> None:
    log = tmp_path / "scheduler.log"
    parts = ("--scheduler", "none", "--controllers", "none")
    with up("--nodes", "3", "--data-dir", str(tmp_path / "D"), *parts) as running, open(log, "wb") as output:
        command = [*PODIUM, "scheduler", f"--kubeconfig={running.kubeconfig}", "--listen-address=:0"]
        process = subprocess.Popen(
            [*command, "--log-format=json"],
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            env={"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        )
        try:
            until(lambda: "health and metrics: " in log.read_text(), "it listens")
            (url,) = re.findall(r"health and metrics: (http://[0-9.:]+)", log.read_text())
            until(lambda: ready(url), "it has listed the cluster")
            process.send_signal(signal.SIGUSR2)
            until(lambda: "the model has been written to" in log.read_text(), "the model is written")
            (file,) = tmp_path.glob("podium-model-*.json")
            text = file.read_text()
            assert process.poll() is None
        finally:
            end(process, 10)
        assert len(json.loads(text)["nodes"]) == 3
        assert running.token not in text
        assert running.token not in log.read_text()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {key for line in lines for key in line} >= {"ts", "level", "logger", "msg"}
    assert any(re.search(r"podium-model-.*\.json", line["msg"]) for line in lines)
