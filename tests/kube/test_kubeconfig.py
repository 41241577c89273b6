from __future__ import annotations

import base64
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from podium.errors import UsageError
from podium.kube.connection import Connection
from podium.kube.credentials import OnDemand, TokenFile
from podium.kube.kubeconfig import resolve, write_kubeconfig
from tests.kube.authority import Authority

AUTHORITY = Authority()
CERTIFICATE, KEY = AUTHORITY.issue("somebody")
OTHER_KEY = AUTHORITY.issue("somebody else")[1]


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def config(
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": "https://cluster:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", **(context or {})}}],
    }


def written(directory: Path, document: Any, name: str = "config") -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return path


def authorization(connection: Connection) -> str:
    identity = connection.credentials.current()
    assert identity is not None
    return identity.authorization


# --- which file --------------------------------------------------------------------------------------------


def test_the_given_path_comes_before_the_environment(tmp_path: Path) -> None:
    given = written(tmp_path, config({"server": "https://given"}))
    other = written(tmp_path, config({"server": "https://other"}), "other")
    assert resolve(given, environ={"KUBECONFIG": str(other)}).server == "https://given"
    assert resolve(environ={"KUBECONFIG": str(other)}).server == "https://other"


def test_the_home_directory_is_the_last_file_looked_for(tmp_path: Path) -> None:
    written(tmp_path, config(), ".kube/config")
    assert resolve(environ={"HOME": str(tmp_path)}).server == "https://cluster:6443"


def test_files_are_merged_and_the_first_definition_wins(tmp_path: Path) -> None:
    first = written(
        tmp_path, {"current-context": "b", "users": [{"name": "u", "user": {"token": "first"}}]}, "one/config"
    )
    document = config({"server": "https://second"}, {"token": "second"})
    document["contexts"].append({"name": "b", "context": {"cluster": "c", "user": "u", "namespace": "ns"}})
    second = written(tmp_path, document, "two/config")
    missing = tmp_path / "missing"
    connection = resolve(environ={"KUBECONFIG": f"{first}:{missing}:{second}:"})
    assert (connection.server, connection.namespace) == ("https://second", "ns")
    assert authorization(connection) == "Bearer first"


def test_paths_are_relative_to_the_file_they_stand_in(tmp_path: Path) -> None:
    written(tmp_path, AUTHORITY.pem, "one/ca.pem")
    written(tmp_path, "secret\n", "two/token")
    one = config({"certificate-authority": "ca.pem"})
    del one["users"]
    first = written(tmp_path, one, "one/config")
    second = written(tmp_path, {"users": [{"name": "u", "user": {"tokenFile": "token"}}]}, "two/config")
    connection = resolve(environ={"KUBECONFIG": f"{first}:{second}"})
    assert connection.trust.ca_pem == AUTHORITY.pem
    assert authorization(connection) == "Bearer secret"


# --- contexts ----------------------------------------------------------------------------------------------


def test_a_context_can_be_chosen(tmp_path: Path) -> None:
    document = config(context={"namespace": "one"})
    document["contexts"].append({"name": "there", "context": {"cluster": "c"}})
    path = written(tmp_path, document)
    assert resolve(path).namespace == "one"
    assert resolve(path, "there").namespace == "default"
    assert authorization(resolve(path, "there")) == ""


# --- users -------------------------------------------------------------------------------------------------


def test_a_client_certificate_from_data(tmp_path: Path) -> None:
    user = {"client-certificate-data": encoded(CERTIFICATE), "client-key-data": encoded(KEY)}
    identity = resolve(written(tmp_path, config(user=user))).credentials.current()
    assert identity is not None
    assert identity.certificate is not None
    assert (identity.certificate.certificate_pem, identity.certificate.key_pem) == (CERTIFICATE, KEY)


def test_a_client_certificate_from_files_with_a_token(tmp_path: Path) -> None:
    written(tmp_path, CERTIFICATE, "c.pem")
    written(tmp_path, KEY, "k.pem")
    user = {"client-certificate": "c.pem", "client-key": str(tmp_path / "k.pem"), "token": "t"}
    identity = resolve(written(tmp_path, config(user=user))).credentials.current()
    assert identity is not None
    assert identity.certificate is not None
    assert identity.authorization == "Bearer t"


def test_a_password(tmp_path: Path) -> None:
    path = written(tmp_path, config(user={"username": "me", "password": "pa:ss"}))
    assert authorization(resolve(path)) == "Basic " + encoded("me:pa:ss")


def test_a_token_file_wins_over_a_token(tmp_path: Path) -> None:
    written(tmp_path, "rotated", "token")
    path = written(tmp_path, config(user={"token": "old", "tokenFile": "token"}))
    assert isinstance(resolve(path).credentials, TokenFile)
    assert authorization(resolve(path)) == "Bearer rotated"


def test_an_exec_plugin_is_found_beside_the_file(tmp_path: Path) -> None:
    plugin = written(tmp_path, "#!/bin/sh\n", "bin/plugin")
    plugin.chmod(0o755)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./bin/plugin", "env": None}}
    assert isinstance(resolve(written(tmp_path, config(user=user))).credentials, OnDemand)


def test_tls_settings(tmp_path: Path) -> None:
    cluster = {"insecure-skip-tls-verify": True, "tls-server-name": "other"}
    trust = resolve(written(tmp_path, config(cluster))).trust
    assert (trust.ca_pem, trust.insecure, trust.server_name) == (None, True, "other")
    data = {"certificate-authority-data": encoded(AUTHORITY.pem)}
    assert resolve(written(tmp_path, config(data))).trust.ca_pem == AUTHORITY.pem


def test_nulls_and_unknown_fields_are_no_errors(tmp_path: Path) -> None:
    document = config({"extensions": [{"name": "x"}], "proxy-url": None}, {"token": None})
    document["preferences"] = {}
    assert resolve(written(tmp_path, document)).server == "https://cluster:6443"


# --- what is wrong -----------------------------------------------------------------------------------------

EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh"}
PAIR = {"client-certificate-data": encoded(CERTIFICATE), "client-key-data": encoded(OTHER_KEY)}

BAD = {
    "no YAML": ("{", "the kubeconfig is not YAML"),
    "no mapping": ("- a", "the document: expected `object`, got `array`"),
    "a number as token": (config(user={"token": 7}), "users[0].user.token: expected `str`, got `int`"),
    "a cluster without name": (
        {"clusters": [{"cluster": {}}]},
        "clusters[0]: object missing required field `name`",
    ),
    "no current context": ({**config(), "current-context": ""}, "current-context is not set; give --context"),
    "unknown current context": ({**config(), "current-context": "x"}, 'contexts has no "x" (contexts: here)'),
    "unknown cluster": (config(context={"cluster": "x"}), 'contexts[here].cluster names "x"'),
    "unknown user": (config(context={"user": "x"}), 'contexts[here].user names "x"'),
    "twice the same name": (
        {**config(), "users": [{"name": "u", "user": {}}, {"name": "u", "user": {}}]},
        'users has two entries named "u"',
    ),
    "no server": (config({"server": ""}), "clusters[c].server must be a URL like"),
    "a server without scheme": (config({"server": "localhost:8080"}), "clusters[c].server must be a URL like"),
    "a server with a bad port": (config({"server": "https://a:b"}), "clusters[c].server must be a URL like"),
    "a proxy": (config({"proxy-url": "http://p"}), "clusters[c].proxy-url is set, but"),
    "insecure with an authority": (
        config({"insecure-skip-tls-verify": True, "certificate-authority-data": encoded(AUTHORITY.pem)}),
        "clusters[c].insecure-skip-tls-verify contradicts",
    ),
    "an authority that is no base64": (
        config({"certificate-authority-data": "%"}),
        "clusters[c].certificate-authority-data is not base64",
    ),
    "an authority that is no certificate": (
        config({"certificate-authority-data": encoded("hello")}),
        "clusters[c].certificate-authority holds no usable certificate",
    ),
    "an authority that is missing": (
        config({"certificate-authority": "nowhere.pem"}),
        "clusters[c].certificate-authority cannot be read",
    ),
    "a certificate without key": (
        config(user={"client-certificate-data": encoded(CERTIFICATE)}),
        "users[u].client-key is missing",
    ),
    "a key without certificate": (
        config(user={"client-key-data": encoded(KEY)}),
        "users[u].client-certificate is missing",
    ),
    "a key of another certificate": (
        config(user=PAIR),
        "users[u].client-certificate and client-key are no usable",
    ),
    "token and password": (
        config(user={"token": "a", "username": "b"}),
        "users[u].token and username are both set",
    ),
    "a token of two lines": (config(user={"token": "a\nb"}), "users[u].token holds characters"),
    "a token file that is missing": (config(user={"tokenFile": "nowhere"}), "nowhere cannot be read"),
    "an auth provider": (config(user={"auth-provider": {"name": "gcp"}}), "users[u].auth-provider is set, but"),
    "impersonation": (config(user={"as": "root"}), "users[u].as is set, but"),
    "impersonated groups": (config(user={"as-groups": ["g"]}), "users[u].as-groups is set, but"),
    "an old plugin": (
        config(user={"exec": {**EXEC, "apiVersion": "client.authentication.k8s.io/v1alpha1"}}),
        "users[u].exec.apiVersion must be client.authentication.k8s.io/v1 or",
    ),
    "a plugin that needs the terminal": (
        config(user={"exec": {**EXEC, "interactiveMode": "Always"}}),
        "users[u].exec.interactiveMode is Always, but",
    ),
    "a plugin of an unknown mode": (
        config(user={"exec": {**EXEC, "interactiveMode": "Sometimes"}}),
        "users[u].exec.interactiveMode must be Never, IfAvailable or Always",
    ),
    "a plugin that is not installed": (
        config(user={"exec": {**EXEC, "command": "no-such-program", "installHint": "get it\nfrom a friend"}}),
        '"no-such-program" is not an executable program here (get it from a friend)',
    ),
    "a plugin without command": (config(user={"exec": {**EXEC, "command": ""}}), "users[u].exec.command"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_told_in_one_sentence(case: str, tmp_path: Path) -> None:
    document, sentence = BAD[case]
    path = written(tmp_path, document)
    with pytest.raises(UsageError) as caught:
        resolve(path)
    reported = str(caught.value)
    assert sentence in reported
    assert str(tmp_path) in reported
    assert "\n" not in reported


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere does not exist"):
        resolve(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"no file of \$KUBECONFIG exists"):
        resolve(environ={"KUBECONFIG": str(tmp_path / "nowhere")})
    with pytest.raises(UsageError, match=r"no cluster to talk to.*`podium up -d`"):
        resolve(environ={"HOME": str(tmp_path)})
    with pytest.raises(UsageError, match="cannot be read"):
        resolve(tmp_path)


def test_an_unknown_context_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r'contexts has no "x" \(contexts: here\)'):
        resolve(written(tmp_path, config()), "x")


# --- inside a pod ------------------------------------------------------------------------------------------


def account(directory: Path) -> Path:
    written(directory, AUTHORITY.pem, "account/ca.crt")
    written(directory, "token-1\n", "account/token")
    written(directory, "team", "account/namespace")
    return directory / "account"


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_the_service_account_of_the_pod(tmp_path: Path, host: str, server: str) -> None:
    environ = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    connection = resolve(environ=environ, service_account=account(tmp_path))
    assert (connection.server, connection.namespace) == (server, "team")
    assert connection.trust.ca_pem == AUTHORITY.pem
    assert authorization(connection) == "Bearer token-1"
    with pytest.raises(UsageError, match='context "x" was asked for'):
        resolve(context="x", environ=environ, service_account=account(tmp_path))


def test_a_broken_service_account(tmp_path: Path) -> None:
    directory = account(tmp_path)
    (directory / "ca.crt").write_text("nonsense")
    environ = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    with pytest.raises(UsageError, match=r"ca\.crt is no usable certificate authority"):
        resolve(environ=environ, service_account=directory)


# --- writing -----------------------------------------------------------------------------------------------


def test_what_is_written_can_be_read_and_only_by_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("an older one, readable by all")
    path.chmod(0o644)
    write_kubeconfig(path, "https://127.0.0.1:6443", AUTHORITY.pem, "token", "podium")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["kubeconfig"]
    connection = resolve(path)
    assert connection.server == "https://127.0.0.1:6443"
    assert connection.trust.ca_pem == AUTHORITY.pem
    assert authorization(connection) == "Bearer token"
    assert resolve(path, "podium").server == connection.server


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "directory"
    target.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_kubeconfig(target, "https://a", "", "token", "podium")
    assert [each.name for each in tmp_path.iterdir()] == ["directory"]
