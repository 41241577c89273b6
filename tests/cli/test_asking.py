"""What commands that read a cluster have in common."""

from __future__ import annotations

import gc
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from podium.cli import asking
from podium.cli.asking import Asked
from tests.cli.running import podium

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: u, user: {}}]
"""


class Looking:
    """A client that only sees whether garbage is collected."""

    def __init__(self, **given: Any) -> None:
        pass

    async def __aenter__(self) -> Looking:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


@pytest.mark.parametrize("reading", [True, False])
def test_nothing_is_collected_while_a_cluster_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading: bool
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    monkeypatch.setattr(asking, "_client_class", lambda: Looking)
    monkeypatch.setattr("podium.cli.loop.collect_rarely", lambda: None)  # this process goes on

    async def work(client: Any) -> bool:
        return gc.isenabled()

    collected = Asked(kubeconfig, None, "", None).ask(work, reading=reading)
    assert collected is not reading
    assert gc.isenabled()


def test_collecting_goes_on_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    monkeypatch.setattr(asking, "_client_class", lambda: Looking)
    monkeypatch.setattr("podium.cli.loop.collect_rarely", lambda: None)

    async def work(client: Any) -> None:
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        Asked(kubeconfig, None, "", None).ask(work, reading=True)
    assert gc.isenabled()


@pytest.mark.parametrize("words", [("queue",), ("nodes",), ("why", "pod/p")])
def test_a_cluster_that_is_not_there_is_one_sentence(tmp_path: Path, words: tuple[str, ...]) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    done = podium(*words, "--kubeconfig", str(kubeconfig))
    assert done.returncode == 1
    assert done.stderr == "podium: http://127.0.0.1:9 cannot be reached: Connection refused\n"
