"""Metrics as they are printed: small helpers around the families of prometheus_client.

Names are used as they are given.  The library appends `_total` to counters, which Volcano's names do not all have;
such a counter goes out as untyped, so that dashboards made for Volcano find it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from podium.engine.counters import BOUNDS, Histogram

# Series of one name, at the most.  Names of jobs are labels of some, as Volcano has it, and anybody may make jobs
# by the ten thousands: that must not bring down whoever stores them.
MOST_SERIES = 2000

Values = Iterable[tuple[tuple[str, ...], float]]


def gauge(name: str, text: str, labels: tuple[str, ...], values: Values) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for given, value in values:
        family.add_metric(given, value)
    return family


def plain(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def counter(name: str, text: str, labels: tuple[str, ...], values: Values) -> Metric:
    if name.endswith("_total"):
        family = CounterMetricFamily(name.removesuffix("_total"), text, labels=labels)
        for given, value in values:
            family.add_metric(given, value)
        return family
    untyped = Metric(name, text, "unknown")
    for given, value in values:
        untyped.add_sample(name, dict(zip(labels, given, strict=True)), value)
    return untyped


def histogram(
    name: str, text: str, labels: tuple[str, ...], values: Iterable[tuple[tuple[str, ...], Histogram]]
) -> Metric:
    family = HistogramMetricFamily(name, text, labels=labels)
    for given, found in values:
        family.add_metric(given, list(_buckets(found)), found.sum)
    return family


def _buckets(found: Histogram) -> Iterator[tuple[str, float]]:
    bounds = [f"{bound:g}" for bound in BOUNDS] + ["+Inf"]
    yield from zip(bounds, accumulate(found.counts), strict=True)


def bounded(families: Iterable[Metric]) -> Iterator[Metric]:
    """The same, with what is too much left out, and a family that says of what that was how much."""
    left_out: dict[str, int] = {}
    for family in families:
        over = len(family.samples) - MOST_SERIES
        if over > 0 and family.type != "histogram":
            del family.samples[MOST_SERIES:]
            left_out[family.name] = over
        yield family
    yield gauge(
        "podium_series_left_out",
        "Series of a metric beyond those that are shown.",
        ("metric",),
        [((name,), count) for name, count in left_out.items()],
    )
