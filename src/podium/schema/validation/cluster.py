"""Kinds that describe the cluster itself: nodes, priorities, budgets, leases, events, and who may do what."""

from __future__ import annotations

from podium.kube import names
from podium.kube.fields import FieldError, forbidden, invalid, required, unsupported
from podium.schema.validation.amounts import check_amount
from podium.schema.validation.base import (
    Document,
    Errors,
    check_choice,
    check_cidr,
    check_not_negative,
    check_same,
    check_selector,
    complain,
)
from podium.schema.validation.placement import TAINT_EFFECTS
from podium.schema.validation.workloads import check_count_or_percent

HIGHEST_USER_PRIORITY = 1_000_000_000
_SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_RBAC_GROUP = "rbac.authorization.k8s.io"


# --- nodes -----------------------------------------------------------------------------------------------------


def check_node(errors: Errors, document: Document) -> None:
    spec, status = document.get("spec") or {}, document.get("status") or {}
    _check_taints(errors, "metadata.taints", spec.get("taints") or [])
    for field in ("capacity", "allocatable"):
        for name, amount in (status.get(field) or {}).items():
            check_amount(errors, f"status.{field}.{name}", name, amount)
    for index, cidr in enumerate(spec.get("podCIDRs") or ()):
        check_cidr(errors, f"spec.podCIDRs[{index}]", cidr)


def check_node_update(errors: Errors, new: Document, old: Document) -> None:
    check_node(errors, new)
    after, before = new.get("spec") or {}, old.get("spec") or {}
    known = before.get("podCIDRs") or ([before["podCIDR"]] if before.get("podCIDR") else [])
    wanted = after.get("podCIDRs") or ([after["podCIDR"]] if after.get("podCIDR") else [])
    if known and wanted != known:
        reported = 'node updates may not change podCIDR except from "" to valid'
        errors.append(forbidden("spec.podCIDRs", reported))
    if before.get("providerID") and after.get("providerID") != before["providerID"]:
        reported = 'node updates may not change providerID except from "" to valid'
        errors.append(forbidden("spec.providerID", reported))


def _check_taints(errors: Errors, path: str, taints: list[Document]) -> None:
    # `metadata.taints` is where the API server says they are.
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        at = f"{path}[{index}]"
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        complain(errors, f"{at}.key", key, names.check_qualified_name(key))
        complain(errors, f"{at}.value", value, names.check_label_value(value))
        check_choice(errors, f"{at}.effect", effect, TAINT_EFFECTS)
        if (key, effect) in seen:
            shown = {name: taint[name] for name in ("key", "value", "effect") if taint.get(name)}
            reported = "taints must be unique by key and effect pair"
            errors.append(_duplicate_taint(at, shown, reported))
        seen.add((key, effect))


def _duplicate_taint(path: str, taint: Document, reported: str) -> FieldError:
    plain = invalid(path, taint, reported)
    detail = plain.detail.replace("Invalid value", "Duplicate value", 1)
    return FieldError(path, "FieldValueDuplicate", detail)


# --- scheduling ------------------------------------------------------------------------------------------------


def check_priority_class(errors: Errors, document: Document) -> None:
    name, value = document["metadata"].get("name", ""), document.get("value", 0)
    if name.startswith("system-"):
        if _SYSTEM_PRIORITIES.get(name) != value or document.get("globalDefault"):
            why = (
                f"value of {name} PriorityClass must be {_SYSTEM_PRIORITIES[name]}"
                if name in _SYSTEM_PRIORITIES
                else f"{name} is not a known system priority class"
            )
            reported = f"priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            errors.append(forbidden("metadata.name", reported))
    elif value > HIGHEST_USER_PRIORITY:
        reported = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        errors.append(forbidden("value", reported))
    check_choice(errors, "preemptionPolicy", document.get("preemptionPolicy"), ("PreemptLowerPriority", "Never"))


def check_priority_class_update(errors: Errors, new: Document, old: Document) -> None:
    if new.get("value", 0) != old.get("value", 0):
        errors.append(forbidden("value", "may not be changed in an update."))
    check_same(errors, "preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))


def check_budget(errors: Errors, document: Document) -> None:
    spec: Document = document.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        errors.append(invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for field in ("minAvailable", "maxUnavailable"):
        if field in spec:
            check_count_or_percent(errors, f"spec.{field}", spec[field])
    check_selector(errors, "spec.selector", spec.get("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None:
        policies = frozenset({"AlwaysAllow", "IfHealthyBudget"})
        check_choice(errors, "spec.unhealthyPodEvictionPolicy", policy, policies)


def check_lease(errors: Errors, document: Document) -> None:
    spec: Document = document.get("spec") or {}
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    check_not_negative(errors, "spec.leaseTransitions", spec.get("leaseTransitions"))


# --- events ----------------------------------------------------------------------------------------------------


def check_event(errors: Errors, document: Document) -> None:
    """An event of the core group: its namespace must be that of the object it is about."""
    namespace = document["metadata"].get("namespace", "")
    about = (document.get("involvedObject") or {}).get("namespace", "")
    timed = document.get("eventTime")
    home = ("", "default", "kube-system") if timed else ("", "default")
    if (about or not timed) and about != namespace and not (not about and namespace in home):
        errors.append(invalid("involvedObject.namespace", about, "does not match event.namespace"))
    if timed:
        _check_reporter(errors, document, "reportingComponent")


def check_new_event(errors: Errors, document: Document) -> None:
    """An event of events.k8s.io, which knows no legacy fields."""
    if not document.get("eventTime"):
        errors.append(required("eventTime"))
    else:
        _check_reporter(errors, document, "reportingController")
    if document.get("type") not in ("Normal", "Warning"):
        errors.append(invalid("type", "", f"has invalid value: {document.get('type', '')}"))
    series = document.get("series")
    if series is not None and series.get("count", 0) < 2:
        errors.append(invalid("series.count", "", "should be at least 2"))


def _check_reporter(errors: Errors, document: Document, field: str) -> None:
    reporter = document.get(field) or ""
    if not reporter:
        errors.append(required(field))
    complain(errors, field, reporter, names.check_qualified_name(reporter))
    for name, longest in (("reportingInstance", 128), ("action", 128), ("reason", 128)):
        text = document.get(name) or ""
        if not text:
            errors.append(required(name))
        if len(text) > longest:
            errors.append(invalid(name, "", f"can have at most {longest} characters"))
    note = document.get("note") or document.get("message") or ""
    if len(note) > 1024:
        errors.append(invalid("message", "", "can have at most 1024 characters"))


# --- RBAC ------------------------------------------------------------------------------------------------------


def check_role(errors: Errors, document: Document) -> None:
    for index, rule in enumerate(document.get("rules") or ()):
        _check_rule(errors, f"rules[{index}]", rule, namespaced=True)


def check_cluster_role(errors: Errors, document: Document) -> None:
    for index, rule in enumerate(document.get("rules") or ()):
        _check_rule(errors, f"rules[{index}]", rule, namespaced=False)
    aggregation = document.get("aggregationRule")
    if aggregation is not None:
        at, selectors = "aggregationRule.clusterRoleSelectors", aggregation.get("clusterRoleSelectors") or ()
        if not selectors:
            reported = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            errors.append(required(at, reported))
        for index, selector in enumerate(selectors):
            check_selector(errors, f"{at}[{index}]", selector)


def _check_rule(errors: Errors, path: str, rule: Document, *, namespaced: bool) -> None:
    if not rule.get("verbs"):
        errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs")
    if urls:
        at = f"{path}.nonResourceURLs"
        if namespaced:
            errors.append(invalid(at, urls, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            reported = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid(at, urls, reported))
        return
    if not rule.get("apiGroups"):
        errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))


def check_role_binding(errors: Errors, document: Document) -> None:
    _check_binding(errors, document, ("Role", "ClusterRole"))


def check_cluster_role_binding(errors: Errors, document: Document) -> None:
    _check_binding(errors, document, ("ClusterRole",))


def check_role_binding_update(errors: Errors, new: Document, old: Document) -> None:
    check_role_binding(errors, new)
    _check_reference_kept(errors, new, old)


def check_cluster_role_binding_update(errors: Errors, new: Document, old: Document) -> None:
    check_cluster_role_binding(errors, new)
    _check_reference_kept(errors, new, old)


def _check_reference_kept(errors: Errors, new: Document, old: Document) -> None:
    if new.get("roleRef") != old.get("roleRef"):
        errors.append(invalid("roleRef", new.get("roleRef"), "cannot change roleRef"))


def _check_binding(errors: Errors, document: Document, kinds: tuple[str, ...]) -> None:
    reference: Document = document.get("roleRef") or {}
    group = reference.get("apiGroup", "")
    if group != _RBAC_GROUP:
        errors.append(unsupported("roleRef.apiGroup", group, (_RBAC_GROUP,)))
    if reference.get("kind") not in kinds:
        errors.append(unsupported("roleRef.kind", reference.get("kind", ""), kinds))
    name = reference.get("name") or ""
    if not name:
        errors.append(required("roleRef.name"))
    complain(errors, "roleRef.name", name, names.check_path_segment(name))
    for index, subject in enumerate(document.get("subjects") or ()):
        _check_subject(errors, f"subjects[{index}]", subject, namespaced=len(kinds) > 1)


def _check_subject(errors: Errors, path: str, subject: Document, *, namespaced: bool) -> None:
    name, kind, group = subject.get("name") or "", subject.get("kind", ""), subject.get("apiGroup", "")
    if not name:
        errors.append(required(f"{path}.name"))
    if kind == "ServiceAccount":
        if name:
            complain(errors, f"{path}.name", name, names.check_dns_subdomain(name))
        if group:
            errors.append(unsupported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != _RBAC_GROUP:
            errors.append(unsupported(f"{path}.apiGroup", group, (_RBAC_GROUP,)))
    else:
        errors.append(unsupported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
