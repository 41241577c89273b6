"""The cases of table_cases.yaml, with their relative times filled in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import yaml

from podium.embedded.kinds import builtin_kinds
from podium.embedded.registry import Kind
from podium.kube.times import format_micro_time, format_time

Document = dict[str, Any]

AGE = 300  # seconds

_KINDS = {kind.resource.group_resource: kind for kind in builtin_kinds()}
_BY_PLURAL = {kind.resource.plural: kind for kind in reversed(builtin_kinds())}
_TIME = re.compile(r"\{-(\d+)(\.0+)?\}")


class Case(msgspec.Struct, frozen=True):
    """An object as it is stored, and what is printed of it."""

    kind: Kind
    object: Document
    cells: list[Any]
    deleting: bool

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])


def table_cases(now: float) -> list[Case]:
    """All cases, as of a time."""
    text = Path(__file__).with_name("table_cases.yaml").read_text()
    return [_case(each, now) for each in yaml.load(text, yaml.CSafeLoader)]


def _case(document: Document, now: float) -> Case:
    name = document["resource"]
    kind = _KINDS.get(name) or _BY_PLURAL[name]
    filled = _fill({"object": document["object"], "cells": document["cells"]}, now)
    return Case(kind, filled["object"], filled["cells"], document.get("deleting", False))


def _fill(value: Any, now: float) -> Any:
    if isinstance(value, dict):
        return {key: _fill(each, now) for key, each in value.items()}
    if isinstance(value, list):
        return [_fill(each, now) for each in value]
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    then = now - int(match.group(1))
    return format_micro_time(then) if match.group(2) else format_time(then)
