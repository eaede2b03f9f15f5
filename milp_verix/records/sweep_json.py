"""Sweeps as JSON: ``kind`` is ``"sweep"``, and each level is the JSON of an explanation."""

import json
from pathlib import Path
from typing import TypeVar

from milp_verix.errors import InputError
from milp_verix.records.explanation import Explanation
from milp_verix.records.json_format import SCHEMA, from_data, read_data, result_data
from milp_verix.records.schema_check import fault_in
from milp_verix.records.sweep import EpsilonSweep

AnySweep = TypeVar("AnySweep", bound=EpsilonSweep)
_KIND = "sweep"


def dump_sweep(sweep: EpsilonSweep, *, indent: int | None = None) -> str:
    """Return ``sweep`` as JSON text."""
    data = {
        "schema": SCHEMA,
        "kind": _KIND,
        "nested": sweep.nested,
        "seconds": sweep.seconds,
        "levels": [result_data(level) for level in sweep.levels],
    }
    return json.dumps(data, indent=indent, allow_nan=False)


def load_sweep(source: str | Path, kind: type[AnySweep], level_kind: type[Explanation]) -> AnySweep:
    """Read a sweep from JSON text or from the path of a JSON file.

    The sweep is of the class ``kind``, its levels of ``level_kind``. Raises ``InputError`` for JSON
    of another kind or schema, and where parts contradict each other.
    """
    data, where = read_data(source)
    try:
        if data.get("kind") != _KIND:
            raise ValueError(f"it holds {data.get('kind') or 'explanation'!r}, not {_KIND!r}")
        fault = fault_in(data, "sweep.json")
        if fault is not None:
            raise ValueError(fault)
        levels = tuple(from_data(level, where, level_kind) for level in data["levels"])
        return kind(levels=levels, nested=data["nested"], seconds=data["seconds"])
    except (TypeError, ValueError) as error:
        raise InputError(f"{where} is not a sweep: {error}") from error
