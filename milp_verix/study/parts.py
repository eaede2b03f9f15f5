"""A part of a study: a network, its inputs, and the settings that each is explained with."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.arguments import integer_of, refuse_file, seconds_of
from milp_verix.base.errors import InputError, MilpVerixError
from milp_verix.comparison.runs import why_unfit
from milp_verix.inputs.feature import Feature
from milp_verix.inputs.inputs import Inputs, inputs_of as described_as
from milp_verix.inputs.one_row import counts, row_of, several_rows
from milp_verix.inputs.radii import Labels
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import NetworkLike, loaded
from milp_verix.oracle.verdict import INTERRUPTED
from milp_verix.problem.meeting import shaped_domain
from milp_verix.results.comparison import Comparison
from milp_verix.study.study_inputs import (
    StudyInputs,
    described_inputs,
    indices_in,
    inputs_of,
    names_of,
)
from milp_verix.study.tasks import FUNCTIONS, Setting, Task, settings_of, tasks_of

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
    _refuse_bad_settings(network, given, chosen, settings)
    return Part(network, given, chosen, settings)


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
        return inputs_of(xs, network.input_size, columns, names_of(network, options)), options
    if columns is not None:
        raise InputError("the description names the columns of the input; leave columns out")
    placed = network.described(described)
    given = described_inputs(xs, placed, reordered=placed.places != described.places)
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
        return indices_in(given, count)
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


def _refuse_bad_settings(
    network: LoadedModel, inputs: StudyInputs, indices: Sequence[int], settings: Sequence[Setting]
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
            ended = result if isinstance(result, Comparison) else result.statistics
            if ended.stopped == INTERRUPTED:
                raise KeyboardInterrupt
            error = None
            break
        if error is not None:
            raise error


def _samples(
    network: LoadedModel, inputs: StudyInputs, indices: Sequence[int], arguments: Mapping[str, Any]
) -> Iterator[NDArray[Any]]:
    """Yield inputs to try a setting on: the first, the middle, the last, one inside the domain.

    Of a described domain it is the first that can be read; :func:`part_of` made sure of one.
    """
    for index in dict.fromkeys((indices[0], indices[len(indices) // 2], indices[-1])):
        try:
            yield inputs.read(index)
        except InputError:
            continue
    if arguments.get("inputs") is not None:
        yield _first_readable(inputs, indices)
        return
    try:
        labels = Labels(names_of(network, arguments), network.input_size, network.unread)
        domain = arguments.get("domain", (0.0, 1.0))
        low, high = shaped_domain(domain, labels, network.input_shape, None)
        inside = np.clip(np.zeros(network.input_shape), low, high)
    except (TypeError, ValueError):
        inside = np.zeros(network.input_shape)
    yield inside
