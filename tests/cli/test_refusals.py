"""Starts that are refused: one sentence on stderr, and nothing of the user's is touched."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.cli import main as cli
from podium.embedded.log import SqliteLog
from tests.cli.test_asking import KUBECONFIG

Refused = Callable[..., str]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """Runs a command that must fail with `code`; returns its one line on stderr."""

    def run(code: int, *arguments: str) -> str:
        assert cli.run(list(arguments)) == code
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("podium: ")
        assert said.err.count("\n") == 1, said.err
        return said.err

    return run


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "lock"}


def test_a_damaged_database(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "cluster.db").write_bytes(b"this is no database" * 1000)
    before = contents(tmp_path)
    assert "cluster.db is damaged" in refused(1, "up", "--port", "0", "--data-dir", str(tmp_path))
    assert contents(tmp_path) == before


def test_a_database_with_a_damaged_page(tmp_path: Path, refused: Refused) -> None:
    log = SqliteLog(tmp_path / "cluster.db")
    log.restore()
    log.close()
    data = bytearray((tmp_path / "cluster.db").read_bytes())
    data[4096:8192] = b"\xff" * 4096
    (tmp_path / "cluster.db").write_bytes(data)
    assert "damaged" in refused(1, "up", "--port", "0", "--data-dir", str(tmp_path))
    assert contents(tmp_path)["cluster.db"] == bytes(data)


def test_a_newer_database(tmp_path: Path, refused: Refused) -> None:
    log = SqliteLog(tmp_path / "cluster.db")
    log.restore()
    log.close()
    connection = sqlite3.connect(tmp_path / "cluster.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert "newer podium" in refused(1, "up", "--port", "0", "--data-dir", str(tmp_path))


def test_another_program_s_database(tmp_path: Path, refused: Refused) -> None:
    connection = sqlite3.connect(tmp_path / "cluster.db")
    connection.execute("CREATE TABLE photos (id)")
    connection.close()
    before = contents(tmp_path)
    assert "not a podium database" in refused(1, "up", "--port", "0", "--data-dir", str(tmp_path))
    assert contents(tmp_path) == before


def test_a_directory_that_cannot_be_made(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "file").write_text("")
    reported = refused(1, "up", "--port", "0", "--data-dir", str(tmp_path / "file" / "data"))
    assert "cannot be used as data directory" in reported


def test_flags_that_exclude_each_other(tmp_path: Path, refused: Refused) -> None:
    described = tmp_path / "nodes.yaml"
    described.write_text("[{name: gpu}]")
    assert "exclude each other" in refused(2, "up", "--in-memory", "--data-dir", str(tmp_path))
    assert "--nodes-file" in refused(2, "up", "--nodes", "3", "--nodes-file", str(described))
    assert "--nodes-file" in refused(2, "up", "--gpus-per-node", "3", "--nodes-file", str(described))


@pytest.mark.parametrize("text", ["[{name: gpu, cuont: 2}]", "{", "[{name: gpu, count: -1}]", "just text"])
def test_a_nodes_file_that_cannot_be_read(tmp_path: Path, refused: Refused, text: str) -> None:
    described = tmp_path / "nodes.yaml"
    described.write_text(text)
    assert str(described) in refused(2, "up", "--nodes-file", str(described))


def test_a_nodes_file_that_is_not_there(tmp_path: Path, refused: Refused) -> None:
    assert "does not exist" in refused(2, "up", "--nodes-file", str(tmp_path / "nothing"))


def test_more_nodes_than_there_are_addresses(refused: Refused) -> None:
    assert "more than" in refused(2, "up", "--in-memory", "--nodes", "100000")


def test_down_where_there_is_nothing(tmp_path: Path, refused: Refused) -> None:
    nowhere = tmp_path / "nowhere"
    assert f"{nowhere}: there is no such directory" in refused(2, "down", "--data-dir", str(nowhere))
    assert not nowhere.exists()


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("up --nodes abc", "Invalid value for '--nodes': 'abc' is not a valid whole number."),
        ("up --port 1.5", "Invalid value for '--port': '1.5' is not a valid whole number."),
        ("down --timeout soon", "Invalid value for '--timeout': 'soon' is not a valid number."),
        ("sim run --trace openb --seed x", "'x' is not a valid"),
    ],
)
def test_what_is_no_number(line: str, reported: str, refused: Refused) -> None:
    found = refused(2, *line.split())
    assert reported in found
    assert "range" not in found


def test_a_configuration_that_cannot_be_used(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "scheduler.yaml").write_text("actions: [enqueue\n")
    data = tmp_path / "data"
    reported = refused(2, "up", "--config", str(tmp_path / "scheduler.yaml"), "--data-dir", str(data))
    assert "scheduler.yaml, line 2, column 1: it is not YAML" in reported
    assert not data.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["submit"],
        ["up", "--in-memory", "--nodes-file"],
        ["vc", "job", "run", "-f"],
        ["sim", "run", "--trace", "scenario", "--pods"],
    ],
)
def test_a_file_that_cannot_be_read_is_told_in_words(
    words: list[str], tmp_path: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    binary = tmp_path / "binary"
    binary.write_bytes(b"\x7fELF\xd0\x00")
    said = refused(2, *words, str(binary))
    assert "no" in said
    assert "text" in said
    assert "codec" not in said
    if "--nodes-file" not in words:
        missing = refused(2, *words, str(tmp_path / "nowhere"))
        assert "no such file or directory" in missing.lower()
        assert "Errno" not in missing
