"""Arguments that several actions have."""

from __future__ import annotations

from podium.core.framework.arguments import Argument

KEEP_ANSWERS = Argument(
    "predicateErrorCacheEnable", True, "a task like one that found no place is not tried again in the same turn"
)
MIN_RUNTIME = Argument("minRuntime", "", "what has run for less than this, such as 5m, is left alone")
WHOLE_BUNDLES = Argument(
    "allowWholeBundle", True, "a gang may be taken whole; otherwise only what it has beyond its minimum"
)
MAX_DOMAINS = Argument(
    "maxDomains",
    8,
    "how many domains of the network are looked at",
    "the whole cluster is one domain: limits on the network between pods are not acted on yet",
)
