"""The controllers' part of a process: those of the API families, driven against an API server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from podium.dialects.dialect import Dialect, controllers_of, views_of
from podium.kube.driver import Driver
from podium.kube.manager import Manager
from podium.kube.transport import Transport
from podium.runtime.driving import advice, create_objects_when_possible, drive
from podium.runtime.metrics import Metrics
from podium.runtime.transports import Fenced

PART = "controllers"
LEASE = "podium-controllers"  # unless another name is given


class ControllersPart:
    """Everything that `podium controllers` does while it leads."""

    def __init__(
        self,
        transport: Transport,
        dialects: Sequence[Dialect],
        metrics: Metrics,
        *,
        may_write: Callable[[], bool] | None = None,
    ) -> None:
        self._transport = transport if may_write is None else Fenced(transport, may_write)
        self._dialects = dialects
        self._metrics = metrics

    async def run(self, stop: asyncio.Event) -> None:
        """Lists everything afresh, and works until `stop` is set."""
        manager = Manager(controllers_of(self._dialects))
        views = views_of(self._dialects)
        driver = Driver(
            self._transport, manager, custom_resources=True, views=views, advice=advice(self._dialects)
        )
        self._metrics.drivers[PART] = driver
        await drive(driver, stop.wait(), create_objects_when_possible(self._transport, self._dialects, driver))
