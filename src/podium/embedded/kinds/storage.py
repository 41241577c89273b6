"""Volumes, claims to them, and who makes and attaches them."""

from __future__ import annotations

from typing import Any

from podium.embedded.kinds.base import builtin
from podium.embedded.printers import storage as printers
from podium.embedded.registry import Strategy
from podium.embedded.store import Store
from podium.kube import resources as r
from podium.schema import defaults
from podium.schema.rules import Rules
from podium.schema.validation import storage as checks

Document = dict[str, Any]


def _pending(document: Document, _: Store) -> None:
    document["status"] = {"phase": "Pending"}


KINDS = (
    builtin(
        r.PERSISTENTVOLUMES,
        "pv",
        status=True,
        rules=Rules(check=checks.check_volume, check_update=checks.check_volume_update),
        strategy=Strategy(returned_on_delete=True, at_create=_pending),
        printer=printers.VOLUME,
    ),
    builtin(
        r.PERSISTENTVOLUMECLAIMS,
        "pvc",
        status=True,
        rules=Rules(check=checks.check_claim, check_update=checks.check_claim_update),
        strategy=Strategy(returned_on_delete=True, at_create=_pending),
        printer=printers.CLAIM,
    ),
    builtin(
        r.STORAGECLASSES,
        "sc",
        rules=Rules(check=checks.check_storage_class, check_update=checks.check_storage_class_update),
        printer=printers.STORAGE_CLASS,
    ),
    builtin(
        r.CSINODES,
        rules=Rules(check=checks.check_csi_node),
        strategy=Strategy(needs_version=True),
        printer=printers.CSI_NODE,
    ),
    builtin(
        r.CSIDRIVERS,
        rules=Rules(default=defaults.default_csi_driver, check=checks.check_csi_driver),
        printer=printers.CSI_DRIVER,
    ),
)
