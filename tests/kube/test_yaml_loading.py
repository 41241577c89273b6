"""YAML of strangers: what it may cost, and what becomes of values that JSON does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from podium.cli.vc.making import job_in
from podium.errors import UsageError
from podium.kube.kubeconfig_file import load
from podium.kube.yaml_files import YamlText
from podium.kube.yaml_loading import MAX_DEPTH, Unacceptable, describe, load_all
from podium.kube.yaml_loading import load as load_one


def doubling(times: int, item: str = "x") -> str:
    """Each line holds the one before it ten times."""
    lines = [f"a0: &a0 [{', '.join([item] * 10)}]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, times)]
    return "\n".join(lines)


BOMBS = {
    "aliases": doubling(9),
    "merges": "a0: &a0 {x: 1}\n"
    + "\n".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 9)),
    "a long text many times": "a: &a " + "x" * 10_000 + "\nb: [" + "*a, " * 1000 + "]",
    "aliases in each other": "a0: &a0 [x]\n" + "\n".join(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 400)),
    "brackets": "[" * 100_000 + "]" * 100_000,
    "brackets without an end": "[" * 100_000,
    "objects": "{a: " * 100_000 + "1" + "}" * 100_000,
    "blocks": "- " * 100_000,
    "in a second document": "a: 1\n---\n" + "[" * 100_000,
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS.keys())
def test_what_would_end_the_process_is_refused(text: str) -> None:
    with pytest.raises(Unacceptable) as refused:
        load_all(text)
    reported, line, column = describe(refused.value)
    assert reported.startswith(
        ("aliases add more than 4 MiB", "exceeded max depth: lists and objects stand in each other")
    )
    assert line > 0
    assert column > 0


@pytest.mark.parametrize("text", [BOMBS["aliases"], BOMBS["brackets"]], ids=["aliases", "brackets"])
def test_every_reader_of_files_refuses_it(text: str, tmp_path: Path) -> None:
    file = tmp_path / "bomb.yaml"
    file.write_text(text)
    for strict in (False, True):
        with pytest.raises(
            UsageError, match=r"bomb\.yaml, line \d+, column \d+: (aliases add|exceeded max depth)"
        ):
            YamlText(text, str(file), strict=strict)
    with pytest.raises(UsageError, match=r"aliases add|exceeded max depth"):
        job_in(file)
    with pytest.raises(UsageError, match=r"aliases add|exceeded max depth"):
        load([file])


def test_what_is_reasonable_is_read() -> None:
    text = "a: &a {x: [1, 2]}\nb: [*a, *a]\nc: {<<: *a, y: 3}\n"
    assert load_one(text) == {
        "a": {"x": [1, 2]},
        "b": [{"x": [1, 2]}, {"x": [1, 2]}],
        "c": {"x": [1, 2], "y": 3},
    }
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert load_one(deep) is not None
    with pytest.raises(Unacceptable):
        load_one(f"[{deep}]")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2001-01-01", "2001-01-01"),
        ("2001-13-45", "2001-13-45"),
        ("2001-01-01T00:00:00Z", "2001-01-01T00:00:00Z"),
        ("!!timestamp 2001-01-01", "2001-01-01"),
        ("!!binary aGk=", "hi"),
        ("8080:80", "8080:80"),
        ("1:30", "1:30"),
        ("1e3", 1000.0),
        ("0777", 511),
        ("0x1F", 31),
        ("-5", -5),
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551616", 18446744073709551616.0),
        ("9" * 5000, "9" * 5000),
        ("yes", True),
        ("~", None),
        ("", None),
        ("=", "="),
        ("{2: a, true: b, 1.5: c}", {"2": "a", "true": "b", "1.5": "c"}),
    ],
)
def test_values_are_those_of_json(text: str, value: Any) -> None:
    assert load_one(text) == value


@pytest.mark.parametrize(
    "text",
    [
        ".inf",
        ".nan",
        "!!int x",
        "!!float x",
        "!!bool x",
        "!!binary x",
        "!!binary /w==",
        "!!set {a, b}",
        "!!python/object/apply:os.system [ls]",
        "{~: a}",
        "{[a]: b}",
        "&a [*a]",
        "*a",
        "a: [",
        "\x00",
    ],
)
def test_what_json_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(yaml.YAMLError) as refused:
        load_one(text)
    assert describe(refused.value)[0]
