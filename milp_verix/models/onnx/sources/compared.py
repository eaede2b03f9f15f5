"""Nothing is believed of a fitted object before it is compared with what was read from it.

They are compared at rows made from what it was fitted on, and at the rows that the user gives.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError, ModelError, first_line
from milp_verix.inputs.made_rows import made_rows, rows_of
from milp_verix.inputs.table_map import TableEncoding
from verix_encodings.arrays import FloatArray


def require_equal(
    encoding: TableEncoding,
    fitted: Any,
    frame: Any,
    *,
    found: Callable[[FloatArray], FloatArray],
    expected: Callable[[Any], Any],
    rounding: float,
) -> None:
    """Raise ``ModelError`` unless ``found`` of inputs is ``expected`` of their rows of the table.

    The rows are made from what ``fitted`` was fitted on, and those of a DataFrame ``frame``.
    ``rounding`` is relative to the largest of each output. Raises ``InputError`` for a row of
    ``frame`` that is not in the table, and where no rows can be made and none are given.
    """
    if not np.isfinite(encoding.matrix).all():
        raise InputError(
            "the pipeline encodes a missing word as NaN, which its network does not take: fit its "
            "OrdinalEncoder with encoded_missing_value=-1 on a table that has some"
        )
    # rows with missing values wait for a description
    frame = frame.dropna() if hasattr(frame, "columns") else ()
    given = len(frame) > 0
    inputs, known, labels = list[FloatArray](), list[FloatArray](), list[Any]()
    try:
        made = made_rows(fitted, encoding)
        known.append(_rows(expected(made.table), len(made.inputs)))
        inputs.append(made.inputs)
        labels += [f"{place} made from what it was fitted on" for place in range(len(made.inputs))]
    except ModelError:
        raise
    except Exception as error:  # transformers and estimators have their own exceptions
        if not given:
            raise InputError(
                f"no rows can be made at which the {type(fitted).__name__} is compared with its "
                f"network ({first_line(error)}): give rows of its table as example=frame"
            ) from error
    if given:
        inputs.append(rows_of(fitted, frame))
        known.append(_rows(expected(frame), len(frame)))
        labels += [*frame.index]
    computed = _rows(found(np.concatenate(inputs)), len(labels))
    _require_same(computed, np.concatenate(known), labels, rounding)


def _rows(numbers: Any, count: int) -> FloatArray:
    array: FloatArray = np.asarray(numbers, dtype=np.float64).reshape(count, -1)
    return array


def _require_same(found: FloatArray, known: FloatArray, labels: list[Any], rounding: float) -> None:
    if found.shape == known.shape:
        same = np.abs(found - known) <= rounding * np.abs(known).max(axis=0)
        if same.all():
            return
        place = int(np.flatnonzero(~same.all(axis=1))[0])
        told = (
            f"{found[place]} for row {labels[place]}, scikit-learn {known[place]}; rows that "
            f"differ: {int((~same.all(axis=1)).sum())} of {len(labels)}"
        )
    else:
        told = f"{found.shape[1]} numbers for a row, scikit-learn {known.shape[1]}"
    raise ModelError(
        f"the network returns {told}. Nothing would be proven about the model in scikit-learn; "
        "please report it"
    )
