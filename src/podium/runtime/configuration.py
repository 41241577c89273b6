"""The scheduler's configuration: Volcano's file as it is, or podium's with a profile for each scheduler name."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml

from podium.core.arguments import Arguments
from podium.core.profile import Profile, read_profile
from podium.dialects import built_in_profiles, unnamed_profile
from podium.errors import UsageError
from podium.kube.yaml_files import YamlText
from podium.runtime.extensions import installed

log = logging.getLogger(__name__)


def default_profiles(names: Iterable[str] = ()) -> dict[str, Profile]:
    """A profile for each scheduler name that podium knows; others are served as unnamed files are."""
    places = {name: f"the default of {name}" for name in built_in_profiles()}
    profiles = {name: _read(_completed(name, {}, where), where) for name, where in places.items()}
    return {**dict.fromkeys(names, profiles[unnamed_profile()]), **profiles}


def embedded_profiles(path: Path | None = None) -> dict[str, Profile]:
    """Those of a file, or the same, on a cluster without another scheduler for pods that name none."""
    profiles = default_profiles() if path is None else load_profiles(path)
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
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no text") from None


def read_profiles(text: str, where: str, names: Sequence[str] = ()) -> dict[str, Profile]:
    """The profiles of a file's content; `where` is what to call it when something is wrong with it."""
    documents = YamlText(text, where).documents
    document = documents[0] if documents else None
    if not isinstance(document, dict):
        raise UsageError(f"{where}: a configuration is a mapping with actions and tiers, or with profiles")
    profiles = default_profiles(names)
    if "profiles" not in document:
        profiles |= dict.fromkeys(names or (unnamed_profile(),), _read(document, where))
        return profiles
    given = document["profiles"]
    if not isinstance(given, dict):
        raise UsageError(f"{where}: profiles: it must be a mapping from scheduler names to profiles")
    for name, each in given.items():
        place = f"{where}: profiles.{name}"
        profiles[str(name)] = _read(_completed(str(name), each, place), place)
    return profiles


def _completed(name: str, document: object, where: str) -> object:
    """A profile with what it leaves out as the built-in one of its name has it, and its dialect's options."""
    known = built_in_profiles().get(name)
    if known is None or not isinstance(document, dict):
        return document
    options = {key: value for key, value in document.items() if any(each.name == key for each in known.options)}
    rest = {key: value for key, value in document.items() if key not in options}
    whole = yaml.safe_load(known.text) | rest
    if known.configure is None:
        return whole
    try:
        return known.configure(whole, Arguments(options, known.options))
    except UsageError as error:
        raise UsageError(f"{where}.{error}") from None


def _read(document: object, where: str) -> Profile:
    if not isinstance(document, dict):
        raise UsageError(f"{where}: a profile is a mapping with actions and tiers, not {document!r}")
    profile = read_profile(document, where, installed())
    for warning in profile.warnings:
        log.warning("%s", warning)
    return profile
