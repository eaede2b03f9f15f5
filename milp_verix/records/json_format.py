"""Explanations as JSON, schema 2; schema 1 is read as well.

In schema 1 ``traversal`` was the list that ``permutation`` is now, and ``strategy`` the name that
``traversal`` is now.

Numbers of the network's own type are written with the fewest digits that identify them, so that a
reader gets back the same bits; the ends of an unlimited domain are null. The file holds the input
and every counterfactual in full: all that a replay needs besides the network.
"""

import hashlib
import json
import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.errors import InputError
from milp_verix.records.explanation import (
    Counterfactual,
    DomainEnd,
    Explanation,
    ModelInfo,
    Prediction,
    SearchEffort,
    StageStatistics,
    Statistics,
)
from milp_verix.stored_numbers import json_in, parsed

if TYPE_CHECKING:
    from milp_verix.records.base import Finding

SCHEMA = 2
READABLE = (1, SCHEMA)


def dump(explanation: Explanation, *, indent: int | None = None) -> str:
    """Return ``explanation`` as JSON text."""
    e = explanation
    data = {
        "schema": SCHEMA,
        **posed_data(e),
        "order": e.order,
        "permutation": e.permutation,
        "sensitivity": e.sensitivity,
        "solver": e.solver,
        "bounds": e.bounds,
        "formulation": e.formulation,
        "traversal": e.traversal,
        "explanation": e.explanation,
        "irrelevant": e.irrelevant,
        "unknown": e.unknown,
        "unknown_reasons": {str(feature): reason for feature, reason in e.unknown_reasons.items()},
        "counterfactuals": [
            {"feature": feature, "prediction": found.prediction, "input": written(found.input)}
            for feature, found in e.counterfactuals.items()
        ],
        "minimal": e.minimal,
        "costs": e.costs,
        "cost": e.cost,
        "lower_bound": e.lower_bound,
        "gap": e.gap,
        "proven": e.proven,
        "must": e.must,
        "must_not": e.must_not,
        "statistics": asdict(e.statistics),
        "notes": e.notes,
        "versions": dict(e.versions),
    }
    return json.dumps(data, indent=indent, allow_nan=False)


def posed_data(e: "Explanation | Finding") -> dict[str, Any]:
    """Return what a result is about, as JSON has it: network, input, ball and features."""
    low, high = e.domain
    return {
        "model": {
            "file": e.model.file,
            "sha256": e.model.sha256,
            "input_shape": e.model.input_shape,
            "dtype": e.model.dtype,
            "softmax_stripped": e.model.softmax_stripped,
            "sigmoid_stripped": e.model.sigmoid_stripped,
        },
        "input": {
            "sha256": array_hash(e.input),
            "shape": e.input.shape,
            "dtype": str(e.input.dtype),
            "values": written(e.input),
        },
        "image_shape": e.image_shape,
        "prediction": e.prediction,
        "epsilon": e.epsilon,
        "norm": e.norm,
        "delta": e.delta,
        "output": e.output,
        "domain": [_finite(low), _finite(high)],
        "features": {
            "count": len(e.groups),
            "shape": e.feature_shape,
            "groups": None if _are_coordinates(e.groups) else e.groups,
            "names": e.feature_names,
        },
    }


def load(source: str | Path) -> Explanation:
    """Read an explanation from JSON text or from the path of a JSON file.

    Raises ``InputError`` for what is not an explanation of this schema, and where the parts
    contradict each other.
    """
    data, where = read_json(source)
    try:
        return _explanation(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise not_a_result(where, "an explanation", error) from error


def read_json(source: str | Path) -> tuple[dict[str, Any], str]:
    """Return what JSON text or a JSON file of this schema holds, and what to call its source."""
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    where = "the JSON text" if is_text else str(source)
    try:
        data = parsed(str(source)) if is_text else json_in(Path(source))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {where}: {error}") from error
    except ValueError as error:
        raise InputError(f"{where} is not JSON: {error}") from error
    found = data.get("schema") if isinstance(data, dict) else None
    if found not in READABLE:
        expected = " or ".join(map(str, READABLE))
        raise InputError(f"{where} has schema {found!r}, expected {expected}")
    return data, where


def not_a_result(where: str, what: str, error: Exception) -> InputError:
    """Return what to raise where JSON of this schema does not hold ``what``."""
    reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
    return InputError(f"{where} is not {what}: {reason}")


def array_hash(array: NDArray[Any]) -> str:
    """Return the SHA-256 of an array's bytes in C order, little-endian."""
    return hashlib.sha256(array.astype(array.dtype.newbyteorder("<")).tobytes()).hexdigest()


def write_atomically(path: Path, content: str | bytes, what: str = "") -> None:
    """Write ``content`` to ``path``: a reader sees the old file or the new one, nothing between.

    Text is written as UTF-8. Raises ``InputError`` as :func:`replacing` does.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    with replacing(path, what) as target:
        target.write_bytes(data)


@contextmanager
def replacing(path: Path, what: str = "") -> Iterator[Path]:
    """Give a path to write to in place of ``path``, which takes the place of ``path`` in the end.

    The suffix is the same. A link stays one: what it points to is replaced. A pipe or a device,
    such as /dev/stdout, is given itself and never replaced. Whatever goes wrong, the earlier file
    stays and no part of a new one is left. Raises ``InputError`` where the path cannot be written,
    naming it as ``what`` with the path behind.
    """
    temporary: Path | None = None
    try:
        if not replaceable(path):
            yield path
            return
        there = path.resolve()
        temporary = there.with_name(
            f".{there.stem}.{os.getpid()}.{threading.get_ident()}{there.suffix}"
        )
        yield temporary
        temporary.replace(there)
    except OSError as error:
        raise InputError(f"cannot write {what}{path}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with suppress(OSError):  # mostly it is not there: it was renamed, or never was
                temporary.unlink()


def replaceable(path: Path) -> bool:
    """Whether ``path`` is a regular file, or nothing yet; not a pipe, a device or a folder."""
    return path.is_file() or not path.exists()


def posed_fields(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a result that :func:`posed_data` wrote."""
    model, given = data["model"], data["input"]
    dtype, shape = np.dtype(given["dtype"]), tuple(given["shape"])
    x = read_array(given["values"], dtype, shape)
    if array_hash(x) != given["sha256"]:
        raise ValueError("the hash of the input is not the one recorded")
    groups = data["features"]["groups"] or [[i] for i in range(data["features"]["count"])]
    feature_shape, names = data["features"]["shape"], data["features"].get("names")
    image_shape = data.get("image_shape")
    low, high = data["domain"]
    return {
        "model": ModelInfo(**{**model, "input_shape": tuple(model["input_shape"])}),
        "input": x,
        "prediction": read_prediction(data["prediction"]),
        "epsilon": data["epsilon"],
        "norm": data["norm"],
        "delta": data["delta"],
        "output": data["output"],
        "domain": (_end(low, -math.inf), _end(high, math.inf)),
        "groups": tuple(tuple(group) for group in groups),
        "feature_shape": None if feature_shape is None else tuple(feature_shape),
        "image_shape": None if image_shape is None else tuple(image_shape),
        "feature_names": None if names is None else tuple(map(str, names)),
    }


def _explanation(data: dict[str, Any]) -> Explanation:
    fields, sensitivity = posed_fields(data), data["sensitivity"]
    old = data["schema"] == 1
    dtype, shape = fields["input"].dtype, fields["input"].shape
    return Explanation(
        **fields,
        lower_bound=data["lower_bound"],
        costs=None if data.get("costs") is None else tuple(data["costs"]),
        order=data["order"],
        permutation=tuple(data["traversal" if old else "permutation"]),
        sensitivity=None if sensitivity is None else tuple(sensitivity),
        solver=data["solver"],
        explanation=tuple(data["explanation"]),
        irrelevant=tuple(data["irrelevant"]),
        unknown_reasons={int(i): reason for i, reason in data["unknown_reasons"].items()},
        counterfactuals={
            item["feature"]: Counterfactual(
                read_array(item["input"], dtype, shape), read_prediction(item["prediction"])
            )
            for item in data["counterfactuals"]
        },
        statistics=_statistics(data["statistics"]),
        notes=tuple(data["notes"]),
        versions=data["versions"],
        bounds=data.get("bounds"),
        formulation=data.get("formulation"),
        traversal=data.get("strategy" if old else "traversal"),
        must=tuple(data.get("must", ())),
        must_not=tuple(data.get("must_not", ())),
    )


def _statistics(data: dict[str, Any]) -> Statistics:
    stages = tuple(StageStatistics(**stage) for stage in data.get("stages", ()))
    return Statistics(**{**data, "stages": stages, "search": _search(data.get("search"))})


def _search(data: dict[str, Any] | None) -> SearchEffort | None:
    if data is None:
        return None
    stages = tuple((str(stage), float(seconds)) for stage, seconds in data["stages"])
    return SearchEffort(**{**data, "stages": stages})


def written(array: NDArray[Any]) -> Any:
    """Return nested lists of numbers whose decimal form is the shortest for the array's dtype."""
    shortest = np.array([float(str(value)) for value in array.reshape(-1)], dtype=np.float64)
    return shortest.reshape(array.shape).tolist()


def read_array(values: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array that :func:`written` wrote; ``ValueError`` for another shape."""
    array = np.array(values, dtype=np.float64).astype(dtype)
    if array.shape != shape:
        raise ValueError(f"an input has shape {array.shape}, expected {shape}")
    return array


def read_prediction(value: int | list[float]) -> Prediction:
    """Return a prediction as it was before JSON made a list of a tuple."""
    return tuple(value) if isinstance(value, list) else value


def _finite(end: DomainEnd) -> Any:
    if isinstance(end, tuple):
        return [_finite(value) for value in end]
    return end if math.isfinite(end) else None


def _end(value: Any, infinite: float) -> DomainEnd:
    if isinstance(value, list):
        return tuple(infinite if entry is None else entry for entry in value)
    return infinite if value is None else float(value)


def _are_coordinates(groups: tuple[tuple[int, ...], ...]) -> bool:
    return all(group == (index,) for index, group in enumerate(groups))
