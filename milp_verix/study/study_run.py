"""A study: many inputs, a grid of settings, and a journal of what was found."""

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

from milp_verix.base.arguments import path_of
from milp_verix.base.errors import InputError, require_one_of
from milp_verix.inputs.radii import Epsilon
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import NetworkLike
from milp_verix.searches.runner import stopping
from milp_verix.study.journal import DONE, FAILED, UNDECIDED, Journal, Record, identity
from milp_verix.study.parts import Part, part_of
from milp_verix.study.results import ResultsFolder, default_folder, forget
from milp_verix.study.tasks import Task
from milp_verix.study.workers import Engine, connected, dask_engine, engine_for


@dataclass(frozen=True, slots=True)
class Tally:
    """The tasks of a study so far: ``total`` of them, by what they ended with.

    ``known`` tasks were in the journal already; ``done``, ``undecided`` and ``failed`` count them,
    too. ``seconds`` is the wall-clock time. ``stopped`` is ``"interrupted"`` or None.
    ``failure`` is the reason of the first task that failed since the start, if any.
    """

    total: int
    known: int = 0
    done: int = 0
    undecided: int = 0
    failed: int = 0
    seconds: float = 0.0
    stopped: str | None = None
    failure: str | None = None

    @property
    def ended(self) -> int:
        """Number of tasks that the journal has a record of."""
        return self.done + self.undecided + self.failed

    @property
    def complete(self) -> bool:
        """True if every task is done."""
        return self.done == self.total

    def counting(self, status: str) -> "Tally":
        """Return the tally with one more task that ended with ``status``."""
        return replace(self, **{status: getattr(self, status) + 1})


def run_parts(
    parts: Sequence[Part],
    journal: Path,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    client: Any = None,
    retry: Collection[str] = (),
    results: bool | str | Path = True,
    fsync: bool = False,
    progress: Callable[[Tally], None] | None = None,
    warn: Callable[[str], None] = warnings.warn,
    command: Sequence[str] = (),
) -> Tally:
    """Do the tasks of all ``parts``, one part after the other, with one journal.

    Comparisons hold the arguments of the ``command``, if there was one.
    Arguments and errors are those of :func:`milp_verix.explain_many`.
    """
    again = [retry] if isinstance(retry, str) else [*retry]
    for one in again:
        require_one_of((UNDECIDED, FAILED), one, "retry")
    if scheduler is not None and client is not None:
        raise InputError("give a scheduler or a client, not both")
    with nullcontext(client) if scheduler is None else connected(scheduler) as cluster:
        engines = [_engine(part.network, workers, cluster, results is not False) for part in parts]
        folder = None
        if results is not False:
            named = default_folder(journal) if results is True else path_of(results, "results")
            folder = ResultsFolder(named, journal)
        with Journal(journal, fsync=fsync, warn=warn) as book:
            partials = journal.resolve().with_suffix(".partial")

            def open_tasks(part: Part) -> Iterator[Task]:
                for task in part.tasks():
                    one = task.known_in(book.statuses)
                    status = book.statuses.get(identity(one.key, one.index))
                    if status is None or status in again:
                        yield replace(one, partial=partials / f"{one.key}.json.gz")
                    else:
                        count.known(status)

            count = _Count(sum(part.count for part in parts), progress)
            with stopping(count):
                count.tell()
                for part, engine in zip(parts, engines, strict=True):
                    with closing(engine(open_tasks(part))) as outcomes:
                        for outcome in outcomes:
                            record = _by_command(command, {**outcome.record, "result": None})
                            if folder is not None and outcome.result is not None:
                                record["result"] = folder.write(record["key"], outcome.result)
                            book.append(record)
                            for text in outcome.warnings:
                                warn(text)
                            if record["status"] == DONE:
                                forget(partials / f"{record['key']}.json.gz")
                            count.new(record)
            count.tell()
    return count.tally


def _by_command(command: Sequence[str], record: Record) -> Record:
    compared = record.get("comparison")
    return {**record, "comparison": {**compared, "command": command}} if compared else record


def run_many(
    network: NetworkLike,
    xs: Any,
    *,
    epsilon: Epsilon | Sequence[Epsilon],
    journal: str | Path,
    **given: Any,
) -> Tally:
    """Answer :func:`milp_verix.explain_many`, which describes the arguments."""
    course, tasks = (
        {name: given.pop(name) for name in signature(taker).parameters if name in given}
        for taker in (run_parts, part_of)
    )
    part = part_of(network, xs, epsilon=epsilon, options=given, **tasks)
    return run_parts([part], path_of(journal, "journal"), **course)


class _Count:
    """The ``tally`` of a study that runs; ``progress`` is called with it."""

    def __init__(self, total: int, progress: Callable[[Tally], None] | None) -> None:
        self.tally = Tally(total)
        self.stopped: str | None = None
        self._started, self._progress = time.monotonic(), progress

    def known(self, status: str) -> None:
        """Count a task that the journal has a record of."""
        self.tally = replace(self.tally.counting(status), known=self.tally.known + 1)

    def new(self, record: Record) -> None:
        """Count a task that has just ended."""
        self.tally = self.tally.counting(record["status"])
        if record["status"] == FAILED and self.tally.failure is None:
            self.tally = replace(self.tally, failure=record["reason"])
        self.tell()

    def tell(self) -> None:
        """Report the tally."""
        seconds = time.monotonic() - self._started
        self.tally = replace(self.tally, seconds=seconds, stopped=self.stopped)
        if self._progress is not None:
            self._progress(self.tally)


def _engine(network: LoadedModel, workers: int, client: Any, whole: bool) -> Engine:
    if client is None:
        return engine_for(network, workers, whole)
    if workers != 1:
        raise InputError("workers are processes of this machine, and a scheduler has its own")
    return dask_engine(network, client, whole)
