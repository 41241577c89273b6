"""Leader election by a Lease, without IO: which of several processes may act, and until when.

The protocol and the fields are those of client-go, so podium can stand in line with anybody.  A driver asks `next`
what to do, does it, and hands the result back:

    next(now, wall)  ->  Ask(...)     read the Lease, then call `seen`
                         Write(...)   carry the change out, then call `written`
                         Pause(until) nothing to do before that time
    failed(error, now)                either of the two was refused, or not answered
    poke()                            the Lease may be free: no pause before it is read

Clocks of other machines are not believed.  A holder's lease lasts for its duration from the moment at which *this*
process saw it change; times on the wire are for people.  So `now` is any clock that only goes forward, and `wall`
is used for nothing but the fields.

A lease is a hint, not a fence: a write that is under way cannot be called back.  What keeps two leaders apart is
time.  A leader may write until the renew deadline has passed since it *sent* its last renewal that was answered;
others wait for the whole duration since they *saw* it, which was later, and the duration is longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from podium.errors import ApiError, UsageError
from podium.kube.backoff import Dice
from podium.kube.changes import Change, Create, Patch
from podium.kube.resources import LEASES
from podium.kube.rights import Right
from podium.kube.times import format_micro_time
from podium.kube.wire import Lease, LeaseSpec

# On a Lease whose holder runs inside the API server's own process: what to do about it, for who stands by.
HELD_INSIDE = "podium.dev/held-inside"


def rights(names: Iterable[str]) -> tuple[Right, ...]:
    """What candidates for these Leases need in their namespace.  A creation has no name that could be allowed."""
    return (Right(LEASES, ("create",)), Right(LEASES, ("get", "patch", "watch"), names=tuple(names)))


class Terms(msgspec.Struct, frozen=True):
    """How long a lease lasts, how long a leader tries to renew it, and how often anybody tries anything."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0

    def check(self) -> None:
        """Raises UsageError for terms under which two could lead, or none for long."""
        if self.retry <= 0:
            raise UsageError(f"--leader-elect-retry-period must be above 0, not {self.retry:g}s")
        if self.renew_deadline <= self.retry:
            raise UsageError(
                f"--leader-elect-renew-deadline ({self.renew_deadline:g}s) must be longer than "
                f"--leader-elect-retry-period ({self.retry:g}s)"
            )
        if self.duration <= self.renew_deadline:
            raise UsageError(
                f"--leader-elect-lease-duration ({self.duration:g}s) must be longer than "
                f"--leader-elect-renew-deadline ({self.renew_deadline:g}s): others wait the one, a leader goes on "
                "for the other"
            )


class Ask(msgspec.Struct, frozen=True):
    """Read the Lease; it may take `timeout` seconds."""

    timeout: float


class Write(msgspec.Struct, frozen=True):
    """Carry the change out; it may take `timeout` seconds."""

    change: Change
    timeout: float


class Pause(msgspec.Struct, frozen=True):
    """Wait until that time."""

    until: float


Step = Ask | Write | Pause


class Election:
    """One candidate for one Lease."""

    def __init__(
        self, namespace: str, name: str, identity: str, terms: Terms | None = None, seed: int = 0
    ) -> None:
        """`identity` must differ from that of every other process, also of this one's predecessors."""
        self.namespace = namespace
        self.name = name
        self.identity = identity
        self.terms = terms or Terms()
        self.leading = False
        self.lost = ""  # why a leader leads no longer; it never does again
        self._dice = Dice(seed)
        self._wake_at = float("-inf")
        self._sent = 0.0  # when the request under way was sent
        self._renewed = float("-inf")  # when the last renewal that was answered had been sent
        # What is known of the Lease.
        self._asking = True  # what is known may be old
        self._lease: Lease | None = None
        self._spec = LeaseSpec()
        self._changed_at = float("-inf")
        self._failures = 0

    @property
    def holder(self) -> str:
        """Who leads, as far as is known."""
        return self._spec.holder_identity or ""

    @property
    def hint(self) -> str:
        """What the Lease says of its holder."""
        return self._lease.annotations.get(HELD_INSIDE, "") if self._lease is not None else ""

    def may_write(self, now: float) -> bool:
        """Whether nobody else can be leading now."""
        return self.leading and now < self._renewed + self.terms.renew_deadline

    # --- what to do ----------------------------------------------------------------------------------------

    def next(self, now: float, wall: float) -> Step:
        deadline = now + self.terms.renew_deadline
        if self.leading:
            deadline = self._renewed + self.terms.renew_deadline
            if now >= deadline:
                self._lose(f"it could not be renewed for {self.terms.renew_deadline:g} s")
        if now < self._wake_at or self.lost:
            return Pause(min(self._wake_at, deadline) if self.leading else self._wake_at)
        self._sent = now
        if self._asking:
            return Ask(deadline - now)
        return Write(self._claim(wall), deadline - now)

    def _claim(self, wall: float) -> Change:
        """Takes the Lease, or renews it."""
        moment = format_micro_time(wall)
        spec = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self.terms.duration),
            "acquireTime": moment,
            "renewTime": moment,
            "leaseTransitions": 0,
        }
        if self._lease is None:
            metadata = {"name": self.name, "namespace": self.namespace}
            document = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
            return Create(LEASES, self.namespace, document)
        if self.holder == self.identity:
            spec["acquireTime"] = self._spec.acquire_time or moment
            spec["leaseTransitions"] = self._spec.lease_transitions or 0
        else:
            spec["leaseTransitions"] = (self._spec.lease_transitions or 0) + 1
        return self._guarded(self._lease, spec)

    def release(self, lease: Lease | None, wall: float) -> Change | None:
        """Gives the Lease back, as it was just read: whoever waits need not wait for its end.

        From here on this process leads no longer, whatever becomes of the change.
        """
        self.leading = False
        self.lost = "it was given back"
        if lease is None or lease.spec.holder_identity != self.identity:
            return None
        moment = format_micro_time(wall)
        spec = {"holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": moment, "renewTime": moment}
        return self._guarded(lease, spec)

    def _guarded(self, lease: Lease, spec: dict[str, object]) -> Patch:
        """Refused by the server if anybody has written since."""
        version = lease.metadata.resource_version
        return Patch(LEASES, self.namespace, self.name, {"spec": spec}, uid=lease.uid, resource_version=version)

    # --- what happened -------------------------------------------------------------------------------------

    def seen(self, lease: Lease | None, now: float, *, orphaned: bool = False) -> None:
        """The Lease as it was just read; None if there is none.

        `orphaned` says that its holder is known to be dead: then nobody has to wait for its end.
        """
        self._note(lease, now)
        if self.leading and self.holder != self.identity:
            self._lose(f"{self.holder} has taken it" if self.holder else "somebody took it away")
        elif self.holder and self.holder != self.identity and now < self._ends and not orphaned:
            # Looked at again in time to see a change, and at once when it ends.
            pace = self.terms.retry * self._dice.between(0.9, 1.1)
            self._wake_at = min(now + pace, self._ends)
        else:
            self._asking = False

    def written(self, lease: Lease, now: float) -> None:
        """Our claim was accepted, and this is the Lease now."""
        self._note(lease, now)
        self._failures = 0
        self._renewed = self._sent
        self.leading = not self.lost
        self._wake_at = self._sent + self.terms.retry

    def failed(self, error: Exception, now: float) -> None:
        """No, or no answer.  After a refused write the Lease is read at once: the leader must know why."""
        refused = isinstance(error, ApiError) and not self._asking
        self._asking = True
        self._failures += 1
        at_once = refused and self._failures == 1
        self._wake_at = now if at_once else now + self.terms.retry * self._dice.between(0.9, 1.1)

    def poke(self) -> None:
        """Somebody has given the Lease back: who stands by looks at once."""
        if not self.leading and self._asking:
            self._wake_at = float("-inf")

    @property
    def _ends(self) -> float:
        """When the holder's lease is over, by our clock; the holder's own duration counts."""
        return self._changed_at + (self._spec.lease_duration_seconds or self.terms.duration)

    def _note(self, lease: Lease | None, now: float) -> None:
        self._lease = lease
        if lease is None:
            if not self.leading and self.holder and now < self._ends:
                return  # deleted under its holder, who does not know yet: it still has its time
            self._spec = LeaseSpec()
        elif lease.spec != self._spec:
            self._spec = lease.spec
            self._changed_at = now

    def _lose(self, why: str) -> None:
        self.leading = False
        self.lost = why
