"""One task becomes one record; an error becomes a record with its reason."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial as partial_function
from typing import Any

from milp_verix.base.errors import MilpVerixError
from milp_verix.base.number_text import counted
from milp_verix.base.version import version
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.oracle.statistics import INTERRUPTED
from milp_verix.results.comparison import Comparison
from milp_verix.results.comparison_files import compared_checks
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.earlier import EarlierResultError
from milp_verix.results.explanation import Explanation
from milp_verix.study.journal import DONE, FAILED, UNDECIDED, Record
from milp_verix.study.results import Partial, packed
from milp_verix.study.tasks import FUNCTIONS, Task

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Outcome:
    """The record of a task, and its whole result packed for a file, or None.

    The process that has the journal writes both, so that no other needs the same disk.
    ``warnings`` are for its user.
    """

    record: Record
    result: bytes | None = None
    warnings: tuple[str, ...] = ()


def run_task(network: LoadedModel, task: Task, whole: bool) -> Outcome:
    """Do ``task`` and return its record, with the ``whole`` result if it is asked for.

    It goes on from the answer in ``task.partial``, if there is one, and saves its own there.
    Raises ``KeyboardInterrupt`` for Ctrl-C, which leaves the task open.
    """
    started = time.perf_counter()
    if task.x is None:
        return failed(task, str(task.problem))
    warnings: list[str] = []
    partial = Partial(task.partial, warnings.append)
    try:
        with partial.saving():
            result = _answered(network, task, partial, warnings.append)
        if isinstance(result, Comparison):
            return _compared(task, result, time.perf_counter() - started)
    except MilpVerixError as error:
        return failed(task, str(error), time.perf_counter() - started)
    except Exception as error:  # one task must not end the others, whatever is wrong with it
        why = f"{type(error).__name__}: {error}"
        return failed(task, why, time.perf_counter() - started)
    done = _done(result, float(task.setting.told.get("gap", 0.0)))
    if not done:
        partial.keep(result)
    if result.statistics.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    result = replace(result, notes=(*result.notes, *task.notes))
    found = (
        _contrast(result) if isinstance(result, ContrastiveExplanation) else _explanation(result)
    )
    record = {
        **_subject(task),
        **found,
        "status": DONE if done else UNDECIDED,
        "prediction": result.prediction,
        "seconds": round(time.perf_counter() - started, 6),
        "notes": result.notes,
    }
    return Outcome(record, packed(result) if whole else None, tuple(warnings))


def _answered(
    network: LoadedModel, task: Task, partial: Partial, warn: Callable[[str], None]
) -> Explanation | ContrastiveExplanation | Comparison:
    """Return the result of a task, which goes on from its answer so far if that is of use."""
    answer = partial_function(
        FUNCTIONS[task.setting.task],
        network,
        task.x,
        **task.setting.arguments,
    )
    if task.setting.task == "compare":
        return answer()
    answer = partial_function(answer, snapshots=partial.snapshots)
    if (earlier := partial.earlier) is not None:
        try:
            return answer(resume=earlier)
        except EarlierResultError as error:
            warn(f"{earlier} is ignored, and its task begins anew: {error}")
    return answer()


def _compared(task: Task, found: Comparison, seconds: float) -> Outcome:
    """Return the record of a comparison of solvers; raises ``KeyboardInterrupt`` for Ctrl-C."""
    if found.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    stopped = found.stopped or next((run.stopped for run in found.runs if run.stopped), None)
    record = {
        **_subject(task),
        "status": DONE if stopped is None else UNDECIDED,
        "explanation": None,
        "unknown": None,
        "prediction": found.prediction,
        "seconds": round(seconds, 6),
        "reason": stopped,
        "notes": task.notes,
        "comparison": compared_checks(found),
    }
    return Outcome(record)


def failed(task: Task, reason: str, seconds: float = 0.0) -> Outcome:
    """Return the record of a task that ended without a result."""
    record = {
        **_subject(task),
        "status": FAILED,
        "explanation": None,
        "unknown": None,
        "prediction": None,
        "seconds": round(seconds, 6),
        "reason": " ".join(reason.split()),
        "notes": task.notes,
    }
    return Outcome(record)


def _subject(task: Task) -> dict[str, Any]:
    told = task.setting.told
    return {
        "key": task.key,
        "index": task.index,
        **({} if task.name is None else {"name": task.name}),
        "task": task.setting.task,
        "epsilon": told["epsilon"],
        "settings": {name: value for name, value in told.items() if name != "epsilon"},
        "network": task.network,
        "version": version(),
    }


def _explanation(result: Explanation) -> dict[str, Any]:
    obstacles = sorted(set(result.unknown_reasons.values()))
    reason = result.statistics.stopped or "; ".join(obstacles) or None
    if result.proven and reason is not None:
        left = counted(len(result.unknown), "feature")
        reason = f"the minimum is proven; {left} without a counterfactual"
        reason += f" ({'; '.join(obstacles)})" if obstacles else ""
    return {
        "explanation": result.explanation,
        "unknown": result.unknown,
        "size": result.size,
        "lower_bound": result.lower_bound,
        "reason": reason,
    }


def _contrast(result: ContrastiveExplanation) -> dict[str, Any]:
    return {
        "explanation": result.contrast,
        "unknown": (),
        "size": result.size,
        "lower_bound": result.lower_bound,
        "robust": result.robust or (None if result.counterfactual is None else False),
        "reason": result.statistics.stopped or result.unknown_reason,
    }


def _done(result: Explanation | ContrastiveExplanation, gap: float) -> bool:
    """Return whether nothing is left to decide: all features, or the bound within the ``gap``."""
    if isinstance(result, ContrastiveExplanation):
        return result.proven
    if result.lower_bound is None:
        return result.minimal
    return (result.gap or 0.0) <= (gap + _ROUNDING) * result.cost
