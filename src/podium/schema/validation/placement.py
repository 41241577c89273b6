"""Where a pod may run: affinity, tolerations, topology spread."""

from __future__ import annotations

from podium.kube import names
from podium.kube.fields import duplicate, forbidden, invalid, required, unsupported
from podium.schema.validation.base import (
    POSITIVE,
    Document,
    Errors,
    check_choice,
    check_selector,
    complain,
)

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_WHEN_UNSATISFIABLE = frozenset({"DoNotSchedule", "ScheduleAnyway"})
_INCLUSION = frozenset({"Honor", "Ignore"})
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT = "must be in the range 1-100"
_OPERATOR = "not a valid selector operator"


def check_affinity(errors: Errors, path: str, affinity: Document) -> None:
    node = affinity.get("nodeAffinity")
    if node:
        at = f"{path}.nodeAffinity"
        if _REQUIRED in node:
            check_node_selector(errors, f"{at}.{_REQUIRED}", node[_REQUIRED])
        for index, term in enumerate(node.get(_PREFERRED) or ()):
            place = f"{at}.{_PREFERRED}[{index}]"
            weight = term.get("weight", 0)
            if not 1 <= weight <= 100:
                errors.append(invalid(f"{place}.weight", weight, _WEIGHT))
            _check_node_term(errors, f"{place}.preference", term.get("preference") or {}, strict=False)
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind)
        if not terms:
            continue
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            _check_pod_term(errors, f"{path}.{kind}.{_REQUIRED}[{index}]", term)
        for index, weighted in enumerate(terms.get(_PREFERRED) or ()):
            place = f"{path}.{kind}.{_PREFERRED}[{index}]"
            weight = weighted.get("weight", 0)
            if not 1 <= weight <= 100:
                errors.append(invalid(f"{place}.weight", weight, _WEIGHT))
            _check_pod_term(errors, f"{place}.podAffinityTerm", weighted.get("podAffinityTerm") or {})


def check_node_selector(errors: Errors, path: str, selector: Document) -> None:
    """A NodeSelector: terms of requirements on labels and fields of nodes."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        errors.append(required(f"{path}.nodeSelectorTerms", "must have at least one node selector term"))
    for index, term in enumerate(terms):
        _check_node_term(errors, f"{path}.nodeSelectorTerms[{index}]", term, strict=True)


def _check_node_term(errors: Errors, path: str, term: Document, *, strict: bool) -> None:
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        at = f"{path}.matchExpressions[{index}]"
        operator, values = requirement.get("operator", ""), requirement.get("values") or ()
        if operator in ("In", "NotIn"):
            if not values:
                errors.append(required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                reported = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                errors.append(forbidden(f"{at}.values", reported))
        elif operator in ("Gt", "Lt"):
            if len(values) != 1:
                reported = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                errors.append(required(f"{at}.values", reported))
        else:
            errors.append(invalid(f"{at}.operator", operator, _OPERATOR))
        key = requirement.get("key", "")
        complain(errors, f"{at}.key", key, names.check_qualified_name(key))
        if strict:
            for number, value in enumerate(values):
                complain(errors, f"{at}.values[{number}]", value, names.check_label_value(value))
    for index, requirement in enumerate(term.get("matchFields") or ()):
        at = f"{path}.matchFields[{index}]"
        operator, values = requirement.get("operator", ""), requirement.get("values") or ()
        if operator not in ("In", "NotIn"):
            errors.append(invalid(f"{at}.operator", operator, _OPERATOR))
        elif len(values) != 1:
            reported = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            errors.append(required(f"{at}.values", reported))
        if requirement.get("key") != "metadata.name":
            reported = "not a valid field selector key"
            errors.append(invalid(f"{at}.key", requirement.get("key", ""), reported))
        else:
            for number, value in enumerate(values):
                complain(errors, f"{at}.values[{number}]", value, names.check_dns_subdomain(value))


def _check_pod_term(errors: Errors, path: str, term: Document) -> None:
    check_selector(errors, f"{path}.labelSelector", term.get("labelSelector"))
    check_selector(errors, f"{path}.namespaceSelector", term.get("namespaceSelector"))
    for name in term.get("namespaces") or ():
        complain(errors, f"{path}.namespace", name, names.check_dns_label(name))
    matching, avoiding = term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or ()
    for field, keys in (("matchLabelKeys", matching), ("mismatchLabelKeys", avoiding)):
        _check_label_keys(errors, f"{path}.{field}", keys, term.get("labelSelector"))
    for index, key in enumerate(matching):
        if key in avoiding:
            reported = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(invalid(f"{path}.matchLabelKeys[{index}]", key, reported))
    key = term.get("topologyKey", "")
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    if problem := names.check_qualified_name(key):
        complain(errors, f"{path}.topologyKey", key, problem)


def _check_label_keys(
    errors: Errors, path: str, keys: list[str] | tuple[str, ...], selector: Document | None
) -> None:
    if keys and selector is None:
        errors.append(forbidden(path, "must not be specified when labelSelector is not set"))
        return
    for index, key in enumerate(keys):
        complain(errors, f"{path}[{index}]", key, names.check_qualified_name(key))


def check_tolerations(errors: Errors, path: str, tolerations: list[Document]) -> None:
    for index, toleration in enumerate(tolerations):
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        value, effect = toleration.get("value", ""), toleration.get("effect", "")
        if key:
            if problem := names.check_qualified_name(key):
                complain(errors, f"{path}[{index}].key", key, problem)
        elif operator != "Exists":
            reported = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(invalid(f"{path}[{index}].operator", operator, reported))
        if "tolerationSeconds" in toleration and effect != "NoExecute":
            reported = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(invalid(f"{path}[{index}].effect", effect, reported))
        if operator in ("", "Equal"):
            complain(errors, f"{path}[{index}].operator", value, names.check_label_value(value))
        elif operator == "Exists":
            if value:
                reported = "value must be empty when `operator` is 'Exists'"
                errors.append(invalid(f"{path}[{index}].operator", value, reported))
        else:
            known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
            errors.append(unsupported(f"{path}[{index}].operator", operator, known))
        if effect and effect not in TAINT_EFFECTS:
            errors.append(unsupported(f"{path}[{index}].effect", effect, TAINT_EFFECTS))


def check_spread(errors: Errors, path: str, constraints: list[Document]) -> None:
    """topologySpreadConstraints."""
    for index, constraint in enumerate(constraints):
        at = f"{path}[{index}]"
        skew = constraint.get("maxSkew", 0)
        if skew <= 0:
            errors.append(invalid(f"{at}.maxSkew", skew, POSITIVE))
        key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        if not key:
            errors.append(required(f"{at}.topologyKey", "can not be empty"))
        if action not in _WHEN_UNSATISFIABLE:
            errors.append(unsupported(f"{at}.whenUnsatisfiable", action, _WHEN_UNSATISFIABLE))
        for other in constraints[index + 1 :]:
            if other.get("topologyKey") == key and other.get("whenUnsatisfiable") == action:
                where = f"{at}.{{topologyKey, whenUnsatisfiable}}"
                errors.append(duplicate(where, f"{{{key}, {action}}}"))
                break
        domains = constraint.get("minDomains")
        if domains is not None:
            if domains <= 0:
                errors.append(invalid(f"{at}.minDomains", domains, POSITIVE))
            if action != "DoNotSchedule":
                reported = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                errors.append(invalid(f"{at}.minDomains", domains, reported))
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if field in constraint:
                check_choice(errors, f"{at}.{field}", constraint[field], _INCLUSION)
        selector = constraint.get("labelSelector")
        _check_label_keys(errors, f"{at}.matchLabelKeys", constraint.get("matchLabelKeys") or (), selector)
        check_selector(errors, f"{at}.labelSelector", selector)
