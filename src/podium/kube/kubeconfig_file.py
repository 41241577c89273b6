"""The kubeconfig format: its structs, several files read as one, and paths relative to the file they stand in."""

from __future__ import annotations

import base64
import binascii
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from podium.errors import UsageError, why_unreadable
from podium.kube import yaml_loading


class Cluster(msgspec.Struct, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class ExecEnv(msgspec.Struct):
    name: str
    value: str = ""


class ExecConfig(msgspec.Struct, rename="camel"):
    command: str = ""
    api_version: str = ""
    args: list[str] = []
    env: list[ExecEnv] = []
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class User(msgspec.Struct, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    exec: ExecConfig | None = None
    auth_provider: Any = None
    act_as: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: Any = None

    @property
    def impersonates(self) -> str:
        """The field that asks to act as somebody else, if one does."""
        fields = {
            "as": self.act_as,
            "as-uid": self.as_uid,
            "as-groups": self.as_groups,
            "as-user-extra": self.as_user_extra,
        }
        return next((name for name, value in fields.items() if value), "")


class Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: Cluster


class _NamedUser(msgspec.Struct):
    name: str
    user: User


class _NamedContext(msgspec.Struct):
    name: str
    context: Context


class _File(msgspec.Struct, rename="kebab"):
    current_context: str = ""
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []


class Place(msgspec.Struct, frozen=True):
    """Where an entry stands: for messages, and for paths that are relative to its file."""

    file: Path
    entry: str

    def error(self, field: str, what: str) -> UsageError:
        return UsageError(f"{self.file}: {self.entry}.{field} {what}")

    def resolved(self, path: str) -> Path:
        return self.file.parent / Path(path).expanduser()

    def program(self, command: str) -> str | None:
        """The program to run: by its path, relative to the file, or by its bare name from $PATH."""
        if not command:
            return None
        return shutil.which(str(self.resolved(command)) if os.sep in command else command)

    def pem(self, field: str, path: str, data: str) -> str | None:
        """A PEM text from `<field>-data` or from the file that `<field>` names; the data wins."""
        if data:
            try:
                return base64.b64decode(data, validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                raise self.error(f"{field}-data", "is not base64 of a PEM text") from None
        if not path:
            return None
        try:
            return self.resolved(path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise self.error(field, f"cannot be read: {why_unreadable(error)}") from None

    @staticmethod
    def encoded(pem: str) -> str:
        """The text of a `-data` field."""
        return base64.b64encode(pem.encode()).decode()


class Merged(msgspec.Struct):
    """Several files read as one: entries by name, each with the place it came from."""

    files: str
    current_context: str = ""
    clusters: dict[str, tuple[Cluster, Place]] = {}
    users: dict[str, tuple[User, Place]] = {}
    contexts: dict[str, tuple[Context, Place]] = {}


def load(paths: Sequence[Path]) -> Merged:
    """Reads and merges: the first file to define a name, or the current context, wins."""
    merged = Merged(files=", ".join(str(path) for path in paths))
    for path in paths:
        file = _read(path)
        merged.current_context = merged.current_context or file.current_context
        clusters = [(each.name, each.cluster) for each in file.clusters]
        users = [(each.name, each.user) for each in file.users]
        contexts = [(each.name, each.context) for each in file.contexts]
        _merge(merged.clusters, clusters, path, "clusters")
        _merge(merged.users, users, path, "users")
        _merge(merged.contexts, contexts, path, "contexts")
    return merged


T = TypeVar("T")


def _merge(into: dict[str, tuple[T, Place]], entries: list[tuple[str, T]], path: Path, section: str) -> None:
    seen: set[str] = set()
    for name, entry in entries:
        if name in seen:
            raise UsageError(f'{path}: {section} has two entries named "{name}"')
        seen.add(name)
        into.setdefault(name, (entry, Place(path, f"{section}[{name}]")))


def _read(path: Path) -> _File:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: the kubeconfig cannot be read: {why_unreadable(error)}") from None
    try:
        document = yaml_loading.load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"{path}: the kubeconfig is not YAML: {' '.join(str(error).split())}") from None
    try:
        return msgspec.convert(_without_nulls(document) or {}, _File)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        field = where.rstrip("`").lstrip(".") or "the document"
        raise UsageError(f"{path}: {field}: {what[:1].lower()}{what[1:]}") from None


def _without_nulls(value: Any) -> Any:
    """YAML people write `users:` with nothing behind it; a null means the same as no field."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value
