"""Rows of a table as arrays of a network's numbers, to be counted."""

from typing import Any

import numpy as np

from milp_verix.errors import InputError
from milp_verix.inputs.cells import code_in
from milp_verix.inputs.frame import is_frame, named_frame
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.one_row import in_order, named_row, numbers_in
from milp_verix.problem.problem import PosedProblem
from verix_encodings.arrays import FloatArray


def rows_of(problem: PosedProblem, rows: Any) -> tuple[FloatArray | None, tuple[str, ...]]:
    """Return ``rows`` as an array of shape (R, d), and notes on their columns; None stays None.

    They are an array with a row for each input, or a DataFrame or a list of mappings, whose columns
    are placed by name where the coordinates have names. Raises ``InputError`` for other rows.
    """
    size, inputs, notes = problem.x.size, problem.inputs, tuple[str, ...]()
    frame = named_frame(rows) if is_frame(rows) else None
    if frame is not None or (not isinstance(rows, np.ndarray) and _are_mappings(rows)):
        header = [*map(str, rows[0] if frame is None else frame.columns)]
        names = problem.coordinate_names if inputs is None else inputs.names
        chosen, notes = in_order(header, names, "rows")
        names = names or tuple(chosen)
        if frame is not None:
            rows = frame[chosen].set_axis([*names], axis=1)
            if inputs is not None:
                return _of_frame(rows, inputs), notes
        else:
            taken = [named_row(row, names) for row in rows]
            rows = [numbers_in(row) if inputs is None else inputs.row(row) for row in taken]
    if rows is None:
        return None, ()
    try:
        found = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"rows are numbers, an input in each row: {error}") from error
    if found.ndim < 1 or found.size != len(found) * size:
        raise InputError(
            f"rows have the shape {found.shape}, expected (R, {size}): an input of the network in "
            "each row"
        )
    return found.reshape(len(found), size), notes


def _are_mappings(rows: Any) -> bool:
    return hasattr(rows, "__len__") and len(rows) > 0 and hasattr(rows[0], "keys")


def _of_frame(frame: Any, inputs: Inputs) -> FloatArray:
    """Return the rows of a DataFrame; each value of a column is read once."""
    found = np.zeros((len(frame), inputs.size))
    for feature, group in zip(inputs.features, inputs.groups, strict=True):
        column = frame[feature.name]
        codes = {value: code_in(feature, value) for value in column.unique().tolist()}
        numbers = np.array([codes[value] for value in column.tolist()])
        if feature.one_hot:
            found[:, group] = np.eye(feature.width)[numbers.astype(np.intp)]
        else:
            found[:, group[0]] = numbers
    return found
