"""Which plugins and actions there are, by the names that profiles use.

The built-in ones are here.  Those of users are found outside the core (`runtime.extensions`) and handed in as a
registry that knows more.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from podium.core.actions import BUILT_IN as ACTIONS
from podium.core.framework.action import Action
from podium.core.framework.hooks import HOOKS
from podium.core.framework.plugin import Plugin
from podium.core.plugins import BUILT_IN as PLUGINS


class Registry:
    """The built-in plugins and actions."""

    plugins: Mapping[str, type[Plugin]] = PLUGINS
    actions: Mapping[str, type[Action]] = ACTIONS

    def plugin(self, name: str) -> type[Plugin] | None:
        return self.plugins.get(name)

    def action(self, name: str) -> type[Action] | None:
        return self.actions.get(name)

    @property
    def plugin_names(self) -> list[str]:
        return sorted(self.plugins)

    @property
    def action_names(self) -> list[str]:
        return sorted(self.actions)


def misfit(kind: type[Plugin]) -> str | None:
    """Why a plugin's class cannot be asked: the first hook that does not take what it will be given."""
    for name in HOOKS:
        own, base = getattr(kind, name), getattr(Plugin, name)
        if own is base:
            continue
        given = list(inspect.signature(base).parameters)
        try:
            inspect.signature(own).bind(*given)
        except (TypeError, ValueError):
            return f"{name} must take ({', '.join(given)})"
    return None
