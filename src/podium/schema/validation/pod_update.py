"""What may change in a pod's spec once the pod exists: very little."""

from __future__ import annotations

from podium.kube.fields import forbidden, invalid, required, show
from podium.schema.validation.base import Document, Errors
from podium.schema.validation.pods import check_pod_spec

_LARGEST = 2**31 - 1
_MAY_CHANGE = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def check_pod_update(errors: Errors, new: Document, old: Document) -> None:
    after: Document = new.get("spec") or {}
    before: Document = old.get("spec") or {}
    if after == before:
        return
    check_pod_spec(errors, "spec", after, pod=new)
    if not _check_containers(errors, after, before):
        return
    _check_deadline(errors, after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    _check_tolerations(errors, after.get("tolerations") or [], before.get("tolerations") or [])
    _check_gates(errors, after.get("schedulingGates") or [], before.get("schedulingGates") or [])
    # What is left must be equal when everything that may change is put back.
    restored = dict(after)
    for field in ("containers", "initContainers"):
        if after.get(field):
            restored[field] = [
                {**container, "image": known.get("image")}
                for container, known in zip(after[field], before[field], strict=True)
            ]
        else:
            _put_back(restored, before, field)  # none is none, whether the field is empty or not there
    for field in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        _put_back(restored, before, field)
    if before.get("terminationGracePeriodSeconds", 0) < 0 and after.get("terminationGracePeriodSeconds") == 1:
        _put_back(restored, before, "terminationGracePeriodSeconds")
    if before.get("schedulingGates"):
        _check_narrowing(errors, restored, before)
    if restored != before:
        changed = [field for field in {**before, **restored} if before.get(field) != restored.get(field)]
        lines = "".join(
            f"\n- {field}: {show(before.get(field))}\n+ {field}: {show(restored.get(field))}" for field in changed
        )
        reported = f"pod updates may not change fields other than {_MAY_CHANGE}{lines}"
        errors.append(forbidden("spec", reported))


def _put_back(restored: Document, before: Document, field: str) -> None:
    if field in before:
        restored[field] = before[field]
    else:
        restored.pop(field, None)


def _check_containers(errors: Errors, after: Document, before: Document) -> bool:
    """Whether both specs have the same number of containers, so that they can be compared one by one."""
    for field in ("containers", "initContainers"):
        new, old = after.get(field) or (), before.get(field) or ()
        if len(new) != len(old):
            errors.append(forbidden(f"spec.{field}", "pod updates may not add or remove containers"))
            return False
        for index, container in enumerate(new):
            if not container.get("image"):
                errors.append(required(f"spec.{field}[{index}].image"))
    return True


def _check_deadline(errors: Errors, new: int | None, old: int | None) -> None:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            reported = "must not update from a positive integer to nil value"
            errors.append(invalid(path, None, reported))
    elif not 0 <= new <= _LARGEST:
        errors.append(invalid(path, new, f"must be between 0 and {_LARGEST}, inclusive"))
    elif old is not None and new > old:
        errors.append(invalid(path, new, "must be less than or equal to previous value"))


def _check_tolerations(errors: Errors, new: list[Document], old: list[Document]) -> None:
    bare = [_without_seconds(toleration) for toleration in new]
    errors.extend(
        forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
        for toleration in old
        if _without_seconds(toleration) not in bare
    )


def _without_seconds(toleration: Document) -> Document:
    return {field: value for field, value in toleration.items() if field != "tolerationSeconds"}


def _check_gates(errors: Errors, new: list[Document], old: list[Document]) -> None:
    known = [gate.get("name") for gate in old]
    for index, gate in enumerate(new):
        if gate.get("name") not in known:
            reported = f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'"
            errors.append(forbidden(f"spec.schedulingGates[{index}].name", reported))


def _check_narrowing(errors: Errors, restored: Document, before: Document) -> None:
    """A pod that waits at a gate may be restricted to fewer nodes, never sent to others."""
    wanted, selector = restored.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if any(wanted.get(key) != value for key, value in selector.items()):
        reported = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        errors.append(invalid("spec.nodeSelector", wanted, reported))
    _put_back(restored, before, "nodeSelector")
    new = (restored.get("affinity") or {}).get("nodeAffinity")
    old = (before.get("affinity") or {}).get("nodeAffinity")
    if new == old:
        return
    _check_affinity(errors, new or {}, old or {})
    affinity = {**(restored.get("affinity") or {}), "nodeAffinity": old}
    if old is None:
        del affinity["nodeAffinity"]
    restored["affinity"] = affinity
    if not affinity and "affinity" not in before:
        del restored["affinity"]


def _check_affinity(errors: Errors, new: Document, old: Document) -> None:
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    before = (old.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    after = (new.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    if not before:
        return
    if len(before) != len(after):
        reported = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        errors.append(invalid(path, after, reported))
        return
    for index, (term, known) in enumerate(zip(after, before, strict=True)):
        if not _only_adds(term, known):
            reported = "only additions are allowed (no mutations or deletions)"
            errors.append(invalid(f"{path}[{index}]", term, reported))


def _only_adds(term: Document, known: Document) -> bool:
    lists = ("matchExpressions", "matchFields")
    if not any(known.get(field) for field in lists):
        return not any(term.get(field) for field in lists)
    return all(
        (term.get(field) or [])[: len(known.get(field) or [])] == (known.get(field) or []) for field in lists
    )
