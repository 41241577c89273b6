"""What every object has, and the small structures that many of them share."""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

import msgspec

Labels = dict[str, str]
_NO_LABELS: Labels = {}


class View(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """Common settings.  gc=False: the structs hold no cycles, and the collector need not visit 50,000 pods."""


class OwnerReference(View):
    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Metadata(View):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    generate_name: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: Labels | None = None
    annotations: Labels | None = None
    owner_references: list[OwnerReference] | None = None
    finalizers: list[str] | None = None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages this object, if any."""
        for owner in self.owner_references or ():
            if owner.controller:
                return owner
        return None


class Object(View):
    """Any object, as far as every object is alike."""

    metadata: Metadata
    kind: str = ""
    api_version: str = ""

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def labels(self) -> Labels:
        return self.metadata.labels or _NO_LABELS

    @property
    def annotations(self) -> Labels:
        return self.metadata.annotations or _NO_LABELS

    @property
    def deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None


class Condition(View):
    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    last_update_time: str | None = None
    last_probe_time: str | None = None
    last_heartbeat_time: str | None = None
    observed_generation: int | None = None


def condition(conditions: list[Condition] | None, kind: str) -> Condition | None:
    """The condition of that type, if it is there."""
    for each in conditions or ():
        if each.type == kind:
            return each
    return None


class Requirement(View):
    key: str
    operator: str
    values: list[str] | None = None


class LabelSelector(View):
    match_labels: Labels | None = None
    match_expressions: list[Requirement] | None = None
