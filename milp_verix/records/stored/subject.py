"""The fields that all results share, as JSON has them: network, input, ball, features, effort."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from milp_verix.inputs.stored import data_of, inputs_in
from milp_verix.records.base import ModelInfo, Result
from milp_verix.records.statistics import (
    SearchEffort,
    SolverStatistics,
    StageStatistics,
    Statistics,
)
from milp_verix.records.stored.consistency import refuse_contradictions
from milp_verix.records.stored.unread_points import parsed_array
from milp_verix.records.stored.values import (
    array_hash,
    end_in,
    finite,
    prediction_in,
    tuple_in,
    written_array,
)

_DTYPES = (
    "float16",
    "float32",
    "float64",
    *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)),
)


def subject_data(result: Result) -> dict[str, Any]:
    """Return network, input, ball and features as JSON has them.

    ``words`` and ``still`` are there for readers of the file alone.
    """
    low, high = result.domain
    return {
        "model": _model_data(result.model),
        "input": {
            "sha256": array_hash(result.input),
            "shape": result.input.shape,
            "dtype": str(result.input.dtype),
            "values": written_array(result.input),
        },
        "image_shape": result.image_shape,
        "prediction": result.prediction,
        "epsilon": finite(result.epsilon),
        "norm": result.norm,
        "delta": result.delta,
        "output": result.output,
        "against": result.against,
        "domain": [finite(low), finite(high)],
        "features": {
            "count": len(result.groups),
            "shape": result.feature_shape,
            "groups": None if _are_coordinates(result.groups) else result.groups,
            "names": result.feature_names,
        },
        "inputs": None if result.inputs is None else data_of(result.inputs),
        "words": None if result.inputs is None else result.inputs.words(result.input),
        "radii": None if result.radii is None else finite(result.radii),
        "still": result.still,
    }


def subject_fields(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a :class:`Result`."""
    model, given = data["model"], data["input"]
    if given["dtype"] not in _DTYPES:
        raise ValueError(f"input.dtype is {given['dtype']!r:.60}, no type of numbers")
    x = parsed_array(given["values"], np.dtype(given["dtype"]), tuple(given["shape"]))
    if array_hash(x) != given["sha256"]:
        raise ValueError("the hash of the input is not the one recorded")
    groups = data["features"]["groups"] or [[i] for i in range(x.size)]
    if data["features"]["count"] != len(groups):
        raise ValueError(f"features.count is not {len(groups)}, the number of its groups")
    names = data["features"].get("names")
    low, high = data["domain"]
    fields = {
        "model": _model_in(model),
        "input": x,
        "prediction": prediction_in(data["prediction"]),
        "epsilon": end_in(data["epsilon"], math.inf),
        "norm": data["norm"],
        "delta": data["delta"],
        "output": data["output"],
        "against": tuple_in(data.get("against")),
        "domain": (end_in(low, -math.inf), end_in(high, math.inf)),
        "groups": tuple(tuple(group) for group in groups),
        "feature_shape": tuple_in(data["features"]["shape"]),
        "image_shape": tuple_in(data.get("image_shape")),
        "feature_names": None if names is None else tuple(map(str, names)),
        "inputs": None if data.get("inputs") is None else inputs_in(data["inputs"]),
        "radii": None if data.get("radii") is None else end_in(data["radii"], math.inf),
        "solver": data["solver"],
        "statistics": _statistics(data["statistics"]),
        "notes": tuple(data["notes"]),
        "versions": data["versions"],
    }
    refuse_contradictions(fields)
    return fields


def _model_data(model: ModelInfo) -> dict[str, Any]:
    """Return the model as JSON has it; it names classes only if it has names for them."""
    names = {"class_names": model.class_names} if model.class_names else {}
    return {key: value for key, value in asdict(model).items() if key != "class_names"} | names


def _model_in(data: dict[str, Any]) -> ModelInfo:
    names = tuple(map(str, data.get("class_names", ())))
    return ModelInfo(**{**data, "input_shape": tuple(data["input_shape"]), "class_names": names})


def _statistics(data: dict[str, Any]) -> Statistics:
    stages = tuple(StageStatistics(**stage) for stage in data.get("stages", ()))
    solvers = tuple(SolverStatistics(**solver) for solver in data.get("solvers", ()))
    search = _search(data.get("search"))
    return Statistics(**{**data, "stages": stages, "solvers": solvers, "search": search})


def _search(data: dict[str, Any] | None) -> SearchEffort | None:
    if data is None:
        return None
    stages = tuple((str(stage), float(seconds)) for stage, seconds in data["stages"])
    return SearchEffort(**{**data, "stages": stages})


def _are_coordinates(groups: tuple[tuple[int, ...], ...]) -> bool:
    return all(group == (index,) for index, group in enumerate(groups))
