"""Seeded histories of a cluster under faults, with everything that must hold checked after every step.

One harness for all of them: `stage` is the cluster, `wire` is where most faults live, `population` says who lives
on it, `invariants` what must hold, `faults/` what goes wrong, and `run` plays one.  The workloads of a
further dialect stand in its record; a further fault is a small class in `faults/`.
"""
