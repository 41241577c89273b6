"""What the server says of itself in the text format of Prometheus.

Only requests are counted as they happen; everything else is read from the parts when somebody asks.  Names that a
real API server has are used with its meaning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from podium.embedded.registry import Registry
from podium.embedded.routing import resolve
from podium.embedded.store import Store
from podium.errors import ApiError
from podium.kube.transport import Request, Response

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_VERBS = {"POST": "CREATE", "PUT": "UPDATE", "PATCH": "PATCH", "DELETE": "DELETE"}
_LABELS = ("verb", "group", "version", "resource", "subresource", "code")

Measure = Callable[[], float]


class Metrics(Collector):
    """Counts requests and prints the figures of one server."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._served = registry
        self._gauges: list[tuple[str, str, Measure]] = []
        self._counters: list[tuple[str, str, Measure]] = []
        self._requests: Counter[tuple[str, ...]] = Counter()
        self._collectors = CollectorRegistry(auto_describe=False)
        self._collectors.register(self)

    def add_gauge(self, name: str, text: str, measure: Measure) -> None:
        """A figure of another part, read when somebody asks."""
        self._gauges.append((name, text, measure))

    def add_counter(self, name: str, text: str, measure: Measure) -> None:
        self._counters.append((name, text, measure))

    def answered(self, request: Request, status: int) -> None:
        self._requests[*labels_of(self._served, request), str(status)] += 1

    def answer(self, request: Request) -> Response:
        """GET /metrics."""
        return Response(200, generate_latest(self._collectors), CONTENT_TYPE)

    def collect(self) -> Iterator[Metric]:
        requests = CounterMetricFamily("apiserver_request", "Requests answered over HTTPS.", labels=_LABELS)
        for labels, count in self._requests.items():
            requests.add_metric(labels, count)
        yield requests
        objects = GaugeMetricFamily("apiserver_storage_objects", "Objects stored.", labels=("resource",))
        watches = GaugeMetricFamily(
            "podium_watches",
            "Watches and followed logs that are open, the cluster's own included.",
            labels=("resource",),
        )
        for resource, bucket in self._store.buckets():
            objects.add_metric([resource.group_resource], len(bucket.objects))
            watches.add_metric([resource.group_resource], len(bucket.listeners) + len(bucket.outside))
        yield objects
        yield watches
        yield GaugeMetricFamily("podium_store_version", "The newest resource version.", value=self._store.version)
        for name, text, measure in self._gauges:
            yield GaugeMetricFamily(name, text, value=measure())
        for name, text, measure in self._counters:
            yield CounterMetricFamily(name, text, value=measure())


def labels_of(registry: Registry, request: Request) -> tuple[str, str, str, str, str]:
    """Verb, group, version, resource and subresource.  Empty where nothing is served, so that a client which
    makes paths up cannot make the server remember them."""
    try:
        target = resolve(registry, request.path)
    except ApiError:
        target = None
    if target is None:
        return request.method if request.method in ("GET", "HEAD", *_VERBS) else "OTHER", "", "", "", ""
    resource = target.kind.resource
    return _verb(request, target.name), resource.group, resource.version, resource.plural, target.subresource


def _verb(request: Request, name: str) -> str:
    if request.method in ("GET", "HEAD"):
        if request.flag("watch"):
            return "WATCH"
        return "GET" if name else "LIST"
    if request.method == "DELETE" and not name:
        return "DELETECOLLECTION"
    return _VERBS.get(request.method, "OTHER")
