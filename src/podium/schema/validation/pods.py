"""Pods: everything an API server checks of a spec, wherever the spec stands.

Templates in other kinds are checked by the same functions as pods; what is asked of pods only (no blanks around
image names, no ephemeral containers at birth) stands in `check_new_pod`.
"""

from __future__ import annotations

from podium.kube import names
from podium.kube.fields import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    required,
    too_long,
    unsupported,
)
from podium.schema.validation.amounts import check_requirements
from podium.schema.validation.base import (
    Document,
    Errors,
    check_choice,
    check_ip,
    check_labels,
    complain,
)
from podium.schema.validation.containers import Surroundings, check_containers
from podium.schema.validation.metadata import check_annotations
from podium.schema.validation.placement import check_affinity, check_spread, check_tolerations
from podium.schema.validation.security import check_pod_security_context
from podium.schema.validation.volumes import check_volumes

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_SYSTEMS = ("linux", "windows")
_LARGEST = 2**31 - 1


def validate_pod_spec(spec: Document, path: str = "spec") -> list[FieldError]:
    """A pod spec that is not (yet) a pod's, such as one inside a custom resource."""
    errors: Errors = []
    check_pod_spec(errors, path, spec)
    return errors


def validate_pod_template(template: Document, path: str = "spec.template") -> list[FieldError]:
    """A PodTemplateSpec: labels and annotations, and the spec."""
    errors: Errors = []
    check_pod_template(errors, path, template)
    return errors


def check_pod_template(errors: Errors, path: str, template: Document) -> None:
    metadata: Document = template.get("metadata") or {}
    check_labels(errors, f"{path}.labels", metadata.get("labels"))
    check_annotations(errors, f"{path}.annotations", metadata.get("annotations"))
    spec: Document = template.get("spec") or {}
    check_pod_spec(errors, f"{path}.spec", spec)
    if spec.get("ephemeralContainers"):
        reported = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", reported))


def check_new_pod(errors: Errors, document: Document) -> None:
    spec: Document = document.get("spec") or {}
    check_pod_spec(errors, "spec", spec, pod=document)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        reported = "cannot be set until all schedulingGates have been cleared"
        errors.append(forbidden("spec.nodeName", reported))


def check_pod_spec(errors: Errors, path: str, spec: Document, *, pod: Document | None = None) -> None:
    """All of a pod spec.  `pod` is the pod when the spec is one's."""
    get = spec.get
    if get("terminationGracePeriodSeconds") is None:
        errors.append(required(f"{path}.terminationGracePeriodSeconds"))
    pod_name = pod["metadata"].get("name", "") if pod is not None else ""
    volumes = check_volumes(errors, f"{path}.volumes", spec["volumes"], pod_name) if get("volumes") else {}
    claims = (
        _check_resource_claims(errors, f"{path}.resourceClaims", spec["resourceClaims"])
        if get("resourceClaims")
        else frozenset()
    )
    check_containers(errors, path, spec, Surroundings(spec, volumes, claims, is_pod=pod is not None))
    if get("restartPolicy") not in _RESTART_POLICIES:
        check_choice(errors, f"{path}.restartPolicy", get("restartPolicy"), _RESTART_POLICIES)
    if get("dnsPolicy") not in _DNS_POLICIES:
        check_choice(errors, f"{path}.dnsPolicy", get("dnsPolicy"), _DNS_POLICIES)
    check_labels(errors, f"{path}.nodeSelector", get("nodeSelector"))
    check_pod_security_context(errors, path, spec)
    _check_names(errors, path, spec)
    if get("affinity"):
        check_affinity(errors, f"{path}.affinity", spec["affinity"])
    if get("dnsConfig") or get("dnsPolicy") == "None":
        _check_dns(errors, f"{path}.dnsConfig", spec)
    if get("schedulingGates"):
        _check_gates(errors, f"{path}.schedulingGates", spec["schedulingGates"])
    if get("topologySpreadConstraints"):
        check_spread(errors, f"{path}.topologySpreadConstraints", spec["topologySpreadConstraints"])
    if get("tolerations"):
        check_tolerations(errors, f"{path}.tolerations", spec["tolerations"])
    deadline = get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _LARGEST:
        reported = f"must be between 1 and {_LARGEST}, inclusive"
        errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, reported))
    if get("preemptionPolicy") is not None:
        check_choice(errors, f"{path}.preemptionPolicy", spec["preemptionPolicy"], _PREEMPTION_POLICIES)
    if get("hostNetwork"):
        _check_host_network(errors, path, spec, is_pod=pod is not None)
    _check_rare(errors, path, spec)


def _check_names(errors: Errors, path: str, spec: Document) -> None:
    """Names of other objects, and names the pod gives itself."""
    for field, check in (
        ("serviceAccountName", names.check_dns_subdomain),
        ("nodeName", names.check_dns_subdomain),
        ("priorityClassName", names.check_dns_subdomain),
        ("runtimeClassName", names.check_dns_subdomain),
        ("hostname", names.check_dns_label),
        ("subdomain", names.check_dns_label),
    ):
        name = spec.get(field)
        if name and (problem := check(name)):
            complain(errors, f"{path}.{field}", name, problem)


def _check_rare(errors: Errors, path: str, spec: Document) -> None:
    """What few pods have."""
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        at = f"{path}.hostAliases[{index}]"
        check_ip(errors, f"{at}.ip", alias.get("ip", ""))
        for number, name in enumerate(alias.get("hostnames") or ()):
            complain(errors, f"{at}.hostnames[{number}]", name, names.check_dns_subdomain(name))
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        condition = gate.get("conditionType", "")
        at = f"{path}.readinessGates[{index}].conditionType"
        complain(errors, at, condition, names.check_qualified_name(condition))
    if spec.get("overhead"):
        check_requirements(errors, f"{path}.overhead", {"limits": spec["overhead"]})
    if spec.get("resources"):
        at = f"{path}.resources"
        if spec["resources"].get("claims"):
            errors.append(forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level"))
        check_requirements(errors, at, spec["resources"], of_pod=True)
    if "os" in spec:
        system = spec["os"].get("name") or ""
        if not system:
            errors.append(required(f"{path}.os.name", "cannot be empty"))
        elif system not in _SYSTEMS:
            errors.append(unsupported(f"{path}.os", system, _SYSTEMS))
    group = spec.get("schedulingGroup")
    if group is not None:
        name = group.get("podGroupName")
        if name is None:
            reported = "must specify one of: `podGroupName`"
            errors.append(invalid(f"{path}.schedulingGroup.podGroupName", None, reported))
        else:
            at = f"{path}.schedulingGroup.podGroupName"
            complain(errors, at, name, names.check_dns_subdomain(name))
    if "hostnameOverride" in spec:
        _check_hostname_override(errors, path, spec)
    _check_file_variables(errors, path, spec)


def _check_hostname_override(errors: Errors, path: str, spec: Document) -> None:
    at, name = f"{path}.hostnameOverride", spec["hostnameOverride"]
    if spec.get("setHostnameAsFQDN"):
        errors.append(forbidden(at, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        errors.append(forbidden(at, "may not be specified when hostNetwork is true"))
    if len(name) > 64:
        errors.append(too_long(at, 64))
    complain(errors, at, name, names.check_dns_subdomain(name))


def _check_file_variables(errors: Errors, path: str, spec: Document) -> None:
    """Variables read from a file need an emptyDir volume that holds the file."""
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            for number, variable in enumerate(container.get("env") or ()):
                if "valueFrom" in variable and "fileKeyRef" in variable["valueFrom"]:
                    name = variable["valueFrom"]["fileKeyRef"].get("volumeName", "")
                    at = f"{path}.{field}[{index}].env[{number}].valueFrom.fileKeyRef.volumeName"
                    volumes = {volume.get("name"): volume for volume in spec.get("volumes") or ()}
                    if name not in volumes:
                        errors.append(not_found(at, name))
                    elif "emptyDir" not in volumes[name]:
                        errors.append(invalid(at, name, "referenced volume must be of type emptyDir"))


def _check_resource_claims(errors: Errors, path: str, claims: list[Document]) -> frozenset[str]:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at = f"{path}[{index}]"
        name = claim.get("name") or ""
        if not name:
            errors.append(required(f"{at}.name"))
        elif name in seen:
            errors.append(duplicate(f"{at}.name", name))
        else:
            complain(errors, f"{at}.name", name, names.check_dns_label(name))
            seen.add(name)
        given = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if field in claim]
        if len(given) > 1:
            reported = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.append(invalid(at, claim, reported))
        if not given:
            reported = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.append(invalid(at, claim, reported))
        for field in given:
            complain(errors, f"{at}.{field}", claim[field], names.check_dns_subdomain(claim[field]))
    return frozenset(seen)


def _check_dns(errors: Errors, path: str, spec: Document) -> None:
    config: Document | None = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            errors.append(required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
            return
        if not config.get("nameservers"):
            reported = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            errors.append(required(f"{path}.nameservers", reported))
            return
    config = config or {}
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > 3:
        errors.append(invalid(f"{path}.nameservers", servers, "must not have more than 3 nameservers"))
    for index, server in enumerate(servers):
        check_ip(errors, f"{path}.nameservers[{index}]", server)
    if len(searches) > 32:
        errors.append(invalid(f"{path}.searches", searches, "must not have more than 32 search paths"))
    if len(" ".join(searches)) > 2048:
        reported = "must not have more than 2048 characters (including spaces) in the search list"
        errors.append(invalid(f"{path}.searches", searches, reported))
    for index, search in enumerate(searches):
        if search != ".":
            # Underscores are allowed here, as in the names of service records.
            name = search.removesuffix(".")
            complain(errors, f"{path}.searches[{index}]", name, names.check_dns_subdomain(name.replace("_", "a")))
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(required(f"{path}.options[{index}]", "must not be empty"))


def _check_gates(errors: Errors, path: str, gates: list[Document]) -> None:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name") or ""
        complain(errors, f"{path}[{index}]", name, names.check_qualified_name(name))
        if name in seen:
            errors.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)


def _check_host_network(errors: Errors, path: str, spec: Document, *, is_pod: bool) -> None:
    for index, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports") or ()):
            outside = port.get("hostPort", 0)
            if (is_pod or outside) and outside != port.get("containerPort"):
                at = f"{path}.containers[{index}].ports[{number}].hostPort"
                reported = "must match `containerPort` when `hostNetwork` is true"
                errors.append(invalid(at, outside, reported))
