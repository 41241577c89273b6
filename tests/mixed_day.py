"""A day on 64 GPUs: 200 workloads of all five dialects and of plain Kubernetes on the same nodes, some of every
dialect in one queue of Volcano's that has a capability.

    python -m tests.mixed_day write    draws examples/sim/mixed-day.yaml anew, from a seed

`Part` is what a workload promises; it is read off the scenario file, so that the file alone is what counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import yaml

from podium.dialects.aibee.names import POOL
from podium.dialects.aibee.names import SCHEDULER as AIBEE
from podium.dialects.aibee.workloads import job as batch_job
from podium.dialects.aibee.workloads import pool
from podium.dialects.arranger.workloads import job as tyjob
from podium.dialects.koordinator.names import MIN_AVAILABLE, MODE, NAME, TOTAL_NUMBER, WAITING_TIME
from podium.dialects.koordinator.names import SCHEDULER as KOORDINATOR
from podium.dialects.paddle.workloads import training_job
from podium.dialects.volcano.names import QUEUE_NAME
from podium.dialects.volcano.names import SCHEDULER as VOLCANO
from podium.dialects.volcano.workloads import job as volcano_job
from podium.dialects.volcano.workloads import queue
from podium.dialects.workloads import Ask, template
from podium.kube.pod_script import RUN_SECONDS, TERMINATION_SECONDS, WORK_SECONDS
from podium.sim.drawing.charts import Curve, curves
from podium.sim.drawing.svg import standalone
from podium.sim.rng import Rng

Document = dict[str, Any]

SCENARIO = Path(__file__).parent.parent / "examples" / "sim" / "mixed-day.yaml"
HOUR = 300.0  # a day goes by in two hours
DAY = 24 * HOUR
QUEUE, MOST_GPUS = "shared", 16
DIALECTS = ("volcano", "koordinator", "arranger", "aibee", "paddle", "kubernetes")
POOLS = {"vision": ("gpu-006",), "speech": ("gpu-007",)}
# How many of a hundred workloads come in each hour.
HOURS = (1, 1, 1, 1, 1, 1, 2, 3, 6, 9, 10, 9, 6, 8, 9, 9, 7, 5, 3, 2, 2, 2, 1, 1)
GPU = "nvidia.com/gpu"
_TIMES = (RUN_SECONDS, WORK_SECONDS, TERMINATION_SECONDS)


class Part(msgspec.Struct, frozen=True):
    """What a workload promises."""

    name: str
    dialect: str
    queue: str = ""
    together: int = 0  # so many of its pods are bound at once, or none of them
    ends: int = 1  # so many pods succeed
    pool: str = ""
    trainers: tuple[int, int] = (0, 0)


# --- the scenario ------------------------------------------------------------------------------------------------


def scenario(seed: int = 16) -> Document:
    rng = Rng(seed, "mixed day")
    events: list[Document] = [
        {
            "at": 0,
            "apply": [
                queue(QUEUE, {"capability": {GPU: MOST_GPUS}}),
                *(pool(name, *nodes) for name, nodes in POOLS.items()),
            ],
        }
    ]
    for number, at in enumerate(_arrivals(rng)):
        dialect = DIALECTS[number % len(DIALECTS)]
        named = number // len(DIALECTS) % 3 == 0
        events.append({"at": at, "apply": [_workload(rng, f"{dialect}-{number:03}", dialect, named)]})
    return {"nodes": [{"name": "gpu", "count": 8, "cpu": 64, "memory": "512Gi", "gpus": 8}], "events": events}


def _arrivals(rng: Rng) -> list[int]:
    """200 of them: twice as many in each hour as it has of a hundred."""
    found = [
        int(HOUR * (hour + rng.between(0.0, 1.0))) for hour, share in enumerate(HOURS) for _ in range(2 * share)
    ]
    return sorted(found)


def _workload(rng: Rng, name: str, dialect: str, named: bool) -> Document:
    """One that the cluster, and its queue, could take if it were alone."""
    seconds = HOUR / 12 * rng.pick((2, 3, 4, 6, 9, 12, 18))  # ten minutes of the day to one and a half hours
    naming = {QUEUE_NAME: QUEUE} if named else {}
    gpus = rng.pick((1, 1, 2, 4, 8))
    pods = rng.whole(2, max(2, 16 // gpus)) if gpus < 8 else 2
    ask = Ask(cpu=4, gpus=gpus, seconds=seconds, queue=QUEUE if named else "default", leaving=10)
    match dialect:
        case "volcano":
            return volcano_job(name, {"worker": pods}, msgspec.structs.replace(ask, scheduler=VOLCANO))
        case "koordinator":
            manner = {
                NAME: name,
                MIN_AVAILABLE: str(pods),
                TOTAL_NUMBER: str(pods),
                MODE: rng.pick(("Strict", "NonStrict")),
                WAITING_TIME: "24h",
            }
            return batch_job(
                name, pods, msgspec.structs.replace(ask, scheduler=KOORDINATOR, annotations={**manner, **naming})
            )
        case "arranger":
            small = msgspec.structs.replace(ask, gpus=1, scheduler="arranger", annotations=naming)
            actors = msgspec.structs.replace(small, gpus=rng.pick((0, 1)), cpu=2, seconds=None)
            policy = rng.pick(("Gang", "Gang", "BinPack", "MinFragment", "JobAffinity", "LeaderFirst"))
            count = rng.whole(2, 6)
            return tyjob(
                name,
                template(small),
                {"actor": (count, template(actors))},
                minWorkersNum=count if policy == "Gang" else 1,
                priority=rng.whole(1, 10),
                cleanPodPolicy="Running",
                schedulerPolicy={"basicPolicy": policy, "jobQueuePolicy": rng.pick(("Priority", "DRF"))},
            )
        case "aibee":
            home = {} if named else {POOL: rng.pick(tuple(POOLS))}
            lone = msgspec.structs.replace(ask, gpus=min(gpus, 4), scheduler=AIBEE, annotations={**home, **naming})
            return batch_job(name, rng.whole(1, 4), lone, backoffLimit=100)
        case "paddle":
            least = rng.whole(1, 3)
            most = least + rng.whole(0, 9)
            script = {WORK_SECONDS: f"{seconds * (least + most) / 2:g}", TERMINATION_SECONDS: "10"}
            return training_job(
                name,
                (least, most),
                cpu="4",
                gpus=1,
                annotations={**script, **naming},
                priority=rng.pick(("Experiment", "Offline", "Normal", "Production")),
            )
        case _:
            plain = msgspec.structs.replace(ask, scheduler="default-scheduler", annotations=naming)
            return batch_job(name, rng.whole(1, 4), plain)


def write() -> None:
    head = (
        "# A day on 64 GPUs: 200 workloads of Volcano, Koordinator, Arranger, Ai-Scheduler, Paddle, Kubernetes.\n"
        f"# A third of each names the queue {QUEUE}, which may hold {MOST_GPUS} GPUs.\n"
        "# An hour of the day takes 5 minutes.\n"
        "# Drawn by `python -m tests.mixed_day write`; docs/mixed-day.md shows what becomes of it.\n#\n"
        "#   podium sim run --trace scenario --pods examples/sim/mixed-day.yaml\n"
    )
    text = yaml.dump(scenario(), Dumper=_Plain, sort_keys=False, width=160, default_flow_style=None)
    SCENARIO.write_text(head + text)


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


# --- what it promises --------------------------------------------------------------------------------------------


def parts(document: Document) -> dict[str, Part]:
    """By name."""
    return {part.name: part for part in map(_part, _workloads(document)) if part is not None}


def _workloads(document: Document) -> Iterator[Document]:
    for event in document["events"]:
        yield from event["apply"]


def _part(document: Document) -> Part | None:
    name, spec = document["metadata"]["name"], document["spec"]
    dialect = name.partition("-")[0]
    if dialect not in DIALECTS:
        return None
    said = {**document["metadata"].get("annotations", {})}
    match dialect:
        case "volcano":
            pods = spec["minAvailable"]
            return Part(name, dialect, "" if spec["queue"] == "default" else spec["queue"], pods, pods)
        case "arranger":
            said = spec["leader"]["template"]["metadata"]["annotations"]
            whole = spec["schedulerPolicy"]["basicPolicy"] == "Gang"
            return Part(name, dialect, said.get(QUEUE_NAME, ""), 1 + spec["minWorkersNum"] if whole else 0)
        case "paddle":
            sizes = spec["trainer"]["min-instance"], spec["trainer"]["max-instance"]
            return Part(name, dialect, said.get(QUEUE_NAME, ""), trainers=sizes)
    said = spec["template"]["metadata"]["annotations"]
    pods = spec["completions"]
    together = int(said.get(MIN_AVAILABLE, "0"))
    return Part(name, dialect, said.get(QUEUE_NAME, ""), together, pods, said.get(POOL, ""))


def faster(document: Document, begin: float, end: float, times: float) -> Document:
    """What comes from `begin` to `end` seconds, so many times as fast; queues and pools are there before."""
    found = []
    for event in document["events"]:
        if event["at"] and not begin <= event["at"] < end:
            continue
        at = (event["at"] - begin) / times if event["at"] else 0.0
        found.append({"at": round(at, 3), "apply": [_scaled(each, times) for each in event["apply"]]})
    return {**document, "events": found}


def _scaled(value: Any, times: float) -> Any:
    if isinstance(value, list):
        return [_scaled(each, times) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: f"{float(each) / times:g}" if key in _TIMES else _scaled(each, times) for key, each in value.items()
    }


# --- its pictures ------------------------------------------------------------------------------------------------


def pictures(used: Sequence[tuple[float, Mapping[str, int], int]]) -> dict[str, str]:
    """Over time: the GPUs that run pods, by dialect and in the queue."""
    end = max(DAY, used[-1][0])
    ticks = [(HOUR * hour, f"{hour} h") for hour in range(0, int(end / HOUR) + 1, 4)]

    def over_time(value: Callable[[Mapping[str, int], int], float]) -> tuple[list[float], list[float]]:
        """The mean of each quarter of an hour: what happens within one is too fine to be drawn."""
        step = HOUR / 4
        sums = [0.0] * (int(end / step) + 1)
        for (at, held, queued), (after, _, _) in pairwise([*used, (end, {}, 0)]):
            while at < after:
                place = int(at / step)
                upto = min(after, (place + 1) * step)
                sums[place] += value(held, queued) * (upto - at) / step
                at = upto
        return [number * step for number in range(len(sums))], sums

    by_dialect = [
        Curve(each, *over_time(lambda held, _, each=each: held.get(each, 0)))  # type: ignore[misc]
        for each in DIALECTS
    ]
    whole = [
        Curve("all", *over_time(lambda held, _: sum(held.values()))),
        Curve(f"queue {QUEUE}", *over_time(lambda _, queued: queued)),
    ]
    about = "64 GPUs; the queue may hold 16"
    drawn = {
        "mixed-day-use": curves("mixed-day-use", "GPUs in use", about, whole, x_ticks=ticks, x_end=end),
        "mixed-day-dialects": curves(
            "mixed-day-dialects", "GPUs in use, by API", about, by_dialect, x_ticks=ticks, x_end=end
        ),
    }
    return {f"{name}.svg": standalone(scene) for name, scene in drawn.items()}


if __name__ == "__main__" and sys.argv[1:] == ["write"]:
    write()
