"""Descriptions of inputs taken from a fitted scikit-learn pipeline and a table of its columns.

Rows that no one gave, made from what it was fitted on, serve to compare it with the network that
was read from it. Words are all those that an encoder knows. Numbers are those that imputers fill
in, and those that scalers turn into a few numbers between -3 and 3: means and ends of ranges are
among them, and numbers beyond these ends.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from milp_verix.base.errors import InputError, refusing
from milp_verix.inputs.feature import Feature, binary, category, is_missing, ordinal, word_of
from milp_verix.inputs.fitted import (
    Column,
    Missing,
    TableEncoding,
    is_pipeline,
    names_of,
    steps_of,
    width_of,
    without_search,
)
from milp_verix.inputs.frame import (
    by_column,
    columns_in,
    frame_with_rows,
    known_values,
    names_in,
    number_feature,
)
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.one_row import refuse_missing_names
from milp_verix.inputs.table_encoding import encoding_of, refuse_joined
from verix_encodings.arrays import FloatArray

_SCALED = (-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 3.0)
_SCALES = 4
"""The number of scaled versions of a column that are looked at."""
_LEAST = 64
_NUMBERS = 2**23
"""The most numbers of rows that are made: 20,000 words would have 800 million, in 6.4 GB."""
_LARGEST = 1e12


def made_rows(fitted: Any, encoding: TableEncoding) -> tuple[Any, FloatArray]:
    """Return rows that hold every value of each column at least twice, mixed at random.

    Of so many words that the rows would be large, they hold some.
    They are as the pipeline takes them, a DataFrame or an array, and as inputs of its network,
    (rows, coordinates). Raises ``ImportError`` where pandas is needed, and not installed.
    """
    lasts = {place: last for place, last, _ in encoding.ends}
    choices = [
        _choices(encoding, column, start, lasts.get(start))
        for column, start in zip(encoding.columns, encoding.starts, strict=True)
    ]
    most = max(_LEAST, _NUMBERS // max(1, encoding.matrix.shape[0]))
    count = max([_LEAST, *(min(2 * len(values), most) for values in choices)])
    rng = np.random.default_rng(0)
    values, parts = dict[str, Any](), [np.empty((count, 0))]
    for column, listed in zip(encoding.columns, choices, strict=True):
        turns = -(-count // len(listed))
        taken = np.concatenate([rng.permutation(len(listed)) for _ in range(turns)])[:count]
        values[column.name] = listed[taken]
        if column.form == "number":
            parts.append(listed[taken][:, None])
        elif column.form == "block":
            parts.append((taken[:, None] == np.arange(len(listed))).astype(np.float64))
        else:
            parts.append(taken[:, None].astype(np.float64))
    inputs = np.concatenate(parts, axis=1)
    for place, _, code in encoding.ends:
        inputs[np.isnan(inputs[:, place]), place] = code
    return table_of(fitted, values, count), inputs


def _choices(encoding: TableEncoding, column: Column, start: int, last: float | None) -> Any:
    """Return the values that rows hold in ``column``; numbers up to ``last``, and NaN then."""
    if column.form != "number":
        return column.listed
    matrix = encoding.matrix
    own = slice(*matrix.indptr[start : start + 2])
    found = {0.0, *encoding.typical.get(column.name, ())}
    for output, slope in [*zip(matrix.indices[own], matrix.data[own], strict=True)][:_SCALES]:
        found |= {float((z - encoding.offsets[output]) / slope) for z in _SCALED}
    if last is not None:
        found = {last, np.nan, *(value for value in found if value <= last)}
    return np.sort([value for value in found if not abs(value) >= _LARGEST])


def table_of(fitted: Any, values: dict[str, Any], count: int) -> Any:
    """Return the columns side by side; columns that are dropped hold 0."""
    names = names_of(fitted)
    if names is None:
        listed = [values.get(f"x{place}", np.zeros(count)) for place in range(width_of(fitted))]
        numbers = all(column.dtype.kind in "biuf" for column in listed)
        return np.stack([column.astype(float if numbers else object) for column in listed], axis=1)
    import pandas as pd

    return pd.DataFrame({name: values.get(name, np.zeros(count)) for name in names})


def rows_of(fitted: Any, frame: Any, missing: Missing = ()) -> FloatArray:
    """Return the rows of ``frame`` as numbers for ``fitted``; ``InputError`` names one refused.

    Columns of words that are ``missing`` have a coordinate for that, too.
    """
    words = [one for one in missing if isinstance(one, str)]
    inputs = Inputs.from_pipeline(fitted, frame, missing=words)
    rows = []
    for place, row in zip(frame.index, frame.to_dict("records"), strict=True):
        with refusing(f"the frame's row {place!r}", InputError):
            rows.append(inputs.row(row))
    return np.array(rows)


def described_by(
    pipeline: Any, frame: Any, ranges: Any = None, units: Any = None, missing: Iterable[str] = ()
) -> tuple[list[Feature], list[str]]:
    """Return features and class names but 0, 1, …, see :meth:`milp_verix.Inputs.from_pipeline`."""
    pipeline, _ = without_search(pipeline)
    frame = frame_with_rows(frame)
    given = None if names_of(pipeline) else list(frame.columns)
    missing = names_in(missing, "missing")
    encoding = encoding_of(pipeline, given, missing)
    refuse_joined(encoding, steps_of(pipeline)[-1])
    columns = encoding.columns
    names = [column.name for column in columns]
    held = refuse_missing_names(names, [*frame.columns], "the frame, as the pipeline was fitted,")
    frame = frame.rename(columns={label: name for name, label in held.items()})
    known = [*frame.columns]
    ranges, units = by_column(ranges, known, "ranges"), by_column(units, known, "units")
    may = columns_in(missing, known, "missing")
    features = [_feature(column, frame, ranges, units, may) for column in columns]
    return features, fitted_class_names(pipeline)


def fitted_class_names(model: Any) -> list[str]:
    """Return the names of the classes of a fitted classifier; none if they are 0, 1, …."""
    classes = [word_of(value) for value in getattr(model, "classes_", ())]
    numbered = classes == [str(number) for number in range(len(classes))]
    return [] if numbered else classes


Names: TypeAlias = tuple[str, ...]


def coordinates_of(
    fitted: Any, missing: Missing = (), encoding: TableEncoding | None = None
) -> tuple[Names | None, Mapping[int, Names], Names]:
    """Return the names of the coordinates of a fitted estimator's or transformer's rows, and words.

    ``missing`` are words and numbers that may be missing; ``encoding`` is that of ``fitted``, which
    is read where none is given.

    Names are those of columns, and ``town=Paris`` in a one-hot block; None for any other object,
    and for one that was fitted on arrays. Words are those that coordinates have as 0, 1, ….
    Columns that it does not read come last.
    """
    fitted, _ = without_search(fitted)
    names = names_of(fitted)
    if names is None or (hasattr(fitted, "predict") and not is_pipeline(fitted)):
        return None if names is None else tuple(names), {}, ()
    found, words = list[str](), dict[int, tuple[str, ...]]()
    columns = (encoding or encoding_of(fitted, missing=missing)).columns
    for column in columns:
        if column.form in ("binary", "codes") and isinstance(column.values[0], str):
            words[len(found)] = column.values
        block = [f"{column.name}={word_of(value)}" for value in column.values]
        found += block if column.form == "block" else [column.name]
    read = {column.name for column in columns}
    return tuple(found), words, tuple(name for name in names if name not in read)


def _feature(
    column: Column,
    frame: Any,
    ranges: Mapping[str, tuple[float, float]],
    units: Mapping[str, str],
    missing: set[str],
) -> Feature:
    name, values = column.name, column.values
    if column.form == "number":
        known, may = known_values(frame, name, missing), name in missing
        return number_feature(known, ranges.get(name), units.get(name), missing=may)
    if name in ranges or name in units:
        raise InputError(f"{name} has words, which the pipeline knows: no range and no unit")
    known = [value for value in values if not is_missing(value)]
    words, may = [word_of(value) for value in known], len(known) < len(values)
    if column.form == "binary":
        return binary(name) if isinstance(values[0], bool) else binary(name, words)
    if column.ordered:
        return ordinal(name, words)
    return category(name, words, one_hot=column.form == "block", missing=may)
