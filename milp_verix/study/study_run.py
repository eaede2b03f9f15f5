"""A study: parts, each of a network, its inputs and a grid of settings, and their run."""

import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.arguments import integer_of, path_of, refuse_file, seconds_of
from milp_verix.base.errors import InputError, MilpVerixError, require_one_of
from milp_verix.comparison.runs import why_unfit
from milp_verix.inputs.feature import Feature
from milp_verix.inputs.inputs import Inputs, inputs_of as described_as
from milp_verix.inputs.one_row import counts, row_of, several_rows
from milp_verix.inputs.radii import Epsilon, Labels
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import NetworkLike, loaded
from milp_verix.oracle.verdict import INTERRUPTED
from milp_verix.problem.meeting import shaped_domain
from milp_verix.results.comparison import Comparison
from milp_verix.searches.runner import stopping
from milp_verix.study import study_inputs
from milp_verix.study.journal import (
    DONE,
    FAILED,
    UNDECIDED,
    Journal,
    Record,
    ResultsFolder,
    default_folder,
    forget,
    identity,
)
from milp_verix.study.study_inputs import StudyInputs
from milp_verix.study.tasks import FUNCTIONS, Setting, Task, settings_of, tasks_of
from milp_verix.study.workers import connected, engine_for

_NO_TIME = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The tasks of one network: each of the ``inputs`` at ``indices`` with each setting."""

    network: LoadedModel
    inputs: StudyInputs
    indices: Sequence[int]
    settings: Sequence[Setting]

    @property
    def count(self) -> int:
        """Number of tasks."""
        return len(self.indices) * len(self.settings)

    def tasks(self) -> Iterator[Task]:
        """Yield the tasks; an input is read when it is needed."""
        return tasks_of(self.network, self.inputs, self.indices, self.settings)


def part_of(
    network: NetworkLike,
    xs: Any,
    *,
    epsilon: Any,
    task: str | Sequence[str] = "explain",
    grid: Mapping[str, Sequence[Any]] | None = None,
    indices: str | Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
    inputs: Inputs | Sequence[Feature] | str | Path | None = None,
    options: Mapping[str, Any],
) -> Part:
    """Return the part of a study that arguments of :func:`milp_verix.explain_many` name.

    Raises the error of an argument that suits no input.
    """
    if isinstance(inputs, str | Path):
        inputs = Inputs.from_file(inputs)
    described = described_as(inputs)
    network = loaded(network, described)
    given, options = _given(network, xs, columns, described, options)
    chosen = _indices(indices, given.count)
    _first_readable(given, chosen)
    if "epsilon" in (grid or {}):
        raise InputError("'epsilon' is in the grid, and given beside it: give it once")
    axes = {"epsilon": _radii(epsilon, network.input_size), **(grid or {})}
    kinds = [task] if isinstance(task, str) else list(task)
    if "compare" in kinds and len(kinds) > 1:
        raise InputError("a study of solvers has the task 'compare' alone: leave the others out")
    settings = settings_of(kinds, axes, options)
    if {"solver", "formulation"} & set(axes):
        settings = _fitting(settings)
    part = Part(network, given, chosen, settings)
    _refuse_bad_settings(part)
    return part


def _fitting(settings: Sequence[Setting]) -> list[Setting]:
    """Return the settings whose solver is here and takes the formulation; warn of the others."""
    pairs = {s: (s.options.get("solver"), s.options.get("formulation")) for s in settings}
    # auto chooses a solver that fits
    unfit = {
        (solver, formulation): reason
        for solver, formulation in dict.fromkeys(pairs.values())
        if isinstance(solver, str) and isinstance(formulation, str) and solver != "auto"
        if (reason := why_unfit(solver, formulation)) is not None
    }
    fitting = [setting for setting in settings if pairs[setting] not in unfit]
    parts = [f"{solver}, {formulation}: {why}" for (solver, formulation), why in unfit.items()]
    if not fitting:
        raise InputError(f"no pair of the grid fits: {'; '.join(parts)}")
    for text in parts:
        warnings.warn(f"left out of the grid: {text}", stacklevel=2)
    return fitting


def _given(
    network: LoadedModel,
    xs: Any,
    columns: Sequence[str] | None,
    described: Inputs | None,
    options: Mapping[str, Any],
) -> tuple[StudyInputs, Mapping[str, Any]]:
    """Return the inputs, and the options with their description if there is one."""
    xs = several_rows(xs)
    if described is None:
        return study_inputs.inputs_of(
            xs, network.input_size, columns, study_inputs.names_of(network, options)
        ), options
    if columns is not None:
        raise InputError("the description names the columns of the input; leave columns out")
    placed = network.described(described)
    given = study_inputs.described_inputs(xs, placed, reordered=placed.places != described.places)
    return given, {**options, "inputs": placed}


def _radii(given: Any, size: int) -> list[Any]:
    """Return several radii as a list, one as a list of it; radii by name are one, as a dict.

    An array with a radius for each of ``size`` coordinates is one, as a list.
    """
    if isinstance(given, np.ndarray) and given.ndim and given.size == size > 1:
        return [given.reshape(-1).tolist()]
    row = row_of(given) if hasattr(given, "keys") else None
    if row is not None and (isinstance(given, Mapping) or not counts([*row])):
        return [row]
    several = isinstance(given, Iterable) and getattr(given, "ndim", 1) > 0
    radii = given if several and not isinstance(given, str) else [given]
    for one in radii:
        refuse_file(one, "epsilon")
    return [row_of(one) if hasattr(one, "keys") else one for one in radii]


def _indices(given: str | Sequence[int] | None, count: int) -> Sequence[int]:
    if given is None:
        return range(count)
    if isinstance(given, str):
        return study_inputs.indices_in(given, count)
    chosen = [integer_of(index, "an index", 0) for index in given]
    if not chosen or len(set(chosen)) < len(chosen) or max(chosen) >= count:
        raise InputError(f"indices are distinct ones of the inputs 0..{count - 1}, got {given!r}")
    return chosen


def _first_readable(inputs: StudyInputs, indices: Sequence[int]) -> NDArray[Any]:
    """Return the first input that can be read; ``InputError`` if none can."""
    first: str | None = None
    for index in indices:
        try:
            return inputs.read(index)
        except InputError as error:
            first = first or str(error)
    raise InputError(f"none of the {len(indices)} inputs can be explained; the first: {first}")


def _refuse_bad_settings(part: Part) -> None:
    """Raise the error of a setting that no input can be explained with.

    Each setting is tried without time on up to four inputs. Otherwise a wrong name would end in a
    failed record for each input.
    """
    for setting in part.settings:
        arguments = dict(setting.arguments)
        seconds_of(arguments.get("time_limit"), "time_limit")
        arguments["time_limit"] = _NO_TIME
        arguments.pop("label", None)  # that of an input, not of a setting
        error: MilpVerixError | None = None
        for x in _samples(part, arguments):
            try:
                result = FUNCTIONS[setting.task](part.network, x, **arguments)
            except MilpVerixError as refused:
                error = refused
                continue
            ended = result if isinstance(result, Comparison) else result.statistics
            if ended.stopped == INTERRUPTED:
                raise KeyboardInterrupt
            error = None
            break
        if error is not None:
            raise error


def _samples(part: Part, arguments: Mapping[str, Any]) -> Iterator[NDArray[Any]]:
    """Yield inputs to try a setting on: the first, the middle, the last, one inside the domain.

    Of a described domain it is the first that can be read; :func:`part_of` made sure of one.
    """
    network, indices = part.network, part.indices
    for index in dict.fromkeys((indices[0], indices[len(indices) // 2], indices[-1])):
        with suppress(InputError):
            yield part.inputs.read(index)
    if arguments.get("inputs") is not None:
        yield _first_readable(part.inputs, indices)
        return
    try:
        labels = Labels(
            study_inputs.names_of(network, arguments), network.input_size, network.unread
        )
        domain = arguments.get("domain", (0.0, 1.0))
        low, high = shaped_domain(domain, labels, network.input_shape, None)
        inside = np.clip(np.zeros(network.input_shape), low, high)
    except (TypeError, ValueError):
        inside = np.zeros(network.input_shape)
    yield inside


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
        whole = results is not False
        engines = [engine_for(part.network, workers, whole, cluster) for part in parts]
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
