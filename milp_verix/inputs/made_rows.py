"""Rows of a table that no one gave, made from what a transformer or a pipeline was fitted on.

They serve to compare a pipeline with the network that was read from it. Words are all those that an
encoder knows. Numbers are those that imputers fill in, and those that scalers turn into a few
numbers between -3 and 3: means and ends of ranges are among them, and numbers beyond these ends.
"""

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError, refusing
from milp_verix.inputs.fitted import names_of, width_of
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.table_map import Column, TableEncoding
from verix_encodings.arrays import FloatArray

_SCALED = (-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 3.0)
_SCALES = 4
"""The number of scaled versions of a column that are looked at."""
_LEAST = 64
_LARGEST = 1e12


@dataclass(frozen=True, slots=True, eq=False)
class MadeRows:
    """Rows as the pipeline takes them, a DataFrame or an array, and as ``inputs`` of its network.

    ``inputs`` has shape (rows, coordinates).
    """

    table: Any
    inputs: FloatArray


def made_rows(fitted: Any, encoding: TableEncoding) -> MadeRows:
    """Return rows that hold every value of each column at least twice, mixed at random.

    Raises ``ImportError`` where the table needs pandas, which is not installed.
    """
    starts = accumulate((column.width for column in encoding.columns), initial=0)
    choices = [
        _choices(encoding, column, start)
        for column, start in zip(encoding.columns, starts, strict=False)
    ]
    count = max([_LEAST, *(2 * len(values) for values in choices)])
    rng = np.random.default_rng(0)
    values, parts = dict[str, Any](), [np.empty((count, 0))]
    for column, listed in zip(encoding.columns, choices, strict=True):
        turns = -(-count // len(listed))
        taken = np.concatenate([rng.permutation(len(listed)) for _ in range(turns)])[:count]
        values[column.name] = listed[taken]
        if column.form == "number":
            parts.append(listed[taken][:, None])
        elif column.form == "block":
            parts.append(np.eye(len(listed))[taken])
        else:
            parts.append(taken[:, None].astype(np.float64))
    inputs = np.concatenate(parts, axis=1)
    for place, _, code in encoding.ends:
        inputs[np.isnan(inputs[:, place]), place] = code
    return MadeRows(table_of(fitted, values, count), inputs)


def _choices(encoding: TableEncoding, column: Column, start: int) -> Any:
    """Return the values that rows hold in ``column``, whose coordinates begin at ``start``."""
    if column.form != "number":
        return np.array(column.values, dtype=_kind(column))
    row = encoding.matrix[start]
    found = {0.0, *encoding.typical.get(column.name, ())}
    for output in np.flatnonzero(row)[:_SCALES]:
        found |= {float((z - encoding.offsets[output]) / row[output]) for z in _SCALED}
    for place, last, _ in encoding.ends:
        if place == start:
            found = {last, np.nan, *(value for value in found if value <= last)}
    return np.sort([value for value in found if not abs(value) >= _LARGEST])


def _kind(column: Column) -> Any:
    """Return the type of words: arrays of texts would cut or convert some of them."""
    numbers = all(isinstance(value, int | float) for value in column.values)
    return None if numbers else object


def table_of(fitted: Any, values: dict[str, Any], count: int) -> Any:
    """Return the columns side by side; columns that are dropped hold 0."""
    names = names_of(fitted)
    if names is None:
        listed = [values.get(f"x{place}", np.zeros(count)) for place in range(width_of(fitted))]
        numbers = all(column.dtype.kind in "biuf" for column in listed)
        return np.stack([column.astype(float if numbers else object) for column in listed], axis=1)
    import pandas as pd

    return pd.DataFrame({name: values.get(name, np.zeros(count)) for name in names})


def rows_of(fitted: Any, frame: Any) -> FloatArray:
    """Return the numbers of the rows of ``frame``, of which some may be words, one in each row.

    ``fitted`` is the pipeline that describes them. ``InputError`` names a row that it refuses.
    """
    inputs = Inputs.from_pipeline(fitted, frame)
    rows = []
    for place, row in zip(frame.index, frame.to_dict("records"), strict=True):
        with refusing(f"the frame's row {place!r}", InputError):
            rows.append(inputs.row(row))
    return np.array(rows)
