"""The identity on disk: made once, kept, renewed in time, readable by its owner only."""

from __future__ import annotations

import asyncio
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from podium.embedded.certificates import Identity, load_identity, write_private
from podium.errors import StorageError


def test_it_stays_the_same_across_restarts(tmp_path: Path) -> None:
    first = load_identity(tmp_path / "pki")
    certificate = first.certificate.read_bytes()
    second = load_identity(tmp_path / "pki")
    assert second == first
    assert second.certificate.read_bytes() == certificate


def test_keys_and_token_are_private(tmp_path: Path) -> None:
    load_identity(tmp_path / "pki")
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "pki").iterdir()}
    assert set(modes) == {"ca.crt", "ca.key", "server.crt", "server.key", "token"}
    assert set(modes.values()) == {0o600}


def test_the_token_is_long_and_each_directory_has_its_own(tmp_path: Path) -> None:
    one, other = load_identity(tmp_path / "a"), load_identity(tmp_path / "b")
    assert one.token != other.token
    assert len(one.token) >= 40


def test_the_serving_certificate_is_renewed_before_its_end_under_the_same_authority(tmp_path: Path) -> None:
    first = load_identity(tmp_path)
    before = first.certificate.read_bytes()
    assert load_identity(tmp_path, datetime.now(UTC) + timedelta(days=300)).certificate.read_bytes() == before
    later = load_identity(tmp_path, datetime.now(UTC) + timedelta(days=340))
    assert later.certificate.read_bytes() != before
    assert later.authority == first.authority
    assert later.token == first.token


def test_an_authority_at_its_end_is_replaced_with_what_it_signed(tmp_path: Path) -> None:
    first = load_identity(tmp_path)
    later = load_identity(tmp_path, datetime.now(UTC) + timedelta(days=3640))
    assert later.authority != first.authority


def test_a_certificate_of_another_authority_is_replaced(tmp_path: Path) -> None:
    first = load_identity(tmp_path)
    before = first.certificate.read_bytes()
    (tmp_path / "ca.key").unlink()
    assert load_identity(tmp_path).certificate.read_bytes() != before


def test_a_damaged_file_is_said_and_left_alone(tmp_path: Path) -> None:
    load_identity(tmp_path)
    (tmp_path / "server.key").write_text("garbage")
    with pytest.raises(StorageError, match=r"server\.key is damaged"):
        load_identity(tmp_path)
    assert (tmp_path / "server.key").read_text() == "garbage"


def test_a_private_file_is_never_open_to_others(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default.svc"])
async def test_clients_that_trust_the_authority_accept_the_server_under_its_names(
    tmp_path: Path, name: str
) -> None:
    identity = load_identity(tmp_path)
    assert await _handshake(identity, name) == "http/1.1"


async def test_other_names_are_not_accepted(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        await _handshake(load_identity(tmp_path), "example.org")


async def _handshake(identity: Identity, name: str) -> str | None:
    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(nothing, "127.0.0.1", 0, ssl=identity.server_context())
    port = server.sockets[0].getsockname()[1]
    context = ssl.create_default_context(cadata=identity.authority)
    context.set_alpn_protocols(["h2", "http/1.1"])

    def connect() -> str | None:
        with (
            socket.create_connection(("127.0.0.1", port)) as raw,
            context.wrap_socket(raw, server_hostname=name) as tls,
        ):
            return tls.selected_alpn_protocol()

    try:
        return await asyncio.to_thread(connect)
    finally:
        server.close()
