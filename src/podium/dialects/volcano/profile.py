"""The profile of Volcano's scheduler: its own default."""

from __future__ import annotations

from podium.dialects.dialect import BuiltInProfile

PROFILE = BuiltInProfile(
    """
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
""",
    unnamed=True,
    file_key="volcano-scheduler.conf",
)
