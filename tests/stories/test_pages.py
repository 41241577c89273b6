"""What the first pages tell a newcomer to type is typed, line by line, in a home of its own.

Blocks without a language are for the terminal.  `podium up` goes on in the background, as it does in a terminal of
its own; everything else has to end well.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.controlplane.build import KUBECTL
from tests.controlplane.fixtures import ensure
from tests.processes import end

ROOT = Path(__file__).parent.parent.parent
LINE_SECONDS = 180.0
READY_SECONDS = 60.0

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("make") is None, reason="there is no make"),
]


def lines(page: str) -> list[str]:
    """What is to be typed."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    return [line for language, block in blocks if not language for line in block.splitlines() if line.strip()]


@pytest.mark.parametrize("page", ["README.md", "docs/quick-start.md"])
def test_every_command_of_the_page_works(page: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    ensure(request.config, KUBECTL)
    own = tmp_path / "bin"
    own.mkdir()
    (own / "kubectl").symlink_to(KUBECTL.path)
    environment = {
        "HOME": str(tmp_path),
        "PATH": f"{own}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
    }
    running: list[subprocess.Popen[bytes]] = []
    try:
        for line in lines(page):
            if line.startswith("export "):
                name, _, value = line.removeprefix("export ").partition("=")
                environment[name] = value.replace("~", str(tmp_path), 1)
            elif " up " in f"{line} " and "podium" in line.split()[0]:
                running.append(_start(line, environment, tmp_path))
            else:
                done = subprocess.run(
                    ["bash", "-c", line],
                    cwd=ROOT,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=LINE_SECONDS,
                    check=False,
                )
                assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    finally:
        for process in running:
            end(process, 20)
        (ROOT / "report.html").unlink(missing_ok=True)


def _start(line: str, environment: dict[str, str], home: Path) -> subprocess.Popen[bytes]:
    """On a free port: a developer may have a cluster of his own."""
    command = ["bash", "-c", f"exec {line} --port 0"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + READY_SECONDS
    while not list((home / ".podium").glob("**/kubeconfig")):
        assert process.poll() is None, f"{line} ended with {process.returncode}"
        assert time.monotonic() < deadline, f"{line} is not ready after {READY_SECONDS} s"
        time.sleep(0.1)
    return process
