"""Robustness radii as JSON: the fields that other results do not have."""

from typing import Any

from numpy.typing import NDArray

from milp_verix.records.radius import RadiusBracket, RobustnessRadii
from milp_verix.records.stored.values import counterfactual_data, counterfactual_in, tuple_in

Data = dict[str, Any]


def radii_data(found: RobustnessRadii) -> Data:
    """Return the fields of ``found``."""
    return {
        "solver": found.solver,
        "each": found.each,
        "tolerance": found.tolerance,
        "scale": found.scale,
        "settled": found.settled,
        "irrelevant": found.irrelevant,
        "brackets": [
            {
                "features": one.features,
                "lower": one.lower,
                "upper": one.upper,
                "reach": one.reach,
                "unknown_reason": one.unknown_reason,
                "counterfactual": None
                if one.counterfactual is None
                else counterfactual_data(one.counterfactual),
            }
            for one in found.brackets
        ],
    }


def radii_fields(data: Data, x: NDArray[Any]) -> Data:
    """Return the fields that :func:`radii_data` wrote; ``x`` is the input explained."""
    return {
        "each": data["each"],
        "tolerance": data["tolerance"],
        "scale": tuple_in(data.get("scale")),
        "brackets": tuple(_bracket(one, x) for one in data["brackets"]),
    }


def _bracket(data: Data, x: NDArray[Any]) -> RadiusBracket:
    point = data["counterfactual"]
    return RadiusBracket(
        tuple(data["features"]),
        data["lower"],
        data["upper"],
        data["reach"],
        None if point is None else counterfactual_in(point, x),
        data["unknown_reason"],
    )
