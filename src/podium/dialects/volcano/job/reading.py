"""Jobs as the controller works with them: all defaults filled in, and checked.

Both depend on the spec alone, and a spec is identified by the Job's UID and generation, so it is done once for
each.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import msgspec

from podium.dialects.volcano.job.admission import check_spec
from podium.dialects.volcano.job.defaults import fill_spec
from podium.dialects.volcano.job.types import Job, JobSpec
from podium.kube.fields import FieldError

Document = dict[str, Any]

_KEPT = 20_000


class _Read(msgspec.Struct, frozen=True):
    generation: int
    spec: JobSpec
    errors: tuple[FieldError, ...]


class Reader:
    """Remembers what it has read of the latest Jobs."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Read] = OrderedDict()

    def read(self, job: Job) -> tuple[Job, tuple[FieldError, ...]]:
        """The Job with everything filled in, and what is wrong with it."""
        known = self._known.get(job.uid)
        if known is None or known.generation != job.metadata.generation:
            known = self._known[job.uid] = _read(job)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return msgspec.structs.replace(job, spec=known.spec), known.errors


def _read(job: Job) -> _Read:
    document: Document = msgspec.json.decode(msgspec.json.encode(job.spec))
    fill_spec(document)
    spec = msgspec.json.decode(msgspec.json.encode(document), type=JobSpec)
    return _Read(job.metadata.generation, spec, tuple(check_spec(msgspec.structs.replace(job, spec=spec))))
