"""The options of `podium sim`, as the runs that they ask for: every combination of profiles, nodes and queues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import click
import msgspec

from podium.cli.sim_options import DEFAULTS, OF_A_CLUSTER
from podium.core.profiles.profile import Profile
from podium.core.profiles.registry import Registry
from podium.dialects import authoring
from podium.embedded.nodes.nodes_file import check_count, check_given, read_shapes
from podium.embedded.nodes.shapes import Shape
from podium.runtime.configuration import default_profiles, load_profiles, read_file
from podium.sim.jobs import SCHEDULER
from podium.sim.policies import POLICIES, policy
from podium.sim.presets import PRESETS, preset
from podium.sim.replay import QueueShape
from podium.sim.runs import SEED, Question, Trace
from podium.sim.snapshot import Snapshot

Options = dict[str, Any]
Queues = tuple[QueueShape, ...]

# What has nodes of its own, to which others are added.
_WITH_NODES = (Trace.CLUSTER, Trace.SCENARIO)
_GPUS_OF_A_NODE = 8


class Choice(msgspec.Struct, frozen=True):
    """One run: what it is called beside others, the profile by its name, and the question."""

    label: str
    profile_name: str
    profile: Profile
    question: Question


def choices(reported: Options, snapshot: Snapshot | None) -> list[Choice]:
    """All runs, in the order in which they were asked for."""
    profiles = list(_profiles(reported))
    nodes = list(dict.fromkeys(reported["nodes"])) or [""]
    queues = alternatives(reported["queues"])
    if len(queues) > 1:
        _warn_of_weights(profiles)
    found = []
    for some_nodes, some_queues in product(nodes, queues):
        question = _question(reported, some_nodes, some_queues, snapshot)
        for name, profile in profiles:
            parts = [name] if len(profiles) > 1 else []
            parts += [_nodes_label(some_nodes, question.trace)] if len(nodes) > 1 else []
            parts += [_queues_label(some_queues)] if len(queues) > 1 else []
            found.append(Choice(", ".join(parts) or name, name, profile, question))
    return found


def _nodes_label(nodes: str, trace: Trace) -> str:
    more = "more " if trace in _WITH_NODES else ""
    return f"{nodes} {more}nodes" if _is_count(nodes) else Path(nodes).name


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _queues_label(queues: Queues) -> str:
    return " ".join(f"{queue.name}={queue.weight}" for queue in queues)


# --- queues ------------------------------------------------------------------------------------------------------


def alternatives(texts: Sequence[str]) -> list[Queues]:
    """The settings of queues that are asked for: those that name the same queues are alternatives of each other.

    `a=1`, `a=3` and `b=2` are two settings, a=1 b=2 and a=3 b=2; `a=1,b=3` and `a=3,b=1` are two as well.
    """
    by_names: dict[tuple[str, ...], dict[Queues, None]] = {}
    for text in texts:
        read = tuple(_queue(part, text) for part in text.split(","))
        names = tuple(sorted(queue.name for queue in read))
        if len(set(names)) < len(names):
            raise click.UsageError(f"--queue: {text!r} names a queue twice")
        by_names.setdefault(names, {})[read] = None
    owners: dict[str, tuple[str, ...]] = {}
    for names in by_names:
        for name in names:
            if name in owners:
                raise click.UsageError(
                    f"--queue: the queue {name} stands together with {' and '.join(_others(owners[name], name))} "
                    f"once and with {' and '.join(_others(names, name))} once; name the same queues each time"
                )
            owners[name] = names
    return [tuple(queue for part in parts for queue in part) for parts in product(*by_names.values())]


def _others(names: tuple[str, ...], name: str) -> list[str]:
    return [other for other in names if other != name] or ["none"]


def _queue(text: str, whole: str) -> QueueShape:
    name, _, weight = text.strip().partition("=")
    if not name or not _is_count(weight) or not 0 < int(weight) <= 1_000_000:
        raise click.UsageError(f"--queue: want NAME=WEIGHT with a weight of at least 1, got {whole!r}")
    return QueueShape(name, int(weight))


# --- profiles ----------------------------------------------------------------------------------------------------


def _profiles(reported: Options) -> Iterator[tuple[str, Profile]]:
    """The profiles that are asked for, by the names they were asked for."""
    built_in = default_profiles()
    default = OF_A_CLUSTER if reported["from_cluster"] else DEFAULTS[reported["trace"]] or authoring().scheduler
    for name in dict.fromkeys(reported["profiles"] or (() if reported["configs"] else (default,))):
        if name in POLICIES:
            yield name, policy(name, SEED if reported["seed"] is None else reported["seed"])
        elif name in PRESETS:
            yield name, preset(name)
        elif name in built_in:
            yield name, built_in[name]
        else:
            known = ", ".join(sorted({*POLICIES, *PRESETS, *built_in}))
            raise click.UsageError(f"--profile: there is no profile {name!r}; there are {known}")
    for path in dict.fromkeys(reported["configs"]):
        profile = load_profiles(path, (SCHEDULER,))[SCHEDULER]
        for warning in profile.warnings:
            click.echo(f"podium: {warning}", err=True)
        yield str(path), profile


def _warn_of_weights(profiles: Iterable[tuple[str, Profile]]) -> None:
    """Runs that differ in weights alone are the same where nobody looks at them."""
    for name, profile in profiles:
        if not any(entry.kind.BY_WEIGHT for tier in profile.tiers for entry in tier):
            names = " or ".join(each for each, kind in Registry().plugins.items() if kind.BY_WEIGHT)
            reported = f"the profile {name} has no plugin {names}: the weights of --queue change nothing in it"
            click.echo(f"podium: {reported}", err=True)


# --- the question ------------------------------------------------------------------------------------------------


def _question(reported: Options, nodes: str, queues: Queues, snapshot: Snapshot | None) -> Question:
    trace = Trace.CLUSTER if snapshot is not None else Trace(reported["trace"])
    shapes: tuple[Shape, ...] = ()
    file: Path | None = None
    more = 0
    if nodes and trace is Trace.OPENB:
        if _is_count(nodes):
            raise click.UsageError(f"--nodes: a trace of openb has a list of nodes: want its file, got {nodes}")
        file = Path(nodes)
    elif _is_count(nodes) and trace in _WITH_NODES:
        more = int(nodes)
        check_count((Shape(count=more),), "--nodes")
    elif _is_count(nodes):
        gpus = reported["gpus_per_node"]
        shapes = (Shape(count=int(nodes), gpus=_GPUS_OF_A_NODE if gpus is None else gpus),)
        check_given(shapes[0], "--nodes")
    elif nodes:
        shapes = tuple(read_shapes(read_file(Path(nodes)), nodes))
    return Question(
        trace=trace,
        pods=reported["pods"],
        nodes_file=file,
        shapes=shapes,
        more_nodes=more,
        queues=queues,
        split=reported["split"],
        load=reported["load"],
        seed=reported["seed"],
        snapshot=snapshot,
        assume_seconds=reported["assume_seconds"],
    )
