"""One task becomes one record; an error becomes a record with its reason."""

import gzip
import time
from pathlib import Path
from typing import Any

import milp_verix
from milp_verix.atomic_write import write_atomically
from milp_verix.errors import MilpVerixError
from milp_verix.onnx_reader.onnx_network import OnnxNetwork
from milp_verix.records.statistics import INTERRUPTED
from milp_verix.results.public import ContrastiveExplanation, Explanation
from milp_verix.study.journal import DONE, FAILED, UNDECIDED, Record
from milp_verix.study.tasks import FUNCTIONS, Task

_ROUNDING = 1e-6


def run_task(network: OnnxNetwork, task: Task, results: Path | None) -> Record:
    """Do ``task`` and return its record; write the whole result to the folder ``results``, if any.

    Raises ``KeyboardInterrupt`` for Ctrl-C, which leaves the task open, and ``InputError`` where
    the result cannot be written.
    """
    started = time.perf_counter()
    if task.x is None:
        return failed(task, str(task.problem))
    try:
        result = FUNCTIONS[task.setting.task](network, task.x, **task.setting.arguments)
    except MilpVerixError as error:
        return failed(task, str(error), time.perf_counter() - started)
    except Exception as error:  # one task must not end the others, whatever is wrong with it
        why = f"{type(error).__name__}: {error}"
        return failed(task, why, time.perf_counter() - started)
    if result.statistics.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    if results is not None:
        text = result.to_json().encode()
        # without a time in it, so equal results are equal files
        write_atomically(results / f"{task.key}.json.gz", gzip.compress(text, mtime=0))
    found = (
        _contrast(result) if isinstance(result, ContrastiveExplanation) else _explanation(result)
    )
    gap = task.setting.told.get("gap", 0.0)
    return {
        **_subject(task),
        **found,
        "status": DONE if _done(result, gap) else UNDECIDED,
        "prediction": result.prediction,
        "seconds": round(time.perf_counter() - started, 6),
    }


def failed(task: Task, reason: str, seconds: float = 0.0) -> Record:
    """Return the record of a task that ended without a result."""
    return {
        **_subject(task),
        "status": FAILED,
        "explanation": None,
        "unknown": None,
        "prediction": None,
        "seconds": round(seconds, 6),
        "reason": " ".join(reason.split()),
    }


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
        "version": milp_verix.__version__,
    }


def _explanation(result: Explanation) -> dict[str, Any]:
    reasons = sorted(set(result.unknown_reasons.values()))
    return {
        "explanation": result.explanation,
        "unknown": result.unknown,
        "size": result.size,
        "lower_bound": result.lower_bound,
        "reason": result.statistics.stopped or "; ".join(reasons) or None,
    }


def _contrast(result: ContrastiveExplanation) -> dict[str, Any]:
    return {
        "explanation": result.contrast,
        "unknown": (),
        "size": result.size,
        "lower_bound": result.lower_bound,
        "robust": result.robust,
        "reason": result.statistics.stopped or result.unknown_reason,
    }


def _done(result: Explanation | ContrastiveExplanation, gap: float) -> bool:
    """Return whether nothing is left to decide: all features, or the bound within the ``gap``."""
    if isinstance(result, ContrastiveExplanation):
        return result.proven
    if result.lower_bound is None:
        return result.minimal
    return (result.gap or 0.0) <= max(gap, _ROUNDING) * result.cost
