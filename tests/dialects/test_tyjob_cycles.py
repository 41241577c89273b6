"""What the scheduler makes of TYJobs: the table tyjob-cycles.yaml, played on a cluster without controllers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from podium.dialects.arranger.names import TYJOBS
from podium.kube.changes import Patch
from podium.sim.virtual import VirtualCluster
from tests.dialects.arranger_stage import (
    add_node,
    add_used,
    allocations,
    cluster,
    found,
    job,
    places,
    policy,
    template,
)

Document = dict[str, Any]

CASES: list[Document] = yaml.safe_load(Path(__file__).with_name("tyjob-cycles.yaml").read_text())


def _room(text: str) -> tuple[float, float, int]:
    """CPUs, GiB and GPUs."""
    cpu, memory, gpu = (*map(float, text.split("/")), 0.0)[:3]
    return cpu, memory, int(gpu)


def _job(name: str, given: Document) -> Document:
    workers = {}
    for each, text in given.get("workers", {"w": "1 x 1/1"}).items():
        count, _, size = text.partition(" x ")
        workers[each] = (int(count), template(*_room(size)))
    return job(
        name,
        template(*_room(given.get("leader", "1/1"))),
        workers,
        minWorkersNum=given.get("min", 1),
        priority=given.get("priority", 5),
        schedulerPolicy=policy(given.get("basic", "BinPack"), given.get("queue", "Priority")),
    )


def _submit(virtual: VirtualCluster, jobs: Mapping[str, Document], *, apart: bool) -> None:
    """Jobs with what they have already; a scheduler that starts anew finds it."""
    for name, given in jobs.items():
        virtual.server.apply(_job(name, given))
        if "state" in given:
            status = {"allocations": allocations(given.get("placed", {}), name), "scheduleState": given["state"]}
            virtual.server.carry_out(Patch(TYJOBS, "default", name, {"status": status}, subresource="status"))
        if apart:
            virtual.now += 1.0


@pytest.mark.parametrize("case", CASES, ids=[each["title"] for each in CASES])
def test_a_cycle(case: Document) -> None:
    options = yaml.safe_dump({"profiles": {"arranger": case.get("options", {})}})
    virtual = cluster(options, controllers=False)
    for name, room in case["nodes"].items():
        add_node(virtual, name, *_room(room))
    for name, room in case.get("used", {}).items():
        add_used(virtual, name, *_room(room))
    _submit(virtual, case.get("jobs", {}), apart=case.get("apart", False))
    if any("state" in each for each in case.get("jobs", {}).values()):
        virtual.restart()
    if "later" in case:
        virtual.server.apply(_job("first", {"leader": "0/0", "workers": {"w": "1 x 0/0"}}))
        virtual.run(0.0)
        _submit(virtual, case["later"], apart=False)
    virtual.run(case.get("at", 12.0))
    for name, expected in case["then"].items():
        view = found(virtual, name)
        where = places(view)
        if "state" in expected:
            assert view.status.schedule_state == expected["state"], (name, view.status)
        if "places" in expected:
            assert where.items() >= expected["places"].items(), name
            assert expected["places"] or not where, name
        if "nodes" in expected:
            nodes = list(where.values())
            assert {each: nodes.count(each) for each in nodes} == expected["nodes"], name
