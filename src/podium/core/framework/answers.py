"""What plugins answer, checked where it comes in: type, shape, and that numbers are numbers.

A wrong answer would be met far away from whoever gave it, when a sentence is printed or an array added.  So it is
an exception right here, like any other that a hook raises: it concerns the gang that was asked about, and names
the plugin (`faults`).

Only plugins that are not podium's own are checked, by a wrapper around each hook that they have; the built-in ones
cost nothing more.  A column is checked as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from podium.core.framework.plugin import Plugin
from podium.core.model.model import Task
from podium.reasons import Refusal

# From an answer, the arguments of the question and the number of nodes to what is wrong with it, if anything.
Check = Callable[[Any, Sequence[Any], int], str | None]

_OWN = "podium."  # modules of plugins that are podium's own
_LONGEST = 60  # of an answer's own words


class WrongAnswer(Exception):
    """A plugin has answered with something that is no answer."""

    def __init__(self, who: str, what: str) -> None:
        super().__init__(what)
        self.who = who


def watch_answers(plugin: Plugin, nodes: int) -> None:
    """Has the answers of a plugin checked in a session with so many rows of nodes."""
    if type(plugin).__module__.startswith(_OWN):
        return
    for hook, check in CHECKS.items():
        if plugin.has(hook):
            plugin.__dict__[hook] = _checked(plugin.name, hook, getattr(plugin, hook), check, nodes)


def _checked(plugin: str, hook: str, asked: Callable[..., Any], check: Check, nodes: int) -> Callable[..., Any]:
    listed = hook == "refusals"  # may be given one by one

    def answer(*arguments: Any) -> Any:
        reported = list(asked(*arguments)) if listed else asked(*arguments)
        wrong = check(reported, arguments, nodes)
        if wrong is not None:
            raise WrongAnswer(f"plugin {plugin}, asked for {hook},", f"{wrong}, got {_shown(reported)}")
        return reported

    def answer_for_node(task: Task, row: int) -> Refusal | None:
        """Asked for single nodes, very often: only whether it is a refusal counts, and nobody prints it."""
        reported = asked(task, row)
        if reported is None or isinstance(reported, Refusal):
            return reported
        wrong = check(reported, (task, row), nodes)
        raise WrongAnswer(f"plugin {plugin}, asked for {hook},", f"{wrong}, got {_shown(reported)}")

    return answer_for_node if hook == "predicate" else answer


def _shown(answer: object) -> str:
    if isinstance(answer, np.ndarray):
        return f"{answer.dtype} of shape {answer.shape}"
    reported = " ".join(repr(answer).split())
    return f"{reported[:_LONGEST]} ({type(answer).__name__})" if answer is not None else "None"


# --- checks ------------------------------------------------------------------------------------------------------


def _refusal(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    if answer is None:
        return None
    if not isinstance(answer, Refusal):
        return "want a Refusal or None"
    try:
        answer.sentence  # noqa: B018  (it is made when somebody asks)
    except Exception as error:
        return f"want a Refusal with the numbers of its sentence ({type(error).__name__}: {error})"
    return None


def _number(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    # NaN alone is not equal to itself.
    fine = isinstance(answer, int | float | np.number | np.bool_) and answer == answer
    return None if fine else "want a number"


def _numbers(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    fine = isinstance(answer, tuple) and all(_number(each, arguments, nodes) is None for each in answer)
    return None if fine else "want a tuple of numbers"


def _finite(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    fine = isinstance(answer, int | float | np.number) and np.isfinite(answer)
    return None if fine else "want a finite number"


def _truth(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    return None if isinstance(answer, bool | int | np.bool_) else "want True or False"


def _vote(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    return None if isinstance(answer, int) and -1 <= answer <= 1 else "want a Vote"


def _count(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    return None if isinstance(answer, int | np.integer) else "want a whole number"


def _count_or_none(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    return None if answer is None else _count(answer, arguments, nodes)


def _victims(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    wanted = "want a list of some of the tasks that were asked about"
    if not isinstance(answer, list | tuple) or not all(isinstance(each, Task) for each in answer):
        return wanted
    asked = {task.id for task in arguments[-1]}
    return None if all(task.id in asked for task in answer) else wanted


def _array(answer: Any, count: int, kinds: str, of: str) -> str | None:
    fine = isinstance(answer, np.ndarray) and answer.shape == (count,) and answer.dtype.kind in kinds
    return None if fine else f"want an array of {count} {of}"


def _mask(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    return _array(answer, nodes, "b", "bools")


def _mask_of_rows(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    return _array(answer, len(arguments[1].index), "b", "bools")


def _scores(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    return _finite_array(answer, nodes)


def _scores_of_rows(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    return _finite_array(answer, len(arguments[1].index))


def _scores_of_some(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    return _finite_array(answer, len(arguments[1]))


def _finite_array(answer: Any, count: int) -> str | None:
    wrong = _array(answer, count, "fiub", "numbers")
    if wrong is None and not np.isfinite(answer).all():
        wrong = "want finite numbers"
    return wrong


def _best(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    if answer is None or (isinstance(answer, int | np.integer) and bool((arguments[1] == answer).any())):
        return None
    return "want one of the rows, or None"


def _devices(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    return _array(answer, len(arguments[1].index), "iu", "whole numbers")


def _hashable(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    try:
        hash(answer)
    except TypeError:
        return "want something that can be hashed"
    return None


def _causes(answer: Any, arguments: Sequence[Any], nodes: int) -> str | None:
    for each in answer:
        pair = isinstance(each, tuple | list) and len(each) == 2 and each[0] is not None
        wrong = _refusal(each[0], arguments, nodes) or _mask(each[1], arguments, nodes) if pair else "want pairs"
        if wrong is not None:
            return f"want pairs of a Refusal and an array of {nodes} bools"
    return None


CHECKS: dict[str, Check] = {
    **dict.fromkeys(("job_valid", "job_refused", "admission_refusal", "allocatable"), _refusal),
    **dict.fromkeys(("pre_predicate", "predicate"), _refusal),
    **dict.fromkeys(("namespace_order", "queue_order", "victim_queue_order", "job_order", "job_key"), _number),
    "queue_key": _numbers,
    **dict.fromkeys(("sub_job_order", "task_order", "task_key"), _number),
    **dict.fromkeys(("job_enqueueable", "job_pipelined", "sub_job_pipelined"), _vote),
    **dict.fromkeys(("overused", "preemptive", "job_ready", "job_starving", "sub_job_ready", "applies"), _truth),
    **dict.fromkeys(("shortfall", "sub_job_shortfall"), _count),
    "headroom": _count_or_none,
    **dict.fromkeys(("preemptable", "reclaimable"), _victims),
    **dict.fromkeys(("mask", "batch_predicate"), _mask),
    "mask_rows": _mask_of_rows,
    "score": _scores,
    "score_rows": _scores_of_rows,
    "batch_node_order": _scores_of_some,
    "node_order": _finite,
    "best_node": _best,
    "pick_device": _devices,
    "signature": _hashable,
    "refusals": _causes,
}
