"""Every reason for which something is not placed: a code, a sentence with numbers, and what would help.

A refusal is a value, never an exception.  Conditions, events, commands and metrics print from here, so the same
cause reads the same everywhere, and an event's code says which kind of change could lift it.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class Lift(Enum):
    """What kind of event can make a refusal wrong."""

    ROOM = "room on a node"
    NODES = "a node's labels, taints or readiness"
    QUEUE = "a queue's limit or use"
    MEMBERS = "members of the gang"
    SPEC = "the spec itself"
    TIME = "time"


class Reason(msgspec.Struct, frozen=True):
    """One kind of refusal.  `sentence` is filled in with a refusal's facts; `hint` says what to do."""

    code: str
    sentence: str
    hint: str
    lift: Lift


def _reason(code: str, sentence: str, hint: str, lift: Lift) -> Reason:
    return Reason(code, sentence, hint, lift)


NO_ROOM = _reason(
    "InsufficientRoom",
    "insufficient {resource}: needs {need}, at most {have} free",
    "wait for room, ask for less, or add nodes",
    Lift.ROOM,
)
SELECTOR = _reason(
    "NodeSelectorMismatch",
    "node(s) didn't match the node selector or affinity",
    "label a node or correct the selector",
    Lift.NODES,
)
TAINT = _reason(
    "UntoleratedTaint", "node(s) had untolerated taint {taint}", "tolerate the taint or remove it", Lift.NODES
)
CORDONED = _reason("NodeUnschedulable", "node(s) were unschedulable", "uncordon a node", Lift.NODES)
PORT = _reason("PortTaken", "node(s) had host port {port} taken", "wait, or choose another port", Lift.ROOM)
VOLUME_REACH = _reason(
    "VolumeOutOfReach",
    "node(s) didn't reach the volumes the pod claims",
    "free the nodes that reach the volumes, or move the data",
    Lift.NODES,
)
VOLUME_ZONE = _reason(
    "VolumeZoneMismatch",
    "node(s) were in another zone than the pod's volumes",
    "add nodes in the zone of the volumes",
    Lift.NODES,
)
VOLUME_LIMIT = _reason(
    "VolumeLimit",
    "node(s) had as many volumes attached as their driver allows",
    "wait until volumes are detached, or add nodes",
    Lift.ROOM,
)
VOLUMES_TAKEN = _reason(
    "VolumesTaken",
    "node(s) reached no volume that is still free for the pod's claims",
    "add volumes, or free some",
    Lift.ROOM,
)
CLAIM_IN_USE = _reason(
    "ClaimInUse",
    "another pod uses a volume claim that only one pod may use",
    "wait until that pod has ended, or give this one a claim of its own",
    Lift.ROOM,
)
UNBOUND_VOLUME = _reason(
    "VolumeNotBound",
    "volume claims cannot be used: {claims}",
    "create the claims, or see why they are not bound",
    Lift.SPEC,
)
VOLUME_FAILED = _reason(
    "VolumeBindingFailed",
    "claim {claim} got no volume for node {node}: {detail}",
    "see the events of the claim; the pod is tried again",
    Lift.TIME,
)
DEVICE_CLAIM = _reason(
    "DeviceClaimUnsupported",
    "claims on devices are not supported: {claims}",
    "ask for devices by resource name (such as nvidia.com/gpu) instead of resourceClaims",
    Lift.SPEC,
)
DEVICE_MODEL = _reason(
    "DeviceModelMismatch",
    "node(s) had no {wanted}",
    "add nodes with such devices, or ask for another model",
    Lift.NODES,
)
DEVICE_ROOM = _reason(
    "DevicesTaken",
    "node(s) had too little free of their devices for {wanted}",
    "wait for room, or ask for a smaller share",
    Lift.ROOM,
)
PEER_AFFINITY = _reason(
    "PodAffinityMismatch",
    "node(s) weren't near the pods that the pod affinity asks for",
    "start those pods first, or relax the affinity",
    Lift.ROOM,
)
PEER_ANTI_AFFINITY = _reason(
    "PodAntiAffinityMismatch",
    "node(s) were near pods that the pod anti-affinity shuns",
    "add nodes, or relax the anti-affinity",
    Lift.ROOM,
)
ANTI_AFFINITY = _reason(
    "KeptOutByPods",
    "node(s) held pods whose anti-affinity keeps this pod away",
    "add nodes, or relax those pods' anti-affinity",
    Lift.ROOM,
)
SPREAD = _reason(
    "TopologySpreadMismatch",
    "node(s) would have made the topology spread too uneven",
    "add nodes in the emptier domains, or raise maxSkew",
    Lift.ROOM,
)
NODE_GROUP = _reason(
    "NodeGroupMismatch",
    "node(s) were not of a node group that queue {queue} may use",
    "label nodes with the queue's groups, or change the queue's affinity",
    Lift.NODES,
)
NODE_GROUP_LIMIT = _reason(
    "NodeGroupLimit",
    "node(s) were of a node group of which queue {queue} has used up its limit",
    "wait for the queue's own jobs, or raise its limit for the group",
    Lift.QUEUE,
)
NO_NODES = _reason("NoNodes", "there are no nodes", "add nodes", Lift.NODES)
UNPLACEABLE = _reason(
    "Unschedulable",
    "0/{nodes} nodes are available: {causes}",
    "wait for room, ask for less, or change the nodes",
    Lift.ROOM,
)
FAILED = _reason(
    "PluginFailed",
    "{who} failed: {error}",
    "correct the plugin or action, or take it out of the profile; the log has the trace",
    Lift.TIME,
)
PLUGIN = _reason("RefusedByPlugin", "{plugin}: {message}", "see the plugin", Lift.NODES)
QUEUE_LIMIT = _reason(
    "QueueLimit",
    "queue {queue} would have {use} of {resource}, its limit is {limit}",
    "wait for the queue's own jobs, or raise its limit",
    Lift.QUEUE,
)
QUEUE_CLOSED = _reason("QueueClosed", "queue {queue} is not open", "open the queue", Lift.QUEUE)
QUEUE_OVERUSED = _reason(
    "QueueOverShare", "queue {queue} has used up its share", "wait until others give back", Lift.QUEUE
)
NO_QUEUE = _reason("QueueMissing", "queue {queue} does not exist", "create it or name another", Lift.QUEUE)
NOT_LEAF = _reason(
    "QueueNotLeaf", "queue {queue} has queues below it and takes no jobs itself", "name a leaf queue", Lift.QUEUE
)
QUEUE_BLOCKED = _reason(
    "QueueInOrder",
    "queue {queue} serves strictly in order, and {gang} is before this one and cannot be placed",
    "wait for those before it, or let the queue be traversed",
    Lift.QUEUE,
)
QUEUE_PARENT_MISSING = _reason(
    "QueueParentMissing",
    "queue {queue} names the parent {parent}, which does not exist; it is treated as a child of the root",
    "create the parent or name another",
    Lift.QUEUE,
)
QUEUE_CYCLE = _reason(
    "QueueCycle",
    "queue {queue} is its own ancestor ({cycle}); {cut} is treated as a child of the root instead",
    "give one of the queues another parent",
    Lift.QUEUE,
)
QUEUE_NEGATIVE = _reason(
    "QueueNegativeAmount",
    "queue {queue} has {amount} of {resource} as {field}; it is treated as {taken}",
    "correct the amount",
    Lift.QUEUE,
)
QUEUE_GUARANTEE = _reason(
    "QueueGuaranteeAboveLimit",
    "queue {queue} is guaranteed {guarantee} of {resource} and may have {limit}; {limit} are guaranteed",
    "lower the guarantee or raise the capability",
    Lift.QUEUE,
)
QUEUE_PROMISES = _reason(
    "QueueGuaranteesAboveLimit",
    "the queues below {queue} are guaranteed {guarantee} of {resource} together, and it may have {limit}",
    "lower the guarantees below it or raise its capability",
    Lift.QUEUE,
)
TOO_FEW = _reason(
    "NotEnoughMembers",
    "the gang needs {need} members and has {have}",
    "create the missing pods or lower the minimum",
    Lift.MEMBERS,
)
TOO_FEW_GROUPS = _reason(
    "NotEnoughSubGroups",
    "the gang needs {need} sub-groups of policy {policy} and has {have}",
    "create the missing pods, or lower minSubGroups",
    Lift.MEMBERS,
)
TOO_FEW_OF_ROLE = _reason(
    "NotEnoughMembersOfRole",
    "the gang needs {need} members of role {role} and has {have}",
    "create the missing pods or lower the minimum",
    Lift.MEMBERS,
)
GANG = _reason(
    "GangIncomplete",
    "{placed} of {need} members could be placed; {cause}",
    "wait for room for all of them, or lower the minimum",
    Lift.ROOM,
)
HALF_BOUND = _reason(
    "GangHalfBound",
    "{bound} of {need} members are bound, and the others find no place: {cause}; "
    "the bound ones keep theirs, because no controller would create them again",
    "make room for the others, or delete the pods",
    Lift.ROOM,
)
BIND_REFUSED = _reason(
    "BindRefused",
    "the API server refused to bind {pod} to {node}: {detail}",
    "see what the server minds; the pod is tried again",
    Lift.TIME,
)
NOT_ADMITTED = _reason(
    "NotAdmitted",
    "not admitted: it needs at least {need} of {resource}, and {have} are free",
    "wait for room, or lower the minimum",
    Lift.QUEUE,
)
ADMISSION_FULL = _reason(
    "AdmissionFull",
    "not admitted: what queue {queue} may use, and what was admitted before, leave no room for its minimum",
    "wait for those before it, raise the queue's limit, or lower the minimum",
    Lift.QUEUE,
)
MEMBERS_HELD = _reason(
    "MembersHeldBack",
    "members held back by scheduling gates, another scheduler or faults of their own: {count}",
    "lift the gates, or correct those pods",
    Lift.MEMBERS,
)
GATED = _reason("SchedulingGated", "gated: its scheduling gates are not lifted", "remove the gates", Lift.SPEC)
BAD_SPEC = _reason("InvalidSpec", "{field}: {detail}", "correct the object", Lift.SPEC)
TWO_GANGS = _reason(
    "AmbiguousGang",
    "it belongs to {first} and to {second}, and can be in one group only",
    "leave one of the two out",
    Lift.SPEC,
)
TWO_QUEUES = _reason(
    "AmbiguousQueue",
    "it names {first} and {second}, and can be in one queue only",
    "leave one of the two out",
    Lift.SPEC,
)
NO_GANG = _reason("GroupMissing", "{group} does not exist", "create it", Lift.MEMBERS)
GROUP_INCOMPLETE = _reason(
    "GangGroupIncomplete",
    "it starts together with {awaited}, which cannot start yet",
    "see why those wait",
    Lift.ROOM,
)
NODE_OWNED = _reason("NodeOwned", "node(s) belonged to queue {queue}", "name that queue, or add nodes", Lift.NODES)
GROUP_AWAITED = _reason(
    "GroupAwaited", "{group} has not been made yet", "see whether podium's controllers run", Lift.MEMBERS
)


class Refusal(msgspec.Struct, frozen=True):
    """A reason with its facts."""

    reason: Reason
    facts: dict[str, object] = {}

    @property
    def code(self) -> str:
        return self.reason.code

    @property
    def lift(self) -> Lift:
        """What kind of event can lift it; what holds a gang up is what holds its task up."""
        cause = self.facts.get("cause")
        return cause.lift if isinstance(cause, Refusal) else self.reason.lift

    def __str__(self) -> str:
        return self.reason.sentence.format(**self.facts)


def refuse(reason: Reason, **facts: object) -> Refusal:
    return Refusal(reason, facts)
