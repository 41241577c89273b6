"""Services, Endpoints, EndpointSlices and NetworkPolicies."""

from __future__ import annotations

import ipaddress

from podium.kube import names
from podium.kube.fields import duplicate, forbidden, invalid, required, too_many, unsupported
from podium.schema.validation.base import (
    Document,
    Errors,
    check_choice,
    check_cidr,
    check_ip,
    check_labels,
    check_port_or_name,
    check_same,
    check_selector,
    complain,
)

_PROTOCOLS = frozenset({"TCP", "UDP", "SCTP"})
_SERVICE_TYPES = frozenset({"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"})
_POLICIES = frozenset({"Cluster", "Local"})
_FAMILIES = frozenset({"IPv4", "IPv6"})
_FAMILY_POLICIES = frozenset({"PreferDualStack", "RequireDualStack", "SingleStack"})
_LOAD_BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'"


def check_service(errors: Errors, document: Document) -> None:
    spec: Document = document.get("spec") or {}
    kind, ports = spec.get("type") or "", spec.get("ports") or []
    addresses = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    headless = bool(addresses) and addresses[0] == "None"
    if not ports and not headless and kind != "ExternalName":
        errors.append(required("spec.ports"))
    if kind in ("LoadBalancer", "NodePort") and headless:
        reported = f"may not be set to 'None' for {kind} services"
        errors.append(invalid("spec.clusterIPs[0]", "None", reported))
    if kind == "ExternalName":
        _check_external_name(errors, spec)
    _check_service_ports(errors, kind, ports)
    check_labels(errors, "spec.selector", spec.get("selector"))
    check_choice(errors, "spec.sessionAffinity", spec.get("sessionAffinity"), frozenset({"ClientIP", "None"}))
    if spec.get("sessionAffinity") == "ClientIP":
        seconds = ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds", 0)
        if not 0 < seconds <= 86400:
            at = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
            errors.append(invalid(at, seconds, "must be greater than 0 and less than 86400"))
    if kind != "ExternalName":
        _check_addresses(errors, spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        _check_reachable(errors, f"spec.externalIPs[{index}]", address)
    check_choice(errors, "spec.type", kind, _SERVICE_TYPES)
    _check_traffic(errors, spec, kind)


def _check_external_name(errors: Errors, spec: Document) -> None:
    errors.extend(
        forbidden(f"spec.{field}", "may not be set for ExternalName services")
        for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if spec.get(field)
    )
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        errors.append(required("spec.externalName"))
    else:
        complain(errors, "spec.externalName", name, names.check_dns_subdomain(name))


def _check_service_ports(errors: Errors, kind: str, ports: list[Document]) -> None:
    seen_names: set[str] = set()
    seen_ports: set[tuple[str, int]] = set()
    seen_nodes: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        at = f"spec.ports[{index}]"
        name, protocol = port.get("name"), port.get("protocol", "")
        number: int = port.get("port", 0)
        if name:
            complain(errors, f"{at}.name", name, names.check_dns_label(name))
            if name in seen_names:
                errors.append(duplicate(f"{at}.name", name))
            seen_names.add(name)
        elif len(ports) > 1:
            errors.append(required(f"{at}.name"))
        complain(errors, f"{at}.port", number, names.check_port_number(number))
        check_choice(errors, f"{at}.protocol", protocol, _PROTOCOLS)
        check_port_or_name(errors, f"{at}.targetPort", port.get("targetPort") or number)
        if "appProtocol" in port:
            complain(
                errors, f"{at}.appProtocol", port["appProtocol"], names.check_qualified_name(port["appProtocol"])
            )
        node = port.get("nodePort", 0)
        if node:
            if kind == "ClusterIP":
                errors.append(forbidden(f"{at}.nodePort", "may not be used when `type` is 'ClusterIP'"))
            if (protocol, node) in seen_nodes:
                errors.append(duplicate(f"{at}.nodePort", node))
            seen_nodes.add((protocol, node))
        if (protocol, number) in seen_ports:
            errors.append(duplicate(at, {"protocol": protocol, "port": number}))
        seen_ports.add((protocol, number))


def _check_addresses(errors: Errors, spec: Document) -> None:
    address, addresses = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if address and addresses and addresses[0] != address:
        errors.append(invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`"))
    elif addresses and not address:
        errors.append(invalid("spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified"))
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        check_choice(errors, f"spec.ipFamilies[{index}]", family, _FAMILIES)
    if "ipFamilyPolicy" in spec:
        check_choice(errors, "spec.ipFamilyPolicy", spec["ipFamilyPolicy"], _FAMILY_POLICIES)
    listed = addresses or ([address] if address else [])
    for index, each in enumerate(listed):
        if each == "None" and index == 0:
            if len(listed) > 1:
                errors.append(invalid("spec.clusterIPs", listed, "'None' must be the first and only value"))
            continue
        check_ip(errors, f"spec.clusterIPs[{index}]", each)
    if len(listed) > 2:
        errors.append(invalid("spec.clusterIPs", listed, "may only hold up to 2 values"))


def _check_traffic(errors: Errors, spec: Document, kind: str) -> None:
    ranges = spec.get("loadBalancerSourceRanges") or ()
    if ranges and kind != "LoadBalancer":
        errors.append(forbidden("spec.LoadBalancerSourceRanges", _LOAD_BALANCER_ONLY))
    for index, each in enumerate(ranges):
        check_cidr(errors, f"spec.LoadBalancerSourceRanges[{index}]", each.strip())
    if "allocateLoadBalancerNodePorts" in spec and kind != "LoadBalancer":
        errors.append(forbidden("spec.allocateLoadBalancerNodePorts", _LOAD_BALANCER_ONLY))
    if "loadBalancerClass" in spec and kind != "LoadBalancer":
        errors.append(forbidden("spec.loadBalancerClass", _LOAD_BALANCER_ONLY))
    outside = spec.get("externalTrafficPolicy")
    reachable = kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if reachable:
        check_choice(errors, "spec.externalTrafficPolicy", outside, _POLICIES)
    elif outside:
        reported = "may only be set for externally-accessible services"
        errors.append(invalid("spec.externalTrafficPolicy", outside, reported))
    if spec.get("healthCheckNodePort") and not (kind == "LoadBalancer" and outside == "Local"):
        reported = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(invalid("spec.healthCheckNodePort", spec["healthCheckNodePort"], reported))
    inside = spec.get("internalTrafficPolicy")
    if inside is not None:
        check_choice(errors, "spec.internalTrafficPolicy", inside, _POLICIES)


def check_service_update(errors: Errors, new: Document, old: Document) -> None:
    after: Document = new.get("spec") or {}
    before: Document = old.get("spec") or {}
    if "ExternalName" not in (after.get("type"), before.get("type")):
        addresses, known = after.get("clusterIPs") or [], before.get("clusterIPs") or []
        if known and known[0] != "None" and not addresses:
            errors.append(invalid("spec.clusterIPs[0]", addresses, "primary clusterIP can not be unset"))
        else:
            errors.extend(
                invalid(f"spec.clusterIPs[{index}]", addresses, "may not change once set")
                for index, (mine, theirs) in enumerate(zip(addresses, known, strict=False))
                if mine != theirs
            )
    check_service(errors, new)


def check_endpoints(errors: Errors, document: Document) -> None:
    for index, subset in enumerate(document.get("subsets") or ()):
        at = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(at, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(field) or ()):
                place = f"{at}.{field}[{number}]"
                ip = address.get("ip", "")
                if _check_reachable(errors, f"{place}.ip", ip) is None:
                    errors.append(invalid(f"{place}.ip", ip, "must be a valid IP address"))
                if address.get("hostname"):
                    name = address["hostname"]
                    complain(errors, f"{place}.hostname", name, names.check_dns_label(name))
        ports = subset.get("ports") or ()
        for number, port in enumerate(ports):
            place, name = f"{at}.ports[{number}]", port.get("name")
            if name:
                complain(errors, f"{place}.name", name, names.check_dns_label(name))
            elif len(ports) > 1:
                errors.append(required(f"{place}.name"))
            complain(errors, f"{place}.port", port.get("port", 0), names.check_port_number(port.get("port", 0)))
            check_choice(errors, f"{place}.protocol", port.get("protocol"), _PROTOCOLS)


def check_endpoint_slice(errors: Errors, document: Document) -> None:
    kind = document.get("addressType")
    check_choice(errors, "addressType", kind, frozenset({"FQDN", "IPv4", "IPv6"}))
    ports, endpoints = document.get("ports") or [], document.get("endpoints") or []
    if len(ports) > 20000:
        errors.append(too_many("ports", len(ports), 20000))
    seen: set[str] = set()
    for index, port in enumerate(ports):
        name = port.get("name", "")
        if name:
            complain(errors, f"ports[{index}].name", name, names.check_dns_label(name))
        if name in seen:
            errors.append(duplicate(f"ports[{index}].name", name))
        seen.add(name)
        check_choice(errors, f"ports[{index}].protocol", port.get("protocol"), _PROTOCOLS)
    if len(endpoints) > 1000:
        errors.append(too_many("endpoints", len(endpoints), 1000))
    for index, endpoint in enumerate(endpoints):
        _check_endpoint(errors, f"endpoints[{index}]", endpoint, kind)


def _check_endpoint(errors: Errors, path: str, endpoint: Document, kind: str | None) -> None:
    addresses = endpoint.get("addresses") or []
    if not addresses:
        errors.append(required(f"{path}.addresses", "must contain at least 1 address"))
    elif len(addresses) > 100:
        errors.append(too_many(f"{path}.addresses", len(addresses), 100))
    for index, address in enumerate(addresses):
        at = f"{path}.addresses[{index}]"
        if kind == "FQDN":
            complain(errors, at, address, names.check_dns_subdomain(address.removesuffix(".")))
            continue
        number = _check_reachable(errors, at, address)
        if number is not None and kind in _FAMILIES and kind != f"IPv{number.version}":
            errors.append(invalid(f"{path}.addresses", address, f"must be an {kind} address"))
    if endpoint.get("nodeName"):
        node = endpoint["nodeName"]
        complain(errors, f"{path}.nodeName", node, names.check_dns_subdomain(node))
    if endpoint.get("hostname"):
        name = endpoint["hostname"]
        complain(errors, f"{path}.hostname", name, names.check_dns_label(name))


def _check_reachable(errors: Errors, path: str, text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address that other machines can reach.  Returns it, or None for text that is no address."""
    before = len(errors)
    check_ip(errors, path, text)
    if len(errors) > before:
        return None
    address = ipaddress.ip_address(text)
    if address.is_unspecified:
        errors.append(invalid(path, text, f"may not be unspecified ({text})"))
    if address.is_loopback:
        errors.append(invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if address.is_link_local:
        reported = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
        errors.append(invalid(path, text, reported))
    if address.is_multicast and str(address).startswith(("224.0.0.", "ff02:")):
        reported = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        errors.append(invalid(path, text, reported))
    return address


def check_endpoint_slice_update(errors: Errors, new: Document, old: Document) -> None:
    check_endpoint_slice(errors, new)
    check_same(errors, "addressType", new.get("addressType"), old.get("addressType"))


def check_network_policy(errors: Errors, document: Document) -> None:
    spec: Document = document.get("spec") or {}
    check_selector(errors, "spec.podSelector", spec.get("podSelector"))
    for direction, side in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            at = f"spec.{direction}[{index}]"
            for number, port in enumerate(rule.get("ports") or ()):
                _check_policy_port(errors, f"{at}.ports[{number}]", port)
            for number, peer in enumerate(rule.get(side) or ()):
                _check_peer(errors, f"{at}.{side}[{number}]", peer)
    kinds = spec.get("policyTypes") or ()
    if len(kinds) > 2:
        errors.append(invalid("spec.policyTypes", kinds, "may not specify more than two policyTypes"))
    for index, kind in enumerate(kinds):
        if kind not in ("Ingress", "Egress"):
            errors.append(unsupported(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress")))


def _check_policy_port(errors: Errors, path: str, port: Document) -> None:
    protocol = port.get("protocol")
    if protocol is not None and protocol not in _PROTOCOLS:
        errors.append(unsupported(f"{path}.protocol", protocol, ("TCP", "UDP", "SCTP")))
    number, last = port.get("port"), port.get("endPort")
    if number is None:
        if last is not None:
            reported = "may not be specified when `port` is not specified"
            errors.append(invalid(f"{path}.endPort", last, reported))
        return
    check_port_or_name(errors, f"{path}.port", number)
    if last is None:
        return
    if isinstance(number, str):
        errors.append(invalid(f"{path}.endPort", last, "may not be specified when `port` is non-numeric"))
        return
    if last < number:
        errors.append(invalid(f"{path}.endPort", number, "must be greater than or equal to `port`"))
    complain(errors, f"{path}.endPort", last, names.check_port_number(last))


def _check_peer(errors: Errors, path: str, peer: Document) -> None:
    check_selector(errors, f"{path}.podSelector", peer.get("podSelector"))
    check_selector(errors, f"{path}.namespaceSelector", peer.get("namespaceSelector"))
    if not peer:
        errors.append(required(path, "must specify a peer"))
    block = peer.get("ipBlock")
    if block is None:
        return
    if len(peer) > 1:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    cidr = block.get("cidr", "")
    if not cidr:
        errors.append(required(f"{path}.ipBlock.cidr"))
        return
    before = len(errors)
    check_cidr(errors, f"{path}.ipBlock.cidr", cidr)
    for index, each in enumerate(block.get("except") or ()):
        at = f"{path}.ipBlock.except[{index}]"
        check_cidr(errors, at, each)
        if len(errors) > before:
            continue
        inner, outer = ipaddress.ip_network(each, strict=False), ipaddress.ip_network(cidr, strict=False)
        inside = inner.version == outer.version and inner.network_address in outer
        if not inside or inner.prefixlen <= outer.prefixlen:
            errors.append(invalid(at, each, "must be a strict subset of `cidr`"))
