"""The roles of podium's service accounts, made from what every part declares.

the base, and a part for each dialect   a ClusterRole: pods and jobs are everywhere
who may see the metrics                 the same, where they are served to others
the leases                              a Role in podium's own namespace, on two names
the webhook                             a ClusterRole of an account of its own, on one name
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podium.dialects.dialect import Dialect, rights_of
from podium.engine.rights import base_rights
from podium.kube import lease
from podium.kube.rights import rules_of
from podium.runtime import metrics_access
from podium.runtime.controlling import LEASE as CONTROLLERS_LEASE
from podium.runtime.scheduling import LEASE as SCHEDULER_LEASE
from podium.runtime.webhook import webhook_rights

Document = dict[str, Any]


def base_rules() -> list[Document]:
    """What the account may do on the whole cluster, whatever dialects it speaks."""
    return rules_of(base_rights())


def dialect_rules(dialect: Dialect) -> list[Document]:
    """What it may do beside that where a dialect is spoken."""
    return rules_of(rights_of(dialect), without=base_rights())


def own_rules() -> list[Document]:
    """What it may do in its own namespace."""
    return rules_of(lease.rights((SCHEDULER_LEASE, CONTROLLERS_LEASE)))


def metrics_rules() -> list[Document]:
    """What it may do where its metrics are served to others: ask who they are."""
    return rules_of(metrics_access.RIGHTS)


def webhook_rules(dialects: Iterable[Dialect]) -> list[Document]:
    """What the webhook's account may do."""
    return rules_of(webhook_rights(dialects))
