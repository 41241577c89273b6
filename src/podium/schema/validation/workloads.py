"""Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers."""

from __future__ import annotations

from podium.kube import names
from podium.kube.fields import forbidden, invalid, required, unsupported
from podium.kube.numbers import whole_number
from podium.kube.selectors import SelectorError, from_selector
from podium.schema.validation.base import (
    Document,
    Errors,
    check_choice,
    check_not_negative,
    check_same,
    check_selector,
    complain,
)
from podium.schema.validation.claims import check_claim_spec
from podium.schema.validation.pods import check_pod_template

_SET_MAY_CHANGE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def check_deployment(errors: Errors, document: Document) -> None:
    spec: Document = document.get("spec") or {}
    check_not_negative(errors, "spec.replicas", spec.get("replicas"))
    _check_selected_template(errors, spec, "deployment")
    strategy: Document = spec.get("strategy") or {}
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                reported = "may not be specified when strategy `type` is 'Recreate'"
                errors.append(forbidden("spec.strategy.rollingUpdate", reported))
        case "RollingUpdate":
            _check_rolling_deployment(errors, "spec.strategy.rollingUpdate", rolling or {})
        case _:
            errors.append(unsupported("spec.strategy", strategy, ("Recreate", "RollingUpdate")))
    ready, deadline = spec.get("minReadySeconds", 0), spec.get("progressDeadlineSeconds")
    check_not_negative(errors, "spec.minReadySeconds", ready)
    check_not_negative(errors, "spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    check_not_negative(errors, "spec.progressDeadlineSeconds", deadline)
    if deadline is not None and deadline <= ready:
        errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))


def check_replica_set(errors: Errors, document: Document) -> None:
    spec: Document = document.get("spec") or {}
    check_not_negative(errors, "spec.replicas", spec.get("replicas"))
    check_not_negative(errors, "spec.minReadySeconds", spec.get("minReadySeconds"))
    # The API server says "deployment" here too.
    _check_selected_template(errors, spec, "deployment")


def check_replication_controller(errors: Errors, document: Document) -> None:
    spec: Document = document.get("spec") or {}
    check_not_negative(errors, "spec.minReadySeconds", spec.get("minReadySeconds"))
    check_not_negative(errors, "spec.replicas", spec.get("replicas"))
    selector, template = spec.get("selector") or {}, spec.get("template")
    if not selector:
        errors.append(required("spec.selector"))
    if template is None:
        errors.append(required("spec.template"))
        return
    _check_labels_match(errors, {"matchLabels": selector}, template)
    check_pod_template(errors, "spec.template", template)
    _check_always(errors, template, "ReplicationController")


def check_daemon_set(errors: Errors, document: Document) -> None:
    spec: Document = document.get("spec") or {}
    _check_selected_template(errors, spec, "daemonset", may_be_absent=True)
    check_not_negative(errors, "spec.minReadySeconds", spec.get("minReadySeconds"))
    check_not_negative(errors, "spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    strategy: Document = spec.get("updateStrategy") or {}
    match strategy.get("type"):
        case "OnDelete":
            pass
        case "RollingUpdate":
            _check_rolling_daemon_set(
                errors, "spec.updateStrategy.rollingUpdate", strategy.get("rollingUpdate") or {}
            )
        case _:
            errors.append(unsupported("spec.updateStrategy", strategy, ("RollingUpdate", "OnDelete")))


def check_stateful_set(errors: Errors, document: Document) -> None:
    spec: Document = document.get("spec") or {}
    _check_set_policies(errors, spec)
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        check_claim_spec(errors, f"spec.volumeClaimTemplates[{index}].spec", claim.get("spec") or {})
    _check_set(errors, spec)
    if spec.get("serviceName"):
        service = spec["serviceName"]
        complain(errors, "spec.serviceName", service, names.check_dns_label(service))


def check_deployment_update(errors: Errors, new: Document, old: Document) -> None:
    check_deployment(errors, new)
    _check_selector_kept(errors, new, old)


def check_replica_set_update(errors: Errors, new: Document, old: Document) -> None:
    check_replica_set(errors, new)
    _check_selector_kept(errors, new, old)


def check_daemon_set_update(errors: Errors, new: Document, old: Document) -> None:
    _check_selector_kept(errors, new, old)
    check_daemon_set(errors, new)


def check_stateful_set_update(errors: Errors, new: Document, old: Document) -> None:
    after: Document = new.get("spec") or {}
    before: Document = old.get("spec") or {}
    _check_set_policies(errors, after)
    _check_set(errors, after)
    fields = (after.keys() | before.keys()) - frozenset(_SET_MAY_CHANGE)
    if any(after.get(field) != before.get(field) for field in fields):
        listed = ", ".join(f"'{field}'" for field in _SET_MAY_CHANGE[:-1])
        reported = (
            f"updates to statefulset spec for fields other than {listed} and 'minReadySeconds' are forbidden"
        )
        errors.append(forbidden("spec", reported))


def _check_selector_kept(errors: Errors, new: Document, old: Document) -> None:
    before = (old.get("spec") or {}).get("selector")
    check_same(errors, "spec.selector", (new.get("spec") or {}).get("selector"), before)


def _check_set_policies(errors: Errors, spec: Document) -> None:
    management = spec.get("podManagementPolicy")
    if not management:
        errors.append(required("spec.podManagementPolicy"))
    elif management not in ("OrderedReady", "Parallel"):
        errors.append(invalid("spec.podManagementPolicy", management, "must be 'OrderedReady' or 'Parallel'"))
    strategy: Document = spec.get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case None | "":
            errors.append(required("spec.updateStrategy"))
        case "OnDelete":
            if rolling is not None:
                reported = "only allowed for updateStrategy 'RollingUpdate'"
                errors.append(invalid("spec.updateStrategy.rollingUpdate", rolling, reported))
        case "RollingUpdate":
            if rolling is not None:
                at = "spec.updateStrategy.rollingUpdate"
                check_not_negative(errors, f"{at}.partition", rolling.get("partition"))
                if "maxUnavailable" in rolling:
                    check_count_or_percent(errors, f"{at}.maxUnavailable", rolling["maxUnavailable"])
                    if _amount(rolling["maxUnavailable"]) == 0:
                        errors.append(invalid(f"{at}.maxUnavailable", rolling["maxUnavailable"], "cannot be 0"))
        case _:
            errors.append(invalid("spec.updateStrategy", strategy, "must be 'RollingUpdate' or 'OnDelete'"))
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for field in ("whenDeleted", "whenScaled"):
        if field in retention:
            at = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            check_choice(errors, at, retention[field], ("Retain", "Delete"))


def _check_set(errors: Errors, spec: Document) -> None:
    check_not_negative(errors, "spec.replicas", spec.get("replicas"))
    check_not_negative(errors, "spec.minReadySeconds", spec.get("minReadySeconds"))
    check_not_negative(errors, "spec.ordinals.start", (spec.get("ordinals") or {}).get("start"))
    claims = spec.get("volumeClaimTemplates")
    if claims:
        # The claims become volumes of each pod, so a container may mount them.
        made = [(claim.get("metadata") or {}).get("name") for claim in claims]
        template: Document = spec.get("template") or {}
        inner: Document = template.get("spec") or {}
        own = [volume for volume in inner.get("volumes") or () if volume.get("name") not in made]
        extra = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in made]
        spec = {**spec, "template": {**template, "spec": {**inner, "volumes": extra + own}}}
    _check_selected_template(errors, spec, "statefulset")


def _check_selected_template(errors: Errors, spec: Document, kind: str, *, may_be_absent: bool = False) -> None:
    """The selector, the template, and that the one selects the pods of the other."""
    selector = spec.get("selector")
    template: Document = spec.get("template") or {}
    if selector is None:
        if not may_be_absent:
            errors.append(required("spec.selector"))
    else:
        check_selector(errors, "spec.selector", selector)
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            errors.append(invalid("spec.selector", selector, f"empty selector is invalid for {kind}"))
    _check_labels_match(errors, selector, template)
    check_pod_template(errors, "spec.template", template)
    _check_always(
        errors,
        template,
        {"statefulset": "StatefulSet", "daemonset": "DaemonSet"}.get(kind, "ReplicaSet"),
    )


def _check_labels_match(errors: Errors, selector: Document | None, template: Document) -> None:
    try:
        match = from_selector(selector)
    except SelectorError:
        errors.append(invalid("spec.selector", selector, "invalid label selector"))
        return
    labels = (template.get("metadata") or {}).get("labels") or {}
    if not match.everything and not match(labels):
        reported = "`selector` does not match template `labels`"
        shown = dict(sorted(labels.items())) or None
        errors.append(invalid("spec.template.metadata.labels", shown, reported))


def _check_always(errors: Errors, template: Document, kind: str) -> None:
    """Controllers that replace pods want them to restart by themselves first."""
    spec: Document = template.get("spec") or {}
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        errors.append(unsupported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        reported = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden("spec.template.spec.activeDeadlineSeconds", reported))


def _check_rolling_deployment(errors: Errors, path: str, rolling: Document) -> None:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    _check_count(errors, f"{path}.maxUnavailable", unavailable)
    _check_count(errors, f"{path}.maxSurge", surge)
    if _amount(unavailable) == 0 and _amount(surge) == 0:
        reported = "may not be 0 when `maxSurge` is 0"
        errors.append(invalid(f"{path}.maxUnavailable", unavailable, reported))
    _check_percent(errors, f"{path}.maxUnavailable", unavailable)


def _check_rolling_daemon_set(errors: Errors, path: str, rolling: Document) -> None:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    check_count_or_percent(errors, f"{path}.maxUnavailable", unavailable)
    check_count_or_percent(errors, f"{path}.maxSurge", surge)
    if _amount(unavailable) and _amount(surge):
        reported = "may not be set when maxUnavailable is non-zero"
        errors.append(invalid(f"{path}.maxSurge", surge, reported))
    elif not _amount(unavailable) and not _amount(surge):
        errors.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))


def check_count_or_percent(errors: Errors, path: str, value: int | str) -> None:
    """A count, or a percentage of at most 100%."""
    _check_count(errors, path, value)
    _check_percent(errors, path, value)


def _check_count(errors: Errors, path: str, value: int | str) -> None:
    if isinstance(value, str):
        complain(errors, path, value, names.check_percent(value))
    else:
        check_not_negative(errors, path, value)


def _check_percent(errors: Errors, path: str, value: int | str) -> None:
    if isinstance(value, str) and _amount(value) > 100:
        errors.append(invalid(path, value, "must not be greater than 100%"))


def _amount(value: int | str) -> int:
    if isinstance(value, int):
        return value
    return whole_number(value.removesuffix("%")) or 0


def check_controller_revision(errors: Errors, document: Document) -> None:
    check_not_negative(errors, "revision", document.get("revision"))


def check_controller_revision_update(errors: Errors, new: Document, old: Document) -> None:
    check_controller_revision(errors, new)
    check_same(errors, "data", new.get("data"), old.get("data"))
