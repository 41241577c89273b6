"""podium's own profiles, in the form of a configuration file: those for pods of any API."""

from __future__ import annotations

from collections.abc import Mapping

# What both begin with; the plugins that choose among nodes come last.  There is no `overcommit`: it lets in what
# the idle room can take, and would keep out those for whom room is made by preemption.
_COMMON = """
actions: "enqueue, allocate, backfill, gangpreempt, gangreclaim"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
    enableReclaimable: false
  - name: conformance
- plugins:
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: capacity
"""
_PACKING = """
  - name: nodeorder
  - name: binpack
    arguments:
      binpack.weight: 5
      binpack.resources: nvidia.com/gpu
      binpack.resources.nvidia.com/gpu: 5
"""
# For clusters whose nodes share their GPUs: where a task goes is a matter of what it leaves of them.
_FILLING = """
  - name: gpufilling
"""

DEFAULT = "podium"
OWN_PROFILES: Mapping[str, str] = {DEFAULT: _COMMON + _PACKING, "podium-gpu": _COMMON + _FILLING}
