"""What `make` says where Python is missing or old."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parent.parent / "Makefile"


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize(
    ("script", "reported"),
    [
        ("", "there is no {python}; podium needs Python 3.11 or newer: try make PYTHON=python3.12\n"),
        ("#!/bin/sh\nexit 1\n", "podium needs Python 3.11 or newer, and {python} is older: try make"),
    ],
    ids=["missing", "old"],
)
def test_a_python_that_cannot_be_used(tmp_path: Path, script: str, reported: str) -> None:
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    python = tmp_path / "python"
    if script:
        python.write_text(script)
        python.chmod(0o755)
    command = ["make", "-f", str(MAKEFILE), "demo", f"PYTHON={python}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(reported.format(python=python))
    assert not (tmp_path / ".venv").exists()
