"""Addresses of simulated nodes and of the pods on them.

Node number i has the i-th address of 172.16.0.0/12 and lends its pods the i-th /24 of 10.128.0.0/9.  A node that
brings a range of its own keeps it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

MOST_NODES = 1 << 15

_FIRST_NODE = int(ipaddress.IPv4Address("172.16.0.2"))
_FIRST_POD = int(ipaddress.IPv4Address("10.128.0.0"))
_RANGE_BITS = 8


def pod_range(index: int) -> str:
    """The range from which node number `index` gives addresses to pods."""
    return f"{ipaddress.IPv4Address(_FIRST_POD + (index << _RANGE_BITS))}/{32 - _RANGE_BITS}"


def node_address(pod_cidr: str) -> str:
    """The node's own address: by its number, or the first of its range if that is not one of ours."""
    network = parse_range(pod_cidr)
    if network is None:
        return ""
    index, rest = divmod(int(network.network_address) - _FIRST_POD, 1 << _RANGE_BITS)
    if rest == 0 and 0 <= index < MOST_NODES and network.prefixlen == 32 - _RANGE_BITS:
        return str(ipaddress.IPv4Address(_FIRST_NODE + index))
    return str(network.network_address + 1)


@lru_cache(maxsize=1 << 15)
def parse_range(cidr: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """The range; None for none or for text that is no range."""
    try:
        return ipaddress.ip_network(cidr, strict=False) if cidr else None
    except ValueError:
        return None


class Ranges:
    """Which node has which range.  Gives a free one to a node that has none."""

    def __init__(self) -> None:
        self._of_node: dict[str, str] = {}
        self._taken: dict[str, str] = {}  # range -> node
        self._next = 0

    def note(self, node: str, cidr: str) -> None:
        """The node has this range, whoever gave it."""
        if self._of_node.get(node) != cidr:
            self.release(node)
            self._of_node[node] = cidr
            self._taken.setdefault(cidr, node)

    def take(self, node: str) -> str:
        """A range for the node, the same if asked again; empty when there is none left."""
        for _ in range(MOST_NODES):
            if node in self._of_node:
                break
            cidr = pod_range(self._next)
            self._next = (self._next + 1) % MOST_NODES
            if cidr not in self._taken:
                self.note(node, cidr)
        return self._of_node.get(node, "")

    def release(self, node: str) -> None:
        cidr = self._of_node.pop(node, "")
        if self._taken.get(cidr) == node:
            del self._taken[cidr]


class Lent:
    """The addresses of one range that pods have.

    Freed ones are given again as late as possible: an address that just belonged to another pod misleads people.
    """

    __slots__ = ("_last", "_taken")

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._last = 1  # the network's own address and the first one, the node's, are never lent

    def take(self, cidr: str) -> str:
        """A free address of the range; empty when there is none."""
        network = parse_range(cidr)
        if network is None:
            return ""
        size = min(network.num_addresses - 1, 1 << 16)  # without the broadcast address
        for _ in range(size):
            self._last = self._last + 1 if self._last + 1 < size else 2
            address = str(network.network_address + self._last) if self._last < size else ""
            if address and address not in self._taken:
                self._taken.add(address)
                return address
        return ""

    def free(self, address: str) -> None:
        self._taken.discard(address)
