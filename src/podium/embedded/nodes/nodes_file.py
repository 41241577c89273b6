"""The file in which users describe the nodes of their cluster: a list of groups of nodes that are alike.

- name: gpu            # names: gpu-000, gpu-001, ...
  count: 16
  gpus: 8
  gpuModel: NVIDIA-H100-80GB-HBM3
  zone: zone-a
- name: cpu
  count: 4
  cpu: 32
  memory: 128Gi
  taints: [{key: dedicated, value: batch, effect: NoSchedule}]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from podium.embedded.nodes.addresses import MOST_NODES
from podium.embedded.nodes.shapes import Shape
from podium.errors import UsageError
from podium.kube.names import (
    check_annotation_key,
    check_dns_subdomain,
    check_label_value,
    check_qualified_name,
)
from podium.kube.quantity import QuantityError, parse_units
from podium.kube.yaml_files import YamlText

# More than any node has.  Beyond the second, sums are no longer exact.
_MOST_DEVICES = 1_000_000
_MOST = 1 << 53

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def read_shapes(text: str, source: str) -> list[Shape]:
    """The groups that a nodes file describes.  `source` names the file in complaints."""
    file = YamlText(text, source, strict=True)
    try:
        shapes = msgspec.convert(file.documents[0] if file.documents else [], list[Shape])
    except msgspec.ValidationError as error:
        raise file.invalid(error) from None
    check_shapes(shapes, file, "$")
    return shapes


def check_shapes(shapes: Sequence[Shape], file: YamlText, path: str) -> None:
    """What schemas do not say about the groups that stand at a path of a file."""
    names: set[str] = set()
    for index, shape in enumerate(shapes):
        complaint = check_shape(shape)
        if complaint:
            field, _, reported = complaint.partition(": ")
            raise file.error(f"{path}[{index}].{field}", reported)
        if shape.name in names:
            raise file.error(f"{path}[{index}].name", f"{shape.name!r} is used by two groups")
        names.add(shape.name)
    check_count(shapes, file.source)


def check_given(shape: Shape, source: str) -> None:
    """A group that comes from options and not from a file."""
    complaint = check_shape(shape)
    if complaint:
        raise UsageError(f"{source}: {complaint}")
    check_count((shape,), source)


def check_count(shapes: Iterable[Shape], source: str) -> None:
    """There are addresses for so many nodes only."""
    total = sum(shape.count for shape in shapes)
    if total > MOST_NODES:
        raise UsageError(f"{source}: {total} nodes are more than the {MOST_NODES} that can be simulated")


def check_shape(shape: Shape) -> str:
    """The first thing that is wrong with a group, as `field: sentence`; empty if nothing is."""
    reported = check_dns_subdomain(f"{shape.name}-{max(shape.count - 1, 0):03d}")
    if reported:
        return f"name: {reported}"
    for field, number in (("count", shape.count), ("gpus", shape.gpus), ("pods", shape.pods)):
        if number < 0:
            return f"{field}: {number} is less than 0"
        if number > _MOST_DEVICES and field != "count":  # how many nodes there may be is a matter of all groups
            return f"{field}: {number} is more than {_MOST_DEVICES:,}"
    quantities = {"cpu": shape.cpu, "memory": shape.memory, "ephemeralStorage": shape.ephemeral_storage}
    quantities |= {f"resources[{name}]": quantity for name, quantity in shape.resources.items()}
    for field, quantity in quantities.items():
        try:
            amount = parse_units(quantity) if quantity != "" else 0
            if amount < 0:
                return f"{field}: {quantity} is less than 0"
            if amount > _MOST:
                return f"{field}: {quantity} is more than any node has"
        except QuantityError as error:
            return f"{field}: {error}"
    return _check_names(shape)


def _check_names(shape: Shape) -> str:
    for name in shape.resources:
        if reported := check_qualified_name(name):
            return f"resources[{name}]: {reported}"
    for key, value in shape.labels.items():
        if reported := check_qualified_name(key) or check_label_value(value):
            return f"labels[{key}]: {reported}"
    for key in shape.annotations:
        if reported := check_annotation_key(key):
            return f"annotations[{key}]: {reported}"
    values = {
        "gpuModel": shape.gpu_model,
        "zone": shape.zone,
        "rack": shape.rack,
        "instanceType": shape.instance_type,
    }
    for field, value in values.items():
        if reported := check_label_value(value):
            return f"{field}: {reported}"
    for index, taint in enumerate(shape.taints):
        if reported := check_qualified_name(taint.key) or check_label_value(taint.value):
            return f"taints[{index}]: {reported}"
        if taint.effect not in _EFFECTS:
            return f"taints[{index}].effect: {taint.effect!r} is none of {', '.join(_EFFECTS)}"
    return ""
