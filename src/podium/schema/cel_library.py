"""The functions that Kubernetes adds to CEL: lists, sets, regular expressions, URLs, addresses and quantities.

A real server has types of its own for quantities, addresses, networks and URLs.  Here each is a string in one
normal form, made by its constructor: equal values are equal strings, and what the constructor refuses never gets
to a method.  An exception raised here becomes an error of the expression, as it should.
"""

from __future__ import annotations

import ipaddress
import itertools
from collections.abc import Callable
from typing import Any
from urllib.parse import SplitResult, urlsplit

import re2
from cel_expr_python import cel

from podium.kube.quantity import QuantityError, exact_nanos
from podium.schema.values import compiled_pattern

_BOOL, _INT, _TEXT, _DOUBLE, _DYN = (
    cel.Type.BOOL,
    cel.Type.INT,
    cel.Type.STRING,
    cel.Type.DOUBLE,
    cel.Type.DYN,
)
_LIST = cel.Type.List(cel.Type.DYN)
_TEXTS = cel.Type.List(cel.Type.STRING)

_NANO = 10**9


def library() -> cel.CelExtension:
    """All of them, as one extension of a CEL environment."""
    return cel.CelExtension("kubernetes", [*_lists(), *_texts(), *_urls(), *_addresses(), *_quantities()])


def _function(name: str, *overloads: tuple[list[Any], Any, Callable[..., Any]], member: bool = True) -> Any:
    return cel.FunctionDecl(
        name,
        [
            cel.Overload(f"kubernetes_{name}_{index}".replace(".", "_"), result, parameters, member, body)
            for index, (parameters, result, body) in enumerate(overloads)
        ],
    )


# --- lists and sets ----------------------------------------------------------------------------------------


def _lists() -> list[Any]:
    return [
        _function("isSorted", ([_LIST], _BOOL, _is_sorted)),
        _function("sum", ([_LIST], _DYN, lambda items: sum(list(items)))),
        _function("min", ([_LIST], _DYN, lambda items: _some("min", items, min))),
        _function("max", ([_LIST], _DYN, lambda items: _some("max", items, max))),
        _function("indexOf", ([_LIST, _DYN], _INT, lambda items, item: _index(list(items), item))),
        _function("lastIndexOf", ([_LIST, _DYN], _INT, _last_index)),
        _function("sets.contains", ([_LIST, _LIST], _BOOL, _contains), member=False),
        _function(
            "sets.equivalent",
            ([_LIST, _LIST], _BOOL, lambda one, other: _contains(one, other) and _contains(other, one)),
            member=False,
        ),
        _function(
            "sets.intersects",
            ([_LIST, _LIST], _BOOL, lambda one, other: any(item in list(other) for item in one)),
            member=False,
        ),
    ]


def _is_sorted(items: Any) -> bool:
    values = list(items)
    return all(one <= other for one, other in itertools.pairwise(values))


def _some(name: str, items: Any, choose: Callable[[list[Any]], Any]) -> Any:
    values = list(items)
    if not values:
        raise ValueError(f"{name} called on empty list")
    return choose(values)


def _index(items: list[Any], item: Any) -> int:
    return items.index(item) if item in items else -1


def _last_index(items: Any, item: Any) -> int:
    values = list(items)
    place = _index(values[::-1], item)
    return -1 if place < 0 else len(values) - 1 - place


def _contains(items: Any, wanted: Any) -> bool:
    values = list(items)
    return all(item in values for item in wanted)


# --- regular expressions -----------------------------------------------------------------------------------


def _texts() -> list[Any]:
    return [
        _function("find", ([_TEXT, _TEXT], _TEXT, _find)),
        _function(
            "findAll",
            ([_TEXT, _TEXT], _TEXTS, lambda text, pattern: _find_all(text, pattern, -1)),
            ([_TEXT, _TEXT, _INT], _TEXTS, lambda text, pattern, most: _find_all(text, pattern, most)),
        ),
    ]


def _find(text: str, pattern: str) -> str:
    found = _compiled(pattern).search(text)
    return found.group(0) if found else ""


def _find_all(text: str, pattern: str, most: int) -> list[str]:
    found = [each.group(0) for each in _compiled(pattern).finditer(text)]
    return found if most < 0 else found[:most]


def _compiled(pattern: str) -> Any:
    try:
        return compiled_pattern(pattern)
    except re2.error as error:
        raise ValueError(f"illegal regex: {error}") from None


# --- URLs --------------------------------------------------------------------------------------------------


def _urls() -> list[Any]:
    def part(name: str, read: Callable[[SplitResult], str]) -> Any:
        return _function(name, ([_TEXT], _TEXT, lambda text: read(urlsplit(text))))

    return [
        _function("url", ([_TEXT], _TEXT, _url), member=False),
        _function("isURL", ([_TEXT], _BOOL, lambda text: _accepts(_url, text)), member=False),
        part("getScheme", lambda url: url.scheme),
        part("getHost", lambda url: url.netloc.rpartition("@")[2]),
        part("getHostname", lambda url: url.hostname or ""),
        part("getPort", lambda url: str(url.port) if url.port is not None else ""),
        part("getEscapedPath", lambda url: url.path),
    ]


def _url(text: str) -> str:
    parts = urlsplit(text)
    if not parts.scheme and not text.startswith("/"):
        raise ValueError(f"URL parse error during conversion from string: {text!r} has no scheme")
    _ = parts.port  # raises for a port that is no number
    return text


def _accepts(parse: Callable[[str], Any], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


# --- addresses and networks --------------------------------------------------------------------------------

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def _addresses() -> list[Any]:
    def of_address(name: str, result: Any, read: Callable[[_Address], Any]) -> Any:
        return _function(name, ([_TEXT], result, lambda text: read(ipaddress.ip_address(text))))

    return [
        # On a network `ip()` is its address; on a text it makes one.
        cel.FunctionDecl(
            "ip",
            [
                cel.Overload("kubernetes_ip_make", _TEXT, [_TEXT], False, lambda text: str(_address(text))),
                cel.Overload("kubernetes_ip_of", _TEXT, [_TEXT], True, lambda text: str(_network(text).ip)),
            ],
        ),
        _function("isIP", ([_TEXT], _BOOL, lambda text: _accepts(_address, text)), member=False),
        _function("ip.isCanonical", ([_TEXT], _BOOL, lambda text: str(_address(text)) == text), member=False),
        of_address("family", _INT, lambda address: address.version),
        of_address("isUnspecified", _BOOL, lambda address: address.is_unspecified),
        of_address("isLoopback", _BOOL, lambda address: address.is_loopback),
        of_address("isLinkLocalUnicast", _BOOL, lambda address: address.is_link_local),
        of_address(
            "isLinkLocalMulticast",
            _BOOL,
            lambda address: any(address in network for network in _LINK_LOCAL_MULTICAST),
        ),
        of_address(
            "isGlobalUnicast",
            _BOOL,
            lambda address: (
                not (
                    address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
                )
            ),
        ),
        _function("cidr", ([_TEXT], _TEXT, lambda text: str(_network(text))), member=False),
        _function("isCIDR", ([_TEXT], _BOOL, lambda text: _accepts(_network, text)), member=False),
        _function("containsIP", ([_TEXT, _TEXT], _BOOL, _contains_address)),
        _function("containsCIDR", ([_TEXT, _TEXT], _BOOL, _contains_network)),
        _function("masked", ([_TEXT], _TEXT, lambda text: str(_network(text).network))),
        _function("prefixLength", ([_TEXT], _INT, lambda text: _network(text).network.prefixlen)),
    ]


_LINK_LOCAL_MULTICAST = (ipaddress.ip_network("224.0.0.0/24"), ipaddress.ip_network("ff02::/16"))


def _address(text: str) -> _Address:
    if "%" in text:
        raise ValueError(f"IP address {text!r} parse error: zones are not allowed")
    return ipaddress.ip_address(text)


def _network(text: str) -> _Network:
    if "/" not in text or "%" in text:
        raise ValueError(f"network address parse error: {text!r} is not a CIDR")
    return ipaddress.ip_interface(text)


def _contains_address(network: str, address: str) -> bool:
    return _address(address) in _network(network).network


def _contains_network(outer: str, inner: str) -> bool:
    one, other = _network(outer).network, _network(inner).network
    return one.version == other.version and other.prefixlen >= one.prefixlen and other.network_address in one


# --- quantities --------------------------------------------------------------------------------------------


def _quantities() -> list[Any]:
    def compare(name: str, test: Callable[[int, int], Any], result: Any = _BOOL) -> Any:
        return _function(
            name, ([_TEXT, _TEXT], result, lambda one, other: test(exact_nanos(one), exact_nanos(other)))
        )

    def arithmetic(name: str, compute: Callable[[int, int], int]) -> Any:
        return _function(
            name,
            ([_TEXT, _TEXT], _TEXT, lambda one, other: _normal(compute(exact_nanos(one), exact_nanos(other)))),
            ([_TEXT, _INT], _TEXT, lambda one, other: _normal(compute(exact_nanos(one), other * _NANO))),
        )

    return [
        _function("quantity", ([_TEXT], _TEXT, lambda text: _normal(exact_nanos(text))), member=False),
        _function("isQuantity", ([_TEXT], _BOOL, _is_quantity), member=False),
        compare("isLessThan", lambda one, other: one < other),
        compare("isGreaterThan", lambda one, other: one > other),
        compare("compareTo", lambda one, other: (one > other) - (one < other), _INT),
        arithmetic("add", lambda one, other: one + other),
        arithmetic("sub", lambda one, other: one - other),
        _function("sign", ([_TEXT], _INT, lambda text: _sign(exact_nanos(text)))),
        _function("isInteger", ([_TEXT], _BOOL, lambda text: exact_nanos(text) % _NANO == 0)),
        _function("asInteger", ([_TEXT], _INT, _as_integer)),
        _function("asApproximateFloat", ([_TEXT], _DOUBLE, lambda text: exact_nanos(text) / _NANO)),
    ]


def _is_quantity(text: str) -> bool:
    try:
        exact_nanos(text)
    except QuantityError:
        return False
    return True


def _normal(nanos: int) -> str:
    """The one spelling of a quantity: a plain decimal number."""
    whole, rest = divmod(abs(nanos), _NANO)
    text = f"{whole}.{rest:09}".rstrip("0").rstrip(".")
    return f"-{text}" if nanos < 0 else text


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _as_integer(text: str) -> int:
    nanos = exact_nanos(text)
    if nanos % _NANO:
        raise ValueError("cannot convert value to integer")
    return nanos // _NANO
