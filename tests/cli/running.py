"""`podium up` in a process of its own, and just enough of a client to look at it."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

PODIUM = [sys.executable, "-m", "podium.cli.main"]


def podium(
    *arguments: str, timeout: float = 30.0, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end."""
    return subprocess.run(
        [*PODIUM, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        check=False,
    )


class Up:
    """A running `podium up`."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*PODIUM, "up", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **(env or {})},
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        # A silent start must not hang the test: the watchdog ends the process, and with it the reading below.
        watchdog = threading.Timer(30, self.process.kill)
        watchdog.start()
        self.greeting = ""
        while "Ctrl-C" not in self.greeting:
            line = self.process.stdout.readline()
            if not line:
                watchdog.cancel()
                raise RuntimeError(f"podium up did not start: {self.greeting}{self.process.stderr.read()}")
            self.greeting += line
        watchdog.cancel()
        self.kubeconfig = Path(self.greeting.split("kubeconfig: ")[1].splitlines()[0])
        document = yaml.safe_load(self.kubeconfig.read_text())
        cluster, self.token = document["clusters"][0]["cluster"], document["users"][0]["user"]["token"]
        self.port = int(cluster["server"].rsplit(":", 1)[1])
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._context = ssl.create_default_context(cadata=authority)

    def request(self, method: str, path: str, body: object = None, token: str | None = None) -> tuple[int, Any]:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self._context, timeout=20)
        headers = {"Authorization": f"Bearer {self.token if token is None else token}"}
        with contextlib.closing(connection):
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            text = answer.read()
        is_json = (answer.getheader("Content-Type") or "").startswith("application/json")
        return answer.status, json.loads(text) if is_json else text.decode()

    def names(self, path: str) -> list[str]:
        status, answer = self.request("GET", path)
        assert status == 200, answer
        return [item["metadata"]["name"] for item in answer["items"]]

    def stop(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Ends it; returns the exit code and what it said on stderr."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors


@contextlib.contextmanager
def up(*arguments: str, env: dict[str, str] | None = None) -> Iterator[Up]:
    running = Up("--port", "0", *arguments, env=env)
    try:
        yield running
    finally:
        running.stop(signal.SIGKILL)
