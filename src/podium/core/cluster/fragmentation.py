"""How much of the free room of devices is of no use to the tasks that usually come: fragmentation.

The measure is that of "Beware of Fragmentation" (USENIX ATC'23).  The usual workload is a list of shapes with the
probability of each: so much CPU, and a share of one device or some whole ones.  A shape that fits a node can use
the devices that have room for its share; a shape that does not fit it, because too few devices have that room or
the CPU is spent, can use none.  What the shapes cannot use, weighted by their probabilities, is fragmented:

    F(node) = sum over shapes of p * (free devices of the node that the shape cannot use)

in thousandths of a device.  Shapes that want no device can use none of it, so even an empty node has some.

That asks whether one more task fits, and sees that the CPU runs out when it has run out.  `Filling` asks what a
shape could use if it had the node to itself: no more of the devices than the CPU that is left can serve.  So eight
free devices beside the CPU for three tasks of one device count as three to that shape, not as eight.

All questions are asked to many nodes at once: tables have a line a device (or a shape) and a column a node.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.devices import Table
from podium.core.model.model import TaskClass
from podium.core.model.resources import CPU

if TYPE_CHECKING:
    from podium.core.cluster.cluster import Cluster

Amounts = NDArray[np.float64]
Index = NDArray[np.int64]
Numbers = NDArray[np.int32]
Mask = NDArray[np.bool_]
ModelNumbers = Callable[[Sequence[str]], list[int]]

# The rare shapes of a workload, one in twenty tasks, do not count.
COVERAGE = 0.95

# What a look at a node costs grows with the shapes that are asked for.
_MOST_SHAPES = 128
_MANY_COLUMNS = 400  # from so many on it pays to look at the nodes of each model apart
_BOUNDLESS = 1e9  # thousandths of a device: more than any node has


class Shape(msgspec.Struct, frozen=True, order=True):
    """What a task asks for as far as fragmentation is concerned.  `models` is their names with bars between."""

    cpu: int
    share: int = 0  # in thousandths, of each device
    count: int = 0
    models: str = ""

    @property
    def size(self) -> int:
        return self.share * self.count

    @classmethod
    def of(cls, kind: TaskClass) -> Shape:
        wanted = kind.constraints.devices
        cpu = kind.request.amount(CPU)
        return cls(cpu) if wanted is None else cls(cpu, wanted.share, wanted.count, "|".join(wanted.models))


class Target:
    """The usual workload, ready to be asked about."""

    def __init__(self, weights: Mapping[Shape, float], model_numbers: ModelNumbers) -> None:
        """`model_numbers` says which numbers the rows' models go by (`Devices.model_numbers`)."""
        shapes = [shape for shape in weights if shape.count]
        others = [shape for shape in weights if not shape.count]
        self._weights: Amounts = _column([weights[shape] for shape in shapes], np.float64)
        self._cpu: Index = _column([shape.cpu for shape in shapes], np.int64)
        self._count: Index = _column([shape.count for shape in shapes], np.int64)
        # Many shapes ask for the same share: what depends on the share alone is found out once for it.
        shares = sorted({shape.share for shape in shapes})
        self._shares: Index = _column(shares, np.int64)[:, None]
        self._share_of = np.array([shares.index(shape.share) for shape in shapes], dtype=np.intp)
        self._shut = _shut_out(shapes, model_numbers)
        # Those that want no device, which can use none.
        self._other_weights: Amounts = _column([weights[shape] for shape in others], np.float64)
        self._other_cpu: Index = _column([shape.cpu for shape in others], np.int64)

    def fragmented(self, free: Table, cpu: Index, models: Numbers) -> Amounts:
        """F of each column of a table of free devices."""
        enough = free >= self._shares
        useful = np.add.reduce(enough, axis=1, dtype=np.int64)
        useless = np.where(enough, 0, free).sum(axis=1)
        total = free.sum(axis=0)
        result: Amounts = self._sum(useful[:, None], useless[:, None], total, cpu, models)[0]
        return result

    def with_share(self, free: Table, cpu: Index, models: Numbers, share: int) -> Amounts:
        """F of each column after a share is taken, by the device of which it is taken (also where it cannot be).

        `cpu` is what is free then.  One device is another one afterwards, so the sums over devices need not be
        made anew for each.
        """
        enough = free >= self._shares
        useful = np.add.reduce(enough, axis=1, dtype=np.int64)
        useless = np.where(enough, 0, free).sum(axis=1)
        after = free - share
        still = after >= self._shares
        useful_then = useful[:, None, :] - enough + still
        useless_then = useless[:, None, :] - np.where(enough, 0, free) + np.where(still, 0, after)
        return self._sum(useful_then, useless_then, free.sum(axis=0) - share, cpu, models)

    def _sum(self, useful: Table, useless: Table, total: Table, cpu: Index, models: Numbers) -> Amounts:
        """Over the shapes: given by share, case and column how many devices have room, and what the others have
        free; and by column what holds in all cases: what is free, the CPU and the model.

        Parts are summed apart, then together: floating point is exact only in this order, and a score that is cut
        to a whole number may hang on the last bit.
        """
        cases = useful.shape[1:]
        useful, useless = useful.reshape(len(self._shares), -1), useless.reshape(len(self._shares), -1)
        if cases[0] > 1:
            total, cpu = np.broadcast_to(total, cases).reshape(-1), np.broadcast_to(cpu, cases).reshape(-1)
            models = np.broadcast_to(models, cases).reshape(-1)
        if self._shut is None:
            return self._of_lines(slice(None), useful, useless, total, cpu).reshape(cases)
        models = np.minimum(models, self._shut.shape[1] - 1)
        if total.size < _MANY_COLUMNS:
            shut = self._shut[:, models]
            barred: Amounts = np.where(shut, self._weights * total, 0.0).sum(axis=0)
            return (self._of_lines(slice(None), useful, useless, total, cpu, shut) + barred).reshape(cases)
        # Whoever wants other models is left out for all nodes of a model at once.
        result: Amounts = np.empty(total.size)
        for model in sorted(set(models.tolist())):
            places = np.flatnonzero(models == model)
            if len(places) == 1:
                places = places.repeat(2)  # a single column would be added in another order
            shut = self._shut[:, model]
            barred = (self._weights[shut] * total[places]).sum(axis=0)
            found = self._of_lines(~shut, useful[:, places], useless[:, places], total[places], cpu[places])
            result[places] = found + barred
        return result.reshape(cases)

    def _of_lines(
        self,
        lines: Mask | slice,
        useful: Table,
        useless: Table,
        total: Table,
        cpu: Index,
        shut: Mask | None = None,
    ) -> Amounts:
        """The sum over some of the shapes.  Those that are `shut` out stay in line, and add nothing."""
        share_of, weights = self._share_of[lines], self._weights[lines]
        room = useful[share_of] >= self._count[lines]
        power = cpu >= self._cpu[lines]
        parts = weights * np.where(room & power, useless[share_of], total)
        if shut is not None:
            parts[shut] = 0.0
        starved = np.where(power, 0.0, parts)
        blocked = np.where(room, 0.0, starved).sum(axis=0)
        result: Amounts = blocked + np.where(power, parts, 0.0).sum(axis=0)
        result += np.where(room, starved, 0.0).sum(axis=0)
        others = self._other_weights * total
        power = cpu >= self._other_cpu
        result += np.where(power, others, 0.0).sum(axis=0)
        result += np.where(power, 0.0, others).sum(axis=0)
        return result


class Filling(Target):
    """What is out of reach when a node is filled up with a shape: beyond its devices' room, or beyond the CPU."""

    def __init__(self, weights: Mapping[Shape, float], model_numbers: ModelNumbers) -> None:
        # Shapes without devices say nothing about where devices are well placed: the others share the weight.
        wanting = {shape: weight for shape, weight in weights.items() if shape.count}
        super().__init__(wanting, model_numbers)
        self._parts: Amounts = (self._weights / self._weights.sum())[:, :, None]
        # What a milli-CPU serves.  Who needs no CPU is served by any.
        self._served: Amounts = _column(
            [shape.size / shape.cpu if shape.cpu else _BOUNDLESS for shape in wanting], np.float64
        )
        # Room is found out once for shapes that ask for as many devices and as much of each.
        kinds = sorted({(shape.share, shape.count) for shape in wanting})
        self._kind_of = np.array([kinds.index((shape.share, shape.count)) for shape in wanting], dtype=np.intp)
        first = [self._kind_of.tolist().index(kind) for kind in range(len(kinds))]
        self._share_of_kind = self._share_of[first]
        self._count_of_kind: Index = self._count[first][:, :, None]

    def _sum(self, useful: Table, useless: Table, total: Table, cpu: Index, models: Numbers) -> Amounts:
        room = (total - useless)[self._share_of_kind].astype(np.float64)
        room[useful[self._share_of_kind] < self._count_of_kind] = 0.0
        # The CPU of a column is the same in all cases: so is what it serves.
        reach = np.maximum(cpu, 1) * self._served
        reach[cpu < self._cpu] = 0.0
        if self._shut is not None:
            reach[_looked_up(self._shut, models)] = 0.0
        usable = np.minimum(room[self._kind_of], reach[:, None, :])
        usable *= self._parts
        result: Amounts = total - usable.sum(axis=0)
        return result


def _column(values: Sequence[float], kind: type[np.generic]) -> NDArray[Any]:
    return np.array(values, dtype=kind)[:, None]


def _shut_out(shapes: Sequence[Shape], model_numbers: ModelNumbers) -> Mask | None:
    """By shape and number of a model whether the shape wants other models; None if none wants any.

    The last column is for nodes that name no model, and for models that no shape names.
    """
    wanted = {line: model_numbers(shape.models.split("|")) for line, shape in enumerate(shapes) if shape.models}
    if not wanted:
        return None
    known = max((number for numbers in wanted.values() for number in numbers), default=-1) + 1
    shut: Mask = np.zeros((len(shapes), known + 1), dtype=bool)
    for line, numbers in wanted.items():
        shut[line] = True
        shut[line, numbers] = False
    return shut


def _looked_up(shut: Mask, models: Numbers) -> Mask:
    """The columns of the table for some models, of which -1 is none."""
    found: Mask = shut[:, np.minimum(models, shut.shape[1] - 1)]
    return found


def target_of(cluster: Cluster) -> Target | None:
    """The measure as published, over the commonest shapes.  None where there is nothing to go by, or no device."""
    weights = typical(_usual(cluster))
    return Target(weights, cluster.nodes.devices.model_numbers) if weights else None


def filling_of(cluster: Cluster) -> Filling | None:
    """The measure of filling up, over all shapes that want devices; of very many, over the commonest."""
    wanting = {shape: count for shape, count in _usual(cluster).items() if shape.count}
    common = dict(heapq.nlargest(_MOST_SHAPES, wanting.items(), key=lambda each: (each[1], each[0])))
    return Filling(common, cluster.nodes.devices.model_numbers) if common else None


def _usual(cluster: Cluster) -> Mapping[Shape, float]:
    """How often each shape comes to a cluster: as it was given, or else what is on it and waits for it."""
    if not cluster.nodes.devices.any:
        return {}
    if cluster.workload is not None:
        return cluster.workload
    counts: Counter[Shape] = Counter()
    for kind in cluster.classes:
        if kind.population:
            counts[Shape.of(kind)] += kind.population
    return counts


def typical(counts: Mapping[Shape, float]) -> dict[Shape, float]:
    """The commonest shapes that cover a share of all tasks, with the probability of each among them.

    Equal counts: the larger shape comes first.
    """
    total = sum(counts.values())
    chosen: dict[Shape, float] = {}
    covered = 0.0
    for count, shape in sorted(((count, shape) for shape, count in counts.items()), reverse=True):
        if covered >= COVERAGE * total:
            break
        chosen[shape] = count
        covered += count
    return {shape: (count / total) / (covered / total) for shape, count in chosen.items()}
