"""Audits as JSON: the fields that other results do not have."""

from dataclasses import asdict
from typing import Any

from numpy.typing import NDArray

from milp_verix.records.audit import Audit, Minimum
from milp_verix.records.stored.values import counterfactual_data, counterfactual_in
from milp_verix.records.verdict import Answer

Data = dict[str, Any]


def audit_data(audit: Audit) -> Data:
    """Return the fields of ``audit``.

    Fields that follow from others, such as ``removable``, are there for readers of the file alone.
    """
    point = audit.counterexample
    return {
        "solver": audit.solver,
        "explanation": audit.explanation,
        "answer": audit.answer.value,
        "sound": audit.sound,
        "minimal": audit.minimal,
        "bound": audit.bound,
        "counterexample": None if point is None else counterfactual_data(point),
        "unknown_reason": audit.unknown_reason,
        "sound_set": audit.sound_set,
        "removable": audit.removable,
        "added": audit.added,
        "unknown_reasons": {str(feature): why for feature, why in audit.unknown_reasons.items()},
        "counterfactuals": [
            {"feature": feature, **counterfactual_data(found)}
            for feature, found in audit.counterfactuals.items()
        ],
        "minimum": None if audit.minimum is None else asdict(audit.minimum),
        "completion": None if audit.completion is None else asdict(audit.completion),
    }


def audit_fields(data: Data, x: NDArray[Any]) -> Data:
    """Return the fields that :func:`audit_data` wrote; ``x`` is the input explained."""
    point = data["counterexample"]
    return {
        "explanation": tuple(data["explanation"]),
        "answer": Answer(data["answer"]),
        "bound": data["bound"],
        "counterexample": None if point is None else counterfactual_in(point, x),
        "unknown_reason": data["unknown_reason"],
        "sound_set": tuple(data["sound_set"]),
        "unknown_reasons": {int(feature): why for feature, why in data["unknown_reasons"].items()},
        "counterfactuals": {
            item["feature"]: counterfactual_in(item, x) for item in data["counterfactuals"]
        },
        "minimum": _minimum(data["minimum"]),
        "completion": _minimum(data["completion"]),
    }


def _minimum(data: Data | None) -> Minimum | None:
    if data is None:
        return None
    return Minimum(tuple(data["explanation"]), data["lower_bound"])
