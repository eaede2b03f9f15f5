"""One row of a table in any form that Python has for it, as a mapping from names to values.

A DataFrame of one row, as ``predict`` takes it, a Series, a mapping, a list of one mapping, a named
tuple, or a structured array of one entry. Names that only count the values, as pandas makes them
where no names were given, are none: such a row is taken by position, unless these are the names
expected.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence, ValuesView
from os import PathLike
from typing import Any

from milp_verix.base.errors import InputError, closest, listed, same_names, shown
from milp_verix.inputs.cells import number_in_cell, plain_cell
from milp_verix.inputs.features import Feature
from milp_verix.inputs.frame import is_frame, named_frame
from milp_verix.inputs.placement import cell_of, columns_of


def row_of(x: Any) -> dict[str, Any] | None:
    """Return the values of a row by their names, None if ``x`` has no names.

    Raises ``InputError`` for several rows, and for two columns of one name.
    """
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
    """Return the columns of each feature, and a note on names ``given`` that are of none.

    Raises ``InputError`` unless all features are among those ``given``.
    """
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
    numbered = all(name == f"Column_{place}" for place, name in enumerate(names or ()))
    return None if numbered and not {*(names or ())} & {*given} else names


def counts(names: Sequence[str]) -> bool:
    """Return whether names only count: ``"0"``, ``"1"``, … in this order."""
    return all(name == str(place) for place, name in enumerate(names))


def refuse_missing_names(names: Sequence[str], given: Sequence[str], what: str) -> dict[str, str]:
    """Return :func:`.same_names`; ``InputError`` unless all ``names`` are among those ``given``."""
    found = same_names(names, given)
    missing = [name for name in names if name not in found]
    if missing:
        close = closest(missing[0], [name for name in given if name not in names])
        remedy = "" if close is None else f" Is {close!r} meant for {missing[0]!r}? Rename it."
        raise InputError(
            f"{what} needs a value for each feature; missing: {listed(missing, 5)}; the names seen "
            f"are {listed(given)}.{remedy}"
        )
    return found


def numbers_in(row: Mapping[str, Any]) -> list[float]:
    """Return the numbers of a row that no description explains; truth values are 0 and 1.

    Raises ``InputError`` that names the column of any other value.
    """
    return [
        number_in_cell(name, plain_cell(name, cell), text=False, truth=True)
        for name, cell in row.items()
    ]


def _left_out(given: Sequence[str], used: Sequence[str], what: str) -> tuple[str, ...]:
    # an index without a name has an empty one
    extra = [name if name.strip() else repr(name) for name in given if name not in {*used}]
    told = "it is no feature" if len(extra) == 1 else "they are no features"
    return (f"left out of {what}, as {told}: {listed(extra)}",) if extra else ()


def _refuse_several(count: int) -> None:
    if count != 1:
        raise InputError(
            f"one row is expected, {count} were seen; df.iloc[[i]] takes one / explain_many takes "
            "all"
        )
