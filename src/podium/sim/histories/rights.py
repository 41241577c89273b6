"""I20: podium writes nothing that the roles of its chart do not allow.

The roles are made from what dialects and engine declare (`engine.rights`).  Here every request of the scheduler
and of the dialects' controllers is compared with that, in all histories; the cluster's own controllers and
kubelets, which run in the same process here, have rights of their own.
"""

from __future__ import annotations

from podium.dialects.dialect import controllers_of
from podium.engine.rights import cluster_rights
from podium.kube.rights import need_of, needs_of
from podium.sim.histories.stage import CONTROLLERS, Stage, Violation, Watcher
from podium.sim.histories.wire import Call


class Rights(Watcher):
    """Looks at what is sent."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._granted = needs_of(cluster_rights(stage.dialects))
        self._controllers = {controller.name for controller in controllers_of(stage.dialects)}

    def sent(self, call: Call) -> None:
        if call.process == CONTROLLERS and call.purpose not in self._controllers:
            return
        need = need_of(call.ticket.change)
        if need not in self._granted:
            what = (
                f"{call.process} ({call.purpose}) wants to {need.verb} {need.resource} of {need.group or 'core'}"
            )
            raise Violation("I20", f"{what}, and no dialect and no part declares that right", self._stage.elapsed)
