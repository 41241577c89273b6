"""`podium up -d`, `podium status`, clusters by name, and contexts in the kubeconfig of others."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from podium.cli import main as cli
from podium.cli.clusters import cluster_of, of_context
from podium.errors import UsageError
from podium.kube.kubeconfig_merging import merge_kubeconfig, usual_file
from tests.cli.running import podium

OTHER: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "work", "cluster": {"server": "https://work.example:6443"}}],
    "users": [{"name": "work", "user": {"token": "t", "extra": {"kept": True}}}],
    "contexts": [{"name": "work", "context": {"cluster": "work", "user": "work"}}],
    "current-context": "work",
    "preferences": {"colors": True},
}


def test_a_named_cluster_in_the_background_from_start_to_end(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".kube").mkdir(parents=True)
    config = home / ".kube" / "config"
    config.write_text(yaml.safe_dump(OTHER))
    env = {"HOME": str(home), "PODIUM_HOME": str(tmp_path / "podium"), "KUBECONFIG": ""}
    started = podium("up", "-d", "--name", "dev", "--nodes", "2", "--merge-kubeconfig", env=env, timeout=90)
    try:
        assert started.returncode == 0, started.stderr
        assert "the cluster is ready in the background" in started.stdout
        merged = yaml.safe_load(config.read_text())
        assert [each["name"] for each in merged["contexts"]] == ["work", "podium-dev"]
        assert (merged["current-context"], merged["preferences"]) == ("work", {"colors": True})
        assert merged["users"][0] == OTHER["users"][0]
        assert stat.S_IMODE(config.stat().st_mode) == 0o600
        status = podium("status", "--name", "dev", "-o", "json", env=env)
        (found,) = json.loads(status.stdout)
        assert (found["state"], found["nodes"]) == ("running", 2)
        nodes = podium("nodes", "--context", "podium-dev", "-o", "name", env=env)
        assert nodes.stdout.splitlines() == ["node/node-000", "node/node-001"]
        again = podium("up", "-d", "--name", "dev", env=env)
        assert again.returncode == 1
        assert "is in use by podium (pid" in again.stderr
    finally:
        ended = podium("down", "--name", "dev", env=env)
    assert ended.returncode == 0
    assert podium("status", "--name", "dev", env=env).returncode == 1


def test_the_cluster_of_this_machine_is_meant_where_nothing_else_is_said(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PODIUM_HOME": str(tmp_path / "podium"), "KUBECONFIG": ""}
    started = podium("up", "-d", "--port", "0", "--dashboard-port", "0", env=env, timeout=90)
    try:
        assert started.returncode == 0, started.stderr
        assert ": 1 node, API at" in started.stdout
        # A group whose wire struct keeps parts of it encoded: every command reads it.
        job = Path("examples") / "arranger" / "01-learner.yaml"
        for words in (
            ("submit", str(job)),
            ("queue",),
            ("pools", "-o", "name"),
            ("vc", "vjobs"),
            ("nodes", "--context", "podium"),
        ):
            done = podium(*words, env=env)
            assert done.returncode == 0, (words, done.stderr)
        assert "http://127.0.0.1:" in podium("status", env=env).stdout
        kubeconfig = tmp_path / "stranger"
        known = (tmp_path / "podium" / "kubeconfig").read_text()
        kubeconfig.write_text(re.sub(r"token: .*", "token: wrong", known))
        for words in (("queue",), ("submit", str(job)), ("pools",)):
            stranger = podium(*words, "--kubeconfig", str(kubeconfig), env=env)
            assert stranger.returncode == 1
            assert stranger.stderr == (
                "podium: the server does not know who asks, by this kubeconfig: Unauthorized\n"
            )
        unknown = podium("queue", "-q", "nowhere", env=env)
        assert unknown.returncode == 2
        assert "--queue nowhere: there is no such queue; there are" in unknown.stderr
    finally:
        podium("down", env=env)


def test_contexts_are_the_names_of_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODIUM_HOME", str(tmp_path))
    for folder in (tmp_path, tmp_path / "clusters" / "dev"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kubeconfig").touch()
    assert of_context(None) == of_context("podium") == tmp_path / "kubeconfig"
    assert of_context("podium-dev") == tmp_path / "clusters" / "dev" / "kubeconfig"
    assert [of_context(other) for other in ("dev", "podium-x", "podium-../dev", "kind-podium")] == [None] * 4


def test_a_directory_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = podium("up", "-d", "--data-dir", str(tmp_path / "file" / "data"), "--port", "0")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "cannot be used as data directory" in done.stderr


def test_a_cluster_that_cannot_start_says_why(tmp_path: Path) -> None:
    config = tmp_path / "bad.yaml"
    config.write_text("actions: 7\n")
    done = podium(
        "up", "-d", "--data-dir", str(tmp_path / "data"), "--port", "0", "--config", str(config), timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.startswith("podium: ")
    assert "Traceback" not in done.stderr


def test_flags_that_exclude_each_other(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.run(["up", "--in-memory", "-d"]) == 2
    assert cli.run(["up", "--name", "a", "--data-dir", str(tmp_path)]) == 2
    assert cli.run(["down", "--name", "No_Name"]) == 2
    assert "lower case letters" in capsys.readouterr().err


def test_names_have_directories_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODIUM_HOME", str(tmp_path))
    assert cluster_of(None, None).directory.path == tmp_path
    assert cluster_of("dev", None).directory.path == tmp_path / "clusters" / "dev"
    assert cluster_of("dev", None).name == "podium-dev"
    with pytest.raises(UsageError):
        cluster_of("../x", None)


def test_entries_of_the_same_name_are_replaced_and_a_link_stays_one(tmp_path: Path) -> None:
    new = tmp_path / "new"
    mine = {key: OTHER[key] for key in ("clusters", "users", "contexts")}
    new.write_text(yaml.safe_dump({**OTHER, "clusters": [{"name": "work", "cluster": {"server": "https://x:1"}}]}))
    real = tmp_path / "real"
    real.write_text(yaml.safe_dump(mine))
    link = tmp_path / "link"
    link.symlink_to(real)
    assert merge_kubeconfig(new, link) == "work"
    assert link.is_symlink()
    merged = yaml.safe_load(real.read_text())
    assert [each["cluster"]["server"] for each in merged["clusters"]] == ["https://x:1"]
    assert merged["current-context"] == "work"


@pytest.mark.parametrize("text", ["[1]", "clusters: 7", "a: [", "clusters: [7]"])
def test_what_is_no_kubeconfig_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    new, known = tmp_path / "new", tmp_path / "known"
    new.write_text(yaml.safe_dump(OTHER))
    known.write_text(text)
    with pytest.raises(UsageError):
        merge_kubeconfig(new, known)
    assert known.read_text() == text


def test_the_usual_file_is_kubectls() -> None:
    assert usual_file({"KUBECONFIG": "/a:/b", "HOME": "/h"}) == Path("/a")
    assert usual_file({"HOME": "/h"}) == Path("/h/.kube/config")
