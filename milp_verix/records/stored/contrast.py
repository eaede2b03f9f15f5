"""Contrastive explanations as JSON."""

from typing import Any

from numpy.typing import NDArray

from milp_verix.records.contrast import ContrastiveExplanation
from milp_verix.records.stored.values import counterfactual_data, counterfactual_in, tuple_in


def contrast_data(found: ContrastiveExplanation) -> dict[str, Any]:
    """Return the fields that other results do not have."""
    point = found.counterfactual
    return {
        "solver": found.solver,
        "contrast": found.contrast,
        "counterfactual": None if point is None else counterfactual_data(point),
        "robust": found.robust,
        "costs": found.costs,
        "must_not": found.must_not,
        "scales": found.scales,
        "cost": found.cost,
        "lower_bound": found.lower_bound,
        "gap": found.gap,
        "proven": found.proven,
        "unknown_reason": found.unknown_reason,
    }


def contrast_fields(data: dict[str, Any], x: NDArray[Any]) -> dict[str, Any]:
    """Return the fields that :func:`contrast_data` wrote; ``x`` is the input explained."""
    point = data["counterfactual"]
    return {
        "contrast": tuple_in(data["contrast"]),
        "counterfactual": None if point is None else counterfactual_in(point, x),
        "robust": data["robust"],
        "costs": tuple_in(data["costs"]),
        "lower_bound": data["lower_bound"],
        "unknown_reason": data["unknown_reason"],
        "must_not": tuple(data.get("must_not", ())),
        "scales": tuple_in(data.get("scales")),
    }
