"""Descriptions of inputs taken from a table: a feature for each column, ranges from its values."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError, listed, own_names, same_names, shown
from milp_verix.inputs.cells import remedy_for
from milp_verix.inputs.feature import Feature, binary, category, continuous, fixed, integer

SEPARATORS = ("_", "=", ".", ":", "-", "__")
"""Signs between a prefix and a word: ``prefix_sep`` of pandas, and ``=`` of fitted pipelines."""

_FRAME = "pd.DataFrame(array, columns=[…]) gives an array names"
_DATES = ": turn dates into numbers first, such as days since a fixed date"


def features_of_frame(
    frame: Any,
    *,
    categories: Any,
    one_hot: Iterable[str],
    ranges: Any,
    units: Any,
    fixed_names: Iterable[str],
    missing: Iterable[str],
) -> tuple[list[Feature], list[int]]:
    """Return a feature for each column or block of columns, and the places of their coordinates.

    See :meth:`milp_verix.Inputs.from_frame`.
    """
    frame = frame_with_rows(frame)
    names = list(frame.columns)
    one_hot = names_in(one_hot, "one_hot")
    starts = {given: {name[: len(given)] for name in names} for given in one_hot}
    prefixes = {[*same_names(known, [given]), given][0] for given, known in starts.items()}
    dummies = blocks_in(frame, prefixes)
    owners = {name: prefix for prefix, block in dummies.items() for name in block}
    known = [name for name in names if name not in owners]
    categories = by_column(categories, known, "categories")
    ranges, units = by_column(ranges, known, "ranges"), by_column(units, known, "units")
    still, open_ = columns_in(fixed_names, known, "fixed"), columns_in(missing, known, "missing")
    blocks = columns_in(sorted(prefixes - {*dummies}), known, "one_hot")
    features, places, at = list[Feature](), dict[str, list[int]](), 0
    for name in names:
        if prefix := owners.get(name):
            if prefix not in places:
                features.append(category(prefix, [*dummies[prefix].values()], one_hot=True))
            places.setdefault(prefix, []).append(at)
            at += 1
            continue
        column, unit, may = _plain(known_values(frame, name, open_)), units.get(name), name in open_
        words = name in categories or name in blocks or column.dtype.kind not in "biufmM"
        if words and (name in still or name in ranges or name in units):
            raise InputError(
                f"the column {name} has words, which have no range and no unit and are not fixed: "
                "leave it out of ranges, units and fixed; a radius of 0 keeps its word"
            )
        if name in still:
            features.append(fixed(name, unit, missing=may))
        elif words:
            listing = categories.get(name) or _words(column)
            features.append(category(name, listing, one_hot=name in blocks, missing=may))
        else:
            features.append(number_feature(column, ranges.get(name), unit, missing=may))
        places[name] = [*range(at, at + features[-1].width)]
        at += features[-1].width
    return features, [place for group in places.values() for place in group]


def pandas() -> Any:
    """Return pandas; ``InputError`` where it is not installed."""
    try:
        import pandas as pd
    except ImportError as error:
        raise InputError("a table needs pandas: pip install 'milp-verix[pandas]'") from error
    return pd


def known_values(frame: Any, name: str, missing: set[str]) -> Any:
    """Return a column, without missing values if it may have some; ``InputError`` if empty."""
    column = frame[name]
    found = column.dropna() if name in missing else column
    if not len(found):
        raise InputError(f"the column {name} has no value: leave it out, or describe it by hand")
    return found


def _plain(column: Any) -> Any:
    """Return a complete column; objects and categories that are all truth values are of bool."""
    missing = column.isna().to_numpy(bool)
    if missing.any():
        first = column.index[int(np.argmax(missing))]
        raise InputError(
            f"the column {column.name} has missing values, {int(missing.sum())} of {len(column)}, "
            f"the first in the row {first!r}: fill or drop them first; "
            f"or, if the model takes them, missing=[{str(column.name)!r}, …] says that they may be"
        )
    known = getattr(getattr(column, "cat", None), "categories", [])
    if len(known) and all(isinstance(value, bool) for value in known):
        return column.astype(bool)
    return column.infer_objects()


def is_frame(given: Any) -> bool:
    """Return whether ``given`` is a DataFrame of pandas."""
    return hasattr(given, "columns") and hasattr(given, "iloc")


def named_frame(frame: Any) -> Any:
    """Return a DataFrame with texts for the names of its columns.

    Raises ``InputError`` for anything else, for columns of one name, and for names of several
    levels.
    """
    if not is_frame(frame):
        way = "call its to_pandas()" if hasattr(frame, "to_pandas") else _FRAME
        raise InputError(f"a pandas DataFrame is expected, got {type(frame).__name__}: {way}")
    if frame.columns.nlevels > 1:
        raise InputError(
            f"the columns have names of {frame.columns.nlevels} levels, such as "
            f"{tuple(frame.columns[0])!r}, expected one text each: "
            "df.columns = ['_'.join(map(str, name)) for name in df.columns]"
        )
    names = [str(name) for name in frame.columns]
    if twice := next((name for name, count in Counter(names).items() if count > 1), None):
        raise InputError(f"the frame has two columns named {twice!r}: rename or drop one of them")
    return frame.set_axis(names, axis=1)


def frame_with_rows(frame: Any) -> Any:
    """Return a DataFrame as :func:`named_frame` does; ``InputError`` for an empty one, too."""
    named = named_frame(frame)
    if named.empty:
        raise InputError(
            f"the frame has the shape {named.shape}, expected a row and a column or more: ranges "
            "and words are those of its rows"
        )
    return named


def by_column(given: Any, columns: Sequence[str], what: str) -> dict[str, Any]:
    """Return the values of the argument ``what`` by the names of ``columns``.

    They are a mapping, a Series, or a DataFrame with the values of a column below its name; None
    is an empty one. Raises ``InputError`` for anything else, and for the name of no column.
    """
    given = {} if given is None else given.to_dict("list") if is_frame(given) else given
    if not hasattr(given, "keys"):
        raise InputError(f"{what} is a dict with names of columns, got {shown(given)}")
    own = own_names(given.keys(), columns, "column")
    return {name: given[label] for label, name in own.items()}


def names_in(given: Any, what: str) -> list[str]:
    """Return the argument ``what`` as a list of texts; ``InputError`` for no list of names."""
    if not isinstance(given, Iterable) or isinstance(given, Mapping | str):
        raise InputError(f"{what} is a list of names, got {shown(given)}")
    return [*map(str, given)]


def columns_in(given: Any, columns: Sequence[str], what: str) -> set[str]:
    """Return the ``columns`` that an argument lists; raises as the functions above."""
    return {*own_names(names_in(given, what), columns, "column").values()}


def number_feature(
    column: Any,
    ends: tuple[float, float] | None = None,
    unit: str | None = None,
    *,
    missing: bool = False,
) -> Feature:
    """Return a feature for a column of numbers: whole, real, or truth values.

    Without ``ends`` they are the least and the largest number of the column. ``missing`` says
    whether values may be missing; the column has none that is.
    """
    name, column = str(column.name), _plain(column)
    if column.dtype.kind not in "biuf":
        seen = column.iloc[0]
        date = column.dtype.kind in "mM"
        words = (
            ": Inputs.from_frame(frame) describes words that the model reads without an encoder; "
            "pandas.to_numeric makes numbers of texts"
        )
        way = _DATES if date else remedy_for(seen) or words
        raise InputError(
            f"the column {name} has type {column.dtype}, expected numbers; its first value is "
            f"{shown(str(seen) if date else seen)}{way}"
        )
    if column.dtype.kind == "b":
        return category(name, ("no", "yes"), missing=True) if missing else binary(name)
    numbers = column.to_numpy(np.float64)
    if len(wrong := np.flatnonzero(np.isinf(numbers))):
        raise InputError(
            f"the column {name} is {numbers[wrong[0]]} in the row {column.index[wrong[0]]!r}, "
            "expected finite numbers: correct or drop such rows"
        )
    if ends is None:
        ends = float(column.min()), float(column.max())
    if isinstance(ends, str) or not isinstance(ends, Iterable) or len(pair := [*ends]) != 2:
        raise InputError(f"the range of {name} is a pair (lower, upper), got {shown(ends)}")
    low, high = pair
    # squares of numbers near 1e200 or 1e-200 leave float64; a power of two changes no digit
    size = 2.0 ** (math.frexp(np.abs(numbers).max(initial=0.0))[1] - 1)
    spread = float(np.std(numbers / size) * size)
    if column.dtype.kind == "f":
        return continuous(name, low, high, unit, deviation=spread, missing=missing)
    return integer(name, low, high, unit, deviation=spread, missing=missing)


def _words(column: Any) -> list[str]:
    """Return the values of a column of words, in the order of its categories or sorted."""
    name = column.name
    known = getattr(getattr(column, "cat", None), "categories", None)
    values = column.tolist() if known is None else list(known)
    kinds = sorted({type(value).__name__ for value in values})
    if kinds != ["str"]:
        raise InputError(
            f"the column {name} holds values of type {', '.join(kinds)}, such as "
            f"{shown(values[0])}, expected texts: give its values in categories, turn it into "
            f"texts with df[{name!r}].astype(str), or into numbers"
        )
    if known is None and all(way := [remedy_for(value) for value in values]):
        raise InputError(
            f"the column {name} holds texts such as {shown(values[0])}{way[0]}; if they are words, "
            "list them in categories"
        )
    if not all(value.strip() for value in values):
        raise InputError(f"the column {name} has empty texts: fill or drop such rows first")
    return values if known is not None else sorted({*values})


def blocks_in(frame: Any, prefixes: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the words of the one-hot columns of ``frame``, by their names, for each prefix.

    A prefix that is a column of its own has none. Raises ``InputError`` where it is the prefix of
    a block, too, where columns may belong to two prefixes, and for a row that has not one 1.
    """
    found, owners = dict[str, dict[str, str]](), dict[str, str]()
    for prefix in sorted(prefixes, key=len, reverse=True):
        starts = [prefix + sign for sign in SEPARATORS]
        ends = {tuple(c for c in frame.columns if c.startswith(s)): len(s) for s in starts}
        wrongs = {names: _wrong_row(frame[[*names]]) for names in ends if names}
        whole = [names for names, wrong in wrongs.items() if not wrong]
        names = next(iter(whole or wrongs), ())
        if not names or (prefix in frame.columns and (not whole or len(names) == 1)):
            continue
        wrong = wrongs[names]
        if prefix in frame.columns:
            wrong = f"{prefix} is a column, too: drop one of them"
        elif shared := [name for name in names if name in owners]:
            wrong = f"{shared[0]} may be a word of {owners[shared[0]]}, too: rename it"
        elif len(whole) > 1:
            wrong = f"so have {listed(whole[1], 5)}, with another separator: drop one of them"
        if wrong:
            raise InputError(f"the columns {listed(names, 5)} have the prefix {prefix}; {wrong}")
        found[prefix] = {name: name[ends[names] :] for name in names}
        owners.update(dict.fromkeys(names, prefix))
    return found


def _wrong_row(table: Any) -> str:
    """Return what is wrong with the first row that has not one 1; "" if all rows have one."""
    ones, zeros = ((table == one).to_numpy(bool, na_value=False) for one in (1, 0))
    wrong = np.flatnonzero((ones.sum(axis=1) != 1) | ~(ones | zeros).all(axis=1))
    if not wrong.size:
        return ""
    row = int(wrong[0])
    return (
        f"the row {table.index[row]!r} has {listed([*map(shown, table.iloc[row].tolist())], 5)}, "
        "expected one 1, and else 0, as get_dummies makes them without drop_first, and with a word "
        "for missing values"
    )
