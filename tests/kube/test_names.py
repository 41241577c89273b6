"""Names: what is allowed, and the sentence for what is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from podium.kube import names

GOOD: list[tuple[Callable[[str], str | None], list[str]]] = [
    (names.check_dns_label, ["a", "0", "my-name", "a" * 63]),
    (names.check_dns_subdomain, ["a", "a.b", "1.2.3", "a-b.c-d", "a" * 253]),
    (names.check_dns_1035, ["a", "a1", "my-name"]),
    (names.check_qualified_name, ["a", "A_b.c-d", "example.com/MyName", "x/y", "nvidia.com/gpu", "a" * 63]),
    (names.check_annotation_key, ["Example.COM/Key", "a"]),
    (names.check_label_value, ["", "a", "A_b.c-d", "0", "v" * 63]),
    (names.check_path_segment, ["system:node", "a b", "..."]),
    (names.check_config_key, ["a", ".dockerconfigjson", "A_B-c.d", "x" * 253]),
    (names.check_env_name, ["A", "a-b", "1", "my var", "a.b"]),
    (names.check_port_name, ["http", "p1", "a-b-c"]),
    (names.check_percent, ["0%", "100%"]),
]

BAD: list[tuple[Callable[[str], str | None], str, str]] = [
    (names.check_dns_label, "", "a lowercase RFC 1123 label must"),
    (names.check_dns_label, "a.b", "must not contain dots"),
    (names.check_dns_label, "-a", "(e.g. 'my-name',  or '123-abc', regex used"),
    (names.check_dns_label, "a" * 64, "must be no more than 63 characters"),
    (names.check_dns_label, "a\n", "RFC 1123 label"),
    (names.check_dns_subdomain, "a..b", "a lowercase RFC 1123 subdomain must"),
    (names.check_dns_subdomain, "A", "(e.g. 'example.com', regex used for validation is"),
    (names.check_dns_subdomain, "a" * 254, "must be no more than 253 characters"),
    (names.check_dns_subdomain, "A" * 254, "; a lowercase"),
    (names.check_dns_1035, "1a", "a DNS-1035 label must"),
    (names.check_qualified_name, "", "name part must be non-empty"),
    (names.check_qualified_name, "/a", "prefix part must be non-empty"),
    (names.check_qualified_name, "a/", "name part must be non-empty"),
    (names.check_qualified_name, "a/b/c", "a valid label key must consist"),
    (names.check_qualified_name, "A/b", "prefix part a lowercase RFC 1123 subdomain"),
    (names.check_qualified_name, "a b", "name part must consist of"),
    (names.check_qualified_name, "a" * 64, "name part must be no more than 63 bytes"),
    (names.check_annotation_key, "a b", "name part must"),
    (names.check_label_value, "-", "a valid label must be an empty string or consist"),
    (names.check_label_value, "v" * 64, "must be no more than 63 bytes"),
    (names.check_label_value, "é", "a valid label"),
    (names.check_path_segment, "..", "may not be '..'"),
    (names.check_path_segment, "a/b%", "may not contain '/'; may not contain '%'"),
    (names.check_config_key, "", "a valid config key"),
    (names.check_config_key, "..", "must not be '..'"),
    (names.check_config_key, "..x", "must not start with '..'"),
    (names.check_env_name, "a=b", "printable ASCII characters other than '='"),
    (names.check_env_name, "", "must be non-empty"),
    (names.check_env_name, "a\tb", "printable ASCII"),
    (names.check_port_name, "A--", "must not contain consecutive hyphens"),
    (names.check_port_name, "123", "at least one letter"),
    (names.check_port_name, "a" * 16, "no more than 15 characters"),
    (names.check_percent, "5", "a valid percent string"),
]


@pytest.mark.parametrize(("check", "values"), GOOD)
def test_good_names(check: Callable[[str], str | None], values: list[str]) -> None:
    assert [value for value in values if check(value) is not None] == []


@pytest.mark.parametrize(("check", "value", "sentence"), BAD)
def test_bad_names(check: Callable[[str], str | None], value: str, sentence: str) -> None:
    reported = check(value)
    assert reported is not None
    assert sentence in reported


def test_whole_sentence_as_the_server_says_it() -> None:
    assert names.check_label_value("c d") == (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
        "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
        "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    )


def test_port_numbers() -> None:
    assert names.check_port_number(1) is None
    assert names.check_port_number(65535) is None
    assert names.check_port_number(0) == names.check_port_number(65536) == "must be between 1 and 65535, inclusive"
