"""What is said about writes to jobs before they are stored.  The defaults stand in the definition."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.dialects.arranger.checks import errors_of
from podium.dialects.arranger.names import TYJOBS
from podium.dialects.arranger.types import SAME_SETS, TYJob
from podium.kube import fields
from podium.kube.admission import Hook, Surroundings
from podium.kube.fields import FieldError

Document = dict[str, Any]


def check_job(document: Document, old: Document | None, around: Surroundings) -> list[FieldError]:
    """What is wrong with a job that is made or changed."""
    spec = document.get("spec")
    if old is not None and spec == old.get("spec"):
        return []  # labels, annotations, status
    if not isinstance(spec, dict) or not spec.get("leader"):
        return [fields.required("spec.leader", "a job needs a leader")]
    try:
        job = msgspec.json.decode(msgspec.json.encode(document), type=TYJob)
    except msgspec.ValidationError as error:
        reported, _, where = str(error).partition(" - at `$.")
        return [fields.wrong_type(where.rstrip("`") or "spec", "", reported)]
    errors = list(errors_of(job))
    if old is not None and _set_names(old) != _set_names(document):
        errors.append(fields.forbidden("spec.workerSets", SAME_SETS))
    return errors


def _set_names(document: Document) -> set[str]:
    sets = (document.get("spec") or {}).get("workerSets") or ()
    return {str(each.get("name")) for each in sets}


HOOKS = (Hook(TYJOBS, validate=check_job),)
