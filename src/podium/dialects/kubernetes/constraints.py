"""What a pod's spec asks of its node beside room, in the core's words.

The API server has checked what it stores, but not every server is one, and a check may come later than an object:
what the scheduler could not work with is refused here, with the field's path.  Lists are put in order, so that
specs that say the same make one class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from podium.core.model.constraints import (
    Constraints,
    NodeTerm,
    PodSelection,
    PodTerm,
    Port,
    Requirement,
    Spread,
    Toleration,
)
from podium.core.model.labels import Taint, tolerates
from podium.kube import wire

# Far more than anybody writes; each is asked of every kind of node.
MOST_CONDITIONS = 5000

_NODE_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})
_LABEL_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})
_NODE_NAME = "metadata.name"
_HOSTNAME = "kubernetes.io/hostname"
_CORDON = Taint("node.kubernetes.io/unschedulable", "NoSchedule")
_ALL_ADDRESSES = ("", "0.0.0.0")


class UnreadableError(Exception):
    """A spec that cannot be worked with.  It does not leave this room: see `translate`."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.path = path
        self.detail = detail


def read_constraints(spec: wire.PodSpec, namespace: str, labels: Mapping[str, str]) -> Constraints:
    """Everything but volumes, which are other objects' matter.  Raises UnreadableError."""
    affinity = spec.affinity or wire.Affinity()
    nodes = affinity.node_affinity or wire.NodeAffinity()
    near = affinity.pod_affinity or wire.PodAffinity()
    apart = affinity.pod_anti_affinity or wire.PodAffinity()
    budget = _Budget()
    peers = _Peers(namespace, labels, budget)
    at = "spec.affinity"
    tolerations = _tolerations(spec.tolerations)
    return Constraints(
        selector=tuple(sorted((spec.node_selector or {}).items())),
        required=_required(nodes.required_during_scheduling_ignored_during_execution, budget),
        preferred=_preferred(nodes.preferred_during_scheduling_ignored_during_execution, budget),
        tolerations=tolerations,
        cordoned=tolerates(tolerations, _CORDON),
        ports=_ports(spec),
        affinity=peers.terms(
            near.required_during_scheduling_ignored_during_execution, f"{at}.podAffinity.{_REQUIRED}"
        ),
        anti_affinity=peers.terms(
            apart.required_during_scheduling_ignored_during_execution, f"{at}.podAntiAffinity.{_REQUIRED}"
        ),
        preferred_peers=(
            *peers.weighted(
                near.preferred_during_scheduling_ignored_during_execution, f"{at}.podAffinity.{_PREFERRED}", 1
            ),
            *peers.weighted(
                apart.preferred_during_scheduling_ignored_during_execution,
                f"{at}.podAntiAffinity.{_PREFERRED}",
                -1,
            ),
        ),
        spread=peers.spreads(spec.topology_spread_constraints),
        device_claims=_device_claims(spec),
        images=_images(spec),
    )


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class _Budget:
    """Counts conditions, and ends it when there are too many."""

    def __init__(self) -> None:
        self._left = MOST_CONDITIONS

    def spend(self, count: int, path: str) -> None:
        self._left -= count
        if self._left < 0:
            raise UnreadableError(path, f"the pod has more than {MOST_CONDITIONS} conditions on where it may go")


# --- conditions on nodes -----------------------------------------------------------------------------------


def _required(selector: wire.NodeSelector | None, budget: _Budget) -> tuple[NodeTerm, ...] | None:
    if selector is None:
        return None
    return node_terms(selector, f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms", budget)


def node_terms(selector: wire.NodeSelector, path: str, budget: _Budget | None = None) -> tuple[NodeTerm, ...]:
    """The terms of a node selector, of which one must hold."""
    budget = budget or _Budget()
    return tuple(
        _node_term(term, f"{path}[{index}]", budget)
        for index, term in enumerate(selector.node_selector_terms or ())
    )


def _preferred(terms: Sequence[wire.PreferredTerm] | None, budget: _Budget) -> tuple[tuple[int, NodeTerm], ...]:
    path = f"spec.affinity.nodeAffinity.{_PREFERRED}"
    return tuple(
        (each.weight, _node_term(each.preference, f"{path}[{index}].preference", budget))
        for index, each in enumerate(terms or ())
    )


def _node_term(term: wire.NodeSelectorTerm, path: str, budget: _Budget) -> NodeTerm:
    budget.spend(1, path)
    for index, each in enumerate(term.match_fields or ()):
        if each.key != _NODE_NAME:
            raise UnreadableError(f"{path}.matchFields[{index}].key", f"{each.key!r} is not {_NODE_NAME}")
    return NodeTerm(
        _requirements(term.match_expressions, f"{path}.matchExpressions", budget, _NODE_OPERATORS),
        _requirements(term.match_fields, f"{path}.matchFields", budget, _NODE_OPERATORS),
    )


def _requirements(
    conditions: Iterable[wire.Requirement] | None, path: str, budget: _Budget, operators: frozenset[str]
) -> tuple[Requirement, ...]:
    found = []
    for index, each in enumerate(conditions or ()):
        here = f"{path}[{index}]"
        values = each.values or []
        budget.spend(1 + len(values), here)
        if each.operator not in operators:
            raise UnreadableError(
                f"{here}.operator", f"{each.operator!r} is none of {', '.join(sorted(operators))}"
            )
        if each.operator in ("Gt", "Lt") and not (len(values) == 1 and _is_whole(values[0])):
            raise UnreadableError(f"{here}.values", f"{each.operator} needs one whole number")
        if each.operator in ("In", "NotIn") and not values:
            raise UnreadableError(f"{here}.values", f"{each.operator} needs at least one value")
        found.append(Requirement(each.key, each.operator, tuple(sorted(set(values)))))
    return tuple(sorted(set(found), key=_order))


def _is_whole(text: str) -> bool:
    digits = text[1:] if text[:1] in ("-", "+") else text
    return digits.isascii() and digits.isdecimal() and len(digits) < 20


def _order(requirement: Requirement) -> tuple[str, str, tuple[str, ...]]:
    return requirement.key, requirement.operator, requirement.values


def _tolerations(tolerations: Iterable[wire.Toleration] | None) -> tuple[Toleration, ...]:
    return tuple(
        Toleration(each.key, each.operator or "Equal", each.value, each.effect) for each in tolerations or ()
    )


def _ports(spec: wire.PodSpec) -> tuple[Port, ...]:
    """Ports of the node: of containers, and of sidecars, which run beside them."""
    lasting = [each for each in spec.init_containers or () if each.restart_policy == "Always"]
    found = {
        Port(each.host_port, each.protocol or "TCP", "" if each.host_ip in _ALL_ADDRESSES else each.host_ip)
        for container in (*spec.containers, *lasting)
        for each in container.ports or ()
        if each.host_port
    }
    return tuple(sorted(found, key=lambda port: (port.number, port.protocol, port.address)))


def _device_claims(spec: wire.PodSpec) -> tuple[str, ...]:
    return tuple(
        sorted(str(each.get("name", "")) if isinstance(each, dict) else "" for each in spec.resource_claims or ())
    )


def _images(spec: wire.PodSpec) -> tuple[str, ...]:
    return tuple(
        sorted(image_name(each.image) for each in (*spec.containers, *(spec.init_containers or ())) if each.image)
    )


def image_name(image: str) -> str:
    """An image as nodes list it: without a tag it is the latest."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


# --- conditions on other pods ------------------------------------------------------------------------------


def selection_of(selector: wire.LabelSelector | None, path: str) -> tuple[Requirement, ...] | None:
    """A label selector as conditions: none at all selects nothing, an empty one everything."""
    return _selection(selector, path, _Budget())


def _selection(selector: wire.LabelSelector | None, path: str, budget: _Budget) -> tuple[Requirement, ...] | None:
    if selector is None:
        return None
    exact = [Requirement(key, "In", (value,)) for key, value in (selector.match_labels or {}).items()]
    budget.spend(len(exact), path)
    more = _requirements(selector.match_expressions, f"{path}.matchExpressions", budget, _LABEL_OPERATORS)
    return tuple(sorted({*exact, *more}, key=_order))


class _Peers:
    """Reads terms on other pods for one pod: its namespace and labels are part of what they mean."""

    def __init__(self, namespace: str, labels: Mapping[str, str], budget: _Budget) -> None:
        self._namespace = namespace
        self._labels = labels
        self._budget = budget

    def terms(self, terms: Sequence[wire.PodAffinityTerm] | None, path: str) -> tuple[PodTerm, ...]:
        return tuple(self._term(each, f"{path}[{index}]") for index, each in enumerate(terms or ()))

    def weighted(
        self, terms: Sequence[wire.WeightedPodAffinityTerm] | None, path: str, sign: int
    ) -> tuple[tuple[int, PodTerm], ...]:
        return tuple(
            (sign * each.weight, self._term(each.pod_affinity_term, f"{path}[{index}].podAffinityTerm"))
            for index, each in enumerate(terms or ())
        )

    def spreads(self, wanted: Sequence[wire.TopologySpreadConstraint] | None) -> tuple[Spread, ...]:
        return tuple(
            self._spread(each, f"spec.topologySpreadConstraints[{index}]")
            for index, each in enumerate(wanted or ())
        )

    def _spread(self, each: wire.TopologySpreadConstraint, path: str) -> Spread:
        self._budget.spend(1, path)
        if each.max_skew < 1:
            raise UnreadableError(f"{path}.maxSkew", f"{each.max_skew} is less than 1")
        if not each.topology_key:
            raise UnreadableError(f"{path}.topologyKey", "it is empty")
        if each.when_unsatisfiable not in ("DoNotSchedule", "ScheduleAnyway"):
            detail = f"{each.when_unsatisfiable!r} is none of DoNotSchedule, ScheduleAnyway"
            raise UnreadableError(f"{path}.whenUnsatisfiable", detail)
        labels = self._narrowed(_selection(each.label_selector, f"{path}.labelSelector", self._budget), each)
        return Spread(
            each.topology_key,
            PodSelection((self._namespace,), labels),
            max_skew=each.max_skew,
            hard=each.when_unsatisfiable == "DoNotSchedule",
            by_node=each.topology_key == _HOSTNAME,
            min_domains=each.min_domains or 1,
            honor_affinity=each.node_affinity_policy != "Ignore",
            honor_taints=each.node_taints_policy == "Honor",
        )

    def _term(self, term: wire.PodAffinityTerm, path: str) -> PodTerm:
        self._budget.spend(1, path)
        if not term.topology_key:
            raise UnreadableError(f"{path}.topologyKey", "it is empty")
        labels = self._narrowed(_selection(term.label_selector, f"{path}.labelSelector", self._budget), term)
        chosen = _selection(term.namespace_selector, f"{path}.namespaceSelector", self._budget)
        named = tuple(sorted(set(term.namespaces or ())))
        self._budget.spend(len(named), path)
        if not named and chosen is None:
            named = (self._namespace,)
        return PodTerm(term.topology_key, PodSelection(named, labels, chosen))

    def _narrowed(
        self,
        labels: tuple[Requirement, ...] | None,
        term: wire.PodAffinityTerm | wire.TopologySpreadConstraint,
    ) -> tuple[Requirement, ...] | None:
        """Only pods that agree with this one on some labels, or that differ from it.

        A server that knows these fields has already written it into the selector; saying it twice is the same.
        """
        if labels is None:
            return None
        differing = term.mismatch_label_keys if isinstance(term, wire.PodAffinityTerm) else None
        more = [(key, "In") for key in term.match_label_keys or ()] + [(key, "NotIn") for key in differing or ()]
        added = {Requirement(key, how, (self._labels[key],)) for key, how in more if key in self._labels}
        return tuple(sorted({*labels, *added}, key=_order)) if added else labels
