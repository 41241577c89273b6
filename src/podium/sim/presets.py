"""Profiles for what-if questions, by one word: pack jobs tightly, or spread them out.

Both are Volcano's default but for the one thing they are about: which node is best.  Ties go to the node whose
name comes first.
"""

from __future__ import annotations

from typing import Any

from podium.core.profiles.profile import Profile, read_profile

# How much a full node counts for: GPUs above all, then CPU and memory alike.  Less than nothing spreads.
_FULLNESS = {"binpack": 10, "spread": -10}
PRESETS = tuple(_FULLNESS)


def preset(name: str) -> Profile:
    """One of `PRESETS`."""
    arguments: dict[str, Any] = {
        "binpack.weight": _FULLNESS[name],
        "binpack.resources": "nvidia.com/gpu",
        "binpack.resources.nvidia.com/gpu": 10,
    }
    tiers = [
        {"plugins": [{"name": "priority"}, {"name": "gang"}, {"name": "conformance"}]},
        {
            "plugins": [
                {"name": "overcommit"},
                {"name": "drf"},
                {"name": "predicates"},
                {"name": "proportion"},
                {"name": "binpack", "arguments": arguments},
            ]
        },
    ]
    return read_profile({"actions": "enqueue, allocate, backfill", "tiers": tiers}, f"the profile {name}")
