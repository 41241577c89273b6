"""Who may look at the dashboard."""

from __future__ import annotations

import pytest

from podium.web.access import SESSIONS, Access, cookie


@pytest.mark.parametrize("host", ["127.0.0.1:8090", "localhost:1", "LOCALHOST", "[::1]:8090", "127.0.0.1"])
def test_names_of_this_machine_are_served(host: str) -> None:
    assert Access().refuses({"host": host}) is None
    assert Access().refuses({"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}) is None


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:8090", "127.0.0.1.evil.example", "localhost.evil.example:80", "[::2]"],
)
def test_other_names_are_refused(host: str) -> None:
    refused = Access().refuses({"host": host})
    assert refused is not None
    assert refused.status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
    ],
)
def test_pages_of_others_are_refused(headers: dict[str, str]) -> None:
    refused = Access().refuses({"host": "127.0.0.1:8090", **headers})
    assert refused is not None
    assert refused.status == 403


def test_a_link_from_elsewhere_may_be_followed() -> None:
    """The cookie does not come along then; the page of the login does no harm."""
    headers = {"host": "127.0.0.1:8090", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert Access().refuses(headers) is None


def test_sessions() -> None:
    access = Access()
    assert access.open("") == ""
    assert access.open(access.token[:-1]) == ""
    assert access.open("é") == ""
    session = access.open(access.token)
    assert access.knows(session)
    assert not access.knows("")
    access.close(session)
    assert not access.knows(session)


def test_sessions_are_bounded() -> None:
    access = Access()
    sessions = [access.open(access.token) for _ in range(SESSIONS + 3)]
    assert [access.knows(each) for each in sessions[:4]] == [False, False, False, True]


def test_tokens_differ_from_start_to_start() -> None:
    assert Access().token != Access().token
    assert len(Access().token) > 40


def test_cookies() -> None:
    headers = {"cookie": "a=1; podium-8090=x; podium-80901=y"}
    assert cookie(headers, "podium-8090") == "x"
    assert cookie(headers, "b") == ""
    assert cookie({}, "a") == ""
