"""Namespaces, services, policies, leases and definitions."""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import Any

import msgspec

from podium.kube.resources import Resource
from podium.kube.wire.base import Condition, Labels, LabelSelector, Object, View, condition


class PodDisruptionBudgetSpec(View):
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(View):
    current_healthy: int = 0
    desired_healthy: int = 0
    disruptions_allowed: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    disrupted_pods: dict[str, str] | None = None
    conditions: list[Condition] | None = None


class PodDisruptionBudget(Object):
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class ResourceQuotaSpec(View):
    hard: dict[str, str | int | float] | None = None


class ResourceQuotaStatus(View):
    hard: dict[str, str | int | float] | None = None
    used: dict[str, str | int | float] | None = None


class ResourceQuota(Object):
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class NamespaceSpec(View):
    finalizers: list[str] | None = None


class NamespaceStatus(View):
    phase: str = ""
    conditions: list[Condition] | None = None


class Namespace(Object):
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class ConfigMap(Object):
    data: dict[str, str] | None = None


class ServicePort(View):
    port: int
    name: str = ""
    protocol: str = "TCP"
    target_port: int | str | None = None
    app_protocol: str | None = None


class ServiceSpec(View):
    selector: Labels | None = None
    ports: list[ServicePort] | None = None
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    publish_not_ready_addresses: bool = False


class Service(Object):
    spec: ServiceSpec = ServiceSpec()


class Endpoints(Object):
    subsets: list[Any] | None = None


class EndpointSlice(Object):
    address_type: str = ""
    endpoints: list[Any] | None = None
    ports: list[Any] | None = None


class PriorityClass(Object):
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


class LeaseSpec(View):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Object):
    spec: LeaseSpec = LeaseSpec()


class DefinitionNames(View):
    plural: str = ""
    kind: str = ""


class DefinitionVersion(View):
    name: str
    served: bool = False
    storage: bool = False


class DefinitionSpec(View):
    group: str = ""
    names: DefinitionNames = DefinitionNames()
    scope: str = "Namespaced"
    versions: list[DefinitionVersion] = []


class DefinitionStatus(View):
    conditions: list[Condition] | None = None


class CustomResourceDefinition(Object):
    spec: DefinitionSpec = DefinitionSpec()
    status: DefinitionStatus = DefinitionStatus()

    @property
    def served(self) -> Resource | None:
        """The resource that this definition makes the server serve; None while it does not."""
        established = condition(self.status.conditions, "Established")
        if established is None or established.status != "True":
            return None
        # The stored version is the one that needs no conversion, if it is served.
        for version in sorted(self.spec.versions, key=lambda each: not each.storage):
            if version.served:
                names, namespaced = self.spec.names, self.spec.scope == "Namespaced"
                return Resource(self.spec.group, version.name, names.plural, names.kind, namespaced)
        return None
