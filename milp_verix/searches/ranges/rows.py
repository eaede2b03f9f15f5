"""Rows of a table as arrays of a network's numbers, to be counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError, refusing
from milp_verix.inputs.cells import code_in
from milp_verix.inputs.frame import is_frame, named_frame
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.one_row import (
    features_among,
    has_names,
    in_order,
    numbers_by_name,
    row_of,
    several_rows,
)
from milp_verix.inputs.placement import cell_of, refuse_arrays
from milp_verix.problem.problem import PosedProblem
from verix_encodings.arrays import FloatArray


def rows_of(problem: PosedProblem, rows: Any) -> tuple[FloatArray | None, tuple[str, ...]]:
    """Return ``rows`` as an array of shape (R, d), and notes on their columns; None stays None.

    They are an array with a row for each input, or a DataFrame, a structured array, a row with
    names or such rows in a list or an iterator, whose columns are placed by name where the
    coordinates have names.
    Raises ``InputError`` for other rows.
    """
    size, inputs = problem.x.size, problem.inputs
    if rows is None or isinstance(rows, Numbers):
        return None if rows is None else rows.values, ()
    rows = several_rows(rows)
    frame, notes = named_frame(rows) if is_frame(rows) else None, tuple[str, ...]()
    by_name = isinstance(rows, Sequence) and len(rows) and has_names(rows[0])
    named = [row_of(row) or {} for row in rows] if by_name else []
    if frame is not None or named:
        header = [*map(str, named[0] if frame is None else frame.columns)]
        if inputs is not None:
            columns, notes = features_among(inputs.features, header, "rows")
            if frame is not None:
                return _of_frame(frame, inputs, columns), notes
            rows = [inputs.row(row) for row in named]
        else:
            names = problem.coordinate_names
            chosen, notes = in_order(header, names, "rows")
            if frame is not None:
                rows = frame[chosen]
            else:
                rows = [numbers_by_name(row, names or chosen, "rows")[0] for row in named]
    else:
        refuse_arrays(inputs is not None and inputs.places is not None)
    with refusing("rows are numbers, an input in each row", TypeError, ValueError):
        found = np.asarray(rows, dtype=np.float64)
    if found.ndim < 1 or found.size != len(found) * size:
        raise InputError(
            f"rows have the shape {found.shape}, expected (R, {size}): an input of the network in "
            "each row"
        )
    return found.reshape(len(found), size), notes


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Rows whose ``values``, shape (R, d), are known to be in the order of the network's input."""

    values: FloatArray


def _of_frame(frame: Any, inputs: Inputs, columns: Mapping[str, list[str]]) -> FloatArray:
    """Return the rows of a DataFrame; each value of a column is read once."""
    found = np.zeros((len(frame), inputs.size))
    for feature, group in zip(inputs.features, inputs.groups, strict=True):
        names = columns[feature.name]
        cells = [*zip(*(frame[name].tolist() for name in names), strict=True)]
        codes = {one: code_in(feature, cell_of(feature, names, one)) for one in {*cells}}
        numbers = np.array([codes[one] for one in cells])
        if feature.one_hot:
            found[:, group] = np.eye(feature.width)[numbers.astype(np.intp)]
        else:
            found[:, group[0]] = numbers
    return found
