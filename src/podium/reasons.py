"""Every reason for which something is not placed: a code, a sentence with numbers, and what would help.

A refusal is a value, never an exception.  Conditions, events, commands and metrics print from here, so the same
cause reads the same everywhere.  What each reason is about is a struct of `numbers`, and `wake_on` are the events
that can make it wrong.  Those that a queue or a quota gives are in `queue_reasons`.
"""

from __future__ import annotations

from podium.numbers import (
    BindAnswer,
    Broken,
    Claims,
    Count,
    DevicesWanted,
    Field,
    Final,
    Group,
    HalfBound,
    HeldPlace,
    Incomplete,
    Members,
    Nothing,
    Partners,
    Places,
    Ports,
    Promise,
    Resource,
    Says,
    Spec,
    TaintKey,
    TwoGroups,
    VolumeWait,
    Waited,
)
from podium.queue_numbers import QueueName
from podium.refusal import Reason, Refusal, WakeOn, both, refuse

__all__ = ["Reason", "Refusal", "WakeOn", "both", "refuse"]

NO_ROOM = Reason(
    "InsufficientRoom",
    Resource,
    "Insufficient {resource}",
    "wait for room, ask for less, or add nodes",
    WakeOn.ROOM,
)
TOO_LARGE = Reason(
    "NodeTooSmall",
    Resource,
    "Insufficient {resource}",
    "ask for less, or add larger nodes",
    WakeOn.NODES,
)
SELECTOR = Reason(
    "NodeSelectorMismatch",
    Nothing,
    "node(s) didn't match the node selector or affinity",
    "label a node or correct the selector",
    WakeOn.NODES,
)
TAINT = Reason(
    "UntoleratedTaint",
    TaintKey,
    "node(s) had untolerated taint {taint}",
    "tolerate the taint or remove it",
    WakeOn.NODES,
)
CORDONED = Reason("NodeUnschedulable", Nothing, "node(s) were unschedulable", "uncordon a node", WakeOn.NODES)
NOT_READY = Reason(
    "NodeNotReady", Nothing, "node(s) were not ready", "see why the nodes are not ready", WakeOn.NODES
)
PORT = Reason(
    "PortTaken", Ports, "node(s) had host port {port} taken", "wait, or choose another port", WakeOn.ROOM
)
VOLUME_REACH = Reason(
    "VolumeOutOfReach",
    Nothing,
    "node(s) didn't reach the volumes the pod claims",
    "free the nodes that reach the volumes, or move the data",
    WakeOn.NODES,
)
VOLUME_ZONE = Reason(
    "VolumeZoneMismatch",
    Nothing,
    "node(s) were in another zone than the pod's volumes",
    "add nodes in the zone of the volumes",
    WakeOn.NODES,
)
VOLUME_LIMIT = Reason(
    "VolumeLimit",
    Nothing,
    "node(s) had as many volumes attached as their driver allows",
    "wait until volumes are detached, or add nodes",
    WakeOn.ROOM,
)
VOLUMES_TAKEN = Reason(
    "VolumesTaken",
    Nothing,
    "node(s) reached no volume that is still free for the pod's claims",
    "add volumes, or free some",
    WakeOn.ROOM,
)
CLAIM_IN_USE = Reason(
    "ClaimInUse",
    Nothing,
    "another pod uses a volume claim that only one pod may use",
    "wait until that pod has ended, or give this one a claim of its own",
    WakeOn.ROOM,
)
UNBOUND_VOLUME = Reason(
    "VolumeNotBound",
    Claims,
    "volume claims cannot be used: {claims}",
    "create the claims, or see why they are not bound",
    WakeOn.SPEC,
)
VOLUME_FAILED = Reason(
    "VolumeBindingFailed",
    VolumeWait,
    "claim {claim} got no volume for node {node}: {detail}",
    "see the events of the claim; the pod is tried again",
    WakeOn.TIME,
)
DEVICE_CLAIM = Reason(
    "DeviceClaimUnsupported",
    Claims,
    "claims on devices are not supported: {claims}",
    "ask for devices by resource name (such as nvidia.com/gpu) instead of resourceClaims",
    WakeOn.SPEC,
)
DEVICE_MODEL = Reason(
    "DeviceModelMismatch",
    DevicesWanted,
    "node(s) had no {wanted}",
    "add nodes with such devices, or ask for another model",
    WakeOn.NODES,
)
DEVICE_ROOM = Reason(
    "DevicesTaken",
    DevicesWanted,
    "node(s) had too little free of their devices for {wanted}",
    "wait for room, or ask for a smaller share",
    WakeOn.ROOM,
)
PEER_AFFINITY = Reason(
    "PodAffinityMismatch",
    Nothing,
    "node(s) weren't near the pods that the pod affinity asks for",
    "start those pods first, or relax the affinity",
    WakeOn.ROOM,
)
PEER_ANTI_AFFINITY = Reason(
    "PodAntiAffinityMismatch",
    Nothing,
    "node(s) were near pods that the pod anti-affinity shuns",
    "add nodes, or relax the anti-affinity",
    WakeOn.ROOM,
)
ANTI_AFFINITY = Reason(
    "KeptOutByPods",
    Nothing,
    "node(s) held pods whose anti-affinity keeps this pod away",
    "add nodes, or relax those pods' anti-affinity",
    WakeOn.ROOM,
)
SPREAD = Reason(
    "TopologySpreadMismatch",
    Nothing,
    "node(s) would have made the topology spread too uneven",
    "add nodes in the emptier domains, or raise maxSkew",
    WakeOn.ROOM,
)
NODE_GROUP = Reason(
    "NodeGroupMismatch",
    QueueName,
    "node(s) were not of a node group that queue {queue} may use",
    "label nodes with the queue's groups, or change the queue's affinity",
    WakeOn.NODES,
    WakeOn.QUEUE,
)
NODE_GROUP_LIMIT = Reason(
    "NodeGroupLimit",
    QueueName,
    "node(s) were of a node group of which queue {queue} has used up its limit",
    "wait for the queue's own jobs, or raise its limit for the group",
    WakeOn.QUEUE,
)
FILTERED = Reason(
    "FilteredOut",
    Nothing,
    "node(s) were filtered out",
    "see the plugins of the profile",
    WakeOn.ROOM,
    WakeOn.NODES,
)
NO_NODES = Reason("NoNodes", Nothing, "there are no nodes", "add nodes", WakeOn.NODES)
UNPLACEABLE = Reason(
    "Unschedulable",
    Places,
    "{summary}; 0/{nodes} nodes are available: {causes}",
    "wait for room, ask for less, or change the nodes",
    WakeOn.ROOM,
)
FAILED = Reason(
    "PluginFailed",
    Broken,
    "{who} failed: {error}",
    "correct the plugin or action, or take it out of the profile; the log has the trace",
    WakeOn.TIME,
)
PLUGIN = Reason(
    "RefusedByPlugin", Says, "{plugin}: {message}", "see the plugin", WakeOn.ROOM, WakeOn.NODES, WakeOn.QUEUE
)
TOO_FEW = Reason(
    "NotEnoughMembers",
    Members,
    "the gang needs {need} members and has {have}{by}",
    "create the missing pods or lower the minimum",
    WakeOn.MEMBERS,
)
TOO_FEW_GROUPS = Reason(
    "NotEnoughSubGroups",
    Members,
    "the gang needs {need} sub-groups of policy {policy} and has {have}",
    "create the missing pods, or lower minSubGroups",
    WakeOn.MEMBERS,
)
TOO_FEW_OF_ROLE = Reason(
    "NotEnoughMembersOfRole",
    Members,
    "the gang needs {need} members of role {role} and has {have}",
    "create the missing pods or lower the minimum",
    WakeOn.MEMBERS,
)
GANG = Reason(
    "GangIncomplete",
    Incomplete,
    "{never}{placed} of {need} members could be placed; {cause}",
    "wait for room for all of them, or lower the minimum",
    WakeOn.ROOM,
)
HALF_BOUND = Reason(
    "GangHalfBound",
    HalfBound,
    "{bound} of {need} members are bound, and the others find no place: {cause}; "
    "the bound ones keep theirs, because no controller would create them again",
    "make room for the others, or delete the pods",
    WakeOn.ROOM,
)
NEVER_FITS = Reason(
    "NeverFits",
    Final,
    "so many of its pods fit on no node, were all nodes empty, that it cannot start: {cause}",
    "ask for less, or add nodes that can take the pods",
    WakeOn.NODES,
)
GIVEN_UP = Reason(
    "GivenUp",
    Final,
    "it is given up: {cause}",
    "ask for less or add nodes, and submit it again; or let it wait for longer",
    WakeOn.NODES,
)
HELD = Reason(
    "WaitingForGang",
    HeldPlace,
    "held on {node} for gang {gang}: {placed} of {need}",
    "see why the others wait",
    WakeOn.ROOM,
)
PROMISED = Reason(
    "PlacePromised",
    Promise,
    "it has a place on {node} and waits for others to leave",
    "wait, or see what is slow to leave there",
    WakeOn.ROOM,
)
TIMED_OUT = Reason(
    "GangTimedOut",
    Waited,
    "gang {gang} has timed out: places were held for {time}, and not all that start together had one{advice}",
    "give it room or more time, and let it be tried again",
    WakeOn.SPEC,
)
BIND_FAILED = Reason(
    "BindFailed",
    BindAnswer,
    "{pod} could not be bound to {node}: {detail}",
    "see what the API server minds; the pod is tried again",
    WakeOn.TIME,
)
MEMBERS_HELD = Reason(
    "MembersHeldBack",
    Count,
    "members held back by scheduling gates, another scheduler or faults of their own: {count}",
    "lift the gates, or correct those pods",
    WakeOn.MEMBERS,
)
BAD_SPEC = Reason("InvalidSpec", Spec, "{field}: {detail}", "correct the object", WakeOn.SPEC)
TWO_GANGS = Reason(
    "AmbiguousGang",
    TwoGroups,
    "it belongs to {first} and to {second}, and can be in one group only",
    "leave one of the two out",
    WakeOn.SPEC,
)
TWO_QUEUES = Reason(
    "AmbiguousQueue",
    TwoGroups,
    "it names {first} and {second}, and can be in one queue only",
    "leave one of the two out",
    WakeOn.SPEC,
)
GROUP_INCOMPLETE = Reason(
    "GangGroupIncomplete",
    Partners,
    "it starts together with {awaited}, which cannot start yet{by}",
    "see why those wait",
    WakeOn.ROOM,
)
NO_EFFECT = Reason("NoEffect", Field, "{field} has no effect", "leave it out", WakeOn.SPEC)
NO_GANG = Reason("GroupMissing", Group, "{group} does not exist{advice}", "create it", WakeOn.MEMBERS)
GROUP_AWAITED = Reason(
    "GroupAwaited", Group, "{group} has not been made yet", "see whether podium's controllers run", WakeOn.MEMBERS
)
