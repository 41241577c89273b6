"""EndpointSlices as a pure function of what is observed: what is written when pods come, go and change."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec

from podium.embedded.controllers.endpoints import EndpointsController
from podium.kube.cache import Cache
from podium.kube.changes import Change, Create, Delete, Patch
from podium.kube.resources import ENDPOINTS, ENDPOINTSLICES, PODS, SERVICES, Resource
from podium.kube.wire import Endpoints, EndpointSlice, Object, Pod, Service

VIEWS: dict[Resource, type[Object]] = {
    PODS: Pod,
    SERVICES: Service,
    ENDPOINTS: Endpoints,
    ENDPOINTSLICES: EndpointSlice,
}


class Observed:
    """A Service, its pods, and what the controller has written for them."""

    def __init__(self, *ports: dict[str, Any]) -> None:
        self.cache = Cache()
        self._documents: dict[tuple[Resource, str], dict[str, Any]] = {}
        self._versions = itertools.count(1)
        spec = {"selector": {"app": "web"}, "clusterIP": "10.96.0.9", "ports": list(ports)}
        self.put(SERVICES, {"metadata": {"name": "web"}, "spec": spec})

    def put(self, resource: Resource, document: dict[str, Any]) -> None:
        name = document["metadata"]["name"]
        version = str(next(self._versions))
        document["metadata"] = {"namespace": "default", "uid": name, **document["metadata"]}
        document["metadata"]["resourceVersion"] = version
        self._documents[resource, name] = document
        self.cache.apply(resource, msgspec.convert(document, VIEWS[resource]))

    def pod(self, number: int, port: int = 3000, ready: bool = True) -> None:
        named = [{"name": "web", "containerPort": port, "protocol": "TCP"}]
        status = {
            "phase": "Running",
            "podIP": f"10.0.{number // 200}.{number % 200 + 1}",
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        }
        spec = {"containers": [{"name": "main", "ports": named}]}
        self.put(
            PODS, {"metadata": {"name": f"p-{number}", "labels": {"app": "web"}}, "spec": spec, "status": status}
        )

    def lose(self, *numbers: int) -> None:
        for number in numbers:
            self.cache.remove(PODS, ("default", f"p-{number}"))

    def settle(self) -> list[Change]:
        """What one look writes to slices; a second one writes nothing."""
        changes = EndpointsController().reconcile(("default", "web"), self.cache, 0.0).changes
        for change in changes:
            self._carry_out(change)
        assert EndpointsController().reconcile(("default", "web"), self.cache, 0.0).changes == ()
        return [change for change in changes if change.resource == ENDPOINTSLICES]

    def sizes(self) -> list[int]:
        slices = self.cache.in_namespace(ENDPOINTSLICES, "default")
        return sorted(len(each.endpoints or ()) for each in slices if isinstance(each, EndpointSlice))

    def _carry_out(self, change: Change) -> None:
        if isinstance(change, Create):
            self.put(change.resource, dict(change.document))
        elif isinstance(change, Delete):
            self.cache.remove(change.resource, ("default", change.name))
        else:
            assert isinstance(change, Patch)
            known = self._documents[change.resource, change.name]
            self.put(
                change.resource, {**known, **{key: change.patch[key] for key in change.patch if key != "metadata"}}
            )


NAMED = {"name": "http", "port": 80, "protocol": "TCP", "targetPort": "web"}


def test_slices_are_filled_one_after_the_other() -> None:
    observed = Observed(NAMED)
    for number in range(250):
        observed.pod(number)
    assert [type(change) for change in observed.settle()] == [Create, Create, Create]
    assert observed.sizes() == [50, 100, 100]


def test_a_change_of_one_pod_rewrites_its_slice_only() -> None:
    observed = Observed(NAMED)
    for number in range(250):
        observed.pod(number)
    observed.settle()
    observed.pod(7, ready=False)
    assert [type(change) for change in observed.settle()] == [Patch]
    observed.lose(7)
    assert [type(change) for change in observed.settle()] == [Patch]
    assert sum(observed.sizes()) == 249
    observed.pod(300)
    assert [type(change) for change in observed.settle()] == [Patch], "a new pod takes a free place"
    assert sum(observed.sizes()) == 250


def test_pods_with_another_number_move_and_empty_slices_go() -> None:
    observed = Observed(NAMED)
    for number in range(3):
        observed.pod(number)
    observed.settle()
    observed.pod(1, port=4000)
    assert sorted(type(change).__name__ for change in observed.settle()) == ["Create", "Patch"]
    assert observed.sizes() == [1, 2]
    observed.pod(1)
    assert sorted(type(change).__name__ for change in observed.settle()) == ["Delete", "Patch"]
    observed.lose(0, 1, 2)
    observed.settle()
    assert observed.sizes() == [0], "a Service that leads nowhere keeps an empty slice"


def test_every_pod_may_have_a_number_of_its_own() -> None:
    observed = Observed(NAMED, {**NAMED, "name": "two", "port": 81})
    for number in range(50):
        observed.pod(number, port=3000 + number)
    observed.settle()
    assert observed.sizes() == [1] * 50
