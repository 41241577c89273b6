"""A cluster in virtual time that speaks all API families: their controllers, the scheduler, simulated kubelets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podium.cli.dialects import hooks, objects
from podium.dialects import DIALECTS
from podium.embedded.bootstrap import install
from podium.engine.scheduler import Scheduler
from podium.engine.world import World as Observed
from podium.kube.changes import Create, request_of
from podium.kube.controller import Controller
from podium.kube.resources import Resource
from podium.runtime.configuration import embedded_profiles
from tests.embedded.cluster import Cluster, everything

Document = dict[str, Any]


def _controllers() -> list[Controller]:
    return [*everything(), *(make() for dialect in DIALECTS for make in dialect.controllers)]


class Virtual(Cluster):
    """Use it like `Cluster`; what families bring along is there."""

    def __init__(
        self,
        nodes: int = 1,
        *,
        admission: bool = True,
        controllers: Callable[[], list[Controller]] = _controllers,
    ) -> None:
        """Without `admission` the families' hooks are off, as on a server that does not call them."""
        observed = Observed(DIALECTS)
        super().__init__(
            controllers,
            nodes,
            scheduled=lambda: Scheduler(Observed(DIALECTS), embedded_profiles(), pace=0),
            hooks=hooks() if admission else (),
            views=observed.views,
        )

    def restart(self) -> None:
        install(self.api.objects, objects())
        super().restart()
        for dialect in DIALECTS:
            for definition in dialect.definitions:
                self.manager.serve(definition.resource)
        resources = sorted(self.manager.resources, key=lambda each: each.plural)
        self._reflectors |= {each: self.reflector(each) for each in resources if each not in self._reflectors}

    def apply(self, document: Document, namespace: str = "default") -> Document:
        """Creates any object by what it says of itself."""
        return self.request(request_of(Create(self.resource_of(document), namespace, document)))

    def resource_of(self, document: Document) -> Resource:
        kind = self.api.registry.of_kind(document["apiVersion"], document["kind"])
        assert kind is not None
        return kind.resource
