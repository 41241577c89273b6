"""Containers of a pod: app, init and ephemeral ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from podium.kube import names
from podium.kube.fields import duplicate, forbidden, invalid, not_found, required, too_many, unsupported
from podium.schema.validation.amounts import check_requirements
from podium.schema.validation.base import Document, Errors, check_choice, check_name, complain
from podium.schema.validation.environment import check_environment
from podium.schema.validation.probes import check_lifecycle, check_probe
from podium.schema.validation.security import check_security_context
from podium.schema.validation.volumes import has_back_step

_PROTOCOLS = frozenset({"TCP", "UDP", "SCTP"})
_PULL_POLICIES = frozenset({"Always", "IfNotPresent", "Never"})
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES = frozenset({"Always", "Never", "OnFailure"})
_PROPAGATIONS = frozenset({"Bidirectional", "HostToContainer", "None"})
_RECURSIVE = frozenset({"Disabled", "Enabled", "IfPossible"})
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
# What has no meaning for a container that is put into a running pod to look at it.
_NOT_EPHEMERAL = ("ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resizePolicy")


class Surroundings:
    """What a container's checks need to know of its pod."""

    __slots__ = ("claims", "grace", "host_users", "is_pod", "restart_policy", "volumes")

    def __init__(
        self, spec: Document, volumes: Mapping[str, Document], claims: Collection[str], *, is_pod: bool
    ) -> None:
        self.volumes = volumes
        self.claims = claims
        self.grace: int = spec.get("terminationGracePeriodSeconds", 30)
        self.restart_policy: str = spec.get("restartPolicy", "Always")
        self.host_users: bool = spec.get("hostUsers", True)
        self.is_pod = is_pod


def check_containers(errors: Errors, path: str, spec: Document, around: Surroundings) -> None:
    """All containers of the pod spec at `path`."""
    containers: list[Document] = spec.get("containers") or []
    if not containers:
        errors.append(required(f"{path}.containers"))
    seen: set[str] = set()
    for index, container in enumerate(containers):
        at = f"{path}.containers[{index}]"
        _check_container(errors, at, container, around)
        _check_unique(errors, at, container, seen)
        _check_running_parts(errors, at, container, around)
        if "restartPolicy" in container or "restartPolicyRules" in container:
            _check_restart_rules(errors, at, container)
    _check_host_ports(errors, f"{path}.containers", containers)
    for index, container in enumerate(spec.get("initContainers") or ()):
        at = f"{path}.initContainers[{index}]"
        _check_container(errors, at, container, around)
        _check_unique(errors, at, container, seen)
        _check_init_parts(errors, at, container, around)
        _check_host_ports(errors, f"{path}.initContainers", [container])
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        at = f"{path}.ephemeralContainers[{index}]"
        _check_container(errors, at, container, around)
        target = container.get("targetContainerName")
        if target and target not in seen:
            errors.append(not_found(f"{at}.targetContainerName", target))
        _check_unique(errors, at, container, seen)
        errors.extend(
            forbidden(f"{at}.{field}", "cannot be set for an Ephemeral Container")
            for field in _NOT_EPHEMERAL
            if container.get(field)
        )


def _check_unique(errors: Errors, path: str, container: Document, seen: set[str]) -> None:
    name = container.get("name") or ""
    if name in seen:
        errors.append(duplicate(f"{path}.name", name))
    seen.add(name)


def _check_container(errors: Errors, path: str, container: Document, around: Surroundings) -> None:
    name = container.get("name")
    if not name or names.check_dns_label(name) is not None:
        check_name(errors, f"{path}.name", name, names.check_dns_label)
    image: str = container.get("image") or ""
    if not image:
        errors.append(required(f"{path}.image"))
    elif around.is_pod and image != image.strip():
        errors.append(invalid(f"{path}.image", image, "must not have leading or trailing whitespace"))
    if container.get("terminationMessagePolicy") not in _MESSAGE_POLICIES:
        at = f"{path}.terminationMessagePolicy"
        check_choice(errors, at, container.get("terminationMessagePolicy"), _MESSAGE_POLICIES)
    if "ports" in container:
        _check_ports(errors, f"{path}.ports", container["ports"])
    if "env" in container or "envFrom" in container:
        check_environment(errors, path, container)
    if "volumeMounts" in container:
        _check_mounts(errors, f"{path}.volumeMounts", container, around)
    if "volumeDevices" in container:
        _check_devices(errors, f"{path}.volumeDevices", container, around)
    if container.get("imagePullPolicy") not in _PULL_POLICIES:
        check_choice(errors, f"{path}.imagePullPolicy", container.get("imagePullPolicy"), _PULL_POLICIES)
    resources = container.get("resources")
    if resources:
        check_requirements(errors, f"{path}.resources", resources, around.claims)
    if "resizePolicy" in container:
        _check_resize_policy(errors, f"{path}.resizePolicy", container["resizePolicy"], around)
    if "securityContext" in container:
        check_security_context(
            errors, f"{path}.securityContext", container["securityContext"], host_users=around.host_users
        )


def _check_running_parts(errors: Errors, path: str, container: Document, around: Surroundings) -> None:
    """What only a container that keeps running has: hooks and probes."""
    if "lifecycle" in container:
        check_lifecycle(errors, f"{path}.lifecycle", container["lifecycle"], around.grace)
    for kind in _PROBES:
        if kind in container:
            check_probe(errors, f"{path}.{kind}", kind, container[kind], around.grace)


def _check_init_parts(errors: Errors, path: str, container: Document, around: Surroundings) -> None:
    policy = container.get("restartPolicy")
    if policy is not None or "restartPolicyRules" in container:
        _check_restart_rules(errors, path, container)
    if policy == "Always":
        _check_running_parts(errors, path, container, around)
        return
    errors.extend(
        forbidden(f"{path}.{field}", "may not be set for init containers without restartPolicy=Always")
        for field in ("lifecycle", *_PROBES)
        if field in container
    )
    for index, entry in enumerate(container.get("resizePolicy") or ()):
        if entry.get("restartPolicy") == "RestartContainer":
            reported = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            at = f"{path}.resizePolicy[{index}].restartPolicy"
            errors.append(invalid(at, "RestartContainer", reported))


def _check_restart_rules(errors: Errors, path: str, container: Document) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    if policy is None:
        if rules:
            reported = "must specify restartPolicy when restart rules are used"
            errors.append(required(f"{path}.restartPolicy", reported))
    elif policy not in _RESTART_POLICIES:
        errors.append(unsupported(f"{path}.restartPolicy", policy, _RESTART_POLICIES))
    if len(rules) > 20:
        errors.append(too_many(f"{path}.restartPolicyRules", len(rules), 20))
    for index, rule in enumerate(rules):
        at = f"{path}.restartPolicyRules[{index}]"
        if rule.get("action") not in ("Restart", "RestartAllContainers"):
            known = frozenset({"Restart", "RestartAllContainers"})
            errors.append(unsupported(f"{at}.action", rule.get("action", ""), known))
        codes = rule.get("exitCodes")
        if codes is None:
            errors.append(required(f"{at}.exitCodes", "must be specified"))
        elif codes.get("operator") not in ("In", "NotIn"):
            known = frozenset({"In", "NotIn"})
            errors.append(unsupported(f"{at}.exitCodes.operator", codes.get("operator", ""), known))


def _check_ports(errors: Errors, path: str, ports: list[Document]) -> None:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        name = port.get("name")
        if name:
            problem = names.check_port_name(name)
            if problem is not None:
                complain(errors, f"{path}[{index}].name", name, problem)
            elif name in seen:
                errors.append(duplicate(f"{path}[{index}].name", name))
            else:
                seen.add(name)
        number = port.get("containerPort")
        if not number:
            errors.append(required(f"{path}[{index}].containerPort"))
        elif not 0 < number < 65536:
            complain(errors, f"{path}[{index}].containerPort", number, names.check_port_number(number))
        number = port.get("hostPort")
        if number and not 0 < number < 65536:
            complain(errors, f"{path}[{index}].hostPort", number, names.check_port_number(number))
        if port.get("protocol") not in _PROTOCOLS:
            check_choice(errors, f"{path}[{index}].protocol", port.get("protocol"), _PROTOCOLS)


def _check_host_ports(errors: Errors, path: str, containers: list[Document]) -> None:
    taken: set[str] = set()
    for number, container in enumerate(containers):
        for index, port in enumerate(container.get("ports") or ()):
            if port.get("hostPort"):
                place = f"{port.get('protocol')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if place in taken:
                    errors.append(duplicate(f"{path}[{number}].ports[{index}].hostPort", place))
                taken.add(place)


def _check_mounts(errors: Errors, path: str, container: Document, around: Surroundings) -> None:
    seen: set[str] = set()
    devices = container.get("volumeDevices") or ()
    for index, mount in enumerate(container["volumeMounts"]):
        name, place = mount.get("name") or "", mount.get("mountPath") or ""
        if name not in around.volumes:
            if not name:
                errors.append(required(f"{path}[{index}].name"))
            errors.append(not_found(f"{path}[{index}].name", name))
        if not place:
            errors.append(required(f"{path}[{index}].mountPath"))
        if place in seen:
            errors.append(invalid(f"{path}[{index}].mountPath", place, "must be unique"))
        seen.add(place)
        for device in devices:
            if device.get("name") == name:
                reported = "must not already exist in volumeDevices"
                errors.append(invalid(f"{path}[{index}].name", name, reported))
            if device.get("devicePath") == place:
                reported = "must not already exist as a path in volumeDevices"
                errors.append(invalid(f"{path}[{index}].mountPath", place, reported))
        if len(mount) > 2:
            _check_mount_options(errors, path, index, mount, container)


def _check_mount_options(errors: Errors, path: str, index: int, mount: Document, container: Document) -> None:
    # The API server names the list instead of its entry in these complaints; whoever compares finds the same text.
    for field in ("subPath", "subPathExpr"):
        within: str = mount.get(field) or ""
        if within.startswith("/"):
            errors.append(invalid(f"{path}.{field}", within, "must be a relative path"))
        if has_back_step(within):
            errors.append(invalid(f"{path}.{field}", within, "must not contain '..'"))
    if mount.get("subPath") and mount.get("subPathExpr"):
        reported = "subPathExpr and subPath are mutually exclusive"
        errors.append(invalid(f"{path}[{index}].subPathExpr", mount["subPathExpr"], reported))
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        if propagation not in _PROPAGATIONS:
            errors.append(unsupported(f"{path}.mountPropagation", propagation, _PROPAGATIONS))
        privileged = (container.get("securityContext") or {}).get("privileged")
        if propagation == "Bidirectional" and not privileged:
            reported = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(forbidden(f"{path}.mountPropagation", reported))
    recursive = mount.get("recursiveReadOnly")
    if recursive is not None:
        at = f"{path}.recursiveReadOnly"
        if recursive not in _RECURSIVE:
            errors.append(unsupported(at, recursive, _RECURSIVE))
        elif recursive != "Disabled":
            if not mount.get("readOnly"):
                errors.append(forbidden(at, "may only be specified when readOnly is true"))
            if propagation not in (None, "None"):
                reported = "may only be specified when mountPropagation is None or not specified"
                errors.append(forbidden(at, reported))


def _check_devices(errors: Errors, path: str, container: Document, around: Surroundings) -> None:
    names_seen: set[str] = set()
    places: set[str] = set()
    mounts = container.get("volumeMounts") or ()
    for index, device in enumerate(container["volumeDevices"]):
        at = f"{path}[{index}]"
        name, place = device.get("name") or "", device.get("devicePath") or ""
        if not name:
            errors.append(required(f"{at}.name"))
        if name in names_seen:
            errors.append(invalid(f"{at}.name", name, "must be unique"))
        volume = around.volumes.get(name)
        if volume is None:
            errors.append(not_found(f"{at}.name", name))
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            reported = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(invalid(f"{at}.name", name, reported))
        if not place:
            errors.append(required(f"{at}.devicePath"))
        if place in places:
            errors.append(invalid(f"{at}.devicePath", place, "must be unique"))
        if has_back_step(place):
            errors.append(invalid(f"{at}.devicePath", place, "can not contain backsteps ('..')"))
        if any(mount.get("name") == name for mount in mounts):
            errors.append(invalid(f"{at}.name", name, "must not already exist in volumeMounts"))
        if any(mount.get("mountPath") == place for mount in mounts):
            reported = "must not already exist as a path in volumeMounts"
            errors.append(invalid(f"{at}.devicePath", place, reported))
        names_seen.add(name)
        places.add(place)


def _check_resize_policy(errors: Errors, path: str, entries: list[Document], around: Surroundings) -> None:
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        resource, policy = entry.get("resourceName") or "", entry.get("restartPolicy") or ""
        if resource in seen:
            errors.append(duplicate(f"{path}[{index}]", resource))
        seen.add(resource)
        check_choice(errors, path, resource, frozenset({"cpu", "memory"}))
        check_choice(errors, path, policy, frozenset({"NotRequired", "RestartContainer"}))
        if around.restart_policy == "Never" and policy != "NotRequired":
            reported = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(invalid(path, policy, reported))
