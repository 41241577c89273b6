"""Who gets in: tokens, host names and origins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.embedded.access import gate_for, host_allowed, is_public, refusal, token_matches

GATE = gate_for("s3cret", 6443)


def _refused(**headers: str) -> int:
    given = {"path": "/api", "host": "127.0.0.1:6443", "origin": "", "authorization": "Bearer s3cret", **headers}
    error = refusal(GATE, **given)
    return 0 if error is None else error.code


def test_a_request_with_the_token_comes_in() -> None:
    assert _refused() == 0


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer s3cre",
        "Bearer s3crett",
        "s3cret",
        "Basic s3cret",
        "Bearer S3CRET",
        "Bearer é",
    ],
)
def test_no_or_a_wrong_token_is_401(authorization: str) -> None:
    error = refusal(GATE, path="/api", host="localhost", origin="", authorization=authorization)
    assert error is not None
    assert (error.code, error.reason, error.message) == (401, "Unauthorized", "Unauthorized")


@pytest.mark.parametrize("authorization", ["Bearer s3cret", "bearer s3cret", "BEARER  s3cret "])
def test_the_scheme_is_not_case_sensitive(authorization: str) -> None:
    assert token_matches(GATE, authorization)


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz", "/livez/ping", "/readyz/"])
def test_probes_need_no_token(path: str) -> None:
    assert is_public(path)
    assert _refused(path=path, authorization="") == 0


@pytest.mark.parametrize("path", ["/", "/version", "/livezz", "/api/livez", "/metrics", "/api/v1/pods"])
def test_everything_else_does(path: str) -> None:
    assert _refused(path=path, authorization="") == 401


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:6443", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:6443"]
)
def test_loopback_names_are_served_on_any_port(host: str) -> None:
    assert _refused(host=host) == 0


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:6443",
        "127.0.0.1.evil.example",
        "localhost,evil",
        "10.0.0.1",
        "::1",
        "localhost.",
    ],
)
def test_other_hosts_are_403_even_with_the_token_and_for_probes(host: str) -> None:
    assert _refused(host=host) == 403
    assert _refused(host=host, path="/livez") == 403


@pytest.mark.parametrize("origin", ["https://127.0.0.1:6443", "https://localhost:6443", "https://[::1]:6443"])
def test_the_servers_own_pages_may_call(origin: str) -> None:
    assert _refused(origin=origin) == 0


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://127.0.0.1:6443",
        "https://127.0.0.1",
        "https://127.0.0.1:8080",
        "https://evil.example",
        "file://",
    ],
)
def test_foreign_origins_are_403(origin: str) -> None:
    assert _refused(origin=origin) == 403
    assert _refused(origin=origin, path="/healthz") == 403


@given(st.text())
def test_no_other_token_matches(text: str) -> None:
    assert token_matches(GATE, f"Bearer {text}") == (text.strip() == "s3cret")


@given(st.text())
def test_any_host_header_gets_a_verdict(text: str) -> None:
    host_allowed(GATE, text)
