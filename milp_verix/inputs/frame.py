"""Descriptions of inputs taken from a table: a feature for each column, ranges from its values."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from milp_verix.errors import InputError
from milp_verix.inputs.features import Feature, binary, category, continuous, fixed, integer


def features_of_frame(
    frame: Any,
    *,
    categories: Mapping[str, Sequence[str]],
    one_hot: Iterable[str],
    ranges: Mapping[str, tuple[float, float]],
    units: Mapping[str, str],
    fixed_names: Iterable[str],
) -> list[Feature]:
    """Return a feature for each column; see :meth:`milp_verix.Inputs.from_frame`."""
    names = [str(name) for name in frame.columns]
    blocks, still = {*one_hot}, {*fixed_names}
    if unknown := {*categories, *blocks, *ranges, *units, *still} - {*names}:
        raise InputError(f"the frame has no columns {sorted(unknown)}; it has {', '.join(names)}")
    features = []
    for name in names:
        column = frame[name]
        if bool(column.isna().any()):
            raise InputError(f"the column {name} has missing values: fill or drop them first")
        unit = units.get(name)
        if name in still:
            features.append(fixed(name, unit))
        elif name in categories or name in blocks or column.dtype.kind not in "biuf":
            words = categories.get(name) or _words(name, column)
            features.append(category(name, words, one_hot=name in blocks))
        elif column.dtype.kind == "b":
            features.append(binary(name))
        else:
            low, high = ranges.get(name, (float(column.min()), float(column.max())))
            maker = integer if column.dtype.kind in "iu" else continuous
            features.append(maker(name, low, high, unit))
    return features


def _words(name: str, column: Any) -> list[str]:
    """Return the values of a column of words, in the order of its categories or sorted."""
    known = getattr(getattr(column, "cat", None), "categories", None)
    values = sorted({*column.tolist()}) if known is None else list(known)
    if not all(isinstance(value, str) for value in values):
        raise InputError(
            f"the column {name} holds {np.unique([type(v).__name__ for v in values]).tolist()}: "
            "give its values in categories, or numbers in the frame"
        )
    return values
