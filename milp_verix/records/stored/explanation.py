"""Explanations as JSON; schema 1 is read as well."""

from typing import Any

from numpy.typing import NDArray

from milp_verix.records.explanation import Explanation
from milp_verix.records.stored.unread_points import parsed_array
from milp_verix.records.stored.values import (
    counterfactual_data,
    counterfactual_in,
    numbers_in,
    tuple_in,
    written_array,
)


def explanation_data(e: Explanation) -> dict[str, Any]:
    """Return the fields that other results do not have."""
    return {
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
            {"feature": feature, **counterfactual_data(found)}
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
        **({"scenarios": [written_array(point) for point in e.scenarios]} if e.scenarios else {}),
    }


def explanation_fields(data: dict[str, Any], x: NDArray[Any]) -> dict[str, Any]:
    """Return the fields that :func:`explanation_data` wrote; ``x`` is the input explained."""
    old = data["schema"] == 1
    return {
        "lower_bound": data["lower_bound"],
        "costs": tuple_in(data.get("costs")),
        "order": data["order"],
        "permutation": tuple(data["traversal" if old else "permutation"]),
        "sensitivity": numbers_in(data["sensitivity"]),
        "explanation": tuple(data["explanation"]),
        "irrelevant": tuple(data["irrelevant"]),
        "unknown_reasons": {int(i): reason for i, reason in data["unknown_reasons"].items()},
        "counterfactuals": {
            item["feature"]: counterfactual_in(item, x) for item in data["counterfactuals"]
        },
        "bounds": data.get("bounds"),
        "formulation": data.get("formulation"),
        "traversal": data.get("strategy" if old else "traversal"),
        "must": tuple(data.get("must", ())),
        "must_not": tuple(data.get("must_not", ())),
        "scenarios": tuple(parsed_array(p, x.dtype, x.shape) for p in data.get("scenarios", ())),
    }
