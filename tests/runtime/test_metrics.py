"""Metrics: the names that Volcano's dashboards look for, figures that are true, and a page that lists them all."""

from __future__ import annotations

import asyncio
import re
import timeit
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from podium.dialects import DIALECTS
from podium.engine.counters import Histogram
from podium.runtime.metrics import Metrics
from podium.runtime.prometheus import MOST_SERIES, bounded, gauge
from podium.runtime.reloading import Configuration
from podium.runtime.scheduling import SchedulerPart
from tests.runtime.cluster import PODGROUPS, QUEUES, Cluster, until

PAGE = Path(__file__).parent.parent.parent / "docs" / "scheduler.md"

# By name, and by the values of the labels in the order of their names.
Samples = dict[str, dict[tuple[str, ...], float]]


@pytest.fixture
async def samples() -> Samples:
    """What a scheduler tells after a turn: a gang that fits, one that does not, in a queue of its own."""
    cluster = Cluster()
    await cluster.define()
    await cluster.node("node-0", cpu="8")
    queue = {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": "team"}}
    await cluster.client.create(QUEUES, "", {**queue, "spec": {"weight": 3, "capability": {"cpu": 4}}})
    await cluster.group("fits", 2, queue="team")
    await cluster.group("big", 1, queue="team")
    for name in ("a", "b"):
        await cluster.pod(name, cpu="1500m", **{"scheduling.k8s.io/group-name": "fits"})
    await cluster.pod("c", cpu="64", **{"scheduling.k8s.io/group-name": "big"})
    metrics = Metrics()
    metrics.configuration = Configuration()
    part = SchedulerPart(cluster.transport, DIALECTS, metrics.configuration, metrics)
    stop = asyncio.Event()
    running = asyncio.create_task(part.run(stop))

    async def all_told() -> bool:
        group = await cluster.client.get(PODGROUPS, "default", "fits")
        placed, message = await cluster.placed(), await cluster.message("c")
        return len(placed) == 2 and bool(message) and group.get("status", {}).get("phase") == "Running"

    await until(all_told)
    stop.set()
    await running
    found: Samples = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(value for _, value in sorted(sample.labels.items()))] = (
                sample.value
            )
    return found


async def test_figures_are_true(samples: Samples) -> None:
    assert samples["podium_binds_total"][("done",)] == 2
    assert samples["volcano_schedule_attempts_total"][("scheduled",)] == 2
    assert samples["volcano_schedule_attempts_total"][("unschedulable",)] >= 1
    assert samples["podium_bind_latency_milliseconds_count"][()] == 2
    assert samples["volcano_task_scheduling_latency_milliseconds_count"][("bound",)] == 2
    assert samples["volcano_e2e_job_scheduling_latency_milliseconds_count"][()] == 1
    assert samples["volcano_unschedule_task_count"] == {("volcano/default/big",): 1}
    assert samples["volcano_unschedule_job_count"][()] == 1
    assert samples["volcano_job_retry_counts"][("volcano/default/big",)] >= 1
    assert ("fits", "default", "team") in samples["volcano_e2e_job_scheduling_duration"]
    assert samples["podium_foreign_binds_total"][("volcano",)] == 0, "an alert on its growth needs where it began"
    turns = samples["podium_turns_total"][()]
    assert samples["volcano_e2e_scheduling_latency_milliseconds_count"][()] == turns
    assert samples["volcano_action_scheduling_latency_milliseconds_count"][("allocate",)] >= 1
    assert samples["volcano_plugin_scheduling_latency_milliseconds_count"][("OnSessionOpen", "proportion")] >= 1
    assert samples["podium_config_info"] == {("built-in", "built-in"): 1}


async def test_queues_stand_as_they_should(samples: Samples) -> None:
    assert samples["volcano_queue_allocated_milli_cpu"][("team",)] == 3000
    assert samples["volcano_queue_request_milli_cpu"][("team",)] == 67000
    assert samples["volcano_queue_capacity_milli_cpu"][("team",)] == 4000
    assert samples["volcano_queue_real_capacity_milli_cpu"][("team",)] == 4000
    assert samples["volcano_queue_deserved_milli_cpu"][("team",)] == 4000
    assert samples["volcano_queue_share"][("team",)] == pytest.approx(0.75)
    assert samples["volcano_queue_weight"][("team",)] == 3
    assert samples["volcano_queue_overused"][("team",)] == 0
    assert samples["volcano_queue_pod_group_running_count"][("team",)] == 1
    assert samples["volcano_job_share"][("volcano/default/fits", "default")] == pytest.approx(3 / 8)
    assert samples["volcano_namespace_share"][("default",)] == pytest.approx(3 / 8)


async def test_the_page_lists_every_metric_and_no_other(samples: Samples) -> None:
    documented = set(re.findall(r"`((?:volcano|podium|scheduler)_[a-z0-9_]+)`", PAGE.read_text()))
    reported = {
        re.sub(r"_(bucket|count|sum)$", "", name) if name in histograms(samples) else name for name in samples
    }
    # Families without a sample now: nothing is refused or left out, nothing counts scalars.
    silent = {name for name in documented if name.endswith("_scalar_resources")} | {
        "podium_config_refused_info",
        "podium_leading",
        "podium_bind_failures_total",
        "podium_foreign_binds_total",
        "podium_series_left_out",
        "scheduler_pool_queue_pods",
    }
    assert reported - documented == set()
    assert documented - reported - silent == set()


def histograms(samples: Samples) -> set[str]:
    bases = {name.removesuffix("_bucket") for name in samples if name.endswith("_bucket")}
    return {f"{base}_{part}" for base in bases for part in ("bucket", "count", "sum")}


def test_counting_costs_next_to_nothing() -> None:
    histogram = Histogram()
    seconds = min(timeit.repeat(lambda: histogram.observe(1.5), number=10_000, repeat=5)) / 10_000
    assert seconds < 3e-6


def test_a_metric_has_so_many_series_and_no_more() -> None:
    """Anybody may make jobs, and some metrics are by job."""
    few = gauge("few", "x", ("job",), [((f"job-{number}",), 1.0) for number in range(MOST_SERIES)])
    many = gauge("many", "x", ("job",), [((f"job-{number}",), 1.0) for number in range(MOST_SERIES + 7)])
    shown = {family.name: family.samples for family in bounded([few, many])}
    assert len(shown["few"]) == len(shown["many"]) == MOST_SERIES
    (left_out,) = shown["podium_series_left_out"]
    assert (left_out.labels, left_out.value) == ({"metric": "many"}, 7)
