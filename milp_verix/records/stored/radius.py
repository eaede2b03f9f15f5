"""Robustness radii as JSON: the fields that other results do not have."""

from collections.abc import Callable
from typing import Any

from milp_verix.records.base import Counterfactual
from milp_verix.records.radius import RadiusBracket, RobustnessRadii

Data = dict[str, Any]


def radii_data(found: RobustnessRadii, written: Callable[[Counterfactual], Data]) -> Data:
    """Return the fields of ``found``; ``written`` makes JSON of a counterfactual."""
    return {
        "solver": found.solver,
        "each": found.each,
        "tolerance": found.tolerance,
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
                else written(one.counterfactual),
            }
            for one in found.brackets
        ],
    }


def radii_fields(data: Data, read: Callable[[Data], Counterfactual]) -> Data:
    """Return the fields that :func:`radii_data` wrote; ``read`` makes a counterfactual of JSON."""
    return {
        "each": data["each"],
        "tolerance": data["tolerance"],
        "brackets": tuple(_bracket(one, read) for one in data["brackets"]),
    }


def _bracket(data: Data, read: Callable[[Data], Counterfactual]) -> RadiusBracket:
    point = data["counterfactual"]
    return RadiusBracket(
        tuple(data["features"]),
        data["lower"],
        data["upper"],
        data["reach"],
        None if point is None else read(point),
        data["unknown_reason"],
    )
