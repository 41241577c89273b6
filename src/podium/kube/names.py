"""The shapes of names in Kubernetes.

Each `check_...` returns None for a good name, else what an API server says about a bad one (several complaints are
joined by "; ").  Lengths count bytes of UTF-8, as on the server.
"""

from __future__ import annotations

import re
from functools import lru_cache

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_QUALIFIED})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_PERCENT = "[0-9]+%"

_is_label = re.compile(_LABEL).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN).fullmatch
_is_dns_1035 = re.compile(_DNS_1035).fullmatch
_is_qualified = re.compile(_QUALIFIED).fullmatch
_is_label_value = re.compile(_LABEL_VALUE).fullmatch
_is_config_key = re.compile(_CONFIG_KEY).fullmatch
_is_percent = re.compile(_PERCENT).fullmatch
_is_port_charset = re.compile("[-a-z0-9]+").fullmatch
_has_letter = re.compile("[a-z]").search
_is_env_name = re.compile("[ -<>-~]+").fullmatch

_EDGES = "and must start and end with an alphanumeric character"
_WORD = f"must consist of alphanumeric characters, '-', '_' or '.', {_EDGES}"
_LABEL_RULE = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_EDGES}"
_SUBDOMAIN_RULE = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_EDGES}"
)
_DNS_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_LABEL_VALUE_RULE = f"a valid label must be an empty string or {_WORD.removeprefix('must ')}"


def check_dns_label(value: str) -> str | None:
    """Namespaces, containers, volumes, Services."""
    if len(value) <= 63 and _is_label(value):
        return None
    reported = _length(value, 63, "characters")
    if not _is_label(value):
        dotted = _is_subdomain(value)
        reported.append("must not contain dots" if dotted else _rule(_LABEL_RULE, _LABEL, "my-name", "123-abc"))
    return "; ".join(reported)


def check_dns_subdomain(value: str) -> str | None:
    """Most object names."""
    return _check_subdomain(value, "characters")


def check_dns_1035(value: str) -> str | None:
    """Labels that must start with a letter: names of Services before 1.34, plurals and kinds of CRDs."""
    if len(value) <= 63 and _is_dns_1035(value):
        return None
    reported = _length(value, 63, "characters")
    if not _is_dns_1035(value):
        reported.append(_rule(_DNS_1035_RULE, _DNS_1035, "my-name", "abc-123"))
    return "; ".join(reported)


@lru_cache(maxsize=4096)
def check_qualified_name(value: str) -> str | None:
    """Label keys, resource names, finalizers: an optional DNS subdomain and a slash, then up to 63 characters."""
    rule = _rule(_WORD, _QUALIFIED, "MyName", "my.name", "123-abc")
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return (
            f"a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        )
    reported = []
    if slash and not prefix:
        reported.append("prefix part must be non-empty")
    elif slash and (problem := _check_subdomain(prefix, "bytes")):
        reported.append(f"prefix part {problem}")
    if not name:
        reported.append("name part must be non-empty")
    else:
        reported += [f"name part {each}" for each in _length(name, 63, "bytes")]
    if not _is_qualified(name):
        reported.append(f"name part {rule}")
    return "; ".join(reported) or None


def check_annotation_key(value: str) -> str | None:
    """Like a label key, except that capitals are allowed in the prefix."""
    return check_qualified_name(value.lower()) and check_qualified_name(value)


@lru_cache(maxsize=4096)
def check_label_value(value: str) -> str | None:
    reported = _length(value, 63, "bytes")
    if not _is_label_value(value):
        reported.append(_rule(_LABEL_VALUE_RULE, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return "; ".join(reported) or None


def check_path_segment(value: str) -> str | None:
    """Names that need only be one segment of a URL path, such as RBAC's."""
    if value in (".", ".."):
        return f"may not be '{value}'"
    return "; ".join(f"may not contain '{sign}'" for sign in "/%" if sign in value) or None


def check_config_key(value: str) -> str | None:
    """Keys of ConfigMaps and Secrets."""
    reported = _length(value, 253, "characters")
    if not _is_config_key(value):
        rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        reported.append(_rule(rule, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    if value in (".", ".."):
        reported.append(f"must not be '{value}'")
    elif value.startswith(".."):
        reported.append("must not start with '..'")
    return "; ".join(reported) or None


def check_env_name(value: str) -> str | None:
    if not value:
        return "environment variable name must be non-empty"
    if _is_env_name(value):
        return None
    return "a valid environment variable name must consist only of printable ASCII characters other than '='"


def check_port_name(value: str) -> str | None:
    reported = _length(value, 15, "characters")
    if not _is_port_charset(value):
        reported.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _has_letter(value):
        reported.append("must contain at least one letter (a-z)")
    if "--" in value:
        reported.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        reported.append("must not begin or end with a hyphen")
    return "; ".join(reported) or None


def check_port_number(value: int) -> str | None:
    return None if 1 <= value <= 65535 else "must be between 1 and 65535, inclusive"


def check_percent(value: str) -> str | None:
    if _is_percent(value):
        return None
    rule = "a valid percent string must be a numeric string followed by an ending '%'"
    return _rule(rule, _PERCENT, "1%", "93%")


def _check_subdomain(value: str, unit: str) -> str | None:
    if len(value) <= 253 and _is_subdomain(value):
        return None
    reported = _length(value, 253, unit)
    if not _is_subdomain(value):
        reported.append(_rule(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return "; ".join(reported)


def _length(value: str, limit: int, unit: str) -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(value.encode()) > limit else []


def _rule(sentence: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{sentence} (e.g. {shown}regex used for validation is '{pattern}')"
