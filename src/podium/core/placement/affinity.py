"""Pod affinity on vectors: which rows a task may go to because of who is near, and which it would rather have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.peers import HERE, HERE_OR_COMING, STAYING, Peers, by_domain
from podium.core.cluster.properties import ABSENT, Properties
from podium.core.model.model import Task
from podium.core.model.parties import Counts

Mask = NDArray[np.bool_]


def concerns(peers: Peers, task: Task) -> bool:
    """Whether pod affinity can keep a task off a node."""
    wanted = task.cls.constraints
    return bool(wanted.affinity or wanted.anti_affinity) or peers.concerned(task)


def violates_existing_anti_affinity(peers: Peers, properties: Properties, task: Task, *, later: bool) -> Mask:
    """Rows near somebody whose anti-affinity looks at the task: its own terms need not say anything."""
    slots = STAYING if later else HERE_OR_COMING
    refused = np.zeros(properties.count, dtype=bool)
    for key, counts in peers.said(task, slots, properties.count, preferred_affinity=False):
        refused |= by_domain(properties.domains(key), counts) > 0
    return refused


def violates_anti_affinity(peers: Peers, properties: Properties, task: Task, *, later: bool) -> Mask:
    """Rows near somebody whom the task's own anti-affinity names.  A row without the label is near nobody."""
    slots = STAYING if later else HERE_OR_COMING
    refused = np.zeros(properties.count, dtype=bool)
    for term in task.cls.constraints.anti_affinity:
        counts = peers.counts(peers.column(term.selection), slots, properties.count)
        if counts is not None:
            refused |= by_domain(properties.domains(term.key), counts) > 0
    return refused


def violates_affinity(peers: Peers, properties: Properties, task: Task, *, later: bool) -> Mask:
    """Rows that are not near the company the task requires.

    Company is who matches all of its terms.  The first of a group that requires its own kind finds nobody; it may
    go to any node that has the labels, or no such group could ever start.
    """
    terms = task.cls.constraints.affinity
    if not terms:
        return np.zeros(properties.count, dtype=bool)
    column = peers.column(*(term.selection for term in terms))
    counts = peers.counts(column, STAYING if later else HERE, properties.count)
    labelled = np.ones(properties.count, dtype=bool)
    near = np.ones(properties.count, dtype=bool)
    found = False
    for term in terms:
        domains = properties.domains(term.key)
        labelled &= domains != ABSENT
        here = by_domain(domains, counts) > 0
        found = found or bool(here.any())
        near &= here
    if not found and peers.matched(column, task):
        return ~labelled
    return ~(near & labelled)


def attraction(peers: Peers, properties: Properties, task: Task) -> Counts:
    """For each row the weights of who the task would like to be near, and of who would like to be near it."""
    total = np.zeros(properties.count, dtype=np.int64)
    for weight, term in task.cls.constraints.preferred_peers:
        counts = peers.counts(peers.column(term.selection), STAYING, properties.count)
        if counts is not None:
            total += weight * by_domain(properties.domains(term.key), counts)
    for key, weights in peers.said(task, STAYING, properties.count, preferred_affinity=True):
        total += by_domain(properties.domains(key), weights)
    return total
