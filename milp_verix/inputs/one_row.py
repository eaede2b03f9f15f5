"""One row of a table in any form that Python has for it, as a mapping from names to values.

A DataFrame of one row, as ``predict`` takes it, a Series, a mapping, a list of one mapping, or a
structured array of one entry. Names that only count the values, as pandas makes them where no names
were given, are none: such a row is taken by position, unless these are the names expected.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from milp_verix.errors import InputError
from milp_verix.inputs.cells import number_in_cell, plain_cell
from milp_verix.inputs.frame import is_frame, named_frame
from milp_verix.inputs.names import by_model_name, closest, listed, shown


def row_of(x: Any) -> dict[str, Any] | None:
    """Return the values of a row by their names, None if ``x`` has no names.

    Raises ``InputError`` for several rows, and for two columns of one name.
    """
    if is_frame(x) or hasattr(x, "to_pandas"):
        frame = named_frame(x)
        _refuse_several(len(frame))
        return {name: frame.iloc[0, place] for place, name in enumerate(frame.columns)}
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


def named_row(x: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the values of the row ``x`` by name; ``InputError`` unless it has all ``names``."""
    row = row_of(x)
    if row is None:
        raise InputError(
            f"the row is {shown(x)}, expected values by name: a dict, df.iloc[i] or df.iloc[[i]]"
        )
    return by_names(row, names, "the input")[0]


def by_names(
    row: Mapping[str, Any], names: Sequence[str] | None, what: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the values of a row by ``names``, in the order of these, and notes; see below."""
    chosen, notes = in_order([*row], names, what)
    return {name: row[one] for name, one in zip(names or chosen, chosen, strict=True)}, notes


def in_order(
    given: Sequence[str], names: Sequence[str] | None, what: str
) -> tuple[list[str], tuple[str, ...]]:
    """Return which names ``given`` in ``what`` have the values of ``names``, in their order.

    Notes tell those that are left out, or the order where there are no ``names`` to go by. Raises
    ``InputError`` for a name that is missing.
    """
    if names is None or (counts(given) and len(given) == len(names) and not {*given} & {*names}):
        order = f"the values of {what} were taken in the order {listed(given)}"
        return [*given], () if counts(given) else (order,)
    refuse_missing_names(names, given, what)
    chosen = [*by_model_name(given, names).values()]
    extra = [name for name in given if name not in {*chosen}]
    told = "it is no feature" if len(extra) == 1 else "they are no features"
    return chosen, (f"left out of {what}, as {told}: {listed(extra)}",) if extra else ()


def counts(names: Sequence[str]) -> bool:
    """Return whether names only count: ``"0"``, ``"1"``, … in this order."""
    return all(name == str(place) for place, name in enumerate(names))


def refuse_missing_names(names: Sequence[str], given: Sequence[str], what: str) -> None:
    """Raise ``InputError`` unless all ``names`` of features are among those ``given``."""
    found = by_model_name(given, names)
    missing = [name for name in names if name not in found]
    if missing:
        close = closest(missing[0], [name for name in given if name not in names])
        remedy = "" if close is None else f" Is {close!r} meant for {missing[0]!r}? Rename it."
        raise InputError(
            f"{what} needs a value for each feature; missing: {listed(missing, 5)}; the names seen "
            f"are {listed(given)}.{remedy}"
        )


def numbers_in(row: Mapping[str, Any]) -> list[float]:
    """Return the numbers of a row that no description explains; truth values are 0 and 1.

    Raises ``InputError`` that names the column of any other value.
    """
    return [
        number_in_cell(name, plain_cell(name, cell), text=False, truth=True)
        for name, cell in row.items()
    ]


def _refuse_several(count: int) -> None:
    if count != 1:
        raise InputError(
            f"one row is expected, {count} were seen; df.iloc[[i]] takes one / explain_many takes "
            "all"
        )
