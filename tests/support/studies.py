"""Studies for the tests: records without a solver, and what two runs must agree on."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np

from milp_verix.study.journal import Journal, Record
from milp_verix.study.study_inputs import StudyInputs
from milp_verix.study.tasks import Task, TaskOutcome, settings_of, tasks_of
from tests.support import digits_example


def record(index: int, status: str = "done", **more: Any) -> Record:
    """Return a record of a task that is as the schema of journals says."""
    subject = {"task": "explain", "epsilon": 0.1, "settings": {}, "network": "0" * 64}
    found = {"explanation": None, "unknown": None, "prediction": None, "seconds": 0.0, "notes": []}
    named = {"key": f"{index:064x}", "index": index, "version": "0.1.0", "status": status}
    return {**named, **subject, **found, **more}


def written(path: Path, *records: Record) -> Path:
    """Write ``records`` to a journal, and return its path."""
    with Journal(path) as journal:
        for one in records:
            journal.append(one)
    return path


def lines(path: Path) -> list[Record]:
    """Return the records in a file as any reader of JSON sees them."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def comparable(records: list[Record]) -> list[str]:
    """Return records in an order of their own, without seconds and folders of results."""
    kept = [{**one, "seconds": None, "result": _name(one.get("result"))} for one in records]
    return sorted(json.dumps(one, sort_keys=True) for one in kept)


def _name(result: str | None) -> str | None:
    return result and Path(result).name


def some_tasks(count: int) -> list[Task]:
    """Return tasks of the shipped network, one for each of ``count`` inputs of numbers 0, 1, …"""
    network = digits_example.network()
    inputs = StudyInputs(count, lambda i: np.full((1, 8, 8), i / count, np.float32))
    settings = settings_of(["explain"], {"epsilon": [0.01]}, {})
    return list(tasks_of(network, inputs, range(count), settings))


def plain(task: Task) -> TaskOutcome:
    """Answer a task without a solver."""
    return TaskOutcome(record(task.index))


def fatal(task: Task) -> TaskOutcome:
    """Answer a task, but die of task 1 each time."""
    if task.index == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return TaskOutcome(record(task.index))


def fatal_once(task: Task) -> TaskOutcome:
    """Answer a task, but die of task 1 the first time: the file of the variable MARKER says it."""
    marker = Path(os.environ["MARKER"])
    if task.index == 1 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return TaskOutcome(record(task.index))


def refusing(task: Task) -> TaskOutcome:
    """Raise an error that ends the study."""
    raise OSError(f"task {task.index}")


def fatal_on_a_cluster(source: Any, task: Task, *_: Any) -> TaskOutcome:
    """Answer a task on a Dask worker, but kill the worker at task 1 each time."""
    return fatal(task)
