"""The scheduler's configuration: Volcano's file as it is, or podium's with a profile for each scheduler name."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from podium.core.profile import Profile, read_profile
from podium.errors import UsageError

log = logging.getLogger(__name__)

VOLCANO = "volcano"

# Volcano's own default, under its name; podium adds packing, and gives back what was lent.
_VOLCANO_DEFAULT = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
_PODIUM_DEFAULT = """
actions: "enqueue, allocate, backfill, gangpreempt, gangreclaim"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
    enableReclaimable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: capacity
  - name: nodeorder
  - name: binpack
    arguments:
      binpack.weight: 5
      binpack.resources: nvidia.com/gpu
      binpack.resources.nvidia.com/gpu: 5
"""

DEFAULTS = {VOLCANO: _VOLCANO_DEFAULT, "podium": _PODIUM_DEFAULT}


def default_profiles() -> dict[str, Profile]:
    return {name: _read(yaml.safe_load(text), f"the default of {name}") for name, text in DEFAULTS.items()}


def load_profiles(path: Path, names: Sequence[str] = ()) -> dict[str, Profile]:
    """The profiles of a file.  Volcano's format configures `names` (volcano, if none are given)."""
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except yaml.YAMLError as error:
        told = str(error).replace("\n", " ")
        raise UsageError(f"{path} is not YAML: {told}") from None
    if not isinstance(document, dict):
        raise UsageError(f"{path}: a configuration is a mapping with actions and tiers, or with profiles")
    profiles = default_profiles()
    if "profiles" not in document:
        profiles |= dict.fromkeys(names or (VOLCANO,), _read(document, str(path)))
        return profiles
    given = document["profiles"]
    if not isinstance(given, dict):
        raise UsageError(f"{path}: profiles: it must be a mapping from scheduler names to profiles")
    for name, each in given.items():
        profiles[str(name)] = _read(each, f"{path}: profiles.{name}")
    return profiles


def _read(document: Mapping[str, Any], where: str) -> Profile:
    profile = read_profile(document, where)
    for warning in profile.warnings:
        log.warning("%s", warning)
    return profile
