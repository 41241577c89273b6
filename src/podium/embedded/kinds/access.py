"""Who may do what.  The embedded server keeps these and asks nobody: there is one token."""

from __future__ import annotations

from podium.embedded.kinds.base import builtin
from podium.embedded.printers import cluster as printers
from podium.embedded.printers import configuration
from podium.embedded.registry import Strategy
from podium.kube import names
from podium.kube import resources as r
from podium.schema import defaults
from podium.schema.rules import Rules
from podium.schema.validation import cluster as checks

KINDS = (
    builtin(
        r.SERVICEACCOUNTS,
        "sa",
        strategy=Strategy(returned_on_delete=True),
        printer=configuration.SERVICE_ACCOUNT,
    ),
    builtin(r.ROLES, rules=Rules(check=checks.check_role, check_name=names.check_path_segment)),
    builtin(r.CLUSTERROLES, rules=Rules(check=checks.check_cluster_role, check_name=names.check_path_segment)),
    builtin(
        r.ROLEBINDINGS,
        rules=Rules(
            default=defaults.default_role_binding,
            check=checks.check_role_binding,
            check_update=checks.check_role_binding_update,
            check_name=names.check_path_segment,
        ),
        printer=printers.ROLE_BINDING,
    ),
    builtin(
        r.CLUSTERROLEBINDINGS,
        rules=Rules(
            default=defaults.default_role_binding,
            check=checks.check_cluster_role_binding,
            check_update=checks.check_cluster_role_binding_update,
            check_name=names.check_path_segment,
        ),
        printer=printers.ROLE_BINDING,
    ),
)
