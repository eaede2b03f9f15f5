"""Descriptions of inputs taken from a fitted scikit-learn pipeline and a table of its columns."""

from collections.abc import Mapping
from typing import Any

from milp_verix.errors import InputError
from milp_verix.inputs.features import Feature, binary, category, ordinal, word_of
from milp_verix.inputs.frame import number_feature, refuse_unknown
from milp_verix.inputs.table_encoding import Column, encoding_of


def described_by(
    pipeline: Any, frame: Any, ranges: Mapping[str, tuple[float, float]], units: Mapping[str, str]
) -> tuple[list[Feature], list[str]]:
    """Return a feature for each column, and the names of the classes if they are not 0, 1, ….

    See :meth:`milp_verix.Inputs.from_pipeline`.
    """
    fitted_on_frame = hasattr(pipeline, "feature_names_in_")
    given = None if fitted_on_frame else [str(name) for name in frame.columns]
    columns = encoding_of(pipeline, given).columns
    names = [column.name for column in columns]
    if missing := {*names} - {*frame.columns}:
        raise InputError(
            f"the frame has no columns {sorted(missing)}, which the pipeline was fitted on"
        )
    refuse_unknown({*ranges, *units}, names)
    features = [_feature(column, frame, ranges, units) for column in columns]
    classes = [word_of(value) for value in getattr(pipeline, "classes_", ())]
    numbered = classes == [str(number) for number in range(len(classes))]
    return features, [] if numbered else classes


def _feature(
    column: Column,
    frame: Any,
    ranges: Mapping[str, tuple[float, float]],
    units: Mapping[str, str],
) -> Feature:
    name, values = column.name, column.values
    if column.form == "number":
        return number_feature(frame[name], ranges.get(name), units.get(name))
    if name in ranges or name in units:
        raise InputError(f"{name} has words, which the pipeline knows: no range and no unit")
    words = [word_of(value) for value in values]
    if column.form == "binary":
        return binary(name) if isinstance(values[0], bool) else binary(name, words)
    if column.ordered:
        return ordinal(name, words)
    return category(name, words, one_hot=column.form == "block")
