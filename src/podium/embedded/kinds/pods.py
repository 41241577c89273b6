"""Pods, and the older way to their binding."""

from __future__ import annotations

from typing import Any

from podium.embedded.kinds.base import ALL, builtin
from podium.embedded.printers import pods as printers
from podium.embedded.registry import Strategy
from podium.embedded.store import Store
from podium.kube import resources as r
from podium.schema.pod_defaults import default_pod, qos_class
from podium.schema.rules import Rules
from podium.schema.validation.pod_update import check_pod_update
from podium.schema.validation.pods import check_new_pod

Document = dict[str, Any]


def _new_pod(document: Document, _: Store) -> None:
    status: Document = {"phase": "Pending", "qosClass": qos_class(document)}
    if document["spec"].get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    document["status"] = status


def _all_addresses(document: Document) -> None:
    """A pod's address stands in its status twice; whoever writes one of the two writes both."""
    status = document.get("status") or {}
    single, listed = status.get("podIP") or "", status.get("podIPs") or []
    first = (listed[0] or {}).get("ip", "") if listed else ""
    if single and single != first:
        document["status"] = {**status, "podIPs": [{"ip": single}]}
    elif first and not single:
        document["status"] = {**status, "podIP": first}


KINDS = (
    builtin(
        r.PODS,
        "po",
        categories=ALL,
        status=True,
        subresources=("binding", "eviction", "log"),
        to_processes=frozenset({"exec", "attach", "portforward", "proxy", "ephemeralcontainers", "resize"}),
        selectable_fields=(
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ),
        rules=Rules(default=default_pod, check=check_new_pod, check_update=check_pod_update),
        strategy=Strategy(
            counts_generation=True,
            returned_on_delete=True,
            with_status=("labels", "annotations", "finalizers"),
            at_create=_new_pod,
            at_status_update=_all_addresses,
        ),
        printer=printers.POD,
    ),
    builtin(r.BINDINGS, verbs=("create",)),
)
