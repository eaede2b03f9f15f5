"""Numbers, points and predictions as JSON has them."""

import hashlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.records.base import Counterfactual, DomainEnd, Prediction
from milp_verix.records.stored.unread_points import stored_counterfactual


def array_hash(array: NDArray[Any]) -> str:
    """Return the SHA-256 of an array's bytes in C order, little-endian."""
    return hashlib.sha256(array.astype(array.dtype.newbyteorder("<")).tobytes()).hexdigest()


def counterfactual_data(found: Counterfactual) -> dict[str, Any]:
    """Return a counterfactual as JSON has it."""
    rival = {} if found.rival is None else {"rival": found.rival}
    return {"prediction": found.prediction, **rival, "input": written_array(found.input)}


def counterfactual_in(data: dict[str, Any], x: NDArray[Any]) -> Counterfactual:
    """Return the counterfactual in ``data``, with the shape and dtype of the input ``x``."""
    prediction = prediction_in(data["prediction"])
    return stored_counterfactual(data["input"], x, prediction, data.get("rival"))


def written_array(array: NDArray[Any]) -> Any:
    """Return nested lists of numbers whose decimal form is the shortest for the array's dtype."""
    shortest = np.array([float(str(value)) for value in array.reshape(-1)], dtype=np.float64)
    return shortest.reshape(array.shape).tolist()


def prediction_in(value: int | list[float]) -> Prediction:
    """Return a prediction as it was before JSON made a list of a tuple."""
    return tuple(value) if isinstance(value, list) else value


def tuple_in(values: list[Any] | None) -> tuple[Any, ...] | None:
    """Return a list as the tuple that it was."""
    return None if values is None else tuple(values)


def numbers_in(values: list[Any] | None) -> tuple[float, ...] | None:
    """Return a list of numbers as floats."""
    return None if values is None else tuple(map(float, values))


def finite(end: DomainEnd) -> Any:
    """Return an end of the domain, or a radius, with None for infinity."""
    if isinstance(end, tuple):
        return [finite(value) for value in end]
    return end if math.isfinite(end) else None


def end_in(value: Any, infinite: float) -> DomainEnd:
    """Return an end of the domain, or a radius, that :func:`finite` wrote."""
    if isinstance(value, list):
        return tuple(infinite if entry is None else entry for entry in value)
    return infinite if value is None else float(value)
