"""Findings as JSON, in the schema of explanations: what they share with these, and ``kind``."""

import json
from pathlib import Path
from typing import Any

from milp_verix.records.base import Finding
from milp_verix.records.explanation import Counterfactual, Statistics
from milp_verix.records.json_format import (
    SCHEMA,
    posed_data,
    posed_fields,
    read_array,
    read_prediction,
    write_atomically,
    written,
)


def write_finding(
    finding: Finding, kind: str, own: dict[str, Any], path: str | Path | None, indent: int | None
) -> str:
    """Return a finding with its ``own`` fields as JSON, and write it to ``path`` if given."""
    statistics = finding.statistics
    data = {
        "schema": SCHEMA,
        "kind": kind,
        **posed_data(finding),
        "solver": finding.solver,
        **own,
        "statistics": {name: getattr(statistics, name) for name in Statistics.__dataclass_fields__},
        "notes": finding.notes,
        "versions": dict(finding.versions),
    }
    text = json.dumps(data, indent=indent, allow_nan=False)
    if path is not None:
        write_atomically(Path(path), text)
    return text


def read_finding(data: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the fields that all findings have; ``ValueError`` for another kind of result."""
    if data.get("kind") != kind:
        raise ValueError(f"it holds {data.get('kind', 'an explanation')!r}, not {kind!r}")
    return {
        **posed_fields(data),
        "solver": data["solver"],
        "statistics": Statistics(**data["statistics"]),
        "notes": tuple(data["notes"]),
        "versions": dict(data["versions"]),
    }


def written_out(found: Counterfactual) -> dict[str, Any]:
    """Return a counterfactual as JSON has it."""
    return {"prediction": found.prediction, "input": written(found.input)}


def read_counterfactual(data: dict[str, Any], fields: dict[str, Any]) -> Counterfactual:
    """Return a counterfactual of a finding with the ``fields`` that were read before it."""
    x = fields["input"]
    array = read_array(data["input"], x.dtype, x.shape)
    return Counterfactual(array, read_prediction(data["prediction"]))
