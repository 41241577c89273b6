"""Pages of reference that follow from the registry of dialects: the kinds with their fields, and the profiles."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import yaml

from podium.core.actions import BUILT_IN as ACTIONS
from podium.core.framework.arguments import Argument
from podium.core.plugins import BUILT_IN as PLUGINS
from podium.dialects import DIALECTS, built_in_profiles
from podium.schema.crd import Definition

Document = dict[str, Any]


# --- kinds -------------------------------------------------------------------------------------------------------


def kinds_page() -> str:
    """Every field of every kind that podium brings, as `kubectl explain` has it."""
    lines = [
        "# Kinds and fields",
        "",
        "<!-- made by python -m tests.generated from the types of the dialects -->",
        "",
        "The kinds that `podium crds` prints. `kubectl explain` says the same. Fields of pod templates are those",
        "of Kubernetes, and are not repeated here.",
        "",
    ]
    for dialect in DIALECTS:
        for definition in dialect.definitions:
            lines += _kind(dialect.name, definition)
    return "\n".join(lines).rstrip() + "\n"


def _kind(dialect: str, definition: Definition) -> list[str]:
    resource = definition.resource
    scope = "in a namespace" if resource.namespaced else "for the whole cluster"
    short = ", ".join(f"`{name}`" for name in definition.short_names)
    lines = [
        f"## {resource.kind} ({resource.group}/{resource.version})",
        "",
        f"Of the dialect {dialect}; {scope}.{f' Short names: {short}.' if short else ''}",
        "",
        "| field | type | meaning |",
        "|---|---|---|",
    ]
    for path, field in fields(_schema(definition)):
        about = " ".join(str(field.get("description", "")).split()).replace("|", "\\|")
        lines.append(f"| `{path}` | {_type(field)} | {about} |")
    return [*lines, ""]


def _schema(definition: Definition) -> Document:
    schema: Document = definition.document()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def fields(schema: Document, path: str = "") -> Iterator[tuple[str, Document]]:
    """The fields below a schema with their paths; what Kubernetes itself has (templates, metadata) as a whole."""
    for name, field in schema.get("properties", {}).items():
        if not path and name in ("apiVersion", "kind", "metadata"):
            continue
        inner = field.get("items", field)
        mark = "[]" if "items" in field else ""
        here = f"{path}.{name}" if path else name
        yield here, field
        if not _foreign(name, inner):
            yield from fields(inner, here + mark)


def _foreign(name: str, field: Document) -> bool:
    """A type of Kubernetes inside of a kind: its fields are documented there."""
    known = set(field.get("properties", {}))
    built_in = ("matchExpressions", "containers", "blockOwnerDeletion", "claims")
    return name in ("template", "volumeClaim", "volumes") or any(each in known for each in built_in)


def without_meaning() -> list[str]:
    """Fields of which nothing says what they are for."""
    return [
        f"{definition.resource.kind}: {path}"
        for dialect in DIALECTS
        for definition in dialect.definitions
        for path, field in fields(_schema(definition))
        if not field.get("description")
    ]


def _type(field: Document) -> str:
    if "items" in field:
        return f"list of {_type(field['items'])}"
    if "enum" in field:
        return ", ".join(f"`{each}`" for each in field["enum"])
    if field.get("x-kubernetes-int-or-string"):
        return "number or text"
    if "additionalProperties" in field and isinstance(field["additionalProperties"], dict):
        return f"map to {_type(field['additionalProperties'])}"
    return str(field.get("type", "anything"))


# --- profiles ----------------------------------------------------------------------------------------------------


def profiles_page() -> str:
    """The built-in profiles as they are, and what each lacks."""
    lines = [
        "# Profiles",
        "",
        "<!-- made by python -m tests.generated from the profiles of podium and of the dialects -->",
        "",
        "A profile decides for the pods of one scheduler name (`spec.schedulerName`). These are there without a",
        "file. [A file](scheduler.md) may give a name other actions and tiers; what it leaves out stays as it is",
        "here. An action that a profile lacks is never tried for its pods: who waits for room that preemption",
        "would make should ask for a profile that has it.",
        "",
    ]
    for name, profile in built_in_profiles().items():
        document = yaml.safe_load(profile.text)
        actions = [each.strip() for each in document["actions"].split(",")]
        lines += [f"## {name}", "", "```yaml", *_shown(document), "```", ""]
        lines += _options(name, profile.options)
        lacking = [each for each in sorted(ACTIONS) if each not in actions]
        lines += [
            "Actions that it lacks:",
            "",
            *(f"- `{each}`: {_sentence(ACTIONS[each])}" for each in lacking),
            "",
        ]
    lines += ["## The plugins that they name", "", "| plugin | what it decides |", "|---|---|"]
    for name in sorted(_named()):
        lines.append(f"| `{name}` | {_sentence(PLUGINS[name])} |")
    return "\n".join(lines).rstrip() + "\n"


def _named() -> set[str]:
    return {
        plugin["name"]
        for profile in built_in_profiles().values()
        for tier in yaml.safe_load(profile.text)["tiers"]
        for plugin in tier["plugins"]
    }


def _shown(document: Document) -> list[str]:
    return yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=110).splitlines()


def _options(name: str, options: tuple[Argument, ...]) -> list[str]:
    if not options:
        return []
    lines = [
        f"Options, at `profiles.{name}.<option>` of a file:",
        "",
        "| option | default | meaning |",
        "|---|---|---|",
    ]
    for option in options:
        default = str(option.default).lower() if isinstance(option.default, bool) else str(option.default)
        lines.append(f"| `{option.name}` | {f'`{default}`' if default else 'none'} | {option.about} |")
    return [*lines, ""]


def _sentence(kind: type[object]) -> str:
    """What a plugin or an action is about: the first sentence of its module, or of its class."""
    module = (sys.modules[kind.__module__].__doc__ or "").split("\n\n")[0]
    text = " ".join(module.split())
    return text.partition(": ")[2] or text
