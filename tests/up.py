"""`podium up` as a user starts it, in a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.processes import end

START_SECONDS = 60.0
STOP_SECONDS = 60.0  # a large cluster writes its log to the end


@contextlib.contextmanager
def podium_up(data: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """A cluster on `data` that is ready for requests.  At the end of the block it is ended, if it still runs."""
    kubeconfig = data / "kubeconfig"
    kubeconfig.unlink(missing_ok=True)  # it is written when the server is ready: its return is the sign
    command = [sys.executable, "-m", "podium.cli.main", "up", "--port", "0", "--data-dir", str(data), *flags]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + START_SECONDS
            while not kubeconfig.exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    output.seek(0)
                    raise RuntimeError(
                        f"podium up did not start:\n{output.read().decode(errors='replace')[-3000:]}"
                    )
                time.sleep(0.02)
            yield process
        finally:
            end(process, STOP_SECONDS)
