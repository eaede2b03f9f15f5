"""Enumerations as JSON."""

from typing import Any

from numpy.typing import NDArray

from milp_verix.records.enumeration import Enumeration
from milp_verix.records.stored.values import counterfactual_data, counterfactual_in


def enumeration_data(found: Enumeration) -> dict[str, Any]:
    """Return the fields that other results do not have."""
    return {
        "solver": found.solver,
        "abductive": found.abductive,
        "contrastive": [
            {"contrast": contrast, **counterfactual_data(point)}
            for contrast, point in found.contrastive.items()
        ],
        "complete": found.complete,
        "lower_bound": found.lower_bound,
        "unknown_reason": found.unknown_reason,
    }


def enumeration_fields(data: dict[str, Any], x: NDArray[Any]) -> dict[str, Any]:
    """Return the fields that :func:`enumeration_data` wrote; ``x`` is the input explained."""
    return {
        "abductive": tuple(tuple(explanation) for explanation in data["abductive"]),
        "contrastive": {
            tuple(item["contrast"]): counterfactual_in(item, x) for item in data["contrastive"]
        },
        "complete": data["complete"],
        "lower_bound": data["lower_bound"],
        "unknown_reason": data["unknown_reason"],
    }
