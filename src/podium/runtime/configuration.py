"""The scheduler's configuration: Volcano's file as it is, or podium's with a profile for each scheduler name."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from podium.core.framework.arguments import Arguments
from podium.core.profiles.profile import Profile, read_profile
from podium.dialects import built_in_profiles, unnamed_profile
from podium.errors import UsageError, why_unreadable
from podium.kube.yaml_files import YamlText
from podium.runtime.extensions import installed

log = logging.getLogger(__name__)


def default_profiles(names: Iterable[str] = ()) -> dict[str, Profile]:
    """A profile for each scheduler name that podium knows; others are served as unnamed files are."""
    places = {name: f"the default of {name}" for name in built_in_profiles()}
    profiles = {name: _read(_completed(name, {}, where), where) for name, where in places.items()}
    return {**dict.fromkeys(names, profiles[unnamed_profile()]), **profiles}


def embedded_profiles(path: Path | None = None) -> dict[str, Profile]:
    """Those of a file, or the built-in ones, on a cluster that has no other scheduler."""
    return serving_all(default_profiles() if path is None else load_profiles(path))


def serving_all(profiles: Mapping[str, Profile]) -> dict[str, Profile]:
    """The same profiles, and one for the pods that name no scheduler."""
    return {"default-scheduler": profiles["podium"], **profiles}


def quota_gated(profiles: Mapping[str, Profile]) -> frozenset[str]:
    """The scheduler names whose new pods start behind a gate for their queue's quota."""
    return frozenset(name for name, profile in profiles.items() if profile.quota_gate)


def load_profiles(path: Path, names: Sequence[str] = ()) -> dict[str, Profile]:
    """The profiles of a file.  One that names none configures `names`, or the built-in profile for such files."""
    return read_profiles(read_file(path), str(path), names)


def read_file(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {why_unreadable(error)}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no text") from None


def read_profiles(text: str, where: str, names: Sequence[str] = ()) -> dict[str, Profile]:
    """The profiles of a file's content; `where` is what to call it when something is wrong with it."""
    document = _document(text, where)
    if _names_a_kind(document):
        text, where = _inside(document, where)
        document = _document(text, where)
        if _names_a_kind(document):
            raise UsageError(f"{where}: it is {_called(document)} and no scheduler's configuration")
    profiles = default_profiles(names)
    if "profiles" not in document:
        profiles |= dict.fromkeys(names or (unnamed_profile(),), _read(document, where))
        return profiles
    for key in document:
        if key != "profiles":
            raise UsageError(f"{where}: {key} must stand inside a profile, as there are profiles")
    given = document["profiles"]
    if not isinstance(given, dict):
        raise UsageError(f"{where}: profiles: it must be a mapping from scheduler names to profiles")
    for name, each in given.items():
        place = f"{where}: profiles.{name}"
        known = built_in_profiles().get(str(name))
        options = [option.name for option in known.options] if known is not None else []
        profile = _read(_completed(str(name), each, place), place, options)
        profiles[str(name)] = msgspec.structs.replace(profile, options=_options(str(name), each))
    return profiles


def _completed(name: str, document: object, where: str) -> object:
    """A profile with what it leaves out as the built-in one of its name has it, and its dialect's options."""
    known = built_in_profiles().get(name)
    if known is None or not isinstance(document, dict):
        return document
    options = _options(name, document)
    rest = {key: value for key, value in document.items() if key not in options}
    whole = yaml.safe_load(known.text) | rest
    if known.configure is None:
        return whole
    try:
        return known.configure(whole, Arguments(options, known.options))
    except UsageError as error:
        raise UsageError(f"{where}.{error}") from None


def _options(name: str, document: object) -> dict[str, Any]:
    """What a profile says beside actions and tiers, for its dialect."""
    known = built_in_profiles().get(name)
    if known is None or not isinstance(document, dict):
        return {}
    return {key: value for key, value in document.items() if any(each.name == key for each in known.options)}


def _document(text: str, where: str) -> dict[str, Any]:
    documents = YamlText(text, where, strict=True).documents
    if len(documents) > 1:
        raise UsageError(f"{where}: it holds {len(documents)} documents, and a configuration is one")
    if not documents or not isinstance(documents[0], dict):
        raise UsageError(f"{where}: a configuration is a mapping with actions and tiers, or with profiles")
    return documents[0]


# --- objects of the API around a configuration -------------------------------------------------------------


def _names_a_kind(document: Mapping[str, Any]) -> bool:
    return "kind" in document or "apiVersion" in document


def _called(document: Mapping[str, Any]) -> str:
    """What an object is, for a sentence about it."""
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return " ".join(str(each) for each in ("a", document.get("kind") or "Kubernetes object", name) if each)


def _inside(document: Mapping[str, Any], where: str) -> tuple[str, str]:
    """The configuration in a ConfigMap as `kubectl get -o yaml` prints it, and what to call it."""
    if document.get("kind") != "ConfigMap":
        reported = "a configuration is a mapping with actions and tiers, or a ConfigMap that holds one"
        raise UsageError(f"{where}: it is {_called(document)} and no scheduler's configuration; {reported}")
    data = document.get("data")
    data = data if isinstance(data, dict) else {}
    usual = built_in_profiles()[unnamed_profile()].file_key
    key = usual if usual in data or len(data) != 1 else next(iter(data))
    if key not in data:
        held = f"the keys {', '.join(map(str, data))}" if data else "no data"
        raise UsageError(f"{where}: {_called(document)} has {held}, and not {usual}")
    return str(data[key]), f"{where}: data[{key}]"


def _read(document: object, where: str, options: Sequence[str] = ()) -> Profile:
    if not isinstance(document, dict):
        raise UsageError(f"{where}: a profile is a mapping with actions and tiers, not {document!r}")
    profile = read_profile(document, where, installed(), options)
    if not document.get("actions"):
        raise UsageError(f"{where}: actions are missing: nothing would be scheduled; name some, such as allocate")
    for warning in profile.warnings:
        log.warning("%s", warning)
    return profile
