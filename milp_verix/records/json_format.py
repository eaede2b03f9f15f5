"""Results as JSON, schema 2; schema 1 is read as well.

In schema 1 ``traversal`` was the list that ``permutation`` is now, and ``strategy`` the name that
``traversal`` is now. Results other than explanations name their ``kind``.

Numbers of the network's own type are written with the fewest digits that identify them, so that a
reader gets back the same bits; the ends of an unlimited domain are null. The file holds the input
and every counterfactual in full: all that a replay needs besides the network.
"""

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from milp_verix.errors import InputError
from milp_verix.inputs.stored import data_of, inputs_in
from milp_verix.records.audit import Audit
from milp_verix.records.audit_json import audit_data, audit_fields
from milp_verix.records.base import Counterfactual, DomainEnd, ModelInfo, Prediction, Result
from milp_verix.records.contrast import ContrastiveExplanation
from milp_verix.records.enumeration import Enumeration
from milp_verix.records.explanation import Explanation
from milp_verix.records.radius import RobustnessRadii
from milp_verix.records.radius_json import radii_data, radii_fields
from milp_verix.records.statistics import (
    SearchEffort,
    SolverStatistics,
    StageStatistics,
    Statistics,
)
from milp_verix.records.unread_points import parsed_array, parsed_lazily, stored_counterfactual
from milp_verix.stored_numbers import json_in, parsed

SCHEMA = 2
READABLE = (1, SCHEMA)

AnyResult = TypeVar("AnyResult", bound=Result)


def dump(result: Result, *, indent: int | None = None) -> str:
    """Return ``result`` as JSON text."""
    return json.dumps(result_data(result), indent=indent, allow_nan=False)


def result_data(result: Result) -> dict[str, Any]:
    """Return ``result`` as the dictionary that its JSON is."""
    form = _form_of(type(result))
    kind = {} if form.kind is None else {"kind": form.kind}
    return {
        "schema": SCHEMA,
        **kind,
        **_subject_data(result),
        **form.written(result),
        "statistics": asdict(result.statistics),
        "notes": result.notes,
        "versions": dict(result.versions),
    }


def load(source: str | Path, kind: type[AnyResult], *, lazily: bool = False) -> AnyResult:
    """Read a result of the class ``kind`` from JSON text or from the path of a JSON file.

    With ``lazily`` the inputs of counterfactuals are parsed when they are asked for. Raises
    ``InputError`` for JSON of another kind or schema, and where parts contradict each other.
    """
    return from_data(*read_data(source, parsed_lazily if lazily else parsed), kind)


def from_data(data: dict[str, Any], where: str, kind: type[AnyResult]) -> AnyResult:
    """Return the result of the class ``kind`` in ``data``; ``where`` is its name in errors.

    Raises ``InputError`` as :func:`load` does.
    """
    form = _form_of(kind)
    try:
        if data.get("kind") != form.kind:
            found, expected = (held or "explanation" for held in (data.get("kind"), form.kind))
            raise ValueError(f"it holds {found!r}, not {expected!r}")
        shared = _shared_fields(data)
        return kind(**shared, **form.fields(data, shared["input"]))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{where} is not {form.name}: {reason}") from error


def array_hash(array: NDArray[Any]) -> str:
    """Return the SHA-256 of an array's bytes in C order, little-endian."""
    return hashlib.sha256(array.astype(array.dtype.newbyteorder("<")).tobytes()).hexdigest()


def read_data(
    source: str | Path, parse: Callable[[str], Any] = parsed
) -> tuple[dict[str, Any], str]:
    """Return the data in JSON text or in a JSON file, and the name of the source in errors.

    Raises ``InputError`` for JSON of another schema, and for text that is no JSON.
    """
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    where = "the JSON text" if is_text else str(source)
    try:
        data = parse(str(source)) if is_text else json_in(Path(source), parse=parse)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {where}: {error}") from error
    except ValueError as error:
        raise InputError(f"{where} is not JSON: {error}") from error
    found = data.get("schema") if isinstance(data, dict) else None
    if found not in READABLE:
        expected = " or ".join(map(str, READABLE))
        raise InputError(f"{where} has schema {found!r}, expected {expected}")
    return data, where


def _subject_data(result: Result) -> dict[str, Any]:
    """Return network, input, ball and features as JSON has them."""
    low, high = result.domain
    return {
        "model": asdict(result.model),
        "input": {
            "sha256": array_hash(result.input),
            "shape": result.input.shape,
            "dtype": str(result.input.dtype),
            "values": _written(result.input),
        },
        "image_shape": result.image_shape,
        "prediction": result.prediction,
        "epsilon": _finite(result.epsilon),
        "norm": result.norm,
        "delta": result.delta,
        "output": result.output,
        "against": result.against,
        "domain": [_finite(low), _finite(high)],
        "features": {
            "count": len(result.groups),
            "shape": result.feature_shape,
            "groups": None if _are_coordinates(result.groups) else result.groups,
            "names": result.feature_names,
        },
        "inputs": None if result.inputs is None else data_of(result.inputs),
        "words": None if result.inputs is None else result.inputs.words(result.input),
        "radii": None if result.radii is None else _finite(result.radii),
    }


def _shared_fields(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a :class:`Result`."""
    model, given = data["model"], data["input"]
    x = parsed_array(given["values"], np.dtype(given["dtype"]), tuple(given["shape"]))
    if array_hash(x) != given["sha256"]:
        raise ValueError("the hash of the input is not the one recorded")
    groups = data["features"]["groups"] or [[i] for i in range(data["features"]["count"])]
    names = data["features"].get("names")
    low, high = data["domain"]
    return {
        "model": ModelInfo(**{**model, "input_shape": tuple(model["input_shape"])}),
        "input": x,
        "prediction": _prediction(data["prediction"]),
        "epsilon": _end(data["epsilon"], math.inf),
        "norm": data["norm"],
        "delta": data["delta"],
        "output": data["output"],
        "against": _tuple(data.get("against")),
        "domain": (_end(low, -math.inf), _end(high, math.inf)),
        "groups": tuple(tuple(group) for group in groups),
        "feature_shape": _tuple(data["features"]["shape"]),
        "image_shape": _tuple(data.get("image_shape")),
        "feature_names": None if names is None else tuple(map(str, names)),
        "inputs": None if data.get("inputs") is None else inputs_in(data["inputs"]),
        "radii": None if data.get("radii") is None else _end(data["radii"], math.inf),
        "solver": data["solver"],
        "statistics": _statistics(data["statistics"]),
        "notes": tuple(data["notes"]),
        "versions": data["versions"],
    }


def _explanation_data(e: Explanation) -> dict[str, Any]:
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
            {"feature": feature, **_counterfactual_data(found)}
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
        **({"scenarios": [_written(point) for point in e.scenarios]} if e.scenarios else {}),
    }


def _explanation_fields(data: dict[str, Any], x: NDArray[Any]) -> dict[str, Any]:
    old = data["schema"] == 1
    return {
        "lower_bound": data["lower_bound"],
        "costs": _tuple(data.get("costs")),
        "order": data["order"],
        "permutation": tuple(data["traversal" if old else "permutation"]),
        "sensitivity": _tuple(data["sensitivity"]),
        "explanation": tuple(data["explanation"]),
        "irrelevant": tuple(data["irrelevant"]),
        "unknown_reasons": {int(i): reason for i, reason in data["unknown_reasons"].items()},
        "counterfactuals": {
            item["feature"]: _counterfactual(item, x) for item in data["counterfactuals"]
        },
        "bounds": data.get("bounds"),
        "formulation": data.get("formulation"),
        "traversal": data.get("strategy" if old else "traversal"),
        "must": tuple(data.get("must", ())),
        "must_not": tuple(data.get("must_not", ())),
        "scenarios": tuple(parsed_array(p, x.dtype, x.shape) for p in data.get("scenarios", ())),
    }


def _contrast_data(found: ContrastiveExplanation) -> dict[str, Any]:
    point = found.counterfactual
    return {
        "solver": found.solver,
        "contrast": found.contrast,
        "counterfactual": None if point is None else _counterfactual_data(point),
        "robust": found.robust,
        "costs": found.costs,
        "cost": found.cost,
        "lower_bound": found.lower_bound,
        "gap": found.gap,
        "proven": found.proven,
        "unknown_reason": found.unknown_reason,
    }


def _contrast_fields(data: dict[str, Any], x: NDArray[Any]) -> dict[str, Any]:
    point = data["counterfactual"]
    return {
        "contrast": _tuple(data["contrast"]),
        "counterfactual": None if point is None else _counterfactual(point, x),
        "robust": data["robust"],
        "costs": _tuple(data["costs"]),
        "lower_bound": data["lower_bound"],
        "unknown_reason": data["unknown_reason"],
    }


def _enumeration_data(found: Enumeration) -> dict[str, Any]:
    return {
        "solver": found.solver,
        "abductive": found.abductive,
        "contrastive": [
            {"contrast": contrast, **_counterfactual_data(point)}
            for contrast, point in found.contrastive.items()
        ],
        "complete": found.complete,
        "lower_bound": found.lower_bound,
        "unknown_reason": found.unknown_reason,
    }


def _enumeration_fields(data: dict[str, Any], x: NDArray[Any]) -> dict[str, Any]:
    return {
        "abductive": tuple(tuple(explanation) for explanation in data["abductive"]),
        "contrastive": {
            tuple(item["contrast"]): _counterfactual(item, x) for item in data["contrastive"]
        },
        "complete": data["complete"],
        "lower_bound": data["lower_bound"],
        "unknown_reason": data["unknown_reason"],
    }


@dataclass(frozen=True, slots=True)
class _Form:
    """A class of results in JSON: its ``kind`` there, its name in messages, its own fields.

    ``written`` makes JSON of the fields that other results do not have, ``fields`` reads them; it
    takes the input explained, too, whose shape and dtype counterfactuals have.
    """

    kind: str | None
    name: str
    written: Callable[[Any], dict[str, Any]]
    fields: Callable[[dict[str, Any], NDArray[Any]], dict[str, Any]]


_FORMS: dict[type[Result], _Form] = {
    Explanation: _Form(None, "an explanation", _explanation_data, _explanation_fields),
    ContrastiveExplanation: _Form(
        "contrastive", "a contrastive explanation", _contrast_data, _contrast_fields
    ),
    RobustnessRadii: _Form(
        "radius",
        "a result on radii",
        lambda found: radii_data(found, _counterfactual_data),
        lambda data, x: radii_fields(data, lambda point: _counterfactual(point, x)),
    ),
    Enumeration: _Form("enumeration", "an enumeration", _enumeration_data, _enumeration_fields),
    Audit: _Form(
        "audit",
        "an audit",
        lambda audit: audit_data(audit, _counterfactual_data),
        lambda data, x: audit_fields(data, lambda point: _counterfactual(point, x)),
    ),
}


KINDS: dict[str | None, type[Result]] = {form.kind: record for record, form in _FORMS.items()}
"""The classes of results by their ``kind`` in JSON."""


def _form_of(kind: type[Result]) -> _Form:
    return next(form for record, form in _FORMS.items() if issubclass(kind, record))


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


def _counterfactual_data(found: Counterfactual) -> dict[str, Any]:
    return {"prediction": found.prediction, "input": _written(found.input)}


def _counterfactual(data: dict[str, Any], x: NDArray[Any]) -> Counterfactual:
    return stored_counterfactual(data["input"], x, _prediction(data["prediction"]))


def _written(array: NDArray[Any]) -> Any:
    """Return nested lists of numbers whose decimal form is the shortest for the array's dtype."""
    shortest = np.array([float(str(value)) for value in array.reshape(-1)], dtype=np.float64)
    return shortest.reshape(array.shape).tolist()


def _prediction(value: int | list[float]) -> Prediction:
    """Return a prediction as it was before JSON made a list of a tuple."""
    return tuple(value) if isinstance(value, list) else value


def _tuple(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


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
