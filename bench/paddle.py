"""Paddle's published experiment again, in virtual time: jobs with and without elasticity.

    case 1    20 jobs that arrive every 10 seconds: 2 to 60 trainers, or always 60
    case 2    6 jobs beside a service of 400, 300, 200, 100, 200, 300 and 400 pods, for 90 seconds each:
              2 to 60 trainers, or always 15

What was not published (the size of nodes, the work of a job) is such that the runs without elasticity give the
published figures; it stands in the scenario files, which `python -m bench.paddle write` makes.

A job is pending from its submission until its least number of trainers runs.  CPU use is what pods that run ask
for, in the first 550 seconds, as in the published tables.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import yaml

from podium.core.profiles.profile import Profile
from podium.runtime.configuration import embedded_profiles, read_profiles, serving_all
from podium.sim.drawing.axes import time_ticks
from podium.sim.drawing.charts import Curve, curves
from podium.sim.drawing.svg import standalone
from podium.sim.following import Play, PodResult
from podium.sim.scenario import play, read_scenario

Document = dict[str, Any]

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "examples" / "sim"
PICTURES = ROOT / "docs" / "pictures"

WINDOW = 550.0  # seconds of the published means
TRAINER, PSERVER, NGINX = 5.0, 4.0, 0.4  # cores
WORK = 60 * 280  # trainer-seconds of a job
PODS = {"podium.dev/start-seconds": "10", "podium.dev/termination-seconds": "30"}
CASES = {1: {"jobs": 20, "nodes": 133, "fixed": 60}, 2: {"jobs": 6, "nodes": 61, "fixed": 15}}
POLICIES = ("cfs", "fulfilment")
SERVICE = (400, 300, 200, 100, 200, 300, 400)


class Result(msgspec.Struct, frozen=True):
    """What one run gave."""

    pending: float
    cpu: float  # percent
    running: int  # jobs, at most
    curve: list[tuple[float, float]]
    waiting: list[tuple[float, float]]


# --- the scenarios ---------------------------------------------------------------------------------------------


def job(number: int, least: int, most: int) -> Document:
    def asks(cpu: str, memory: str) -> Document:
        return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}}

    return {
        "apiVersion": "paddlepaddle.org/v1",
        "kind": "TrainingJob",
        "metadata": {"name": f"mnist-{number:02}", "annotations": {**PODS, "podium.dev/work-seconds": str(WORK)}},
        "spec": {
            "fault_tolerant": True,
            "freezingWindow": 60,
            "trainer": {"min-instance": least, "max-instance": most, "resources": asks("5", "8Gi")},
            "pserver": {"min-instance": 2, "max-instance": 2, "resources": asks("4", "5Gi")},
        },
    }


def service(count: int) -> Document:
    amounts = {"requests": {"cpu": "400m", "memory": "100Mi"}, "limits": {"cpu": "600m", "memory": "200Mi"}}
    labels = {"app": "nginx"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "nginx"},
        "spec": {
            "replicas": count,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": dict(PODS)},
                "spec": {"containers": [{"name": "nginx", "image": "nginx", "resources": amounts}]},
            },
        },
    }


def scenario(case: int, elastic: bool) -> Document:
    given = CASES[case]
    sizes = (2, 60) if elastic else (given["fixed"], given["fixed"])
    events: list[Document] = []
    if case == 2:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}
        events.append({"at": 0, "apply": [service(SERVICE[0])]})
        later = enumerate(SERVICE[1:], 1)
        events += [{"at": 90 * step, "scale": {**target, "replicas": count}} for step, count in later]
    events += [{"at": 10 * number, "apply": [job(number, *sizes)]} for number in range(given["jobs"])]
    events.sort(key=lambda each: float(each["at"]))
    nodes = [{"name": "node", "count": given["nodes"], "cpu": 16, "memory": "64Gi"}]
    return {"nodes": nodes, "until": 1800 if case == 1 else 700, "events": events}


def path_of(case: int, elastic: bool) -> Path:
    return SCENARIOS / f"paddle-{case}-{'elastic' if elastic else 'fixed'}.yaml"


def write() -> None:
    for case in CASES:
        for elastic in (False, True):
            head = (
                f"# Paddle's experiment, case {case}: {'2 to 60 trainers' if elastic else 'a fixed size'}.\n"
                "# Made by `python -m bench.paddle write`; docs/paddle-experiment.md has the figures.\n#\n"
                f"#   podium sim run --trace scenario --pods examples/sim/{path_of(case, elastic).name}\n"
            )
            text = yaml.dump(scenario(case, elastic), Dumper=_Plain, sort_keys=False, width=120)
            path_of(case, elastic).write_text(head + text)


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


# --- runs ------------------------------------------------------------------------------------------------------


def profiles(policy: str) -> dict[str, Profile]:
    return serving_all(read_profiles(f"profiles: {{paddle: {{policy: {policy}}}}}", "the experiment"))


def run(case: int, elastic: bool, policy: str = "cfs") -> Result:
    path = path_of(case, elastic)
    found = play(read_scenario(path), path, profiles(policy) if elastic else embedded_profiles())
    return measure(found, case, 2 if elastic else CASES[case]["fixed"])


def _cores(pod: PodResult) -> float:
    if pod.name.startswith("nginx"):
        return NGINX
    return TRAINER if "-trainer-" in pod.name else PSERVER if "-pserver-" in pod.name else 0.0


def measure(found: Play, case: int, least: int) -> Result:
    given = CASES[case]
    total = given["nodes"] * 16.0
    steps: list[tuple[float, float]] = []
    trainers: dict[int, list[PodResult]] = {number: [] for number in range(given["jobs"])}
    for pod in found.pods:
        if pod.started < 0:
            continue
        end = pod.ended if pod.ended >= 0 else found.seconds
        steps += [(pod.started, _cores(pod)), (end, -_cores(pod))]
        if "-trainer-" in pod.name:
            trainers[int(pod.name.split("-")[1])].append(pod)
    pending = []
    spans: list[tuple[float, float]] = []
    for number, pods in trainers.items():
        starts = sorted(pod.started for pod in pods)
        submitted = 10.0 * number
        begun = starts[least - 1] if len(starts) >= least else found.seconds
        pending.append(begun - submitted)
        ends = [pod.ended if pod.ended >= 0 else found.seconds for pod in pods]
        spans += [(begun, 1.0), (max(ends, default=begun), -1.0)]
    waits = [(10.0 * number, 1.0) for number in trainers]
    waits += [(10.0 * number + wait, -1.0) for number, wait in enumerate(pending)]
    curve = _sum(steps)
    used = _integral(curve, WINDOW) / WINDOW
    return Result(
        pending=sum(pending) / len(pending),
        cpu=100 * used / total,
        running=int(max(level for _, level in _sum(spans))),
        curve=[(at, 100 * level / total) for at, level in curve],
        waiting=_sum(waits),
    )


def _sum(steps: list[tuple[float, float]]) -> list[tuple[float, float]]:
    level, found = 0.0, [(0.0, 0.0)]
    for at, change in sorted(steps):
        level += change
        if found[-1][0] == at:
            found[-1] = (at, level)
        else:
            found.append((at, level))
    return found


def _integral(curve: list[tuple[float, float]], until: float) -> float:
    total = 0.0
    for (at, level), (after, _) in zip(curve, [*curve[1:], (until, 0.0)], strict=True):
        if at < until:
            total += level * (min(after, until) - at)
    return total


def all_runs(case: int) -> dict[str, Result]:
    fixed = run(case, elastic=False)
    return {"fixed": fixed, **{policy: run(case, True, policy) for policy in POLICIES}}


def rows(first: dict[str, Result], second: dict[str, Result]) -> dict[str, dict[str, str]]:
    """The figures of podium in the table of docs/paddle-experiment.md, by row and column."""

    def row(found: dict[str, str], *, fixed: bool = True) -> dict[str, str]:
        return {name: text for name, text in found.items() if fixed or name != "fixed"}

    def seconds(found: dict[str, Result]) -> dict[str, str]:
        return row({name: f"{each.pending:.1f} s" for name, each in found.items()})

    def cpu(found: dict[str, Result]) -> dict[str, str]:
        return row({name: f"{each.cpu:.1f} %" for name, each in found.items()})

    less = {name: f"{less_pending(first, name):.1f} %" for name in first}
    more = {name: f"{more_cpu(second, name):.1f} %" for name in second}
    return {
        "case 1: pending, mean": seconds(first),
        "case 1: less pending": row(less, fixed=False),
        "case 1: CPU use": cpu(first),
        "case 1: jobs at once, at most": row({name: str(each.running) for name, each in first.items()}),
        "case 2: pending, mean": seconds(second),
        "case 2: CPU use": cpu(second),
        "case 2: more CPU use": row(more, fixed=False),
    }


def less_pending(found: dict[str, Result], policy: str) -> float:
    """By how many percent a policy shortens what jobs wait."""
    return 100 * (1 - found[policy].pending / found["fixed"].pending)


def more_cpu(found: dict[str, Result], policy: str) -> float:
    """By how many percent a policy uses more of the CPU."""
    return 100 * (found[policy].cpu / found["fixed"].cpu - 1)


def main() -> None:
    if "write" in sys.argv:
        write()
        return
    found = {case: all_runs(case) for case in CASES}
    for name, figures in rows(found[1], found[2]).items():
        print(f"{name:30}", *(f"{column} {text:10}" for column, text in figures.items()))
    for case, results in found.items():
        for name, text in pictures(case, results).items():
            (PICTURES / name).write_text(text)


def pictures(case: int, found: dict[str, Result]) -> dict[str, str]:
    end, drawn = 1200.0 if case == 1 else 630.0, {}
    for name, title, pick in (("cpu", "CPU in use, %", "curve"), ("waiting", "Jobs that wait", "waiting")):
        lines = []
        for label, each in found.items():
            points = [(at, value) for at, value in getattr(each, pick) if at <= end]
            lines.append(Curve(label, [at for at, _ in points], [value for _, value in points]))
        scene = curves(f"paddle-{case}-{name}", title, f"case {case}", lines, x_ticks=time_ticks(end), x_end=end)
        drawn[f"paddle-{case}-{name}.svg"] = standalone(scene)
    return drawn


if __name__ == "__main__":
    main()
