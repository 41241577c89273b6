"""What a process calls itself in a Lease, and whether another one that calls itself so is dead.

    <host>_<where process numbers are counted>_<process number>_<random>

A scheduler that was killed leaves its lease behind, and its successor would wait for its end.  But the successor
usually starts on the same machine, and can ask there whether the process is gone.  Process numbers are compared
only where they are counted alike: on the same boot of the same kernel, in the same PID namespace.  A number that
was given out again looks like a process that is alive, which costs the wait and nothing else.

The kernel is asked with the signal 0, which it answers for every process, also for those of other users.  /proc
does not: mounted with `hidepid` it shows nobody else's, as if they were not there.
"""

from __future__ import annotations

import hashlib
import os
import socket
import uuid
from functools import cache
from pathlib import Path


def process_identity() -> str:
    """A name that no other process has, nor this one's predecessor."""
    return f"{socket.gethostname()}_{_counted_where()}_{os.getpid()}_{uuid.uuid4().hex[:8]}"


def is_dead(identity: str) -> bool:
    """Whether a process is known to be gone; False when nothing is known."""
    parts = identity.rsplit("_", 3)
    if len(parts) != 4 or not (parts[2].isascii() and parts[2].isdigit()):
        return False
    host, where, number, _ = parts
    if host != socket.gethostname() or not where or where != _counted_where():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False  # it is there and somebody else's, or it is no number of a process
    try:
        # After the name in brackets, which may hold anything.  Z has ended, and its parent has not asked yet.
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state == "Z"


@cache
def _counted_where() -> str:
    """This boot and PID namespace in a word; "" where that cannot be found out."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
    return hashlib.sha256(f"{boot}{namespace}".encode()).hexdigest()[:8]
