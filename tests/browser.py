"""Chromium for tests of pages: found or installed, driven over its debugging pipe, and loudly missed otherwise.

The pipe needs no driver and no library: one JSON document after another, each ended by a zero byte.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.processes import end

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_INSTALL_SECONDS = 600
_ANSWER_SECONDS = 30.0

missing: list[str] = []  # why it could not be had, for the summary


def ensure_chromium(config: pytest.Config) -> str:
    """The program's path.  It is installed where possible; else the test is skipped, or fails if it must."""
    found = _find() or _install(config)
    if found:
        return found
    why = "there is no Chromium, and it can only be installed by root with apt-get"
    missing.append(why)
    if os.environ.get("PODIUM_REQUIRE_REAL"):
        pytest.fail(f"a browser is required here: {why}")
    pytest.skip(f"no browser: {why}")


def _find() -> str:
    return next((path for name in _NAMES if (path := shutil.which(name))), "")


def _install(config: pytest.Config) -> str:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return ""
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print("\n[browser] installing Chromium with apt-get", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        done = subprocess.run(
            ["apt-get", "-qq", *command],
            env=environment,
            capture_output=True,
            timeout=_INSTALL_SECONDS,
            check=False,
        )
        if done.returncode:
            break
    return _find()


class Browser:
    """A running Chromium with one page."""

    def __init__(self, program: str, profile: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # The browser reads commands from its third and writes answers to its fourth open file.
        command = [
            "bash", "-c", f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}', program,
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={profile}",
            "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command,
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._number = 0
        self._buffer = b""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    _session = ""

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer; what happens meanwhile goes to `events`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _read(self) -> dict[str, Any]:
        deadline = time.monotonic() + _ANSWER_SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self._in, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("Chromium does not answer")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found

    def open(self, file: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Shows a file in a window of a size, and waits until it is there."""
        self.resize(width, height, dark=dark)
        self.events.clear()
        self._go(file.resolve().as_uri(), "file:")

    def visit(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """The same for a page of a server."""
        self.resize(width, height, dark=dark)
        self.events.clear()
        self._go(url, "http:")

    def resize(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )  # fmt: skip
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def _go(self, url: str, protocol: str) -> None:
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + _ANSWER_SECONDS
        while self.evaluate("document.readyState + location.protocol") != f"complete{protocol}":
            assert time.monotonic() < deadline, f"{url} does not load"
            time.sleep(0.05)

    def until(self, expression: str, seconds: float = _ANSWER_SECONDS) -> None:
        """Waits until something is true on the page."""
        deadline = time.monotonic() + seconds
        while not self.evaluate(f"!!({expression})"):
            assert time.monotonic() < deadline, f"never true: {expression}"
            time.sleep(0.05)

    def evaluate(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """What the page said on the console, raised, or could not load."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed")
        return [json.dumps(event) for event in self.events if event.get("method") in kinds]

    def requests(self) -> list[str]:
        """Everything that was asked for over the network, the page itself and what lies in it left out."""
        sent = [
            e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in sent if not url.startswith(("file:", "data:"))]

    def screenshot(self, file: Path) -> None:
        """The whole page as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        answer = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(answer["data"]))

    def print(self, file: Path) -> None:
        """The page as it is printed, as a PDF."""
        file.write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))

    def close(self) -> None:
        os.close(self._out)
        os.close(self._in)
        end(self._process, 10)


@contextmanager
def browser(program: str, profile: Path) -> Iterator[Browser]:
    running = Browser(program, profile)
    try:
        yield running
    finally:
        running.close()
