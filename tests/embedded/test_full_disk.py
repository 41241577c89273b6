"""A full disk, for real: a small file system in memory that is mounted for one process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.up import podium_up

# How much of the disk is left when podium starts, from nothing to nearly enough.
ROOMS = (0, 4, 8, 24, 48, 96)

_SCRIPT = """
mount -t tmpfs -o size=1m tmpfs "$1" || exit 77
if [ -n "$3" ]; then cp -r "$3"/. "$1"; fi
free=$(df --output=avail -k "$1" | tail -1)
fill=$((free - $2))
if [ $fill -gt 0 ]; then dd if=/dev/zero of="$1/fill" bs=1k count=$fill 2>/dev/null; fi
timeout 60 "$4" -m podium.cli.main up --port 0 --data-dir "$1" --nodes 3
"""


def start(directory: Path, room: int, content: str = "") -> subprocess.CompletedProcess[str]:
    directory.mkdir(exist_ok=True)
    command = ["unshare", "--mount", "sh", "-c", _SCRIPT, "sh", str(directory), str(room), content, sys.executable]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if found.returncode == 77 or "Operation not permitted" in found.stderr:
        pytest.skip("only root can mount a small disk")
    return found


def check(found: subprocess.CompletedProcess[str]) -> None:
    assert found.returncode == 1, found.stderr
    assert "Traceback" not in found.stderr
    last = found.stderr.strip().splitlines()[-1]
    assert last.startswith("podium: ")
    assert "cannot be" in last
    assert "full" in last or "No space left on device" in last


@pytest.mark.parametrize("room", ROOMS)
def test_a_start_on_a_full_disk_is_one_sentence(tmp_path: Path, room: int) -> None:
    check(start(tmp_path / "disk", room))


def test_a_disk_that_is_full_a_little_later_ends_the_cluster_and_says_so(tmp_path: Path) -> None:
    found = start(tmp_path / "disk", 200)
    assert found.returncode == 1, found.stderr
    assert "Traceback" not in found.stderr
    assert "cluster.db cannot be written: database or disk is full" in found.stderr


@pytest.mark.parametrize("room", ROOMS[:4])
def test_so_is_one_with_a_cluster_that_was_there_before(tmp_path: Path, room: int) -> None:
    before = tmp_path / "before"
    with podium_up(before, "--nodes", "0") as process:
        process.kill()  # so that its write-ahead log is still to be read
        process.wait()
    check(start(tmp_path / "disk", room, str(before)))
    with podium_up(before, "--nodes", "0"):
        pass
