"""Subresources that are more than a view of the object: binding, eviction, scale."""

from __future__ import annotations

from typing import Any

from podium.embedded import deletion
from podium.embedded.conversion import to_served
from podium.embedded.objects import Objects
from podium.embedded.options import delete_options
from podium.embedded.registry import Kind, ScalePaths
from podium.embedded.store import Record
from podium.errors import ApiError
from podium.kube import fields, selectors, status
from podium.kube import resources as r
from podium.kube.cache import Key
from podium.kube.conditions import set_condition
from podium.kube.resources import Resource
from podium.kube.times import format_time

Document = dict[str, Any]

# A budget that has let this many pods go without its controller having looked is not asked again.
_MAX_DISRUPTED = 2000


def bind(objects: Objects, key: Key, binding: Document, *, dry_run: bool = False) -> None:
    """Gives a pod its node, once: the compare-and-set that makes double booking of a pod impossible.

    The binding's annotations and labels go onto the pod in the same write.
    """
    namespace, name = key
    record = objects.store.get(r.PODS, namespace, name)
    if record is None:
        raise status.not_found(r.PODS, name)
    node = _target(binding)
    given = binding.get("metadata") or {}
    if given.get("name", name) != name:
        raise status.bad_request("name in URL does not match name in Binding object")
    if given.get("uid") and given["uid"] != record.uid:
        raise status.conflict(
            r.PODS,
            name,
            f"Precondition failed: UID in precondition: {given['uid']}, UID in object meta: {record.uid}",
        )
    if given.get("resourceVersion") and given["resourceVersion"] != str(record.version):
        raise status.stale(r.PODS, name)
    pod = record.document()
    spec, metadata = pod["spec"], pod["metadata"]
    if "deletionTimestamp" in metadata:
        raise _unbindable(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _unbindable(name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _unbindable(name, f"pod {name} has non-empty .spec.schedulingGates")
    if dry_run:
        return
    spec["nodeName"] = node
    for field in ("annotations", "labels"):
        if given.get(field):
            metadata[field] = {**(metadata.get(field) or {}), **given[field]}
    pod_status = pod.setdefault("status", {})
    pod_status.pop("nominatedNodeName", None)
    pod_status["conditions"] = set_condition(
        pod_status.get("conditions") or [], "PodScheduled", "True", "", "", objects.clock()
    )
    objects.store.put(r.PODS, pod, record)


def _target(binding: Document) -> str:
    """The node of a binding.  A real server forgets to call a bad one Invalid: the code is what clients know."""
    target = binding.get("target") or {}
    if target.get("kind", "Node") not in ("Node", "Minion", ""):
        raise ApiError(500, "", str(fields.unsupported("target.kind", target["kind"], ("Node", "<empty>"))))
    if not target.get("name"):
        raise ApiError(500, "", str(fields.required("target.name")))
    return str(target["name"])


def _unbindable(name: str, why: str) -> ApiError:
    return status.conflict(Resource("", "v1", "pods/binding", "Binding"), name, why)


def no_process(kind: Kind, name: str, subresource: str) -> ApiError:
    """Why exec, port-forward and the like are not possible, for people: kubectl prints it as it is."""
    what = kind.resource.kind.lower()
    known = {"portforward": "port-forward", "ephemeralcontainers": "a debug container"}
    verb = known.get(subresource, subresource)
    why = "has no endpoint to talk to" if kind.resource == r.SERVICES else "has no process"
    return status.bad_request(f"{verb} is not possible: {what} {name} is simulated and {why}")


def evict(objects: Objects, kind: Kind, key: Key, eviction: Document) -> None:
    """Deletes a pod if its disruption budgets allow it; 429 names the one that does not."""
    record = objects.require(kind, *key)
    options = delete_options(eviction.get("deleteOptions") or {})
    dry_run = bool(options.dry_run)
    pod = record.document()
    phase = pod.get("status", {}).get("phase")
    if phase not in ("Succeeded", "Failed", "Pending") and "deletionTimestamp" not in pod["metadata"]:
        budgets = _budgets(objects, pod)
        if len(budgets) > 1:
            raise ApiError(
                500,
                "",
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            )
        if budgets and not _unhealthy_may_go(budgets[0].document(), pod):
            _take_from_budget(objects, budgets[0], record.name, dry_run)
    if not dry_run and "deletionTimestamp" not in pod["metadata"]:
        record = _mark_evicted(objects, record, pod)
    deletion.delete(objects, kind, record, options)


def _mark_evicted(objects: Objects, record: Record, pod: Document) -> Record:
    """Says on the pod that it was evicted, so that nobody takes its end for a failure of its own."""
    state = pod.setdefault("status", {})
    state["conditions"] = set_condition(
        state.get("conditions") or [],
        "DisruptionTarget",
        "True",
        "EvictionByEvictionAPI",
        "Eviction API: evicting",
        objects.clock(),
    )
    return objects.store.put(r.PODS, pod, record)


def _budgets(objects: Objects, pod: Document) -> list[Record]:
    labels = pod["metadata"].get("labels") or {}
    found = []
    for record in objects.store.scan(r.PODDISRUPTIONBUDGETS, pod["metadata"]["namespace"]):
        selector = record.document().get("spec", {}).get("selector")
        if selector is not None and selectors.from_selector(selector)(labels):
            found.append(record)
    return found


def _unhealthy_may_go(budget: Document, pod: Document) -> bool:
    """A pod that is not ready does not count as healthy, so its going breaks no budget that is met."""
    conditions = pod.get("status", {}).get("conditions") or ()
    if any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions):
        return False
    policy = budget.get("spec", {}).get("unhealthyPodEvictionPolicy", "IfHealthyBudget")
    state = budget.get("status") or {}
    healthy, desired = int(state.get("currentHealthy", 0)), int(state.get("desiredHealthy", 0))
    return policy == "AlwaysAllow" or (healthy >= desired > 0)


def _take_from_budget(objects: Objects, record: Record, pod: str, dry_run: bool) -> None:
    """One disruption less, written in the budget itself, so that two evictions cannot spend the same one."""
    budget = record.document()
    state = budget.setdefault("status", {})
    name = record.name
    reported = "Cannot evict pod as it would violate the pod's disruption budget."
    if state.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        message = f"The disruption budget {name} is still being processed by the server."
        raise status.too_many_requests(reported, 10, [{"reason": "DisruptionBudget", "message": message}])
    allowed = state.get("disruptionsAllowed", 0)
    disrupted = state.get("disruptedPods") or {}
    if allowed <= 0 or len(disrupted) > _MAX_DISRUPTED:
        message = (
            f"The disruption budget {name} needs {state.get('desiredHealthy', 0)} healthy pods "
            f"and has {state.get('currentHealthy', 0)} currently"
        )
        raise status.too_many_requests(reported, 0, [{"reason": "DisruptionBudget", "message": message}])
    if dry_run:
        return
    state["disruptionsAllowed"] = allowed - 1
    state["disruptedPods"] = {**disrupted, pod: format_time(objects.clock())}
    objects.store.put(r.PODDISRUPTIONBUDGETS, budget, record)


# --- scale -------------------------------------------------------------------------------------------------


def scale_of(kind: Kind, record: Record) -> Document:
    """The Scale view of an object."""
    assert kind.scale is not None
    document = to_served(kind, record.document())
    metadata = document["metadata"]
    state: Document = {"replicas": _at(document, kind.scale.status) or 0}
    selector = _selector(document, kind.scale)
    if selector:
        state["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            field: metadata[field]
            for field in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
            if field in metadata
        },
        "spec": {"replicas": replicas} if (replicas := _at(document, kind.scale.spec)) else {},
        "status": state,
    }


def set_scale(objects: Objects, kind: Kind, key: Key, scale: Document, *, dry_run: bool) -> Record:
    """Writes a Scale's replicas into the object."""
    assert kind.scale is not None
    record = objects.require(kind, *key)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise status.bad_request(f"spec.replicas must be a whole number, not {fields.show(replicas)}")
    if replicas < 0:
        complaint = fields.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise status.invalid(Resource("autoscaling", "v1", "scales", "Scale"), key[1], [complaint])
    wanted = (scale.get("metadata") or {}).get("resourceVersion")
    if wanted and wanted != str(record.version):
        raise status.stale(kind.resource, key[1])
    document = to_served(kind, record.document())
    place: Document = document
    *parents, last = kind.scale.spec.strip(".").split(".")
    for part in parents:
        place = place.setdefault(part, {})
    place[last] = replicas
    return objects.update(kind, key, document, dry_run=dry_run)


def _at(document: Document, path: str) -> Any:
    value: Any = document
    for part in path.strip(".").split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _selector(document: Document, paths: ScalePaths) -> str:
    if not paths.selector:
        return ""
    found = _at(document, paths.selector)
    if isinstance(found, str):
        return found
    return selectors.format_selector(found) if isinstance(found, dict) else ""
