"""What a cluster is made of and reports: namespaces, nodes, definitions, priorities, leases and events."""

from __future__ import annotations

from typing import Any

from podium.embedded.kinds.base import builtin
from podium.embedded.printers import cluster as printers
from podium.embedded.registry import ALL_VERBS, Strategy
from podium.embedded.store import Store
from podium.kube import names
from podium.kube import resources as r
from podium.schema import defaults
from podium.schema.rules import Rules
from podium.schema.validation import cluster as checks
from podium.schema.validation import crds

Document = dict[str, Any]

# A client that means to empty a cluster has to name each namespace: there is no deletecollection for them.
_NAMESPACE_VERBS = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")

_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def _new_namespace(document: Document, _: Store) -> None:
    document["status"] = {"phase": "Active"}


def _changed_namespace(new: Document, old: Document) -> None:
    new.setdefault("spec", {})["finalizers"] = old.get("spec", {}).get("finalizers", [])


def _new_definition(document: Document, _: Store) -> None:
    stored = [version["name"] for version in document["spec"].get("versions") or () if version.get("storage")]
    document["status"] = {"storedVersions": stored}


KINDS = (
    builtin(
        r.NAMESPACES,
        "ns",
        verbs=_NAMESPACE_VERBS,
        status=True,
        subresources=("finalize",),
        selectable_fields=("status.phase",),
        rules=Rules(default=defaults.default_namespace, check_name=names.check_dns_label),
        strategy=Strategy(at_create=_new_namespace, at_update=_changed_namespace),
        printer=printers.NAMESPACE,
    ),
    builtin(
        r.NODES,
        "no",
        status=True,
        to_processes=frozenset({"proxy"}),
        selectable_fields=("spec.unschedulable",),
        rules=Rules(default=defaults.default_node, check=checks.check_node, check_update=checks.check_node_update),
        strategy=Strategy(keeps_status=True),
        printer=printers.NODE,
    ),
    builtin(
        r.EVENTS,
        "ev",
        selectable_fields=(
            *(f"involvedObject.{field}" for field in _INVOLVED),
            "reason",
            "reportingComponent",
            "source",
            "type",
        ),
        rules=Rules(check=checks.check_event),
        strategy=Strategy(created_by_update=True),
        printer=printers.EVENT,
    ),
    builtin(
        r.EVENTS_V1,
        "ev",
        storage=r.EVENTS,
        selectable_fields=(
            *(f"regarding.{field}" for field in _INVOLVED),
            "reason",
            "reportingController",
            "type",
        ),
        rules=Rules(check=checks.check_new_event),
        strategy=Strategy(created_by_update=True),
        printer=printers.EVENT,
    ),
    builtin(
        r.PRIORITYCLASSES,
        "pc",
        rules=Rules(check=checks.check_priority_class, check_update=checks.check_priority_class_update),
        strategy=Strategy(counts_generation=True),
        printer=printers.PRIORITY_CLASS,
    ),
    builtin(
        r.LEASES,
        rules=Rules(check=checks.check_lease),
        strategy=Strategy(needs_version=True, created_by_update=True),
        printer=printers.LEASE,
    ),
    builtin(
        r.CUSTOMRESOURCEDEFINITIONS,
        "crd",
        "crds",
        categories=("api-extensions",),
        status=True,
        rules=Rules(default=defaults.default_definition, check=crds.check_crd, check_update=crds.check_crd_update),
        strategy=Strategy(counts_generation=True, needs_version=True, at_create=_new_definition),
    ),
)
