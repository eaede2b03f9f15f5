"""Described features among the named columns of a table or a model.

A feature stands where the column of its name does. Each coordinate of a one-hot block stands where
the column of its word does, such as ``sex_female`` of ``pandas.get_dummies``, or with another
separator. So a description may list features in any order; numbers are in the order of the model.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError, different_names, listed, same_names, shown
from milp_verix.inputs.cells import number_in_cell, plain_cell
from milp_verix.inputs.features import Feature

Places = tuple[int, ...] | None
"""The coordinate of each number of a description, feature by feature; None for 0, 1, 2, …."""

SEPARATORS = ("_", "=", ".", ":", "-", "__")
"""Signs between a prefix and a word: ``prefix_sep`` of pandas, and ``=`` of fitted pipelines."""


def _block_names(features: Sequence[Feature], given: Collection[str]) -> dict[str, list[str]]:
    """Return a name for each word of each block, with the separator that most of its columns have.

    Columns are those ``given``. Raises ``InputError`` where two of them may be meant.
    """
    blocks = [one for one in features if one.one_hot]
    named = [
        {one.name: [f"{one.name}{sign}{word}" for word in one.values] for one in blocks}
        for sign in SEPARATORS
    ]
    known = [same_names([n for names in each.values() for n in names], given) for each in named]

    def count(name: str, number: int) -> int:
        return sum(one in known[number] for one in named[number][name])

    signs = range(len(SEPARATORS))
    best = {one.name: max(signs, key=lambda number: count(one.name, number)) for one in blocks}
    return {name: named[number][name] for name, number in best.items()}


def columns_of(features: Sequence[Feature], given: Collection[str]) -> dict[str, list[str]]:
    """Return the columns among those ``given`` that hold each feature, by the feature's name.

    They are the feature's own column, or those of its block, one for each word; a feature that has
    neither is left out. Raises ``InputError`` where two columns may be meant.
    """
    own = same_names([feature.name for feature in features], given)
    found = {name: [column] for name, column in own.items()}
    blocks = _block_names([one for one in features if one.name not in own], given)
    same = same_names([name for names in blocks.values() for name in names], given)
    for feature, names in blocks.items():
        if all(name in same for name in names):
            found[feature] = [same[name] for name in names]
    return found


def cell_of(feature: Feature, columns: Sequence[str], cells: Sequence[Any]) -> Any:
    """Return the feature's cell in a row: its own, or the word whose column has the one 1.

    ``columns`` are those that :func:`columns_of` returns, with their ``cells``. Raises
    ``InputError`` for a block that has not one 1, and 0 elsewhere.
    """
    if not feature.one_hot or same_names([feature.name], columns):
        return cells[0]
    pairs = [(name, plain_cell(name, cell)) for name, cell in zip(columns, cells, strict=True)]
    numbers = [number_in_cell(name, cell, text=True, truth=True) for name, cell in pairs]
    if sorted(numbers) != [*[0.0] * (len(numbers) - 1), 1.0]:
        told = ", ".join(f"{name} is {shown(cell)}" for name, cell in pairs)
        raise InputError(f"{told}, expected one 1 among these columns of {feature.name}, else 0")
    return feature.values[numbers.index(1.0)]


def places_in(features: Sequence[Feature], columns: Sequence[str]) -> Places:
    """Return the places of ``features`` in the input of a model with these ``columns``.

    Raises ``InputError`` that tells which names are missing and which are extra, unless all columns
    are described, and no others; and where two names may be the same.
    """
    blocks = _block_names(features, columns)
    names = [name for one in features for name in blocks.get(one.name, [one.name])]
    for listing, what in ((names, "coordinates described"), (columns, "columns of the model")):
        if len({*listing}) < len(listing):
            twice = next(name for name in listing if [*listing].count(name) > 1)
            raise InputError(f"two {what} are named {twice!r}: rename one of them")
    if other := different_names(columns, names):
        raise InputError(
            f"the inputs described are not the columns that the model reads ({other}): "
            "describe these, by their names, and no others; one_hot lists the categories for which "
            "the model has a column for each word, as get_dummies makes without drop_first"
        )
    found = same_names(columns, names)
    place = {found[name]: coordinate for coordinate, name in enumerate(columns)}
    return plain(tuple(place[name] for name in names))


def plain(places: Sequence[int] | None) -> Places:
    """Return ``places``, None for 0, 1, 2, …."""
    if places is None or all(place == at for at, place in enumerate(places)):
        return None
    return tuple(places)


def refuse_arrays(reordered: bool) -> None:
    """Raise ``InputError`` for numbers without names beside a description in another order."""
    if reordered:
        raise InputError(
            "the inputs described are in another order than the model's columns, and an array has "
            "no names: give values by name, such as df.iloc[i], df or a dict"
        )


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
