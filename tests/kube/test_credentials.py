from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from podium.errors import TransportError, UsageError
from podium.kube.credentials import Identity, Issued, OnDemand, Static, TokenFile, basic, bearer
from podium.kube.exec_plugin import ExecPlugin


class Hand:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_static_identity_never_changes() -> None:
    identity = Identity(bearer("t"))
    static = Static(identity)
    assert static.current() is identity
    assert await static.renew(identity) is identity
    assert basic("a", "b") == "Basic YTpi"


async def test_a_token_file_is_read_again_after_a_minute_or_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")
    clock = Hand()
    source = TokenFile(path, clock=clock)
    first = source.current()
    assert first == Identity("Bearer one")
    path.write_text("two")
    clock.now += 59
    assert source.current() is first
    clock.now += 1
    assert source.current() == Identity("Bearer two")
    path.write_text("three")
    assert await source.renew(first) == Identity("Bearer three")
    assert source.current() == Identity("Bearer three")


async def test_an_unchanged_token_is_the_same_identity(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    source = TokenFile(path)
    first = source.current()
    assert await source.renew(first) is first


async def test_a_token_file_in_the_middle_of_its_rotation_keeps_the_old_token(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    source = TokenFile(path)
    first = source.current()
    for content in ("", "two\nlines"):
        path.write_text(content)
        assert await source.renew(first) is first
    path.unlink()
    assert await source.renew(first) is first


def test_a_token_file_that_was_never_good(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        TokenFile(tmp_path / "nowhere").current()
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(UsageError, match="does not hold one token"):
        TokenFile(tmp_path / "empty").current()


async def test_issued_identities_are_kept_until_they_expire() -> None:
    clock = Hand()
    runs = 0

    def issue() -> Issued:
        nonlocal runs
        runs += 1
        return Issued(Identity(bearer(str(runs))), expires=clock.now + 100)

    source = OnDemand(issue, clock)
    assert source.current() is None
    assert await source.renew(None) == Identity("Bearer 1")
    clock.now += 99
    assert source.current() == Identity("Bearer 1")
    clock.now += 1
    assert source.current() is None
    assert await source.renew(None) == Identity("Bearer 2")


async def test_many_refusals_at_once_run_the_issuer_once() -> None:
    runs = 0

    def issue() -> Issued:
        nonlocal runs
        runs += 1
        return Issued(Identity(bearer(str(runs))))

    source = OnDemand(issue)
    first = await source.renew(None)
    renewed = await asyncio.gather(*(source.renew(first) for _ in range(20)))
    assert runs == 2
    assert set(map(id, renewed)) == {id(source.current())}


async def test_an_issuer_that_has_nothing_newer_gives_the_same_identity() -> None:
    source = OnDemand(lambda: Issued(Identity(bearer("same"))))
    first = await source.renew(None)
    assert await source.renew(first) is first


# --- exec plugins: real programs ---------------------------------------------------------------------------


def plugin(tmp_path: Path, script: str, **settings: Any) -> ExecPlugin:
    path = tmp_path / "plugin.py"
    path.write_text(script)
    return ExecPlugin(sys.executable, (str(path),), **settings)


def printing(status: Any, version: str = "client.authentication.k8s.io/v1") -> str:
    document = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    return f"print({json.dumps(document)!r})"


def test_a_plugin_prints_a_token(tmp_path: Path) -> None:
    status = {"token": "abc", "expirationTimestamp": "1970-01-01T01:00:00Z"}
    assert plugin(tmp_path, printing(status))() == Issued(Identity("Bearer abc"), 3600.0)


def test_a_plugin_prints_a_certificate(tmp_path: Path) -> None:
    status = {"clientCertificateData": "c", "clientKeyData": "k"}
    issued = plugin(tmp_path, printing(status))()
    assert issued.identity.authorization == ""
    assert issued.identity.certificate is not None
    assert issued.identity.certificate.key_pem == "k"
    assert issued.expires is None


def test_a_plugin_is_told_what_it_needs_and_gets_no_terminal(tmp_path: Path) -> None:
    script = """
import json, os, sys
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
told = [info["kind"], info.pop("spec"), os.environ["EXTRA"], sys.stdin.read(), "PATH" in os.environ]
print(json.dumps({**info, "status": {"token": json.dumps(told)}}))
"""
    beta = "client.authentication.k8s.io/v1beta1"
    made = plugin(
        tmp_path, script, environment=(("EXTRA", "e"),), api_version=beta, cluster={"server": "https://s"}
    )
    reported = json.loads(made().identity.authorization.removeprefix("Bearer "))
    spec = {"interactive": False, "cluster": {"server": "https://s"}}
    assert reported == ["ExecCredential", spec, "e", "", True]


FAILURES = {
    "import sys; sys.exit('please log in')": "exit code 1: please log in",
    "import sys; sys.exit(3)": "exit code 3: it said nothing on stderr",
    "print('hello')": "did not print an ExecCredential",
    printing({"token": 5}): "did not print an ExecCredential",
    printing({}): "neither status.token nor status.clientCertificateData",
    printing(None): "neither status.token nor status.clientCertificateData",
    printing({"clientKeyData": "k"}): "only one of status.clientCertificateData and status.clientKeyData",
    printing({"token": "a\nb"}): "cannot stand in a header",
    printing({"token": "a", "expirationTimestamp": "soon"}): "no RFC 3339 time",
    printing({"token": "a"}, "client.authentication.k8s.io/v1beta1"): "printed ExecCredential of client.auth",
    "import time; time.sleep(9)": "did not finish within 0.3 s",
}


@pytest.mark.parametrize("script", FAILURES)
def test_a_plugin_that_fails_says_why(script: str, tmp_path: Path) -> None:
    timeout = 0.3 if "sleep" in script else 30.0
    with pytest.raises(TransportError, match="the credentials plugin python") as caught:
        plugin(tmp_path, script, timeout=timeout)()
    assert FAILURES[script] in str(caught.value)


def test_a_plugin_that_vanished(tmp_path: Path) -> None:
    with pytest.raises(TransportError, match="gone cannot be run: No such file"):
        ExecPlugin(str(tmp_path / "gone"))()
