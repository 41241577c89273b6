"""Services, what is behind them, and who may speak to whom."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from podium.embedded.kinds.base import ALL, builtin
from podium.embedded.printers import configuration as printers
from podium.embedded.registry import Strategy
from podium.embedded.store import Store
from podium.kube import names
from podium.kube import resources as r
from podium.schema import defaults
from podium.schema.rules import Rules
from podium.schema.validation import network as checks

Document = dict[str, Any]

_SERVICE_NETWORK = ipaddress.IPv4Network("10.96.0.0/12")


def _new_service(document: Document, store: Store) -> None:
    document["status"] = {"loadBalancer": {}}
    spec = document.setdefault("spec", {})
    if spec.get("type", "ClusterIP") == "ExternalName":
        return
    used_ips, used_ports = _addresses(store)
    if not spec.get("clusterIP"):
        spec["clusterIP"] = next(ip for ip in _service_ips() if ip not in used_ips)
    spec["clusterIPs"] = [spec["clusterIP"]]
    if spec["clusterIP"] != "None":
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        free = (port for port in range(30000, 32768) if port not in used_ports)
        for port in spec.get("ports") or ():
            if not port.get("nodePort"):
                port["nodePort"] = next(free)


def _service_ips() -> Iterator[str]:
    first = int(_SERVICE_NETWORK.network_address)
    for number in range(first + 10, first + _SERVICE_NETWORK.num_addresses - 1):
        yield str(ipaddress.IPv4Address(number))


def _addresses(store: Store) -> tuple[set[str], set[int]]:
    """Cluster IPs and node ports in use.  A scan: clusters of batch jobs have few services."""
    ips: set[str] = set()
    ports: set[int] = set()
    for record in store.scan(r.SERVICES):
        spec = record.document().get("spec", {})
        ips.add(spec.get("clusterIP", ""))
        ports.update(port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort"))
    return ips, ports


def _keep_addresses(new: Document, old: Document) -> None:
    """A client that leaves an allocated address out of its PUT means "as it is"."""
    spec, before = new.setdefault("spec", {}), old.get("spec", {})
    if spec.get("type", "ClusterIP") != "ExternalName":
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not spec.get(field) and field in before:
                spec[field] = before[field]


KINDS = (
    builtin(
        r.SERVICES,
        "svc",
        categories=ALL,
        status=True,
        to_processes=frozenset({"proxy"}),
        selectable_fields=("spec.clusterIP", "spec.type"),
        rules=Rules(
            default=defaults.default_service,
            check=checks.check_service,
            check_update=checks.check_service_update,
            check_name=names.check_dns_label,
        ),
        strategy=Strategy(returned_on_delete=True, at_create=_new_service, at_update=_keep_addresses),
        printer=printers.SERVICE,
    ),
    builtin(
        r.ENDPOINTS,
        "ep",
        singular="endpoints",
        rules=Rules(check=checks.check_endpoints),
        strategy=Strategy(created_by_update=True),
        printer=printers.ENDPOINTS,
    ),
    builtin(
        r.ENDPOINTSLICES,
        rules=Rules(check=checks.check_endpoint_slice, check_update=checks.check_endpoint_slice_update),
        strategy=Strategy(counts_generation=True),
        printer=printers.ENDPOINT_SLICE,
    ),
    builtin(
        r.NETWORKPOLICIES,
        "netpol",
        rules=Rules(default=defaults.default_network_policy, check=checks.check_network_policy),
        strategy=Strategy(
            counts_generation=True,
            without_effect="simulated pods have no network: this NetworkPolicy has no effect",
        ),
        printer=printers.NETWORK_POLICY,
    ),
)
