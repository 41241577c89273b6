"""Events for users: what `kubectl describe` prints at its end.

A scheduler can say the same sentence about the same pod a thousand times.  The recorder turns the repetitions
into one Event object whose `count` grows, and lets only a trickle of writes through for each object: the count
keeps running meanwhile, so the next write that does go out has the right count.

It is sans-IO: `record` returns the write, if any, and the caller carries it out.  Events are best effort: a
lost write is not repeated.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict

import msgspec

from podium.kube.buckets import MEMORY_ENTRIES, Buckets
from podium.kube.changes import Change, Create, Document, Patch
from podium.kube.resources import EVENTS, Resource
from podium.kube.rights import Right
from podium.kube.times import format_time
from podium.kube.wire import Object

NORMAL = "Normal"
WARNING = "Warning"

# One object may send a burst of 25 writes, then one in five minutes: what cluster operators are used to.
BURST = 25
SECONDS_PER_TOKEN = 300.0

# Servers drop an event one hour after its last write.  Patching later would be a 404, so we forget earlier.
MEMORY_SECONDS = 50 * 60.0

LONGEST_MESSAGE = 1024
LONGEST_NAME = 253

RIGHTS = (Right(EVENTS, ("create", "patch")),)


class Regarding(msgspec.Struct, frozen=True):
    """The object that an event is about."""

    resource: Resource
    namespace: str
    name: str
    uid: str


def regarding(resource: Resource, obj: Object) -> Regarding:
    return Regarding(resource, obj.namespace, obj.name, obj.uid)


class _Recorded(msgspec.Struct):
    """An Event object of ours: its name, how often it happened, and when we last wrote it."""

    name: str
    count: int
    written_at: float


_Sentence = tuple[Regarding, str, str, str]


class Recorder:
    """Aggregates and rate-limits the events of one component."""

    def __init__(
        self, component: str, *, burst: int = BURST, seconds_per_token: float = SECONDS_PER_TOKEN
    ) -> None:
        self._component = component
        self._recorded: OrderedDict[_Sentence, _Recorded] = OrderedDict()
        self._buckets = Buckets[Regarding](burst, seconds_per_token)

    def record(self, about: Regarding, type: str, reason: str, message: str, now: float) -> Change | None:
        """Notes that it happened at `now`.  Returns the write for it, or None while `about` has had
        its share of writes."""
        sentence = (about, type, reason, message)
        reported = self._recorded.get(sentence)
        if reported is not None and now - reported.written_at > MEMORY_SECONDS:
            reported = None
        if reported is not None:
            reported.count += 1
            self._recorded.move_to_end(sentence)
        if not self._buckets.take(about, now):
            return None
        if reported is not None:
            reported.written_at = now
            bump = {"count": reported.count, "lastTimestamp": format_time(now)}
            return Patch(EVENTS, _namespace(about), reported.name, bump)
        name = _event_name(self._component, sentence, now)
        self._recorded[sentence] = _Recorded(name=name, count=1, written_at=now)
        self._recorded.move_to_end(sentence)
        if len(self._recorded) > MEMORY_ENTRIES:
            self._recorded.popitem(last=False)
        return Create(EVENTS, _namespace(about), self._document(name, sentence, now))

    def missing(self, change: Patch) -> None:
        """The server no longer has the Event that `change` wanted to bump: the next time makes a new one."""
        for sentence, reported in self._recorded.items():
            if reported.name == change.name and _namespace(sentence[0]) == change.namespace:
                del self._recorded[sentence]
                return

    def _document(self, name: str, sentence: _Sentence, now: float) -> Document:
        about, type, reason, message = sentence
        involved = {
            "apiVersion": about.resource.api_version,
            "kind": about.resource.kind,
            "name": about.name,
            "uid": about.uid,
        }
        if about.namespace:
            involved["namespace"] = about.namespace
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": _namespace(about)},
            "involvedObject": involved,
            "type": type,
            "reason": reason,
            "message": _shortened(message),
            "count": 1,
            "firstTimestamp": format_time(now),
            "lastTimestamp": format_time(now),
            "source": {"component": self._component},
            "reportingComponent": self._component,
        }


def _namespace(about: Regarding) -> str:
    """Events are namespaced; those about cluster-scoped objects live in `default` by convention."""
    return about.namespace or "default"


def _event_name(component: str, sentence: _Sentence, now: float) -> str:
    """Derived, so that a replay names alike; the time is part of it, so that a restarted process, which has
    forgotten its counts, starts a new Event instead of colliding with its old one."""
    about, type, reason, message = sentence
    reported = "\0".join((component, about.uid, about.name, type, reason, message, repr(now)))
    digest = hashlib.blake2b(reported.encode(), digest_size=8).hexdigest()
    prefix = re.sub(r"[^a-z0-9.-]", "-", about.name.lower())[: LONGEST_NAME - len(digest) - 1]
    return f"{prefix.strip('.-') or 'event'}.{digest}"


def _shortened(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 3] + "..."
