"""Results as JSON: the fields of their classes, with properties for readers of the file alone.

A file is read into the types of these fields; then all that is written again has to be what the
file holds, so that no part of it says what does not follow from the others.

Numbers of the network's own type are written with the fewest digits that identify them, so that a
reader gets back the same bits; infinity is null. The file holds the input and every counterfactual
in full: all that a replay needs besides the network.
"""

import dataclasses
import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from milp_verix.base.arguments import path_of
from milp_verix.base.errors import InputError, refusing
from milp_verix.base.stored_numbers import json_in, parsed
from milp_verix.inputs.inputs import Inputs
from milp_verix.results.audit import Audit
from milp_verix.results.base import ModelInfo, Result
from milp_verix.results.contrast import ContrastiveExplanation, Enumeration
from milp_verix.results.conversion import READ, converted, difference
from milp_verix.results.explanation import EpsilonSweep, Explanation
from milp_verix.results.importance import Importance, Relevance
from milp_verix.results.ranges import Ranges, RobustnessRadii

SCHEMA = 3
"""Number of the format; 1 and 2 were 0.1.0 and before it."""

StoredResult: TypeAlias = Result | EpsilonSweep
AnyResult = TypeVar("AnyResult", bound=StoredResult)
Data: TypeAlias = dict[str, Any]

KINDS: dict[str, type[StoredResult]] = {
    record.kind: record
    for record in (
        *(Explanation, ContrastiveExplanation, Enumeration, Audit),
        *(Ranges, Relevance, Importance, RobustnessRadii, EpsilonSweep),
    )
}
"""The classes of results by their ``kind`` in JSON."""

_INFINITIES = (-math.inf, math.inf)
"""The ends of the domain that null stands for."""

_DTYPES = (
    *("float16", "float32", "float64"),
    *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)),
)


def dump(result: StoredResult, *, indent: int | None = None) -> str:
    """Return ``result`` as JSON text."""
    return json.dumps(result_data(result), indent=indent, allow_nan=False)


def result_data(result: StoredResult, written: Callable[[NDArray[Any]], Any] | None = None) -> Data:
    """Return ``result`` as the dictionary that its JSON is.

    ``written`` makes JSON of an array; by default nested lists of numbers.
    """
    encode = partial(encoded, written=written or written_array)
    if isinstance(result, EpsilonSweep):
        fields: Data = {
            "levels": [result_data(level, written) for level in result.levels],
            "nested": result.nested,
            "seconds": result.seconds,
        }
    else:
        fields = {name: encode(getattr(result, name)) for name in names_of(type(result))}
        fields |= {name: _finite(fields[name]) for name in ("epsilon", "radii", "domain")}
    derived = {name: encode(getattr(result, name)) for name in result.derived}
    return {"schema": SCHEMA, "kind": result.kind, **fields, **derived}


def names_of(kind: type[StoredResult]) -> list[str]:
    """Return the names of the fields of a class of results."""
    return [field.name for field in dataclasses.fields(kind)]


def load(source: str | Path, kind: type[AnyResult]) -> AnyResult:
    """Read a result of the class ``kind`` from JSON text or from the path of a JSON file.

    Raises ``InputError`` for JSON of another kind or schema, and where parts contradict each other.
    """
    return from_data(*read_data(source), kind)


def from_data(data: Data, where: str, kind: type[AnyResult]) -> AnyResult:
    """Return the result of the class ``kind`` in ``data``; ``where`` is its name in errors.

    Raises ``InputError`` as :func:`load` does.
    """
    with refusing(
        f"{where} is not {kind.noun}", TypeError, ValueError, ArithmeticError, RecursionError
    ):
        if data.get("kind") != kind.kind:
            raise ValueError(f"it holds {data.get('kind')!r}, not {kind.kind!r}")
        given = first = _with_infinity(data)
        if isinstance(levels := data.get("levels"), list):
            given = {**data, "levels": [_with_infinity(level) for level in levels]}
            first = levels[0] if levels else {}
        result = converted(given, kind, _hook(first))
        made = result_data(result, lambda _: READ)
        _accept_earlier(data, made)
        if isinstance(result, Importance) and result.still:
            del made["misordered"]  # earlier versions listed features that were held
        if text := difference(data, made):
            raise ValueError(text)
    return result


_NEW = ("bound_cases", "at_most", "reachable")
"""What results hold since their last version; where it is absent, it is nothing."""


def _accept_earlier(data: Data, made: Data) -> None:
    """Take over into ``made`` what earlier versions stored otherwise.

    Numbers in ``words`` had six digits, and fields were not yet there.
    """
    for level in zip(data.get("levels", ()), made.get("levels", ()), strict=True):
        _accept_earlier(*level)
    for name in _NEW:
        if name not in data and not made.get(name, True):
            del made[name]
    words = data.get("words")
    for name, word in (made.get("words") or {}).items():
        stored = words.get(name) if isinstance(words, dict) else None
        (number_stored, *unit), (number, *same) = (str(one).split(" ", 1) for one in (stored, word))
        try:
            close = math.isclose(float(number_stored), float(number), rel_tol=5.1e-6)
        except ValueError:
            continue
        if close and unit == same:
            made["words"][name] = stored


def read_data(source: str | Path, schema: int = SCHEMA, *older: int) -> tuple[Data, str]:
    """Return the data in JSON text or in a JSON file, and the name of the source in errors.

    Raises ``InputError`` for JSON of a schema that is neither ``schema`` nor one of the ``older``
    ones, and for text that is no JSON.
    """
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    where = "the JSON text" if is_text else str(source)
    path = None if is_text else path_of(source, "source")
    with refusing(f"cannot read {where}"), refusing(f"{where} is not JSON", ValueError):
        data = parsed(str(source)) if path is None else json_in(path)
    found = data.get("schema") if isinstance(data, dict) else None
    if found is None:
        raise InputError(f"{where} is no result of milp-verix, such as one that --json wrote")
    if found not in (schema, *older):
        other = "another version wrote it; ask again with this one"
        raise InputError(f"{where} has schema {found!r}, expected {schema}: {other}")
    return data, where


def written_array(array: NDArray[Any]) -> Any:
    """Return nested lists of numbers whose decimal form is the shortest for the array's dtype."""
    shortest = np.array([float(str(value)) for value in array.reshape(-1)], dtype=np.float64)
    return shortest.reshape(array.shape).tolist()


def encoded(value: Any, written: Callable[[NDArray[Any]], Any]) -> Any:
    """Return ``value`` in the types that JSON has; ``written`` makes them of an array."""

    def known(other: Any) -> Any:
        if isinstance(other, MappingProxyType):
            return dict(other)
        if isinstance(other, Inputs):
            return other.to_data()
        assert isinstance(other, np.ndarray | np.generic)
        return written(other) if isinstance(other, np.ndarray) else other.item()

    return msgspec.to_builtins(value, enc_hook=known, str_keys=True)


def _finite(end: Any) -> Any:
    """Return a radius, an end of the domain, or a list of some, with None for infinity."""
    if isinstance(end, list | tuple):
        return [_finite(one) for one in end]
    return end if end is None or math.isfinite(end) else None


def _with_infinity(data: Any) -> Any:
    """Return the data of a result with the infinity that null stands for."""
    if not isinstance(data, dict):
        return data
    found, radii, domain = dict(data), data.get("radii"), data.get("domain")
    if data.get("epsilon", 0) is None:
        found["epsilon"] = math.inf
    if isinstance(radii, list):
        found["radii"] = _filled(radii, math.inf)
    if isinstance(domain, list) and len(domain) == len(_INFINITIES):
        found["domain"] = [*map(_filled, domain, _INFINITIES)]
    return found


def _filled(end: Any, infinity: float) -> Any:
    if isinstance(end, list):
        return [infinity if one is None else one for one in end]
    return infinity if end is None else end


def _hook(data: Any) -> Callable[[type, Any], Any]:
    """Return what makes arrays, with the shape and the dtype that the model in ``data`` tells."""
    try:
        model = converted(data["model"], ModelInfo)
    except (ValueError, TypeError, KeyError):
        return lambda kind, _: np.zeros(0)  # the model itself is refused
    if model.dtype not in _DTYPES:
        raise ValueError(f"model.dtype is {model.dtype!r:.60}, no type of numbers")
    dtype = np.dtype(model.dtype)

    def made(kind: type, given: Any) -> Any:
        if kind is Inputs:
            return Inputs.from_data(given)
        return _array_in(given, dtype, model.input_shape)

    return made


def _array_in(values: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return nested lists of numbers as an array; ``ValueError`` where they are no such array."""
    given = np.array(values)
    if given.shape != shape:
        raise ValueError(f"an input has shape {given.shape}, expected {shape}")
    if given.size and given.dtype.kind not in "iuf":
        raise ValueError("an input has entries that are no numbers")
    with np.errstate(over="ignore", invalid="ignore"):
        array = given.astype(np.float64).astype(dtype)
    if not np.isfinite(array).all():
        raise ValueError(f"an input has numbers that {dtype} cannot hold")
    return array
