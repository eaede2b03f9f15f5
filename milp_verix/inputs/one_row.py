"""One row of a table in any form that Python has for it, and its features among named columns.

A DataFrame of one row, as ``predict`` takes it, a Series, a mapping, a list of one mapping, a named
tuple, or a structured array of one entry. Names that only count the values, as pandas makes them
where no names were given, are none: such a row is taken by position, unless these are the names
expected.

A feature stands where the column of its name does. Each coordinate of a one-hot block stands where
the column of its word does, such as ``sex_female`` of ``pandas.get_dummies``, or with another
separator. So a description may list features in any order; numbers are in the order of the model.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence, ValuesView
from os import PathLike
from typing import Any

from milp_verix.base.errors import InputError, closest, different_names, listed, same_names, shown
from milp_verix.inputs.cells import number_in_cell, plain_cell
from milp_verix.inputs.feature import Feature
from milp_verix.inputs.frame import SEPARATORS, is_frame, named_frame


def row_of(x: Any) -> dict[str, Any] | None:
    """Return a row's values by name, None without any; ``InputError`` for several rows."""
    if is_frame(x) or hasattr(x, "to_pandas"):
        frame = named_frame(x)
        _refuse_several(len(frame))
        return {name: frame.iloc[0, place] for place, name in enumerate(frame.columns)}
    if hasattr(x, "_asdict"):
        return {**x._asdict()}
    if fields := getattr(getattr(x, "dtype", None), "names", None):
        _refuse_several(x.size)
        return dict(zip(fields, x.reshape(-1)[0].item(), strict=True))
    if isinstance(x, Sequence) and x and all(isinstance(one, Mapping) for one in x):
        _refuse_several(len(x))
        x = x[0]
    if hasattr(x, "keys") and hasattr(x, "__getitem__") and not hasattr(x, "files"):
        names = [*x.keys()]
        row = {str(name): x[name] for name in names}
        if len(row) < len(names):
            raise InputError(f"two values of the row have one name: {listed([*map(str, names)])}")
        return row
    return None


def has_names(x: Any) -> bool:
    """Return whether one row of several has names, as :func:`row_of` reads them."""
    structured = bool(getattr(getattr(x, "dtype", None), "names", None))
    return structured or hasattr(x, "keys") or hasattr(x, "_asdict")


def several_rows(given: Any) -> Any:
    """Return rows as a list if they come one by one, as a structured array, or as one with names.

    So does a dictionary of rows. Other rows are returned as they are. Raises ``InputError`` for the
    pairs that ``df.iterrows()`` makes.
    """
    if is_frame(given) or isinstance(given, str | PathLike):
        return given
    if isinstance(given, Mapping) and given and all(map(has_names, given.values())):
        given = given.values()
    labels = given.keys() if hasattr(given, "keys") else ()
    if hasattr(given, "_asdict") or any(isinstance(label, str) for label in labels):
        return [given]
    if getattr(getattr(given, "dtype", None), "names", None):
        return [*given.reshape(-1)]
    if isinstance(given, Iterator | ValuesView):
        given = [*given]
    first = given[0] if isinstance(given, Sequence) and given else ()
    if isinstance(first, tuple) and len(first) == 2 and has_names(first[1]):
        raise InputError(
            "rows are pairs of an index and a row, as df.iterrows() makes them: give df itself"
        )
    return given


def named_row(x: Any, features: Sequence[Feature]) -> dict[str, Any]:
    """Return the values of the row ``x`` by name; ``InputError`` unless it has all ``features``."""
    row = row_of(x)
    if row is None:
        raise InputError(
            f"the row is {shown(x)}, expected values by name: a dict, df.iloc[i] or df.iloc[[i]]"
        )
    columns, _ = features_among(features, [*row], "the input")
    return {
        one.name: cell_of(one, columns[one.name], [row[name] for name in columns[one.name]])
        for one in features
    }


def features_among(
    features: Sequence[Feature], given: Sequence[str], what: str
) -> tuple[dict[str, list[str]], tuple[str, ...]]:
    """Return each feature's columns, and a note on others; ``InputError`` if one has none."""
    columns = columns_of(features, given)
    missing = [one.name for one in features if one.name not in columns]
    refuse_missing_names(missing, given, what)
    return columns, _left_out(given, [name for names in columns.values() for name in names], what)


def numbers_by_name(
    row: Mapping[str, Any], names: Sequence[str] | None, what: str
) -> tuple[list[float], tuple[str, ...]]:
    """Return the numbers of a row as :func:`in_order` places them, and notes; raises as that."""
    chosen, notes = in_order([*row], names, what)
    return numbers_in({name: row[name] for name in chosen}), notes


def in_order(
    given: Sequence[str], names: Sequence[str] | None, what: str
) -> tuple[list[str], tuple[str, ...]]:
    """Return which names ``given`` in ``what`` have the values of ``names``, in their order.

    Notes tell those that are left out, or the order where there are no ``names`` to go by. Raises
    ``InputError`` for a name that is missing.
    """
    names = names_for(names, given)
    if names is None or (counts(given) and len(given) == len(names) and not {*given} & {*names}):
        order = f"the values of {what} were taken in the order {listed(given)}"
        return [*given], () if counts(given) else (order,)
    chosen = [*refuse_missing_names(names, given, what).values()]
    return chosen, _left_out(given, chosen, what)


def names_for(names: Sequence[str] | None, given: Collection[str]) -> Sequence[str] | None:
    """Return ``names``, the model's; None if LightGBM numbered its columns, and none is given."""
    if not names:
        return None
    numbered = all(name == f"Column_{place}" for place, name in enumerate(names))
    return None if numbered and {*names}.isdisjoint(given) else names


def counts(names: Sequence[str]) -> bool:
    """Return whether names only count: ``"0"``, ``"1"``, … in this order."""
    return all(name == str(place) for place, name in enumerate(names))


def refuse_missing_names(names: Sequence[str], given: Sequence[str], what: str) -> dict[str, str]:
    """Return :func:`.same_names`; ``InputError`` unless all ``names`` are among those ``given``."""
    found = same_names(names, given)
    missing = [name for name in names if name not in found]
    if missing:
        close = closest(missing[0], {*given} - {*names})
        remedy = "" if close is None else f" Is {close!r} meant for {missing[0]!r}? Rename it."
        raise InputError(
            f"{what} needs a value for each feature; missing: {listed(missing, 5)}; the names seen "
            f"are {listed(given)}.{remedy}"
        )
    return found


def numbers_in(row: Mapping[str, Any]) -> list[float]:
    """Return a row's numbers, truth values as 0 and 1; ``InputError`` names any other column."""
    return [
        number_in_cell(name, plain_cell(name, cell), text=False, truth=True)
        for name, cell in row.items()
    ]


def _left_out(given: Sequence[str], used: Sequence[str], what: str) -> tuple[str, ...]:
    known = {*used}  # an index without a name has an empty one
    extra = [name if name.strip() else repr(name) for name in given if name not in known]
    text = "it is no feature" if len(extra) == 1 else "they are no features"
    return (f"left out of {what}, as {text}: {listed(extra)}",) if extra else ()


def _refuse_several(count: int) -> None:
    if count != 1:
        raise InputError(
            f"one row is expected, {count} were seen; df.iloc[[i]] takes one / explain_many takes "
            "all"
        )


Places = tuple[int, ...] | None
"""The coordinate of each number of a description, feature by feature; None for 0, 1, 2, …."""


def _block_names(features: Sequence[Feature], given: Collection[str]) -> dict[str, list[str]]:
    """Return a column's name for each word of blocks, with the separator that most have."""
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
        text = ", ".join(f"{name} is {shown(cell)}" for name, cell in pairs)
        raise InputError(f"{text}, expected one 1 among these columns of {feature.name}, else 0")
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
