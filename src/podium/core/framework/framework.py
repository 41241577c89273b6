"""The plugins of one turn as a panel: who is asked what, and what their answers come to.

The rules of combining are in `hooks`; here each question has its own method, with what holds when nobody minds.
The questions asked most often have their rule written out, because a detour would cost more than the answer.

An exception in a hook is not an answer.  In an order it counts as not minding, in a question about one gang as a
refusal; in all cases it is reported, with the plugin's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cmp_to_key
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.core.framework.hooks import HOOKS, OFF_BY_DEFAULT, Hook, combine, common, permitted
from podium.core.framework.plugin import Plugin
from podium.core.model.model import Gang, Queue, Task
from podium.core.model.paths import ONE_BY_ONE, Paths
from podium.core.model.subgroups import SubGroup
from podium.reasons import Refusal


class EnabledPlugin:
    """A plugin with the switches of its place in the profile."""

    def __init__(self, plugin: Plugin, switches: dict[str, bool]) -> None:
        self.plugin = plugin
        self._switches = switches

    def has(self, name: str, switch: str | None = None) -> bool:
        """Whether the plugin implements a hook and the profile leaves it on."""
        if not self.plugin.has(name):
            return False
        if switch is None:
            switch = HOOKS[name].switch
        return not switch or self._switches.get(switch, switch not in OFF_BY_DEFAULT)


class Framework:
    """The plugins of a turn, by tier."""

    def __init__(self, tiers: Sequence[Sequence[EnabledPlugin]]) -> None:
        self.paths = Paths()
        self._tiers = tiers
        self._hooks: dict[str, list[list[Plugin]]] = {}
        self._asked: dict[str, list[Plugin]] = {}

    def blame(self, error: Exception) -> Refusal:
        """Notes an exception, and says it as a refusal."""
        raise NotImplementedError

    def ask(self, hook: Hook, *arguments: Any) -> Any:
        """What the plugins say, combined by the hook's rule.  The way in for an action with hooks of its own."""
        return combine(hook, self.tiers(hook.name, hook.switch), arguments)

    # --- which plugins have a hook -----------------------------------------------------------------------------

    def tiers(self, name: str, switch: str | None = None) -> list[list[Plugin]]:
        """The plugins that have a hook, by tier; tiers without any are left out."""
        found = self._hooks.get(name)
        if found is None:
            found = [[each.plugin for each in tier if each.has(name, switch)] for tier in self._tiers]
            found = self._hooks[name] = [tier for tier in found if tier]
        return found

    def asks(self, hook: str, plugin: Plugin | None = None) -> bool:
        """Whether anybody, or one plugin, is asked something."""
        return any(plugin is None or each is plugin for each in self._all(hook))

    def _all(self, hook: str) -> list[Plugin]:
        found = self._asked.get(hook)
        if found is None:
            found = self._asked[hook] = [plugin for tier in self.tiers(hook) for plugin in tier]
        return found

    # --- orders ------------------------------------------------------------------------------------------------

    def _compare(self, hook: str, left: Any, right: Any, *more: Any) -> float:
        for plugin in self._all(hook):
            try:
                result: float = getattr(plugin, hook)(left, right, *more)
            except Exception as error:
                self.blame(error)
                continue
            if result:
                return result
        return 0

    def queue_compare(self, left: Queue, right: Queue) -> float:
        result = self._compare("queue_order", left, right)
        return result or _by((left.created, left.id), (right.created, right.id))

    def job_compare(self, left: Gang, right: Gang) -> float:
        result = self._compare("job_order", left, right)
        return result or _by((left.created, left.id), (right.created, right.id))

    def job_preference(self, left: Gang, right: Gang) -> float:
        """What the plugins alone say on two gangs; zero when none of them minds."""
        return self._compare("job_order", left, right)

    def sub_job_compare(self, left: SubGroup, right: SubGroup) -> float:
        return self._compare("sub_job_order", left, right) or _by((left.index, left.id), (right.index, right.id))

    def task_compare(self, left: Task, right: Task) -> float:
        result = self._compare("task_order", left, right)
        return result or _by(_plain_order(left), _plain_order(right))

    def namespace_compare(self, left: str, right: str) -> float:
        return self._compare("namespace_order", left, right) or _by(left, right)

    def victim_queue_compare(self, left: Queue, right: Queue, preemptor: Queue) -> float:
        """Whose tasks go first; without an opinion the queue that would be served last."""
        return self._compare("victim_queue_order", left, right, preemptor) or -self.queue_compare(left, right)

    def sorted_tasks(self, tasks: Iterable[Task]) -> list[Task]:
        return sorted(tasks, key=self.task_key)

    @property
    def queue_key(self) -> Callable[[Queue], Any] | None:
        """The order of queues as a sort key, where all plugins give one."""
        orders = self._all("queue_order")
        if not all(_gives_key(plugin, "queue_order", "queue_key") for plugin in orders):
            return None
        return self._key(
            lambda queue: (*[plugin.queue_key(queue) for plugin in orders], queue.created, queue.id),
            lambda queue: (*[() for _ in orders], queue.created, queue.id),
        )

    @property
    def job_key(self) -> Callable[[Gang], Any]:
        """The order of gangs as a sort key: of values where all plugins give them, else by comparing pairs."""
        orders = self._all("job_order")
        if not all(_gives_key(plugin, "job_order", "job_key") for plugin in orders):
            return cmp_to_key(_signed(self.job_compare))
        return self._key(
            lambda gang: (*[plugin.job_key(gang) for plugin in orders], gang.created, gang.id),
            lambda gang: (*[0.0] * len(orders), gang.created, gang.id),
        )

    @property
    def task_key(self) -> Callable[[Task], Any]:
        """The same for tasks."""
        orders = self._all("task_order")
        if not all(_gives_key(plugin, "task_order", "task_key") for plugin in orders):
            return cmp_to_key(_signed(self.task_compare))
        return self._key(
            lambda task: (*[plugin.task_key(task) for plugin in orders], *_plain_order(task)),
            lambda task: (*[0.0] * len(orders), *_plain_order(task)),
        )

    def _key(self, key: Callable[[Any], Any], without: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A sort key that is the one without an opinion where a plugin fails."""

        def safe(each: Any) -> Any:
            try:
                return key(each)
            except Exception as error:
                self.blame(error)
                return without(each)

        return safe

    def sorted_subgroups(self, groups: Iterable[SubGroup]) -> list[SubGroup]:
        return sorted(groups, key=cmp_to_key(_signed(self.sub_job_compare)))

    def first_namespace(self, namespaces: Iterable[str]) -> str:
        """The namespace to serve next."""
        return min(namespaces, key=cmp_to_key(_signed(self.namespace_compare)))

    def first_queue(self, queues: Iterable[Queue]) -> Queue:
        """The queue to serve next.  Shares move with every placement, so it is looked for anew each time."""
        return min(queues, key=cmp_to_key(_signed(self.queue_compare)))

    # --- gangs -------------------------------------------------------------------------------------------------

    def invalid(self, gang: Gang) -> Refusal | None:
        if gang.fault is not None:
            return gang.fault
        try:
            return next(filter(None, (plugin.job_valid(gang) for plugin in self._all("job_valid"))), None)
        except Exception as error:
            return self.blame(error)

    def ready(self, gang: Gang) -> bool:
        return all(plugin.job_ready(gang) for plugin in self._all("job_ready"))

    def shortfall(self, gang: Gang) -> int:
        """How many tasks can be placed together before anybody has to be asked whether it is enough."""
        return self._batch("job_ready", "shortfall", gang.id, gang)

    def pipelined(self, gang: Gang) -> bool:
        return self._vote("job_pipelined", gang)

    def enqueueable(self, gang: Gang) -> bool:
        return self._vote("job_enqueueable", gang)

    def not_enqueueable(self, gang: Gang) -> Iterator[Refusal]:
        """Why a gang may not come in, from those who say so."""
        reported = (plugin.admission_refusal(gang) for plugin in self._all("admission_refusal"))
        return filter(None, reported)

    def enqueued(self, gang: Gang) -> None:
        for plugin in self._all("job_enqueued"):
            plugin.job_enqueued(gang)

    def starving(self, gang: Gang) -> bool:
        try:
            for tier in self.tiers("job_starving"):
                return all(plugin.job_starving(gang) for plugin in tier)
        except Exception as error:
            self.blame(error)
        return False

    def sub_ready(self, group: SubGroup) -> bool:
        return all(plugin.sub_job_ready(group) for plugin in self._all("sub_job_ready"))

    def sub_shortfall(self, group: SubGroup) -> int:
        return self._batch("sub_job_ready", "sub_job_shortfall", group.gang.id, group)

    def sub_pipelined(self, group: SubGroup) -> bool:
        return self._vote("sub_job_pipelined", group)

    def _vote(self, hook: str, about: Any) -> bool:
        return permitted([getattr(plugin, hook)(about) for plugin in tier] for tier in self.tiers(hook))

    def _batch(self, hook: str, form: str, gang: str, about: Any) -> int:
        """The size of a batch: as many as the plugins that decide by a hook say by its batch form."""
        size = 1
        for plugin in self._all(hook):
            if not plugin.has(form):
                self.paths.took(gang, ONE_BY_ONE, [f"{plugin.name}.{hook}"])
                return 1
            size = max(size, getattr(plugin, form)(about))
        return size

    # --- queues ------------------------------------------------------------------------------------------------

    def overused(self, queue: Queue) -> bool:
        """Whether a queue gets nothing now; so does one on which a plugin fails: it may be above its limits."""
        try:
            return any(plugin.overused(queue) for plugin in self._all("overused"))
        except Exception as error:
            self.blame(error)
            return True

    def allocatable(self, queue: Queue, task: Task) -> Refusal | None:
        return next(filter(None, (plugin.allocatable(queue, task) for plugin in self._all("allocatable"))), None)

    def headroom(self, queue: Queue, tasks: Sequence[Task]) -> int:
        """How many of some equal tasks the queue may take, from the first on."""
        room = len(tasks)
        for plugin in self._all("allocatable"):
            reported = plugin.headroom(queue, tasks[0].cls, room) if plugin.has("headroom") else None
            if reported is None:
                # Without a batch form only one at a time can be promised.
                reported = 1 if plugin.allocatable(queue, tasks[0]) is None else 0
                self.paths.took(tasks[0].gang.id, ONE_BY_ONE, [f"{plugin.name}.allocatable"])
            room = min(room, reported)
        return room

    def preemptive(self, queue: Queue, task: Task) -> bool:
        return all(plugin.preemptive(queue, task) for plugin in self._all("preemptive"))

    # --- victims -----------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Sequence[Task], whole: bool = False) -> list[Task]:
        """Who may be evicted for a task; of `whole` gangs, who guards parts of them is not asked."""
        return self._victims("preemptable", preemptor, candidates, whole)

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task], whole: bool = False) -> list[Task]:
        return self._victims("reclaimable", reclaimer, candidates, whole)

    def _victims(self, hook: str, task: Task, candidates: Sequence[Task], whole: bool) -> list[Task]:
        if not candidates:
            return []
        asked = [[each for each in tier if not (whole and each.GUARDS_PARTS)] for tier in self.tiers(hook)]
        if whole and not any(asked):
            return list(candidates)
        for tier in filter(None, asked):
            found: list[Task] = common([getattr(plugin, hook)(task, candidates) for plugin in tier])
            if found:
                return found
        return []

    # --- nodes -------------------------------------------------------------------------------------------------

    def best_node(self, task: Task, rows: NDArray[np.int64], scores: NDArray[np.float64]) -> int | None:
        for plugin in self._all("best_node"):
            chosen = plugin.best_node(task, rows, scores)
            if chosen is not None:
                return chosen
        return None

    def node_hooks(self, hook: str, task: Task) -> list[Plugin]:
        """The plugins whose node hook concerns a kind of tasks."""
        return [plugin for plugin in self._all(hook) if plugin.applies(hook, task)]


def _gives_key(plugin: Plugin, order: str, key: str) -> bool:
    """Whether a plugin gives an order as a key as well."""
    return plugin.has(key) and _key_of_order(type(plugin), order, key)


_KEYS: dict[tuple[type[Plugin], str, str], bool] = {}


def _key_of_order(kind: type[Plugin], order: str, key: str) -> bool:
    """Whether the key is that of the order: one that is older is that of another."""
    found = _KEYS.get((kind, order, key))
    if found is None:
        of_order, of_key = (next(each for each in kind.__mro__ if hook in vars(each)) for hook in (order, key))
        found = _KEYS[kind, order, key] = issubclass(of_key, of_order)
    return found


def _plain_order(task: Task) -> tuple[int, float, str, str]:
    return task.suffix, task.created, task.name, task.id


def _by(left: Any, right: Any) -> int:
    return -1 if left < right else int(left > right)


def _signed(compare: Callable[[Any, Any], float]) -> Callable[[Any, Any], int]:
    """cmp_to_key wants integers; a share's difference is a fraction."""

    def sign(left: Any, right: Any) -> int:
        result = compare(left, right)
        return (result > 0) - (result < 0)

    return sign
