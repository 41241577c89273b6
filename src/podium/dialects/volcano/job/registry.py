"""Which job plugins there are: podium's own, and those of installed packages."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from podium.dialects.volcano.job.plugin import JobPlugin
from podium.dialects.volcano.job.plugins import BUILT_IN

ENTRY_POINTS = "podium.jobplugins"


class UnusablePluginError(Exception):
    """A plugin of an installed package that cannot be used; the message says why."""


@cache
def find_plugin(name: str) -> type[JobPlugin] | None:
    """The plugin of a name; a package is looked at when a Job names what it brings."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    for point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            found = point.load()
        except Exception as error:  # whatever a package does when it is imported
            raise UnusablePluginError(f"{point.value} cannot be loaded: {error}") from error
        if not isinstance(found, type) or not issubclass(found, JobPlugin):
            raise UnusablePluginError(f"{point.value} is not derived from {JobPlugin.__module__}.JobPlugin")
        if found.name != name:
            raise UnusablePluginError(f"{point.value} has the name {found.name!r}, and its entry point {name!r}")
        return found
    return None


def plugin_names() -> list[str]:
    """All names that a Job may use."""
    return sorted({*BUILT_IN, *(point.name for point in entry_points(group=ENTRY_POINTS))})


@contextmanager
def asking(name: str, what: str) -> Iterator[None]:
    """Around a question to a plugin: what it raises names the place, and concerns its own Jobs only."""
    try:
        yield
    except UnusablePluginError:
        raise
    except Exception as error:  # whatever somebody's plugin does
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        reported = f"plugin {name} failed in {what}: {type(error).__name__}: {error} ({where})"
        raise UnusablePluginError(reported) from error
