"""The tasks of a study: one for each input and each setting of a grid; each becomes a record.

A task is known by its key, a hash of all that its answer depends on: the network with its weights,
the exact bytes of the input, the settings with their defaults, and the version of milp-verix. Time
limits are no part of it, but for comparisons of solvers: an answer that is found stands with other
limits, too, and a task that they left undecided is the same task with more time.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import partial as partial_function
from inspect import Parameter, signature
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.api.calls import compare, contrastive, explain, minimum
from milp_verix.base import version
from milp_verix.base.errors import InputError, MilpVerixError, meant, require_one_of
from milp_verix.base.number_text import counted
from milp_verix.base.stored_kinds import Prediction
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import radius_in_text
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.oracle.verdict import INTERRUPTED
from milp_verix.results.base import array_hash
from milp_verix.results.comparison import Comparison
from milp_verix.results.comparison_files import compared_checks
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.earlier import EarlierResultError
from milp_verix.results.explanation import Explanation
from milp_verix.study.journal import DONE, FAILED, UNDECIDED, Partial, Record, identity, packed
from milp_verix.study.study_inputs import StudyInputs

FUNCTIONS: dict[str, Callable[..., Explanation | ContrastiveExplanation | Comparison]] = {
    "explain": explain,
    "minimum": minimum,
    "contrastive": contrastive,
    "compare": compare,
}
"""The function that does each kind of task."""

LIMITS = ("time_limit", "check_time_limit", "memory")
_GIVEN_BY_THE_STUDY = ("network", "x", "progress", "snapshots", "resume", "task", "checks")
_LISTED = ("solvers", "formulations", "against", "must", "must_not")
"""Arguments that take one name or number, or a list of them."""
_LONGEST = 500
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """A point of the grid: ``options`` are all ``arguments`` with defaults, as JSON has them."""

    task: str
    arguments: Mapping[str, Any]
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One input and one setting. ``problem`` says why there is no input ``x``, where there is none.

    ``index`` is the input's place in the study, ``name`` its file, or None. ``network`` is the
    hash of the network. ``notes`` say how the input was converted. ``partial`` is the file for the
    answer so far, None to save none. ``spelt`` is the key by the settings as they are spelled,
    which journals of version 0.2 have, where the order by influence was the default.
    """

    key: str
    spelt: str
    index: int
    name: str | None
    x: NDArray[Any] | None
    problem: str | None
    setting: Setting
    network: str
    notes: tuple[str, ...] = ()
    partial: Path | None = None

    def known_in(self, names: Collection[object]) -> "Task":
        """Return the task by the key that a journal with tasks of these ``names`` has for it."""
        return replace(self, key=self.spelt) if identity(self.spelt, self.index) in names else self


def settings_of(
    kinds: Sequence[str], grid: Mapping[str, Sequence[Any]], options: Mapping[str, Any]
) -> list[Setting]:
    """Return the settings of a study: all values of the ``grid`` together, for each kind of task.

    An argument that a kind of task does not have is left out for it. Raises ``InputError`` for an
    argument that none of the ``kinds`` has, and for one that is in the grid and in the options.
    """
    for kind in kinds:
        require_one_of(FUNCTIONS, kind, "task")
    if empty := [name for name, values in {"task": kinds, **grid}.items() if not len(values)]:
        raise InputError(
            f"a study needs a task, and a value for each name in its grid: {empty[0]} has none"
        )
    for name, values in grid.items():
        if isinstance(values, str):
            raise InputError(f"{name} in the grid is a list of values, got {values!r}")
    taken = {kind: _arguments_of(kind) for kind in kinds}
    for name in (*grid, *options):
        if not any(name in arguments for arguments in taken.values()):
            refused = f"the task {' or '.join(taken)} can take no {name!r}; leave it out"
            raise InputError(refused + meant(name, {*chain.from_iterable(taken.values())}))
        if name in grid and name in options:
            raise InputError(f"{name!r} is in the grid, and given beside it: give it once")
    found = []
    for kind, defaults in taken.items():
        axes = {name: values for name, values in grid.items() if name in defaults}
        fixed = {name: value for name, value in options.items() if name in defaults}
        for values in product(*axes.values()):
            arguments = {**fixed, **dict(zip(axes, values, strict=True))}
            complete = {**defaults, **arguments}
            fields = {name: value_in_json(value, name) for name, value in complete.items()}
            found.append(Setting(kind, arguments, fields))
    return found


def tasks_of(
    network: LoadedModel, inputs: StudyInputs, indices: Sequence[int], settings: Sequence[Setting]
) -> Iterator[Task]:
    """Yield the tasks, all settings of one input after the other; an input is read when needed."""
    hashed = network.content_sha256
    for index in indices:
        name = inputs.name(index)
        x, problem, identity = _read(inputs, index, name, network)
        notes = (*inputs.notes(index), *inputs.remarks) if problem is None else ()
        for setting in settings:
            # a solver's answer within a limit says nothing of another limit
            passing = () if setting.task == "compare" else LIMITS
            lasting = {
                name: options for name, options in setting.options.items() if name not in passing
            }
            about = hashed, identity, setting.task
            whole = {**lasting, "epsilon": _plain(setting.arguments.get("epsilon"), "epsilon")}
            before = lasting | ({"order": "influence"} if lasting.get("order") == "auto" else {})
            key, spelt = (_key(*about, one, version()) for one in (_one_way(whole), before))
            yield Task(key, spelt, index, name, x, problem, setting, hashed, notes)


def _key(*content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _one_way(value: Any, name: str = "") -> Any:
    """Return a part of JSON spelled in one way: 1 as 1.0, and one name as it is in a list.

    Radii that are texts, alone or in lists and by name, are numbers where they can be.
    """
    radius = name == "epsilon"
    if isinstance(value, dict):
        return {key: _one_way(one, name if radius else key) for key, one in value.items()}
    if isinstance(value, list):
        return [_one_way(one, name if radius else "") for one in value]
    if radius and isinstance(value, str):
        return _plain(radius_in_text(value), name)
    value = float(value) if type(value) is int else value
    return [value] if name in _LISTED and value is not None else value


def value_in_json(value: Any, name: str) -> Any:
    """Return an argument as JSON has it; its hash where it is long, or an array."""
    plain = _plain(value, name)
    text = json.dumps(plain, sort_keys=True)
    if len(text) <= _LONGEST:
        return plain
    return {"sha256": hashlib.sha256(text.encode()).hexdigest()}


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Inputs):
        value = value.to_data()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.ndarray) and name in _LISTED:
        value = value.tolist()
    if isinstance(value, np.ndarray):
        shape = list(value.shape)
        return {"sha256": array_hash(value), "shape": shape, "dtype": str(value.dtype)}
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value), name)
    if hasattr(value, "iloc"):  # labels and values of pandas
        value = [*value.items()]
    elif hasattr(value, "to_series"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(entry, name) for key, entry in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [_plain(entry, name) for entry in value]
    raise InputError(
        f"{name}: a study cannot tell one {type(value).__name__} from another when it is resumed; "
        "give a name, a number or an array"
    )


def _arguments_of(kind: str) -> dict[str, Any]:
    """Return the arguments that a kind of task takes, with their defaults."""
    return {
        name: None if parameter.default is Parameter.empty else parameter.default
        for name, parameter in signature(FUNCTIONS[kind]).parameters.items()
        if name not in _GIVEN_BY_THE_STUDY
    }


def _read(
    inputs: StudyInputs, index: int, name: str | None, network: LoadedModel
) -> tuple[NDArray[Any] | None, str | None, list[Any]]:
    """Return an input, or why there is none, and what tells it from others."""
    try:
        x = inputs.read(index)
        if x.dtype.kind not in "biuf":
            raise InputError(f"the input must hold numbers, got dtype {x.dtype}")
        if inputs.named:
            network.refuse_words(x, x)
    except InputError as error:
        return None, str(error), [index, name, str(error)]
    return x, None, [str(x.dtype), list(x.shape), array_hash(x)]


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """The record of a task, and its whole result packed for a file, or None.

    The process that has the journal writes both, so that no other needs the same disk.
    ``warnings`` are for its user.
    """

    record: Record
    result: bytes | None = None
    warnings: tuple[str, ...] = ()


def run_task(network: LoadedModel, task: Task, whole: bool) -> TaskOutcome:
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
    except Exception as error:  # one task must not end the others, whatever is wrong with it
        kind = "" if isinstance(error, MilpVerixError) else f"{type(error).__name__}: "
        return failed(task, f"{kind}{error}", time.perf_counter() - started)
    done = _done(result, float(task.setting.options.get("gap", 0.0)))
    if not done:
        partial.keep(result)
    if result.statistics.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    result = replace(result, notes=(*result.notes, *task.notes))
    status, seconds = DONE if done else UNDECIDED, time.perf_counter() - started
    record = _record(task, status, seconds, result.prediction, **_answer(result))
    return TaskOutcome(record, packed(result) if whole else None, tuple(warnings))


def _answered(
    network: LoadedModel, task: Task, partial: Partial, warn: Callable[[str], None]
) -> Explanation | ContrastiveExplanation | Comparison:
    """Return the result of a task, which goes on from its answer so far if that is of use."""
    kind, arguments = task.setting.task, task.setting.arguments
    answer = partial_function(FUNCTIONS[kind], network, task.x, **arguments)
    if kind == "compare":
        return answer()
    answer = partial_function(answer, snapshots=partial.snapshots)
    if (earlier := partial.earlier) is not None:
        try:
            return answer(resume=earlier)
        except EarlierResultError as error:
            warn(f"{earlier} is ignored, and its task begins anew: {error}")
    return answer()


def _compared(task: Task, found: Comparison, seconds: float) -> TaskOutcome:
    """Return the record of a comparison of solvers; raises ``KeyboardInterrupt`` for Ctrl-C."""
    if found.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    stopped = found.stopped or next((run.stopped for run in found.runs if run.stopped), None)
    status = DONE if stopped is None else UNDECIDED
    checks = compared_checks(found)
    record = _record(task, status, seconds, found.prediction, reason=stopped, comparison=checks)
    return TaskOutcome(record)


def failed(task: Task, reason: str, seconds: float = 0.0) -> TaskOutcome:
    """Return the record of a task that ended without a result."""
    return TaskOutcome(_record(task, FAILED, seconds, None, reason=" ".join(reason.split())))


def _record(
    task: Task, status: str, seconds: float, prediction: Prediction | None, **found: Any
) -> Record:
    """Return the record of a task: what it is about, how it ended, and what was ``found``."""
    options = task.setting.options
    return {
        "key": task.key,
        "index": task.index,
        **({} if task.name is None else {"name": task.name}),
        "task": task.setting.task,
        "epsilon": options["epsilon"],
        "settings": {name: value for name, value in options.items() if name != "epsilon"},
        "network": task.network,
        "version": version(),
        "status": status,
        "explanation": None,
        "unknown": None,
        "prediction": prediction,
        "seconds": round(seconds, 6),
        "notes": task.notes,
        **found,
    }


def _answer(result: Explanation | ContrastiveExplanation) -> dict[str, Any]:
    if isinstance(result, ContrastiveExplanation):
        return {
            "explanation": result.contrast,
            "unknown": (),
            "size": result.size,
            "lower_bound": result.lower_bound,
            "robust": result.robust or (None if result.counterfactual is None else False),
            "reason": result.statistics.stopped or result.unknown_reason,
            "notes": result.notes,
        }
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
        "notes": result.notes,
    }


def _done(result: Explanation | ContrastiveExplanation, gap: float) -> bool:
    """Return whether nothing is left to decide: all features, or the bound within the ``gap``."""
    if isinstance(result, ContrastiveExplanation):
        return result.proven
    if result.lower_bound is None:
        return result.minimal
    return (result.gap or 0.0) <= (gap + _ROUNDING) * result.cost
