"""Puts one cluster's entries into a kubeconfig that others have entries in, and leaves those alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from podium.errors import UsageError, why_unreadable
from podium.kube import yaml_loading

_LISTS = ("clusters", "users", "contexts")


def usual_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Where kubectl writes: the first file of $KUBECONFIG, or ~/.kube/config."""
    named = next((each for each in environ.get("KUBECONFIG", "").split(os.pathsep) if each), "")
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    return Path(named).expanduser() if named else home / ".kube" / "config"


def merge_kubeconfig(source: Path, target: Path) -> str:
    """Puts the entries of one file into another, those of the same name instead of what was there.

    The current context changes only if there was none.  Returns the name of the new context.
    """
    new, known = _read(source), _read(target) if target.exists() else {}
    for key in _LISTS:
        names = {each["name"] for each in new.get(key) or ()}
        kept = [each for each in known.get(key) or () if each.get("name") not in names]
        known[key] = [*kept, *(new.get(key) or ())]
    known.setdefault("apiVersion", "v1")
    known.setdefault("kind", "Config")
    if not known.get("current-context"):
        known["current-context"] = new["current-context"]
    write_private(target, yaml.safe_dump(known, sort_keys=False))
    return str(new["current-context"])


def _read(path: Path) -> dict[str, Any]:
    try:
        document = yaml_loading.load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: the kubeconfig cannot be read: {why_unreadable(error)}") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{path}: the kubeconfig is not YAML: {' '.join(str(error).split())}") from None
    if document is None:
        return {}
    lists = [document.get(key) for key in _LISTS] if isinstance(document, dict) else [0]
    if not all(
        each is None or (isinstance(each, list) and all(isinstance(x, dict) for x in each)) for each in lists
    ):
        raise UsageError(f"{path}: this is no kubeconfig: clusters, users and contexts are lists")
    return dict(document)


def write_private(target: Path, text: str) -> None:
    """Writes a file that only its owner reads, whole or not at all; a link stays one."""
    target = target.resolve()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    try:
        # The mode is given at creation: a token is never readable by others, not even for a moment.
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
