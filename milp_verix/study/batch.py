"""A study: many inputs, a grid of settings, and a journal of what was found."""

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.arguments import integer_of, seconds_of
from milp_verix.errors import InputError, MilpVerixError
from milp_verix.onnx_reader.onnx_network import NetworkLike, OnnxNetwork, load_network
from milp_verix.records.statistics import INTERRUPTED
from milp_verix.study.inputs import Inputs, indices_in, inputs_of
from milp_verix.study.journal import DONE, FAILED, UNDECIDED, Journal, Record, identity
from milp_verix.study.partial import forget, partial_file, partial_folder
from milp_verix.study.results import ResultsFolder, default_folder
from milp_verix.study.run import Outcome
from milp_verix.study.tasks import FUNCTIONS, RESUMABLE, Setting, Task, settings_of, tasks_of
from milp_verix.study.workers import engine_for

_NO_TIME = 1e-9


@dataclass(frozen=True, slots=True)
class Tally:
    """The tasks of a study so far: ``total`` of them, by what they ended with.

    ``known`` tasks were in the journal already; ``done``, ``undecided`` and ``failed`` count them,
    too. ``seconds`` is the wall-clock time. ``stopped`` is ``"interrupted"`` or None.
    """

    total: int
    known: int = 0
    done: int = 0
    undecided: int = 0
    failed: int = 0
    seconds: float = 0.0
    stopped: str | None = None

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


def explain_many(
    network: NetworkLike,
    inputs: Any,
    *,
    epsilon: float | Sequence[float],
    journal: str | Path,
    task: str | Sequence[str] = "explain",
    grid: Mapping[str, Sequence[Any]] | None = None,
    indices: str | Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
    workers: int = 1,
    retry: Collection[str] = (),
    results: bool | str | Path = True,
    fsync: bool = False,
    progress: Callable[[Tally], None] | None = None,
    warn: Callable[[str], None] = warnings.warn,
    **options: Any,
) -> Tally:
    """Explain many inputs, each with every setting of a grid, and write a journal of the results.

    Each finished task appends one JSON object as a line to ``journal``. Tasks that it has a record
    of are skipped, so a study that was killed goes on where it was. An input that fails becomes a
    record with the status ``"failed"`` and the reason. Ctrl-C ends the study with what is there.
    :func:`milp_verix.read_study` reads the journal as a table.

    Args:
        network: an :class:`OnnxNetwork`, or what :func:`milp_verix.load_network` takes.
        inputs: an array with an input for each entry of its first axis, a sequence of arrays, or
            the path of a ``.npy``, ``.npz`` (with ``:KEY`` behind it), ``.csv`` or ``.parquet``
            file, a row for each input. Values are taken as they are.
        epsilon: one radius or several, in the units of the inputs.
        journal: a ``.jsonl`` file; or a folder, in which each process writes a file of its own.
        task: ``"explain"``, ``"minimum"``, ``"contrastive"``, or several of them.
        grid: other arguments with several values each, such as ``{"order": ["influence",
            "adaptive"]}``; every combination is a task for each input.
        indices: the inputs wanted, by default all: a list, or text such as ``"0:100"``.
        columns: the columns of a table that make an input, by name and in its order.
        workers: processes that share the tasks; more than one need joblib.
        retry: tasks with these statuses, ``"undecided"`` or ``"failed"``, are done again.
        results: True stores whole results with their counterfactuals in ``STUDY.results`` beside
            ``STUDY.jsonl``, for pictures and reports; a folder stores them there, False nowhere.
            Each is a file that ``Explanation.from_json`` reads; the record's ``result`` names it.
        fsync: whether each record is forced to the disk, to survive a failure of the machine.
        progress: called with a :class:`Tally` at the start and after each record.
        warn: called with a text for each line of the journal that is no record.
        **options: arguments of :func:`milp_verix.explain`, :func:`milp_verix.minimum` and
            :func:`milp_verix.contrastive`, the same for all tasks that take them; ``time_limit``
            is that of one task.

    Raises:
        InputError: an argument does not fit, or the journal cannot be written.
        ModelError: the network cannot be read.
        SolverUnavailableError: the solver is not installed.
    """
    started = time.monotonic()
    if not isinstance(network, OnnxNetwork):
        network = load_network(network)
    workers = integer_of(workers, "workers")
    given = inputs_of(inputs, network.input_size, columns)
    chosen = _indices(indices, given.count)
    settings = settings_of(_listed(task), {"epsilon": _listed(epsilon), **(grid or {})}, options)
    again = _statuses(retry)
    engine = engine_for(network, workers, whole=results is not False)
    _refuse_bad_settings(network, given, chosen, settings)
    folder, partials = _folder(results, Path(journal)), partial_folder(Path(journal))
    tally = Tally(len(chosen) * len(settings))

    def tell() -> None:
        nonlocal tally
        tally = replace(tally, seconds=time.monotonic() - started)
        if progress is not None:
            progress(tally)

    with Journal(Path(journal), fsync=fsync, warn=warn) as book:

        def open_tasks() -> Iterator[Task]:
            nonlocal tally
            for one in tasks_of(network, given, chosen, settings):
                status = book.statuses.get(identity(one.key, one.index))
                if status is None or status in again:
                    # the others take no earlier result
                    lasting = one.setting.task in RESUMABLE
                    yield replace(one, partial=partial_file(partials, one.key)) if lasting else one
                else:
                    tally = replace(tally.counting(status), known=tally.known + 1)

        try:
            tell()
            with closing(engine(open_tasks())) as outcomes:
                for outcome in outcomes:
                    record = _stored(outcome, folder)
                    book.append(record)
                    for text in outcome.warnings:
                        warn(text)
                    if record["status"] == DONE:
                        forget(partial_file(partials, record["key"]))
                    tally = tally.counting(record["status"])
                    tell()
        except KeyboardInterrupt:
            tally = replace(tally, stopped=INTERRUPTED)
        tell()
    return tally


def _listed(value: Any) -> list[Any]:
    """Return several values as a list, one as a list of it."""
    if isinstance(value, str) or np.ndim(value) == 0:
        return [value]
    return list(value)


def _indices(given: str | Sequence[int] | None, count: int) -> Sequence[int]:
    if given is None:
        return range(count)
    if isinstance(given, str):
        return indices_in(given, count)
    chosen = [integer_of(index, "an index", 0) for index in given]
    if not chosen or len(set(chosen)) < len(chosen) or max(chosen) >= count:
        raise InputError(f"indices are distinct ones of the inputs 0..{count - 1}, got {given!r}")
    return chosen


def _statuses(retry: Collection[str]) -> set[str]:
    wanted = {retry} if isinstance(retry, str) else set(retry)
    if not wanted <= {UNDECIDED, FAILED}:
        raise InputError(f"retry takes {UNDECIDED!r} and {FAILED!r}, got {sorted(wanted)}")
    return wanted


def _folder(results: bool | str | Path, journal: Path) -> ResultsFolder | None:
    if results is False:
        return None
    return ResultsFolder(default_folder(journal) if results is True else Path(results), journal)


def _stored(outcome: Outcome, folder: ResultsFolder | None) -> Record:
    """Write the whole result, if there is one; return the record, which says where."""
    record, content = outcome.record, outcome.result
    where = None if folder is None or content is None else folder.write(record["key"], content)
    return {**record, "result": where}


def _refuse_bad_settings(
    network: OnnxNetwork, inputs: Inputs, indices: Sequence[int], settings: Sequence[Setting]
) -> None:
    """Raise the error of a setting that no input can be explained with.

    Each setting is tried without time on up to four inputs. Otherwise a wrong name would end in a
    failed record for each input.
    """
    for setting in settings:
        arguments = dict(setting.arguments)
        seconds_of(arguments.get("time_limit"), "time_limit")
        arguments["time_limit"] = _NO_TIME
        arguments.pop("label", None)  # that of an input, not of a setting
        error: MilpVerixError | None = None
        for x in _samples(network, inputs, indices, arguments):
            try:
                result = FUNCTIONS[setting.task](network, x, **arguments)
            except MilpVerixError as refused:
                error = refused
                continue
            if result.statistics.stopped == INTERRUPTED:
                raise KeyboardInterrupt
            error = None
            break
        if error is not None:
            raise error


def _samples(
    network: OnnxNetwork, inputs: Inputs, indices: Sequence[int], arguments: Mapping[str, Any]
) -> Iterator[NDArray[Any]]:
    """Yield inputs to try a setting on: the first, the middle, the last, one inside the domain."""
    for index in dict.fromkeys((indices[0], indices[len(indices) // 2], indices[-1])):
        try:
            yield inputs.read(index)
        except InputError:
            continue
    try:
        low, high = arguments.get("domain", (0.0, 1.0))
        inside = np.clip(np.zeros(network.input_shape), low, high)
    except (TypeError, ValueError):
        inside = np.zeros(network.input_shape)
    yield inside
