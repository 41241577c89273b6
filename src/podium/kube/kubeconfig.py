"""Kubeconfig: from the user's files, or the pod we run in, to a `Connection`.

The order is kubectl's: a path given by hand, else $KUBECONFIG (several files, the first to define a name wins),
else ~/.kube/config, else the service account of the pod.  What is wrong in a file is one sentence with
the file and the field.  Settings that would change who we are or where we go but that we cannot honour (proxies,
impersonation, auth providers) are refused, never skipped.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from podium.errors import UsageError
from podium.kube.connection import Connection, Trust, ssl_context
from podium.kube.credentials import (
    Certificate,
    Credentials,
    Identity,
    OnDemand,
    Static,
    TokenFile,
    basic,
    bearer,
)
from podium.kube.exec_plugin import API_VERSIONS, ExecPlugin
from podium.kube.kubeconfig_file import Cluster, ExecConfig, Merged, Place, User, load
from podium.kube.kubeconfig_merging import write_private

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def resolve(
    path: str | Path | None = None,
    context: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Connection:
    """The cluster and user that the command line, the environment and the files name."""
    files = _files(path, environ)
    if files:
        return _from_files(load(files), context)
    if environ.get("KUBERNETES_SERVICE_HOST") and (service_account / "token").exists():
        if context:
            raise UsageError(f'context "{context}" was asked for, but there is no kubeconfig to find it in')
        return _in_cluster(environ, service_account)
    raise UsageError(
        "no cluster to talk to: there is no kubeconfig at ~/.kube/config, $KUBECONFIG is not set, and this is"
        " no pod of a cluster; give --kubeconfig, or start a cluster here with `podium up -d`"
    )


def write_kubeconfig(path: str | Path, server: str, ca_pem: str, token: str, context_name: str) -> None:
    """Writes a kubeconfig with one context, readable by its owner only, whole or not at all."""
    cluster: dict[str, str] = {"server": server}
    if ca_pem:
        cluster["certificate-authority-data"] = Place.encoded(ca_pem)
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": context_name, "cluster": cluster}],
        "users": [{"name": context_name, "user": {"token": token}}],
        "contexts": [{"name": context_name, "context": {"cluster": context_name, "user": context_name}}],
        "current-context": context_name,
    }
    write_private(Path(path), yaml.safe_dump(document, sort_keys=False))


def _files(path: str | Path | None, environ: Mapping[str, str]) -> list[Path]:
    """The files to read, in order of precedence; none when only the pod's own account is left."""
    if path:
        given = Path(path).expanduser()
        if not given.exists():
            raise UsageError(f"the kubeconfig {given} does not exist")
        return [given]
    named = [Path(each).expanduser() for each in environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    if named:
        found = list(dict.fromkeys(each for each in named if each.exists()))
        if not found:
            raise UsageError(f"no file of $KUBECONFIG exists: {', '.join(str(each) for each in named)}")
        return found
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    usual = home / ".kube" / "config"
    return [usual] if usual.exists() else []


def _from_files(merged: Merged, wanted: str | None) -> Connection:
    name = wanted or merged.current_context
    if not name:
        raise UsageError(f"{merged.files}: current-context is not set; give --context{_known(merged)}")
    if name not in merged.contexts:
        raise UsageError(f'{merged.files}: contexts has no "{name}"{_known(merged)}')
    context, place = merged.contexts[name]
    if context.cluster not in merged.clusters:
        raise place.error("cluster", f'names "{context.cluster}", which clusters does not have')
    cluster, cluster_place = merged.clusters[context.cluster]
    trust = _trust(cluster, cluster_place)
    if not context.user:
        return Connection(cluster.server, Static(), trust, context.namespace or "default")
    if context.user not in merged.users:
        raise place.error("user", f'names "{context.user}", which users does not have')
    user, user_place = merged.users[context.user]
    credentials = _credentials(user, user_place, cluster, trust)
    return Connection(cluster.server, credentials, trust, context.namespace or "default")


def _known(merged: Merged) -> str:
    return f" (contexts: {', '.join(sorted(merged.contexts))})" if merged.contexts else ""


def _trust(cluster: Cluster, place: Place) -> Trust:
    try:
        url = urlsplit(cluster.server)
        valid = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise place.error("server", f'must be a URL like https://host:port, not "{cluster.server}"')
    if cluster.proxy_url:
        raise place.error("proxy-url", "is set, but podium does not go through proxies")
    ca_pem = place.pem("certificate-authority", cluster.certificate_authority, cluster.certificate_authority_data)
    if ca_pem and cluster.insecure_skip_tls_verify:
        raise place.error("insecure-skip-tls-verify", "contradicts certificate-authority: remove one of them")
    trust = Trust(ca_pem, cluster.insecure_skip_tls_verify, cluster.tls_server_name)
    try:
        if ca_pem:
            ssl_context(trust)
    except (OSError, ValueError) as error:
        raise place.error("certificate-authority", f"holds no usable certificate: {error}") from None
    return trust


def _credentials(user: User, place: Place, cluster: Cluster, trust: Trust) -> Credentials:
    if user.auth_provider is not None:
        raise place.error("auth-provider", "is set, but podium knows exec plugins only")
    if user.impersonates:
        raise place.error(user.impersonates, "is set, but podium does not act as somebody else")
    certificate = _certificate(user, place)
    if (user.token or user.token_file) and (user.username or user.password):
        raise place.error("token", "and username are both set: remove one of them")
    if user.token_file:
        source = TokenFile(place.resolved(user.token_file), certificate)
        source.current()  # an unreadable file is the user's to fix now, not a failure of the first request
        return source
    if user.token:
        if not user.token.isprintable():
            raise place.error("token", "holds characters that cannot stand in a header")
        return Static(Identity(bearer(user.token), certificate))
    if user.username or user.password:
        return Static(Identity(basic(user.username, user.password), certificate))
    if user.exec is not None:
        return OnDemand(_plugin(user.exec, place, cluster, trust))
    return Static(Identity("", certificate))


def _certificate(user: User, place: Place) -> Certificate | None:
    certificate = place.pem("client-certificate", user.client_certificate, user.client_certificate_data)
    key = place.pem("client-key", user.client_key, user.client_key_data)
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        missing = "client-certificate" if certificate is None else "client-key"
        raise place.error(missing, "is missing: a certificate and its key go together")
    pair = Certificate(certificate, key)
    try:
        ssl_context(Trust(insecure=True), pair)
    except (OSError, ValueError) as error:
        raise place.error("client-certificate", f"and client-key are no usable pair: {error}") from None
    return pair


def _plugin(config: ExecConfig, place: Place, cluster: Cluster, trust: Trust) -> ExecPlugin:
    if config.api_version not in API_VERSIONS:
        known = " or ".join(API_VERSIONS)
        raise place.error("exec.apiVersion", f'must be {known}, not "{config.api_version}"')
    if config.interactive_mode == "Always":
        raise place.error("exec.interactiveMode", "is Always, but podium never lends its terminal to a plugin")
    if config.interactive_mode not in ("", "Never", "IfAvailable"):
        modes = "Never, IfAvailable or Always"
        raise place.error("exec.interactiveMode", f'must be {modes}, not "{config.interactive_mode}"')
    command = place.program(config.command)
    if command is None:
        hint = f" ({' '.join(config.install_hint.split())})" if config.install_hint else ""
        raise place.error("exec.command", f'"{config.command}" is not an executable program here{hint}')
    reported: dict[str, object] | None = None
    if config.provide_cluster_info:
        reported = {"server": cluster.server}
        if trust.ca_pem:
            reported["certificate-authority-data"] = Place.encoded(trust.ca_pem)
        if trust.insecure:
            reported["insecure-skip-tls-verify"] = True
        if trust.server_name:
            reported["tls-server-name"] = trust.server_name
    return ExecPlugin(
        command=command,
        arguments=tuple(config.args),
        environment=tuple((each.name, each.value) for each in config.env),
        api_version=config.api_version,
        cluster=reported,
    )


def _in_cluster(environ: Mapping[str, str], account: Path) -> Connection:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    authority = account / "ca.crt"
    try:
        ca_pem = authority.read_text()
        ssl_context(Trust(ca_pem))
    except (OSError, ValueError) as error:
        raise UsageError(f"{authority} is no usable certificate authority: {error}") from None
    credentials = TokenFile(account / "token")
    credentials.current()
    namespace_file = account / "namespace"
    namespace = namespace_file.read_text().strip() if namespace_file.exists() else ""
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return Connection(server, credentials, Trust(ca_pem), namespace or "default")
