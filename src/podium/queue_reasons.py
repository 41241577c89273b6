"""The reasons that queues, their nodes, quotas and limits of the cluster give.  See `reasons`."""

from __future__ import annotations

from podium.numbers import Contested, Field, Replaced
from podium.queue_numbers import (
    Admission,
    Ahead,
    CpuForGpu,
    LoadUse,
    QueueAmount,
    QueueCycle,
    QueueName,
    QueueParent,
    QueuePromise,
    QueueUse,
    QuotaUse,
)
from podium.refusal import Reason, WakeOn

QUEUE_LIMIT = Reason(
    "QueueLimit",
    QueueUse,
    "{use}, and {need} more would be too much",
    "wait for the queue's own jobs, or raise its limit",
    WakeOn.QUEUE,
)
QUEUE_CLOSED = Reason("QueueClosed", QueueName, "queue {queue} is not open", "open the queue", WakeOn.QUEUE)
QUEUE_OVERUSED = Reason(
    "QueueOverShare",
    QueueUse,
    "{use}, and {need} more would be too much",
    "wait until others give back",
    WakeOn.QUEUE,
)
QUEUE_STOPPED = Reason(
    "QueueStopped",
    QueueName,
    "queue {queue} may not take more now, by a plugin that gives no numbers",
    "see the plugins of the profile",
    WakeOn.ROOM,
    WakeOn.NODES,
    WakeOn.QUEUE,
)
NO_QUEUE = Reason(
    "QueueMissing", QueueName, "queue {queue} does not exist", "create it or name another", WakeOn.QUEUE
)
QUEUE_REPLACED = Reason(
    "QueueReplaced",
    Replaced,
    "queue {queue} does not exist, so it is in {owner}",
    "create it or name another",
    WakeOn.QUEUE,
)
NOT_LEAF = Reason(
    "QueueNotLeaf",
    QueueName,
    "queue {queue} has queues below it and takes no jobs itself",
    "name a leaf queue",
    WakeOn.QUEUE,
)
QUEUE_BLOCKED = Reason(
    "QueueInOrder",
    Ahead,
    "queue {queue} serves strictly in order, and {gang} is before this one and cannot be placed",
    "wait for those before it, or let the queue be traversed",
    WakeOn.QUEUE,
)
QUEUE_PARENT_MISSING = Reason(
    "QueueParentMissing",
    QueueParent,
    "queue {queue} names the parent {parent}, which does not exist; it is treated as a child of the root",
    "create the parent or name another",
    WakeOn.QUEUE,
)
QUEUE_CYCLE = Reason(
    "QueueCycle",
    QueueCycle,
    "queue {queue} is its own ancestor ({cycle}); {cut} is treated as a child of the root instead",
    "give one of the queues another parent",
    WakeOn.QUEUE,
)
QUEUE_NEGATIVE = Reason(
    "QueueNegativeAmount",
    QueueAmount,
    "queue {queue} has {amount} of {resource} as {field}; it is treated as {taken}",
    "correct the amount",
    WakeOn.QUEUE,
)
QUEUE_GUARANTEE = Reason(
    "QueueGuaranteeAboveLimit",
    QueuePromise,
    "queue {queue} is guaranteed {guarantee} of {resource} and may have {limit}; {limit} are guaranteed",
    "lower the guarantee or raise the capability",
    WakeOn.QUEUE,
)
QUEUE_PROMISES = Reason(
    "QueueGuaranteesAboveLimit",
    QueuePromise,
    "the queues below {queue} are guaranteed {guarantee} of {resource} together, and it may have {limit}",
    "lower the guarantees below it or raise its capability",
    WakeOn.QUEUE,
)
NOT_ADMITTED = Reason(
    "NotAdmitted",
    Admission,
    "not admitted: it needs at least {need}, and {room}",
    "wait for room, or lower the minimum",
    WakeOn.ROOM,
    WakeOn.QUEUE,
)
ADMISSION_FULL = Reason(
    "AdmissionFull",
    QueueUse,
    "not admitted: {use}, with what was admitted before, and {need} more would be too much",
    "wait for those before it, raise the queue's limit, or lower the minimum",
    WakeOn.ROOM,
    WakeOn.QUEUE,
)
QUOTA = Reason(
    "NamespaceQuota",
    QuotaUse,
    "not admitted: it needs {need} of {resource}, and quota {quota} of its namespace has {used} of {hard} in use",
    "wait for the namespace's other pods, or raise the quota",
    WakeOn.ROOM,
    WakeOn.QUEUE,
)
USER_QUOTA = Reason(
    "UserQuota",
    QuotaUse,
    "not started or grown: it needs {need} of {resource}, and user {quota} has {used} of {hard} in use",
    "wait for the user's other jobs, or raise the quota in the profile",
    WakeOn.ROOM,
    WakeOn.TIME,
)
LOAD_LIMIT = Reason(
    "LoadLimit",
    LoadUse,
    "not started or grown: it needs {need} of {resource}, and {used} of the {most} that may be in use is",
    "wait for others to end, or raise maxLoadDesired",
    WakeOn.ROOM,
    WakeOn.TIME,
)
CPU_FOR_GPU = Reason(
    "TooLittleCpuForGpu",
    CpuForGpu,
    "{role} asks for {gpus} GPUs and {cpus} CPUs, and each GPU needs {least} CPUs beside it",
    "ask for more CPU, or lower minCpuPerGpu",
    WakeOn.SPEC,
)
NODE_OWNED = Reason(
    "NodeOwned", QueueName, "node(s) belonged to queue {queue}", "name that queue, or add nodes", WakeOn.NODES
)
NODE_CONTESTED = Reason(
    "NodeContested",
    Contested,
    "the selectors of {first} and {second} both match it, so it belongs to {owner}",
    "narrow one of the selectors",
    WakeOn.NODES,
)
CANNOT_TAKE_BACK = Reason(
    "CannotTakeBack",
    Field,
    "{field}: what is lent to others cannot be taken back from them",
    "let it preempt, or lend nothing",
    WakeOn.SPEC,
)
NOT_LENT = Reason(
    "NothingLent",
    QueueName,
    "node(s) of queue {queue} had nothing to lend",
    "wait until its own tasks are served and room is left, or add nodes",
    WakeOn.ROOM,
    WakeOn.QUEUE,
)
