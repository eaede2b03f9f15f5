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
    refuse_unknown({*categories, *blocks, *ranges, *units, *still}, names)
    features = []
    for name in names:
        column, unit = frame[name], units.get(name)
        if name in still:
            _refuse_missing(column)
            features.append(fixed(name, unit))
        elif name in categories or name in blocks or column.dtype.kind not in "biuf":
            _refuse_missing(column)
            words = categories.get(name) or _words(name, column)
            features.append(category(name, words, one_hot=name in blocks))
        else:
            features.append(number_feature(column, ranges.get(name), unit))
    return features


def refuse_unknown(given: set[str], names: Sequence[str]) -> None:
    """Raise ``InputError`` for names that are no column."""
    if unknown := given - {*names}:
        raise InputError(
            f"there are no columns {sorted(unknown)}; the columns are {', '.join(names)}"
        )


def number_feature(
    column: Any, ends: tuple[float, float] | None = None, unit: str | None = None
) -> Feature:
    """Return a feature for a column of numbers: whole, real, or truth values.

    Without ``ends`` they are the least and the largest number of the column.
    """
    name = str(column.name)
    if column.dtype.kind not in "biuf":
        raise InputError(f"the column {name} has type {column.dtype}, expected numbers")
    _refuse_missing(column)
    if column.dtype.kind == "b":
        return binary(name)
    low, high = ends or (float(column.min()), float(column.max()))
    spread = float(np.std(column.to_numpy(np.float64)))
    if column.dtype.kind == "f":
        return continuous(name, low, high, unit, deviation=spread)
    return integer(name, low, high, unit, deviation=spread)


def _refuse_missing(column: Any) -> None:
    if bool(column.isna().any()):
        raise InputError(f"the column {column.name} has missing values: fill or drop them first")


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
