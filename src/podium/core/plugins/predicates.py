"""predicates: which nodes can take a task at all, as kube-scheduler's filters say it.

properties of nodes (grade 1)     cordon, node affinity and selector, taints, volumes and their zones
a row's own holdings (grade 2)    host ports, limits of volume drivers; room itself is the kernel's
who is where (grade 3)            pod affinity and topology spread, for tasks with or under such terms only, and
                                  volumes that others may have taken
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

import numpy as np

from podium.core.cluster.peers import HERE_OR_COMING, STAYING
from podium.core.cluster.properties import Properties, TaintSet
from podium.core.framework.plugin import MAX_NODE_SCORE, Argument, Arguments, Mask, Plugin, Scores
from podium.core.framework.session import Session
from podium.core.model.constraints import Constraints, Spread
from podium.core.model.labels import Taint, tolerates
from podium.core.model.model import Task, TaskClass
from podium.core.placement import affinity, spread
from podium.core.placement.rows import Rows
from podium.reasons import (
    ANTI_AFFINITY,
    CLAIM_IN_USE,
    CORDONED,
    DEVICE_CLAIM,
    PEER_AFFINITY,
    PEER_ANTI_AFFINITY,
    PORT,
    SELECTOR,
    SPREAD,
    TAINT,
    UNBOUND_VOLUME,
    VOLUME_LIMIT,
    VOLUME_REACH,
    VOLUME_ZONE,
    VOLUMES_TAKEN,
    Refusal,
    refuse,
)

_BLOCKING = ("NoSchedule", "NoExecute")
_NO_DRA = "pods with resourceClaims are refused: devices are asked for by resource name"


class Predicates(Plugin):
    name = "predicates"
    ARGUMENTS = (
        Argument("predicate.NodeAffinityEnable", True, "whether node selectors and required node affinity bind"),
        Argument("predicate.NodePortsEnable", True, "whether host ports bind"),
        Argument("predicate.TaintTolerationEnable", True, "whether NoSchedule and NoExecute taints bind"),
        Argument("predicate.PodAffinityEnable", True, "whether required pod affinity and anti-affinity bind"),
        Argument("predicate.NodeVolumeLimitsEnable", True, "whether the limits of volume drivers bind"),
        Argument("predicate.VolumeZoneEnable", True, "whether the zones of bound volumes bind"),
        Argument("predicate.PodTopologySpreadEnable", True, "whether hard spread constraints bind"),
        Argument("predicate.VolumeBindingEnable", True, "whether a node must reach the volumes of a claim"),
        Argument("predicate.DynamicResourceAllocationEnable", False, "claims on devices", _NO_DRA),
        Argument("predicate.CacheEnable", False, "whether answers are kept", "they always are"),
        Argument("volumebinding.weight", 1, "how much volumes that fit closely count"),
        Argument("volumebinding.bindTimeoutSeconds", 600, "how long volumes may take to be bound"),
        Argument("dynamicresources.filterTimeoutSeconds", 10, "how long devices may be looked for", _NO_DRA),
    )

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._affinity = arguments.flag("predicate.NodeAffinityEnable")
        self._ports = arguments.flag("predicate.NodePortsEnable")
        self._taints = arguments.flag("predicate.TaintTolerationEnable")
        self._peer_affinity = arguments.flag("predicate.PodAffinityEnable")
        self._volume_limits = arguments.flag("predicate.NodeVolumeLimitsEnable")
        self._volume_zone = arguments.flag("predicate.VolumeZoneEnable")
        self._spread = arguments.flag("predicate.PodTopologySpreadEnable")
        self._volume_binding = arguments.flag("predicate.VolumeBindingEnable")
        self._volume_weight = arguments.number("volumebinding.weight")
        self._masks: dict[Hashable, Mask] = {}  # of this session, by what is asked of nodes

    def on_session_open(self, session: Session) -> None:
        self._peers = session.cluster.peers
        self._attachments = session.cluster.attachments
        self._claims = session.cluster.claims
        self._properties = session.cluster.nodes.properties
        self._masks = {}

    def signature(self, task: Task) -> Hashable:
        return -1 if task.party is None else task.party.kin

    def applies(self, hook: str, task: Task) -> bool:
        wanted = task.cls.constraints
        match hook:
            case "mask_rows":
                return bool((self._ports and wanted.ports) or (self._volume_limits and wanted.attachments))
            case "batch_predicate":
                return (
                    (self._peer_affinity and affinity.concerns(self._peers, task))
                    or (self._spread and bool(spread.hard(task)))
                    or (self._volume_binding and wanted.contested)
                )
            case "score":
                return self._volume_binding and any(
                    option.fullness for claim in wanted.claims for option in claim.options
                )
        return True

    # --- before any node -------------------------------------------------------------------------------------

    def pre_predicate(self, task: Task) -> Refusal | None:
        wanted = task.cls.constraints
        if wanted.device_claims:
            return refuse(DEVICE_CLAIM, claims=wanted.device_claims)
        if wanted.unbound and self._volume_binding:
            return refuse(UNBOUND_VOLUME, claims=wanted.unbound)
        return None

    # --- properties of nodes -----------------------------------------------------------------------------------

    def mask(self, task: Task, session: Session) -> Mask:
        # Classes that ask the same of nodes and differ in other things share the answer.
        wanted = task.cls.constraints
        asked = (wanted.selector, wanted.required, wanted.tolerations, wanted.claims, wanted.zones)
        result = self._masks.get(asked)
        if result is None:
            result = np.ones(self._properties.count, dtype=bool)
            for _, passing in self._filters(wanted):
                result &= passing()
            self._masks[asked] = result
        return result

    def _filters(self, wanted: Constraints) -> Iterator[tuple[Refusal, Callable[[], Mask]]]:
        """The filters that concern a spec, in kube-scheduler's order, each with its reason."""
        properties = self._properties
        yield (
            refuse(CORDONED),
            lambda: properties.shaded(lambda taint_set: not taint_set.unschedulable or wanted.cordoned),
        )
        if self._affinity and (wanted.selector or wanted.required is not None):
            yield refuse(SELECTOR), lambda: selected(properties, wanted)
        if self._taints:
            yield refuse(TAINT, key=""), lambda: tolerated(properties, wanted)
        if self._volume_binding and wanted.claims:
            # Where a claim has nothing left to choose from, it is not for the nodes.
            left = all(claim.options for claim in wanted.claims)
            yield refuse(VOLUME_REACH if left else VOLUMES_TAKEN), lambda: _reached(properties, wanted)
        if self._volume_zone and wanted.zones:
            yield refuse(VOLUME_ZONE), lambda: _in_zone(properties, wanted)

    def score(self, task: Task, session: Session) -> Scores:
        """Of the volumes within a node's reach, the closer fit wastes less."""
        properties, claims = self._properties, task.cls.constraints.claims
        total: Scores = np.zeros(properties.count)
        for claim in claims:
            best: Scores = np.zeros(properties.count)
            for option in claim.options:
                reached = True if option.terms is None else properties.matching_any(option.terms)
                best = np.maximum(best, np.where(reached, option.fullness, 0.0))
            total += best
        return self._volume_weight * MAX_NODE_SCORE * total / max(1, len(claims))

    # --- a row's own holdings ------------------------------------------------------------------------------------

    def mask_rows(self, cls: TaskClass, rows: Rows) -> Mask:
        result: Mask = np.ones(len(rows.index), dtype=bool)
        if self._ports and cls.constraints.ports:
            result &= np.asarray(rows.added) == 0  # the second of a class would want the first one's ports
            result &= ~self._taken(cls, later=rows.later)[rows.index]
        if self._volume_limits and cls.constraints.attachments:
            result &= self._attachments.room(cls.constraints.attachments, rows.index, rows.added)
        return result

    def _taken(self, cls: TaskClass, *, later: bool) -> Mask:
        taken: Mask = np.zeros(self._properties.count, dtype=bool)
        for port in cls.constraints.ports:
            for column in self._peers.conflicting(port):
                counts = self._peers.counts(column, STAYING if later else HERE_OR_COMING, len(taken))
                if counts is not None:
                    taken |= counts > 0
        return taken

    # --- who is where --------------------------------------------------------------------------------------------

    def batch_predicate(self, task: Task, later: bool) -> Mask:
        refused: Mask = np.zeros(self._properties.count, dtype=bool)
        for _, rows in (*self._volume_refusals(task, later=later), *self._peer_refusals(task, later=later)):
            refused |= rows
        return ~refused

    def _volume_refusals(self, task: Task, *, later: bool) -> Iterator[tuple[Refusal, Mask]]:
        if not self._volume_binding or not task.cls.constraints.contested:
            return
        if self._claims.in_use(task, later=later):
            yield refuse(CLAIM_IN_USE), np.ones(self._properties.count, dtype=bool)
        else:
            yield refuse(VOLUMES_TAKEN), ~self._claims.room(task)

    def _peer_refusals(self, task: Task, *, later: bool) -> Iterator[tuple[Refusal, Mask]]:
        peers, properties, wanted = self._peers, self._properties, task.cls.constraints
        if self._spread and spread.hard(task):
            yield refuse(SPREAD), spread.exceeds_max_skew(peers, properties, task, self._eligible(wanted))
        if not self._peer_affinity:
            return
        if wanted.affinity:
            yield refuse(PEER_AFFINITY), affinity.violates_affinity(peers, properties, task, later=later)
        if wanted.anti_affinity:
            yield refuse(PEER_ANTI_AFFINITY), affinity.violates_anti_affinity(peers, properties, task, later=later)
        if peers.concerned(task):
            yield (
                refuse(ANTI_AFFINITY),
                affinity.violates_existing_anti_affinity(peers, properties, task, later=later),
            )

    def _eligible(self, wanted: Constraints) -> Callable[[Spread], Mask]:
        return lambda each: eligible(self._properties, wanted, each)

    # --- explanation ---------------------------------------------------------------------------------------------

    def refusals(self, task: Task) -> Iterator[tuple[Refusal, Mask]]:
        wanted = task.cls.constraints
        for refusal, passing in self._filters(wanted):
            if refusal.reason is TAINT:
                yield from _untolerated(self._properties, wanted)
            else:
                yield refusal, ~passing()
        if self._ports and wanted.ports:
            ports = tuple(port.number for port in wanted.ports)
            yield refuse(PORT, ports=ports), self._taken(task.cls, later=False)
        if self._volume_limits and wanted.attachments:
            everything = np.arange(self._properties.count, dtype=np.int64)
            yield refuse(VOLUME_LIMIT), ~self._attachments.room(wanted.attachments, everything, 0)
        yield from self._volume_refusals(task, later=False)
        yield from self._peer_refusals(task, later=False)


def selected(properties: Properties, wanted: Constraints) -> Mask:
    """Rows that the node selector and the required node affinity admit."""
    result: Mask = np.ones(properties.count, dtype=bool)
    for key, value in wanted.selector:
        result &= properties.label(key).equal(value, properties.count)
    if wanted.required is not None:
        result &= properties.matching_any(wanted.required)
    return result


def tolerated(properties: Properties, wanted: Constraints) -> Mask:
    """Rows without a blocking taint that the spec does not tolerate."""
    return properties.shaded(lambda taint_set: _blocking(taint_set, wanted) is None)


def eligible(properties: Properties, wanted: Constraints, each: Spread) -> Mask:
    """Rows that count for a spread constraint, as its two policies say."""
    result: Mask = np.ones(properties.count, dtype=bool)
    if each.honor_affinity:
        result &= selected(properties, wanted)
    if each.honor_taints:
        result &= tolerated(properties, wanted)
        result &= properties.shaded(lambda taint_set: not taint_set.unschedulable or wanted.cordoned)
    return result


def _blocking(taint_set: TaintSet, wanted: Constraints) -> Taint | None:
    for taint in taint_set.taints:
        if taint.effect in _BLOCKING and not tolerates(wanted.tolerations, taint):
            return taint
    return None


def _untolerated(properties: Properties, wanted: Constraints) -> Iterator[tuple[Refusal, Mask]]:
    for number, taint_set in enumerate(properties.taint_sets):
        taint = _blocking(taint_set, wanted)
        if taint is not None:
            yield refuse(TAINT, taint.key, taint.value), properties.taint_set_of == number


def _reached(properties: Properties, wanted: Constraints) -> Mask:
    result: Mask = np.ones(properties.count, dtype=bool)
    for claim in wanted.claims:
        if all(option.terms is not None for option in claim.options):
            terms = tuple(term for option in claim.options for term in option.terms or ())
            result &= properties.matching_any(terms)
    return result


def _in_zone(properties: Properties, wanted: Constraints) -> Mask:
    """Rows in the zones of the volumes.  A node without any zone is not held to one."""
    placed: Mask = np.zeros(properties.count, dtype=bool)
    for key in wanted.zone_labels:
        placed |= properties.labelled(key)
    fits: Mask = np.ones(properties.count, dtype=bool)
    for requirement in wanted.zones:
        fits &= properties.holding(requirement)
    return fits | ~placed
