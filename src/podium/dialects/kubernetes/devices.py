"""GPUs that pods share: how nodes offer them, how pods ask, and which annotation of a pod names those it has.

Kubernetes counts devices in whole numbers and does not let a scheduler choose one, so sharing goes by annotations.
A node shares its GPUs if it says so, by the label `podium.dev/gpu-sharing: "true"` or by the resource
`podium.dev/gpu-count`.  Its GPUs are then given out by thousandths, and no longer as nvidia.com/gpu: whoever asks
for that goes to other nodes, so nobody gets a GPU twice.  A pod asks by

    podium.dev/gpu-milli: "250"         thousandths of one GPU, or 1000 for whole ones (the default)
    podium.dev/gpu-count: "2"           how many, 1 if it does not say
    podium.dev/gpu-model: "T4|A10"      which models will do

and finds in `podium.dev/gpu-index` which ones it was given; a bind carries that, as what runs in the pod needs it.
The names under alibabacloud.com/, which the openb traces and their simulator use, are read as well.
"""

from __future__ import annotations

from collections.abc import Mapping

from podium.core.cluster.devices import MOST
from podium.core.model.constraints import WHOLE, DeviceRequest
from podium.dialects.kubernetes.constraints import UnreadableError

SHARING = "podium.dev/gpu-sharing"
# The column in which shares are summed, for queues and quotas.
GPU_MILLI = "podium.dev/gpu-milli"
GPU_INDEX = "podium.dev/gpu-index"

GPU = "nvidia.com/gpu"
_MILLI = (GPU_MILLI, "alibabacloud.com/gpu-milli")
_COUNT = ("podium.dev/gpu-count", "alibabacloud.com/gpu-count")
_MODEL = ("podium.dev/gpu-model", "alibabacloud.com/gpu-card-model")
_INDEX = (GPU_INDEX, "alibabacloud.com/gpu-index")
_ASKING = frozenset({*_MILLI, *_COUNT})
_MODEL_LABELS = (*_MODEL, "nvidia.com/gpu.product")


def shared_by(allocatable: Mapping[str, int], labels: Mapping[str, str]) -> tuple[int, str]:
    """How many GPUs a node shares, and their model."""
    count = max((allocatable.get(name, 0) for name in _COUNT), default=0)
    if labels.get(SHARING) == "true":
        count = count or allocatable.get(GPU, 0)
    model = next((labels[name] for name in _MODEL_LABELS if labels.get(name)), "") if count else ""
    return min(count, MOST), model


def in_thousandths(allocatable: Mapping[str, int], count: int) -> dict[str, int]:
    """What a node that shares its GPUs has to give."""
    kept = {name: amount for name, amount in allocatable.items() if name not in (GPU, *_COUNT, *_MILLI)}
    return kept | {GPU_MILLI: count * WHOLE}


def asked_by(annotations: Mapping[str, str] | None) -> tuple[str, str, str] | None:
    """What a pod says about shared GPUs, as it says it: milli, count and models; None if it says nothing."""
    if not annotations or _ASKING.isdisjoint(annotations):
        return None
    milli, count = _first(annotations, _MILLI), _first(annotations, _COUNT)
    return (milli, count, _first(annotations, _MODEL)) if milli or count else None


def request_of(asked: tuple[str, str, str]) -> DeviceRequest:
    """The same as a request.  UnreadableError names the annotation that makes no sense."""
    milli, count, models = asked
    share = _number(milli or str(WHOLE), GPU_MILLI, WHOLE)
    many = _number(count or "1", _COUNT[0], MOST)
    if many > 1 and share < WHOLE:
        detail = f"{share} thousandths of {many} GPUs each cannot be had: a share is of one GPU"
        raise UnreadableError(f"metadata.annotations[{GPU_MILLI}]", detail)
    return DeviceRequest(many, share, tuple(filter(None, (name.strip() for name in models.split("|")))))


def given_to(annotations: Mapping[str, str] | None) -> tuple[int, ...]:
    """The GPUs that a pod was given, by number; none if it has no such annotation, or a bad one."""
    text = _first(annotations, _INDEX) if annotations else ""
    parts = [part.strip() for part in text.replace("-", ",").split(",")]
    if not text or not all(part.isascii() and part.isdigit() and int(part) < MOST for part in parts):
        return ()
    return tuple(sorted({int(part) for part in parts}))


def index_of(devices: tuple[int, ...]) -> dict[str, str]:
    """The annotation with the GPUs that a pod was given."""
    return {GPU_INDEX: ",".join(map(str, devices))} if devices else {}


def _first(annotations: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((annotations[name] for name in names if annotations.get(name)), "")


def _number(text: str, name: str, most: int) -> int:
    if text.isascii() and text.isdigit() and len(text) < 10 and 0 < int(text) <= most:
        return int(text)
    detail = f"want a whole number from 1 to {most}, got {text!r}"
    raise UnreadableError(f"metadata.annotations[{name}]", detail)
