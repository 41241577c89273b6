"""What pods read, and what a namespace may hold."""

from __future__ import annotations

from podium.embedded.kinds.base import builtin
from podium.embedded.printers import configuration as printers
from podium.embedded.registry import Strategy
from podium.kube import resources as r
from podium.schema import defaults
from podium.schema.rules import Rules
from podium.schema.validation import configuration as checks

KINDS = (
    builtin(
        r.CONFIGMAPS,
        "cm",
        rules=Rules(check=checks.check_config_map, check_update=checks.check_config_map_update),
        printer=printers.CONFIG_MAP,
    ),
    builtin(
        r.SECRETS,
        selectable_fields=("type",),
        rules=Rules(
            default=defaults.default_secret,
            check=checks.check_secret,
            check_update=checks.check_secret_update,
        ),
        printer=printers.SECRET,
    ),
    builtin(
        r.RESOURCEQUOTAS,
        "quota",
        status=True,
        rules=Rules(check=checks.check_quota, check_update=checks.check_quota_update),
        strategy=Strategy(
            without_effect="this server does not enforce ResourceQuotas: it will refuse nothing for its sake"
        ),
        printer=printers.RESOURCE_QUOTA,
    ),
    builtin(
        r.LIMITRANGES,
        "limits",
        rules=Rules(default=defaults.default_limit_range, check=checks.check_limit_range),
        strategy=Strategy(
            created_by_update=True,
            without_effect="this server does not enforce LimitRanges: it will neither set nor refuse anything",
        ),
    ),
)
