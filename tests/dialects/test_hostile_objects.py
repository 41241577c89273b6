"""What nobody would write in earnest: no reader raises, floods or takes long over it, and each says what is wrong.

A definition refuses most of it; here it comes past one, as on a server whose definitions are somebody else's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from podium.core.model.durations import duration
from podium.core.model.model import Gang
from podium.dialects.arranger import translate as arranger
from podium.dialects.arranger.status import verdict_patch
from podium.dialects.arranger.types import MOST_WORKERS, TYJob
from podium.dialects.kubernetes.policies import Priorities
from podium.dialects.paddle import translate as paddle
from podium.dialects.paddle.types import MOST_INSTANCES, TrainingJob
from podium.kube.times import format_time, parse_time
from tests.dialects.arranger_stage import job, template

Document = dict[str, Any]

DIGITS = "9" * 5000
NO_LIMIT = Priorities()


def ty_job(change: Callable[[Document], object]) -> TYJob:
    document = job()
    document["metadata"]["uid"] = "u"
    change(document["spec"])
    return msgspec.json.decode(msgspec.json.encode(document), type=TYJob)


def training_job(spec: Document, status: Document | None = None) -> TrainingJob:
    metadata = {"name": "j", "namespace": "default", "uid": "u"}
    whole = {"fault_tolerant": True, "trainer": {"entrypoint": "x"}, **spec}
    document = {"metadata": metadata, "spec": whole, "status": status or {}}
    return msgspec.json.decode(msgspec.json.encode(document), type=TrainingJob)


@pytest.mark.parametrize(
    "spec",
    [
        {"leader": {"name": f"w-{DIGITS}", "template": template()}},
        {"leader": {"name": "w-²", "template": template()}},
        {"leader": {"name": "l", "template": None}},
        {"leader": {"name": "l", "template": {"spec": {"containers": [None]}}}},
        {"workerSets": [{"name": "w", "counts": 2**40, "template": template()}]},
        {"workerSets": [{"name": f"w{n}", "counts": MOST_WORKERS, "template": template()} for n in range(256)]},
        {"workerSets": [{"name": "w", "counts": -(2**31), "template": template()}]},
        {"minWorkersNum": 10**4000},
        {"priority": 10**4000},
        {"replicas": 2**31 - 1},
        {"restartLimit": -1},
        {"volumes": [None]},
    ],
)
def test_a_ty_job_that_means_no_good_is_refused_and_lists_no_places(spec: Document) -> None:
    hostile = ty_job(lambda known: known.update(spec))
    facts, refusal = arranger.read_job(hostile, NO_LIMIT)
    assert refusal is not None
    assert "spec." in str(refusal)
    assert arranger.read_slots(hostile) == []
    gang = Gang(facts.id, facts.namespace, facts.name, facts.queue, {})
    begun = time.process_time()
    patch = verdict_patch(hostile, gang, None, "", 0.0)
    assert time.process_time() - begun < 0.2, "its places were counted one by one"
    assert patch is None or "allocations" not in patch.patch["status"]


@pytest.mark.parametrize(
    "spec",
    [
        {"freezingWindow": "²"},
        {"freezingWindow": DIGITS},
        {"freezingWindow": f"{DIGITS}x"},
        {"freezingWindow": -1},
        {"freezingWindow": 10**400},
        {"priority": 10**4000},
        {"priority": "x" * 65_536},
        {"port": 10**400},
        {"ports_num": -(10**400)},
        {"trainer": {"min-instance": 2**31 - 1, "max-instance": 2**31 - 1}},
        {"trainer": {"min-instance": 5, "max-instance": 2}},
        {"trainer": {"min-instance": 1, "max-instance": MOST_INSTANCES}, "pserver": {"min-instance": 1}},
        {"trainer": {"resources": {"requests": {"cpu": DIGITS}}}},
        {"volumes": [{"name": None}]},
    ],
)
def test_a_training_job_that_means_no_good_is_refused_and_lists_no_places(spec: Document) -> None:
    hostile = training_job(spec)
    _, refusal = paddle.read_job(hostile, NO_LIMIT)
    assert refusal is not None
    assert "spec" in str(refusal)
    assert paddle.slots_of(hostile) == []


def test_a_status_cannot_ask_for_a_billion_trainers() -> None:
    hostile = training_job(
        {}, {"wanted": 2**31 - 1, "podSeconds": 1e308, "lastScaleTime": "9999-12-31T23:59:59-23:59"}
    )
    facts, refusal = paddle.read_job(hostile, NO_LIMIT)
    assert refusal is None
    assert facts.size is not None
    assert facts.size.wanted == MOST_INSTANCES
    assert facts.size.served * 1000 < 1e20
    assert len(paddle.slots_of(hostile)) == MOST_INSTANCES + 1  # and the master
    assert facts.size.scaled == 0.0, "a time that cannot be written again is none"


@pytest.mark.parametrize(
    "text", ["9" * 200_000, "9." * 100_000, f"{'9' * 100_000}h", "9h" * 100_000, "99999999999h", "²s"]
)
def test_a_text_that_is_no_duration_is_found_out_at_once(text: str) -> None:
    begun = time.process_time()
    assert duration(text) is None
    assert time.process_time() - begun < 0.1


def test_times_are_those_that_can_be_written_again() -> None:
    assert parse_time("0001-01-01T00:00:00+23:59") == 0.0
    assert parse_time("9999-12-31T23:59:59-23:59") == 0.0
    assert format_time(parse_time("0001-01-01T00:00:00Z")) == "0001-01-01T00:00:00Z"
    assert format_time(parse_time("9999-12-31T23:59:59Z")) == "9999-12-31T23:59:59Z"
