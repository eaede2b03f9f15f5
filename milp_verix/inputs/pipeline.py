"""Descriptions of inputs taken from a fitted scikit-learn pipeline and a table of its columns."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from milp_verix.base.errors import InputError
from milp_verix.inputs.features import Feature, binary, category, is_missing, ordinal, word_of
from milp_verix.inputs.fitted import is_pipeline, names_of, without_search
from milp_verix.inputs.frame import (
    by_column,
    columns_in,
    frame_with_rows,
    known_values,
    names_in,
    number_feature,
)
from milp_verix.inputs.one_row import refuse_missing_names
from milp_verix.inputs.table_encoding import encoding_of
from milp_verix.inputs.table_map import Column, Missing


def described_by(
    pipeline: Any,
    frame: Any,
    ranges: Any = None,
    units: Any = None,
    missing: Iterable[str] = (),
) -> tuple[list[Feature], list[str]]:
    """Return a feature for each column, and the names of the classes if they are not 0, 1, ….

    See :meth:`milp_verix.Inputs.from_pipeline`.
    """
    pipeline, _ = without_search(pipeline)
    frame = frame_with_rows(frame)
    given = None if names_of(pipeline) else list(frame.columns)
    missing = names_in(missing, "missing")
    columns = encoding_of(pipeline, given, missing).columns
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
    fitted: Any, missing: Missing = ()
) -> tuple[Names | None, Mapping[int, Names], Names]:
    """Return the names of the coordinates of a fitted estimator's or transformer's rows, and words.

    ``missing`` are words and numbers that may be missing.

    Names are those of columns, and ``town=Paris`` in a one-hot block; None for any other object,
    and for one that was fitted on arrays. Words are those that coordinates have as 0, 1, ….
    Columns that it does not read come last.
    """
    fitted, _ = without_search(fitted)
    names = names_of(fitted)
    if names is None or (hasattr(fitted, "predict") and not is_pipeline(fitted)):
        return None if names is None else tuple(names), {}, ()
    found, words = list[str](), dict[int, tuple[str, ...]]()
    columns = encoding_of(fitted, missing=missing).columns
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
