"""Nodes that come and go, shrink, or are not known yet."""

from __future__ import annotations

from functools import partial

from podium.dialects import authoring
from podium.dialects.workloads import NAMESPACE, Ask
from podium.embedded.nodes.shapes import GPU
from podium.errors import TransportError
from podium.kube.resources import NODES, Resource
from podium.kube.transport import Request, Response
from podium.sim.histories import population as p
from podium.sim.histories.fault import Fault
from podium.sim.histories.stage import SCHEDULER, Watcher
from podium.sim.histories.wire import Call, Trouble

_FLAPS = 60
_MANY_FLAPS = 1000
_EVERY = 5  # of so many seeds one has many


class NodeFlap(Fault):
    """A node that comes back under its name is another one: nothing is left of the old one, and nothing lost."""

    number = 10
    name = "nodes that flap and come back as others"

    def populate(self) -> None:
        super().populate()
        self._nodes = sorted(self.stage.nodes)

    def arrange(self) -> None:
        flaps = _MANY_FLAPS if self.seed % _EVERY == _EVERY - 1 else _FLAPS
        self._away: set[str] = set()
        self._made = len(self._nodes)
        for _ in range(flaps):
            self.stage.at(self.rng.between(2.0, 85.0), partial(self._flap, self.rng.pick(self._nodes)))

    def _flap(self, name: str) -> None:
        if name in self._away:
            return
        self._away.add(name)
        self.stage.delete(NODES, name)
        self.stage.after(self.rng.pick((0.0, 0.01, 0.5, 4.0)), partial(self._return, name))

    def _return(self, name: str) -> None:
        self._away.discard(name)
        self._made += 1
        node = p.node(name, self._made % 200, cpu=self.rng.pick((2, 4, 8)), gpus=self.rng.pick((0, 2, 8)))
        self.stage.apply(node)


class GpuShrink(Fault):
    """A node with fewer GPUs than are in use takes no more work for them, and everything else goes on."""

    number = 11
    name = "GPUs 8, 6, 0, 8 under running pods"
    horizon = 100.0

    def populate(self) -> None:
        self.stage.apply(*p.surroundings(), p.node("gpu-0", 0, cpu=16, gpus=8), p.node("gpu-1", 1, cpu=16, gpus=2))
        for number in range(self.rng.whole(5, 9)):
            ask = Ask(gpus=self.rng.pick((1, 2)), seconds=self.rng.pick((30.0, 45.0, None)))
            self.stage.apply(p.pod(f"old-{number}", ask))

    def arrange(self) -> None:
        times = [20.0, 40.0, 60.0]
        for at, gpus in zip(times, (6, 0, 8), strict=True):
            self.stage.at(at, partial(self._set, gpus))
            self.stage.at(at + 1, partial(self._probe, f"cpu-{gpus}", Ask(spec=_on("gpu-0"), seconds=None)))
            wants = Ask(gpus=self.rng.whole(1, 3), spec=_on("gpu-0"), seconds=10.0)
            self.stage.at(at + 2, partial(self._probe, f"gpu-{gpus}", wants))
            self.stage.at(at + 6, partial(self._bound, f"cpu-{gpus}"))
        plugin = Ask(spec={**_on("gpu-0"), "tolerations": [{"operator": "Exists"}]}, priority="high", seconds=None)
        self.stage.at(45.0, partial(self._probe, "device-plugin", plugin))
        self.stage.at(50.0, partial(self._bound, "device-plugin"))
        self.stage.at(50.0, self._nothing_negative)

    def _set(self, gpus: int) -> None:
        room = {GPU: str(gpus)}
        patch = {"status": {"capacity": room, "allocatable": room}}
        self.stage.patch(NODES, "gpu-0", patch, subresource="status")

    def _probe(self, name: str, ask: Ask) -> None:
        self.stage.apply(p.pod(name, ask))

    def _bound(self, name: str) -> None:
        pod = self.stage.pods.get(("default", name))
        self.expect(
            pod is not None and pod.spec.node_name == "gpu-0", f"{name} is not on gpu-0, which has room for it"
        )

    def _nothing_negative(self) -> None:
        """What is free is never less than nothing, and the total of the cluster is what its nodes say."""
        for _, scheduler in self.stage.schedulers:
            cluster = scheduler.world.cluster
            column = cluster.dimensions.find(GPU)
            assert column is not None
            total = int(cluster.nodes.total()[column])
            self.expect(total == 2, f"the cluster is taken for one with {total} GPUs, and 2 are left")

    def verify(self) -> None:
        waiting = [
            pod.name for pod in self.stage.pods.values() if pod.name.startswith("gpu-") and not pod.finished
        ]
        taken = sum(
            self.rules.asked(pod).get(GPU, 0)
            for pod in self.stage.pods.values()
            if pod.spec.node_name == "gpu-0" and not pod.finished
        )
        self.expect(not waiting or taken > 5, f"{waiting} wait, and {8 - taken} GPUs of gpu-0 are free")


def _on(node: str) -> dict[str, object]:
    return {"nodeSelector": {"kubernetes.io/hostname": node}}


class Unlisted(Trouble):
    """Lists of one resource fail."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource

    def answer(self, process: str, resource: Resource, request: Request) -> Response | Exception | None:
        return TransportError("no answer in time") if (process, resource) == (SCHEDULER, self.resource) else None


class Silent(Watcher):
    """Nothing is said or done before everything has been seen."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def sent(self, call: Call) -> None:
        process = self._fault.stage.processes.get(SCHEDULER)
        if process is not None and call.process == SCHEDULER:
            self._fault.expect(
                process.synced, f"the scheduler sends a {call.purpose} before it has seen everything"
            )


class NotYetSynced(Fault):
    """Jobs are there and nodes, queues or groups are not, or not known: it waits, and goes on when they come."""

    number = 12
    name = "a start with jobs and without nodes"

    def populate(self) -> None:
        """The jobs stand there, and what they need comes later or is not seen."""
        rng = self.rng.fork("population")
        self._case = self.seed % 4
        nodes = p.some_nodes(rng, 4)
        self.stage.apply(*p.surroundings())
        # Of what was drawn nothing may fit; this one fits on any node, and is first in every line.
        self.stage.apply(p.pod("first", Ask(priority="high", scheduler=p.TAKING)))
        for documents in p.some_workloads(rng, rng.whole(5, 8)):
            self.stage.apply(*documents)
        if self._case == 0:
            self.stage.at(60.0, partial(self.stage.apply, *nodes))
        else:
            self.stage.apply(*nodes)
        if self._case == 1:
            self._without_queues()

    def _without_queues(self) -> None:
        """Nobody asks an admission whether a queue may go: it is as if it had never been made."""
        store = self.stage.server.store
        queues = {kind.resource for dialect in self.stage.dialects for kind in dialect.queues}
        later = []
        for dialect in self.stage.dialects:
            later += [*dialect.objects, *dialect.surroundings]
        for resource in queues:
            for record in list(store.scan(resource)):
                store.remove(resource, record, record.document())
        kinds = {(each.api_version, each.kind) for each in queues}
        gone = [each for each in later if (each["apiVersion"], each["kind"]) in kinds]
        self.stage.at(60.0, partial(self.stage.apply, *gone))

    def arrange(self) -> None:
        self.stage.watchers.append(Silent(self))
        if self._case >= 2:
            resource = NODES if self._case == 2 else authoring().groups
            trouble = Unlisted(resource)
            self.stage.wire.troubles.append(trouble)
            self.stage.at(30.0, partial(self.stage.wire.troubles.remove, trouble))

    def verify(self) -> None:
        first = self.stage.pods.get((NAMESPACE, "first"))
        self.expect(first is not None and bool(first.spec.node_name), "a pod that fits anywhere was never placed")
