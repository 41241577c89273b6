"""CustomResourceDefinitions."""

from __future__ import annotations

from podium.kube import names
from podium.kube.fields import forbidden, invalid, required
from podium.schema import structural
from podium.schema.validation.base import Document, Errors, check_choice, check_same, complain

_SCOPES = ("Cluster", "Namespaced")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = (
    "binary",
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
)
_NO_WEBHOOKS = (
    "this server calls no webhook to convert objects between versions: use strategy None, or define one version"
)
_STORAGE = "must have exactly one version marked as storage version"


def check_crd(errors: Errors, document: Document) -> None:
    spec: Document = document.get("spec") or {}
    named: Document = spec.get("names") or {}
    if document["metadata"].get("name") != f"{named.get('plural', '')}.{spec.get('group', '')}":
        reported = 'must be spec.names.plural+"."+spec.group'
        errors.append(invalid("metadata.name", document["metadata"].get("name", ""), reported))
    _check_spec(errors, spec, named)
    _check_stored_versions(errors, document)


def check_crd_update(errors: Errors, new: Document, old: Document) -> None:
    after: Document = new.get("spec") or {}
    before: Document = old.get("spec") or {}
    _check_spec(errors, after, after.get("names") or {})
    _check_stored_versions(errors, new)
    check_same(errors, "spec.group", after.get("group"), before.get("group"))
    wanted, known = after.get("names") or {}, before.get("names") or {}
    conditions = (old.get("status") or {}).get("conditions") or ()
    if any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions):
        check_same(errors, "spec.scope", after.get("scope"), before.get("scope"))
        check_same(errors, "spec.names.kind", wanted.get("kind"), known.get("kind"))
        check_same(errors, "spec.names.plural", wanted.get("plural"), known.get("plural"))
    elif wanted.get("plural") != known.get("plural"):
        reported = 'must be spec.names.plural+"."+spec.group'
        errors.append(invalid("metadata.name", new["metadata"].get("name", ""), reported))


def _check_spec(errors: Errors, spec: Document, named: Document) -> None:
    group = spec.get("group") or ""
    if not group:
        errors.append(required("spec.group"))
    elif problem := names.check_dns_subdomain(group):
        complain(errors, "spec.group", group, problem)
    elif "." not in group:
        errors.append(invalid("spec.group", group, "should be a domain with at least one dot"))
    check_choice(errors, "spec.scope", spec.get("scope"), _SCOPES)
    if spec.get("preserveUnknownFields"):
        instead = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        reported = f"cannot set to true, {instead}"
        errors.append(invalid("spec.preserveUnknownFields", True, reported))
    versions: list[Document] = spec.get("versions") or []
    for index, version in enumerate(versions):
        _check_version(errors, f"spec.versions[{index}]", version)
    listed = [version.get("name") for version in versions]
    # The list itself would make the sentence unreadable; the API server prints it all the same.
    if len(set(listed)) != len(listed):
        errors.append(invalid("spec.versions", listed, "must contain unique version names"))
    if sum(1 for version in versions if version.get("storage")) != 1:
        errors.append(invalid("spec.versions", listed or None, _STORAGE))
    _check_names(errors, named)
    conversion: Document = spec.get("conversion") or {}
    strategy = conversion.get("strategy")
    check_choice(errors, "spec.conversion.strategy", strategy, ("None", "Webhook"))
    if strategy == "Webhook" and len(versions) > 1:
        errors.append(forbidden("spec.conversion.strategy", _NO_WEBHOOKS))
    if strategy != "Webhook" and "webhook" in conversion:
        reported = "should not be set when strategy is not set to Webhook"
        errors.append(forbidden("spec.conversion.webhookClientConfig", reported))


def _check_names(errors: Errors, named: Document) -> None:
    for field in ("plural", "singular", "kind", "listKind"):
        name = named.get(field) or ""
        at = f"spec.names.{field}"
        if not name:
            errors.append(required(at))
            continue
        if field.lower().endswith("kind"):
            problem = names.check_dns_1035(name.lower())
            if problem:
                reported = f"may have mixed case, but should otherwise match: {problem}"
                errors.append(invalid(at, name, reported))
        else:
            complain(errors, at, name, names.check_dns_1035(name))
    if named.get("kind") and named.get("kind") == named.get("listKind"):
        reported = "kind and listKind may not be the same"
        errors.append(invalid("spec.names.listKind", named["listKind"], reported))
    for field in ("shortNames", "categories"):
        for index, name in enumerate(named.get(field) or ()):
            complain(errors, f"spec.names.{field}[{index}]", name, names.check_dns_1035(name))


def _check_version(errors: Errors, path: str, version: Document) -> None:
    name = version.get("name", "")
    complain(errors, f"{path}.name", name, names.check_dns_1035(name))
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    at = f"{path}.schema.openAPIV3Schema"
    if schema is None:
        errors.append(required(at))
    else:
        errors += structural.problems(schema, at)
    scale = (version.get("subresources") or {}).get("scale")
    if scale is not None:
        _check_scale(errors, f"{path}.subresources", scale)
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        _check_column(errors, f"{path}.additionalPrinterColumns[{index}]", column)
    for index, field in enumerate(version.get("selectableFields") or ()):
        place = field.get("jsonPath") or ""
        at = f"{path}.selectableFields[{index}].jsonPath"
        if not place:
            errors.append(required(at))
        else:
            _check_path(errors, at, place)


def _check_scale(errors: Errors, path: str, scale: Document) -> None:
    for field, roots, reported in (
        ("specReplicasPath", (".spec.",), "should be a json path under .spec"),
        ("statusReplicasPath", (".status.",), "should be a json path under .status"),
        ("labelSelectorPath", (".spec.", ".status."), "should be a json path under either .spec or .status"),
    ):
        at, place = f"{path}.scale.{field}", scale.get(field) or ""
        if not place:
            if field != "labelSelectorPath":
                errors.append(required(at))
            continue
        if _check_path(errors, at, place) and not place.startswith(roots):
            errors.append(invalid(at, place, reported))


def _check_path(errors: Errors, path: str, place: str) -> bool:
    if place.startswith("."):
        return True
    errors.append(invalid(path, place, "must be a simple json path starting with ."))
    return False


def _check_column(errors: Errors, path: str, column: Document) -> None:
    if not column.get("name"):
        errors.append(required(f"{path}.name"))
    kind, reported = column.get("type") or "", f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        errors.append(required(f"{path}.type", reported))
    elif kind not in _COLUMN_TYPES:
        errors.append(invalid(f"{path}.type", kind, reported))
    form = column.get("format") or ""
    if form and form not in _COLUMN_FORMATS:
        reported = f"must be one of {','.join(_COLUMN_FORMATS)}"
        errors.append(invalid(f"{path}.format", form, reported))
    place = column.get("jsonPath") or ""
    # The server's own name of the field, from before it had one in the API.
    if not place:
        errors.append(required(f"{path}.JSONPath"))
    else:
        _check_path(errors, f"{path}.JSONPath", place)


def _check_stored_versions(errors: Errors, document: Document) -> None:
    """A version in which objects were stored cannot go before they are rewritten."""
    known = [version.get("name") for version in (document.get("spec") or {}).get("versions") or ()]
    stored = (document.get("status") or {}).get("storedVersions") or ()
    if not stored:
        errors.append(invalid("status.storedVersions", None, "must have at least one stored version"))
    for index, version in enumerate(stored):
        if version not in known:
            reported = (
                f"missing from spec.versions; {version} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {version} and "
                f"removes {version} from status.storedVersions"
            )
            errors.append(invalid(f"status.storedVersions[{index}]", version, reported))
