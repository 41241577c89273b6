"""What a spec asks of a node beside room, as plain frozen data.

Equal constraints and equal requests make one class of tasks.  A task's own labels are no part of its class: pods
of a set are often numbered by a label, and a gang of a hundred equal tasks must stay one class.  Who looks at a
task's labels is another task's term, so that is where they are counted: see `peers`.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from podium.numbers import WHOLE as WHOLE


class Requirement(msgspec.Struct, frozen=True):
    """One condition on a label: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeTerm(msgspec.Struct, frozen=True):
    """Conditions that must all hold, on labels and on the node's own name."""

    labels: tuple[Requirement, ...] = ()
    names: tuple[Requirement, ...] = ()


class Toleration(msgspec.Struct, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Port(msgspec.Struct, frozen=True):
    """A port of the node itself.  An empty address stands for all of them."""

    number: int
    protocol: str = "TCP"
    address: str = ""


class PodSelection(msgspec.Struct, frozen=True):
    """Which tasks a term looks at: by namespace and by labels.  None as labels selects nothing at all."""

    namespaces: tuple[str, ...] = ()
    labels: tuple[Requirement, ...] | None = ()
    namespace_labels: tuple[Requirement, ...] | None = None  # namespaces chosen by their labels, in addition


class PodTerm(msgspec.Struct, frozen=True):
    """Tasks of a selection, near or far: within one value of the topology label `key`."""

    key: str
    selection: PodSelection


class Spread(msgspec.Struct, frozen=True):
    """Tasks of a selection evenly over the values of a topology label."""

    key: str
    selection: PodSelection
    max_skew: int = 1
    hard: bool = True
    by_node: bool = False  # every node is a domain of its own
    min_domains: int = 1
    honor_affinity: bool = True  # only nodes that the task's node affinity admits count
    honor_taints: bool = False  # only nodes whose taints the task tolerates count


class VolumeOption(msgspec.Struct, frozen=True, cache_hash=True):
    """One way to serve a claim: a volume there is or can be made, and the nodes that reach it (None: all)."""

    terms: tuple[NodeTerm, ...] | None = None
    fullness: float = 0.0  # how much of it the claim would use, 0 to 1; closer fits waste less
    volume: str = ""  # a free one that the claim would take; "" when it has its volume, or one would be made


class Sharing(Enum):
    """How many may use a volume at once."""

    TASK = "one task"
    NODE = "the tasks of one node"
    NODES = "tasks anywhere"


class Claim(msgspec.Struct, frozen=True, cache_hash=True):
    """A volume claim: a node must reach one of its options, of which the first that is free is taken.

    A claim that several tasks name has a key: what is chosen for one of them is chosen for all.  Others have none,
    so that tasks with a claim each are still of one class.
    """

    options: tuple[VolumeOption, ...]
    open: bool = False  # it has no volume yet: that is decided together with the node
    key: str = ""
    sharing: Sharing = Sharing.NODES

    @property
    def contested(self) -> bool:
        """Whether it matters what other tasks have taken."""
        return bool(self.key) or (self.open and any(option.volume for option in self.options))


class Attachment(msgspec.Struct, frozen=True):
    """A volume that counts against a node's limit for its driver.

    One with a handle is shared: it counts once on a node however many tasks use it.  Without a handle it is the
    task's own, so that tasks with a volume each are still of one class.
    """

    driver: str
    handle: str = ""


class DeviceRequest(msgspec.Struct, frozen=True):
    """A share of one device, in thousandths, or some whole ones; of certain models, or of any."""

    count: int = 1
    share: int = WHOLE
    models: tuple[str, ...] = ()


class Constraints(msgspec.Struct, frozen=True, cache_hash=True):
    """What a spec asks of a node beside room."""

    selector: tuple[tuple[str, str], ...] = ()
    required: tuple[NodeTerm, ...] | None = None  # any of them; None asks for nothing, () can never hold
    preferred: tuple[tuple[int, NodeTerm], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    cordoned: bool = False  # it may go to nodes that are closed to others
    ports: tuple[Port, ...] = ()
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    preferred_peers: tuple[tuple[int, PodTerm], ...] = ()  # a negative weight prefers to be apart
    spread: tuple[Spread, ...] = ()
    claims: tuple[Claim, ...] = ()
    zones: tuple[Requirement, ...] = ()  # where bound volumes are: zone and region labels with their values
    zone_labels: tuple[str, ...] = ()  # a node with none of these is not held to a zone
    attachments: tuple[Attachment, ...] = ()
    unbound: tuple[str, ...] = ()  # claims that no node can serve as they are, each with why
    devices: DeviceRequest | None = None
    device_claims: tuple[str, ...] = ()  # claims on devices by name (DRA): not understood, so refused
    images: tuple[str, ...] = ()

    @property
    def contested(self) -> bool:
        """Whether there are claims for which it matters what other tasks have taken."""
        return any(claim.contested for claim in self.claims)
