"""The command lines of podium scheduler, controllers and run: vc-scheduler's flags, and what is wrong with one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from podium.cli.main import run
from podium.cli.process_options import IGNORED

# Nobody is there; what is wrong before is said before.
NOWHERE = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""
DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    path = tmp_path / "kubeconfig"
    path.write_text(NOWHERE)
    path.chmod(0o600)
    return str(path)


@pytest.mark.parametrize("command", ["scheduler", "controllers", "run"])
def test_the_version(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--version"]) == 0
    assert re.fullmatch(r"podium \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--leader-elect-lease-duration=10s"], "--leader-elect-lease-duration (10s) must be longer than"),
        (["--leader-elect-retry-period", "soon"], "want a duration such as 500ms, 15s or 1m30s, not 'soon'"),
        (["--listen-address=8080"], "--listen-address wants [address]:port"),
        (["--healthz-address=x"], "--healthz-address wants [address]:port"),
        (["--config=/nowhere/at/all"], "/nowhere/at/all cannot be read: no such file or directory"),
        (["-v=high"], "want a number, not 'high'"),
        (["--kube-api-qps=-1"], "--kube-api-qps"),
        (["--leader-elect=perhaps"], "--leader-elect"),
        (["--no-such-flag"], "--no-such-flag"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    kubeconfig: str, flags: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["scheduler", "--kubeconfig", kubeconfig, *flags]) == 2
    reported = capsys.readouterr().err
    assert sentence in reported
    assert len(reported.splitlines()) == 1


def test_an_api_family_that_does_not_exist(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["controllers", "--kubeconfig", kubeconfig, "--dialects", "volcano,esperanto"]) == 2
    assert "there is no dialect 'esperanto'" in capsys.readouterr().err


def test_volcanos_command_line_is_accepted(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As in Volcano's manifests; each flag without a meaning is said once."""
    flags = [
        "--logtostderr",
        "--scheduler-conf=/nowhere",
        "--enable-healthz=true",
        "--enable-metrics=true",
        "--leader-elect=false",
        "--kube-api-qps=2000",
        "--kube-api-burst=2000",
        "--schedule-period=1s",
        "--node-worker-threads=20",
        "--priority-class=true",
        "--csi-storage",
        "--percentage-nodes-to-find",
        "50",
        "--scheduler-name=volcano",
        "--scheduler-name",
        "mine",
        "--lock-object-namespace=volcano-system",
        "-v=3",
    ]
    assert run(["scheduler", "--kubeconfig", kubeconfig, *flags]) == 2  # there is no such file
    reported = capsys.readouterr().err.splitlines()
    assert [line for line in reported if "has no effect" not in line] == [
        "podium: /nowhere cannot be read: no such file or directory"
    ]
    assert len(reported) == 6


def test_once_does_not_wait_for_a_server(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["scheduler", "--kubeconfig", kubeconfig, "--once"]) == 1
    assert "127.0.0.1:1" in capsys.readouterr().err


def test_the_page_lists_the_flags_without_a_meaning() -> None:
    page = (DOCS / "scheduler.md").read_text()
    listed = page.partition("## Flags of vc-scheduler")[2]
    # Those of the log are listed with underscores, as klog spells them; dashes work as well.
    missing = [flag for flag in IGNORED if not {f"`{flag}`", f"`--{flag[2:].replace('-', '_')}`"} & words(listed)]
    assert missing == []


def words(text: str) -> set[str]:
    return set(re.findall(r"`[^`]+`", text))
