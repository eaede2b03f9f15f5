"""The part of protected features as JSON: the fields that other results do not have."""

from typing import Any

from numpy.typing import NDArray

from milp_verix.records.relevance import Relevance
from milp_verix.records.stored.unread_points import parsed_array
from milp_verix.records.stored.values import (
    counterfactual_data,
    counterfactual_in,
    tuple_in,
    written_array,
)


def relevance_data(found: Relevance) -> dict[str, Any]:
    """Return the fields of ``found``; ``role`` is there for readers of the file alone."""
    point, same = found.counterfactual, found.unchanged
    return {
        "solver": found.solver,
        "protected": found.features,
        "role": found.role,
        "necessary": found.necessary,
        "relevant": found.relevant,
        "free": found.free,
        "counterfactual": None if point is None else counterfactual_data(point),
        "unchanged": None if same is None else written_array(same),
        "unknown_reason": found.unknown_reason,
    }


def relevance_fields(data: dict[str, Any], x: NDArray[Any]) -> dict[str, Any]:
    """Return the fields that :func:`relevance_data` wrote; ``x`` is the input explained."""
    point, same = data["counterfactual"], data["unchanged"]
    return {
        "features": tuple(data["protected"]),
        "necessary": data["necessary"],
        "relevant": data["relevant"],
        "free": tuple_in(data["free"]),
        "counterfactual": None if point is None else counterfactual_in(point, x),
        "unchanged": None if same is None else parsed_array(same, x.dtype, x.shape),
        "unknown_reason": data["unknown_reason"],
    }
