"""Profiles for experiments, by name: the policies that the FGD paper compares, each as one scorer alone.

Ties go to the node whose name comes first, so the order of names is part of each policy.
"""

from __future__ import annotations

from typing import Any

from podium.core.profiles.profile import Profile, read_profile

# As the paper calls them, in the order of its tables.
POLICIES = ("random", "dotprod", "gpuclustering", "gpupacking", "bestfit", "fgd")


def policy(name: str, seed: int = 0) -> Profile:
    """One of the policies.  The seed matters to `random` alone."""
    arguments: dict[str, Any] = {"random.seed": seed} if name == "random" else {}
    scorer = {"name": name, "arguments": arguments}
    return read_profile({"actions": "allocate", "tiers": [{"plugins": [scorer]}]}, f"the policy {name}")
