"""Configuration of namespaces and their networks: config maps, secrets, accounts, quotas, services."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.embedded.printers.cells import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Document,
    Heading,
    Printer,
    age,
    first_few,
    items,
    labels_text,
    name_of,
    part,
    selector_text,
    wide,
)
from podium.kube.quantity import canonical


def config_map_cells(config_map: Document, now: float) -> list[Any]:
    count = len(part(config_map, "data")) + len(part(config_map, "binaryData"))
    return [name_of(config_map), count, age(config_map, now)]


def secret_cells(secret: Document, now: float) -> list[Any]:
    return [name_of(secret), secret.get("type", ""), len(part(secret, "data")), age(secret, now)]


def service_account_cells(account: Document, now: float) -> list[Any]:
    return [name_of(account), age(account, now)]


def resource_quota_cells(quota: Document, now: float) -> list[Any]:
    hard, used = part(quota, "status", "hard"), part(quota, "status", "used")
    texts: dict[bool, list[str]] = {False: [], True: []}
    for resource in sorted(hard):
        text = f"{resource}: {canonical(used.get(resource, '0'))}/{canonical(hard[resource])}"
        texts[resource.startswith("limits.")].append(text)
    return [name_of(quota), ", ".join(texts[False]), ", ".join(texts[True]), age(quota, now)]


# --- networks ----------------------------------------------------------------------------------------------


def service_cells(service: Document, now: float) -> list[Any]:
    spec = part(service, "spec")
    ips = items(spec, "clusterIPs")
    return [
        name_of(service),
        spec.get("type", ""),
        ips[0] if ips else NONE,
        _external_address(service),
        ",".join(_port_text(port) for port in items(spec, "ports")) or NONE,
        age(service, now),
        labels_text(spec.get("selector")),
    ]


def _external_address(service: Document) -> str:
    spec = part(service, "spec")
    addresses = list(spec.get("externalIPs") or [])
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(addresses) or NONE
        case "LoadBalancer":
            ingress = items(part(service, "status", "loadBalancer"), "ingress")
            balanced = {each.get("ip") or each.get("hostname") or "" for each in ingress} - {""}
            return ",".join([*sorted(balanced), *addresses]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
    return "<unknown>"


def _port_text(port: Document) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}"


def endpoints_cells(endpoints: Document, now: float) -> list[Any]:
    subsets = items(endpoints, "subsets")
    text = first_few(_endpoint_texts(subsets)) if subsets else NONE
    return [name_of(endpoints), text, age(endpoints, now)]


def _endpoint_texts(subsets: list[Document]) -> Iterator[str]:
    for subset in subsets:
        ips = [address["ip"] for address in items(subset, "addresses")]
        if not items(subset, "ports"):
            yield from ips
        for port in items(subset, "ports"):
            for ip in ips:
                host = f"[{ip}]" if ":" in ip else ip
                yield f"{host}:{port['port']}"


def endpoint_slice_cells(endpoint_slice: Document, now: float) -> list[Any]:
    ports = (str(port.get("port") or port.get("name", "*")) for port in items(endpoint_slice, "ports"))
    addresses = (a for e in items(endpoint_slice, "endpoints") for a in e.get("addresses") or ())
    return [
        name_of(endpoint_slice),
        endpoint_slice.get("addressType", ""),
        first_few(ports) or UNSET,
        first_few(addresses) or UNSET,
        age(endpoint_slice, now),
    ]


def network_policy_cells(policy: Document, now: float) -> list[Any]:
    return [name_of(policy), selector_text(part(policy, "spec").get("podSelector")), age(policy, now)]


CONFIG_MAP = Printer((NAME, Heading("Data", "How many entries it has"), AGE), config_map_cells)
SECRET = Printer(
    (NAME, Heading("Type", "What the secret is for"), Heading("Data", "How many entries it has"), AGE),
    secret_cells,
)
SERVICE_ACCOUNT = Printer((NAME, AGE), service_account_cells)
RESOURCE_QUOTA = Printer(
    (
        NAME,
        Heading("Request", "Used and allowed of what is requested or counted"),
        Heading("Limit", "Used and allowed of what is limited"),
        AGE,
    ),
    resource_quota_cells,
)
SERVICE = Printer(
    (
        NAME,
        Heading("Type", "How the service can be reached"),
        Heading("Cluster-IP", "Its address inside the cluster"),
        Heading("External-IP", "Its addresses for the outside"),
        Heading("Port(s)", "Its ports, with the port on every node if there is one"),
        AGE,
        wide("Selector", "The labels of the pods behind it"),
    ),
    service_cells,
)
ENDPOINTS = Printer((NAME, Heading("Endpoints", "The addresses behind the service"), AGE), endpoints_cells)
ENDPOINT_SLICE = Printer(
    (
        NAME,
        Heading("AddressType", "IPv4, IPv6 or FQDN"),
        Heading("Ports", "The ports of every endpoint"),
        Heading("Endpoints", "The addresses of the endpoints"),
        AGE,
    ),
    endpoint_slice_cells,
)
NETWORK_POLICY = Printer(
    (NAME, Heading("Pod-Selector", "Which pods the policy is for"), AGE), network_policy_cells
)
