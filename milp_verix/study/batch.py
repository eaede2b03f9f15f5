"""A study: many inputs, a grid of settings, and a journal of what was found."""

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack, cast

from milp_verix.base.argument_kinds import SEVERAL, TEXTS, instance_of
from milp_verix.base.arguments import path_of
from milp_verix.base.errors import InputError
from milp_verix.base.names import require_one_of
from milp_verix.comparison.compare import compare_solvers
from milp_verix.inputs.inputs import Inputs as Description
from milp_verix.inputs.radii import Epsilon
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import NetworkLike
from milp_verix.problem.one_liner import one_liner
from milp_verix.problem.options import AskedAnywhere, Ordering, TraversalOptions
from milp_verix.searches.contrast.contrastive import contrastive_of
from milp_verix.searches.explain.explain import explain_problem
from milp_verix.searches.minimum.minimum import MinimumOptions, minimum_of
from milp_verix.searches.runner import stopping
from milp_verix.study.dask_engine import connected, dask_engine
from milp_verix.study.journal import DONE, FAILED, UNDECIDED, Journal, Record, identity
from milp_verix.study.parts import Part, part_of
from milp_verix.study.results import (
    ResultsFolder,
    default_folder,
    forget,
    partial_file,
    partial_folder,
)
from milp_verix.study.run import Outcome
from milp_verix.study.tasks import Task
from milp_verix.study.workers import Engine, engine_for


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


class Tasks(TypedDict, total=False):
    """The options of a study that say which tasks it has."""

    task: str | Sequence[str]
    grid: Mapping[str, Sequence[Any]] | None
    indices: str | Sequence[int] | None
    columns: Sequence[str] | None


class Course(TypedDict, total=False):
    """The options of :func:`run_parts`."""

    workers: int
    scheduler: str | None
    client: Any
    retry: Collection[str]
    results: bool | str | Path
    fsync: bool
    progress: Callable[[Tally], None] | None
    warn: Callable[[str], None]


class Answers(AskedAnywhere, TraversalOptions, Ordering, MinimumOptions, total=False):
    """The options of all kinds of tasks."""

    minimise: str
    solvers: Sequence[str] | None
    formulations: Sequence[str]
    most_checks: int | None
    rounds: int
    relaxations: bool


class ManyAsked(Answers, Tasks, Course, total=False):
    """The options of :func:`explain_many`."""


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
) -> Tally:
    """Do the tasks of all ``parts``, one part after the other, with one journal.

    Arguments and errors are those of :func:`explain_many`.
    """
    again = _statuses(retry)
    if scheduler is not None and client is not None:
        raise InputError("give a scheduler or a client, not both")
    with nullcontext(client) if scheduler is None else connected(scheduler) as cluster:
        engines = [_engine(part.network, workers, cluster, results is not False) for part in parts]
        folder = _folder(results, journal)
        with Journal(journal, fsync=fsync, warn=warn) as book:
            partials = partial_folder(journal)

            def open_tasks(part: Part) -> Iterator[Task]:
                for one in part.tasks():
                    status = book.statuses.get(identity(one.key, one.index))
                    if status is None or status in again:
                        yield replace(one, partial=partial_file(partials, one.key))
                    else:
                        count.known(status)

            count = _Count(sum(part.count for part in parts), progress)
            with stopping(count):
                count.tell()
                for part, engine in zip(parts, engines, strict=True):
                    with closing(engine(open_tasks(part))) as outcomes:
                        for outcome in outcomes:
                            record = _stored(outcome, folder)
                            book.append(record)
                            for text in outcome.warnings:
                                warn(text)
                            if record["status"] == DONE:
                                forget(partial_file(partials, record["key"]))
                            count.new(record)
            count.tell()
    return count.tally


@one_liner(
    run_parts,
    part_of,
    explain_problem,
    minimum_of,
    contrastive_of,
    compare_solvers,
    indices=SEVERAL.or_none(),
    inputs=instance_of(Description, str, Path).or_none(),
    results=instance_of(bool, str, Path),
    task=TEXTS,
)
def explain_many(
    network: NetworkLike,
    xs: Any,
    *,
    epsilon: Epsilon | Sequence[Epsilon],
    journal: str | Path,
    **asked: Unpack[ManyAsked],
) -> Tally:
    """Explain many inputs, each with every setting of a grid, and write a journal of the results.

    Each finished task appends one JSON object as a line to ``journal``. Tasks that it has a record
    of are skipped, so a study that was killed goes on where it was. An input that fails becomes a
    record with the status ``"failed"`` and the reason. Ctrl-C ends the study with what is there.
    :func:`milp_verix.read_study` reads the journal as a table. Options are the same for all tasks
    that take them.

    Args:
        network: an :class:`OnnxNetwork`, or what :func:`milp_verix.load_network` takes.
        xs: an array with an input for each entry of its first axis, a sequence of arrays, or
            the path of a ``.npy``, ``.npz`` (with ``:KEY`` behind it), ``.csv`` or ``.parquet``
            file, a row for each input. Values are taken as they are.
        epsilon: one radius or several, in the units of the inputs.
        journal: a ``.jsonl`` file; or a folder, in which each process writes a file of its own.
        task: ``"explain"``, ``"minimum"``, ``"contrastive"``, or several of them; or
            ``"compare"``: solvers and formulations answer the same checks, see
            :func:`milp_verix.read_solver_study`.
        grid: other arguments with several values each, such as ``{"order": ["influence",
            "adaptive"]}``; every combination is a task for each input.
        indices: the inputs wanted, by default all: a list, or text such as ``"0:100"``.
        columns: the columns of a table that make an input, by name and in its order.
        inputs: the description of the inputs, :class:`milp_verix.Inputs` or its file. A table,
            a pandas DataFrame too, then has a column for each feature, with numbers or words, and
            ``epsilon`` may be ``inf``, ``"10%"`` of ranges or ``"0.5sd"``.
        workers: processes that share the tasks; more than one need joblib.
        scheduler: the address of a Dask scheduler, such as ``"tcp://host:8786"``, whose workers
            share the tasks instead.
        client: a ``dask.distributed.Client`` in the place of an address.
        retry: tasks with these statuses, ``"undecided"`` or ``"failed"``, are done again.
        results: True stores whole results with their counterfactuals in ``STUDY.results`` beside
            ``STUDY.jsonl``, for pictures and reports; a folder stores them there, False nowhere.
            Each is a file that ``Explanation.from_json`` reads; the record's ``result`` names it.
        fsync: whether each record is forced to the disk, to survive a failure of the machine.
        progress: called with a :class:`Tally` at the start and after each record.
        warn: called with a text for each line of the journal that is no record, and where records
            stand twice or are by several versions.
        time_limit: the most seconds for each task; None for no limit.

    Raises:
        InputError: an argument does not fit, or the journal cannot be written.
        ModelError: the network cannot be read.
        SolverUnavailableError: the solver is not installed.
    """
    tasks = cast("Tasks", _part(asked, Tasks))
    part = part_of(
        network,
        xs,
        epsilon=epsilon,
        inputs=asked.get("inputs"),
        options={name: value for name, value in asked.items() if name in _ANSWERS},
        **tasks,
    )
    course = cast("Course", _part(asked, Course))
    return run_parts([part], path_of(journal, "journal"), **course)


def _part(asked: ManyAsked, kind: type) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if name in kind.__annotations__}


_ANSWERS = {*Answers.__annotations__} - {"inputs"}


class _Count:
    """The ``tally`` of a study that runs; ``progress`` is told of it."""

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


def _statuses(retry: Collection[str]) -> set[str]:
    wanted = [retry] if isinstance(retry, str) else list(retry)
    for one in wanted:
        require_one_of((UNDECIDED, FAILED), one, "retry")
    return {*wanted}


def _folder(results: bool | str | Path, journal: Path) -> ResultsFolder | None:
    if results is False:
        return None
    folder = default_folder(journal) if results is True else path_of(results, "results")
    return ResultsFolder(folder, journal)


def _stored(outcome: Outcome, folder: ResultsFolder | None) -> Record:
    """Write the whole result, if there is one; return the record, which says where."""
    record, content = outcome.record, outcome.result
    where = None if folder is None or content is None else folder.write(record["key"], content)
    return {**record, "result": where}
