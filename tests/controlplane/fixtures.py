"""For tests that need the real control plane: built or waited for, and loudly missed where it cannot be had."""

from __future__ import annotations

import os

import pytest

from tests.controlplane import build

missing: list[str] = []  # why it could not be had, for the summary


def ensure(config: pytest.Config, *binaries: build.Binary) -> None:
    """Builds or waits, with the progress shown although pytest captures output."""
    capture = config.pluginmanager.getplugin("capturemanager")

    def say(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n[control plane] {text}", flush=True)

    try:
        build.ensure(binaries, say)
    except build.Unavailable as why:
        missing.append(str(why))
        if os.environ.get("PODIUM_REQUIRE_REAL"):
            pytest.fail(f"the real control plane is required here: {why}")
        pytest.skip(f"no real control plane: {why}")


def ensure_real(config: pytest.Config) -> None:
    ensure(config, *build.FOR_TESTS)
