"""One row of a table in any form that Python has for it, as a mapping from names to values.

A DataFrame of one row, as ``predict`` takes it, a Series, a mapping, or a list of one mapping.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from milp_verix.errors import InputError
from milp_verix.inputs.cells import number_in_cell, plain_cell
from milp_verix.inputs.dummies import cell_of, columns_of
from milp_verix.inputs.features import Feature
from milp_verix.inputs.frame import is_frame, named_frame
from milp_verix.inputs.names import closest, listed, shown


def row_of(x: Any) -> dict[str, Any] | None:
    """Return the values of a row by their names, None if ``x`` has no names.

    Raises ``InputError`` for several rows, and for two columns of one name.
    """
    if is_frame(x) or hasattr(x, "to_pandas"):
        frame = named_frame(x)
        _refuse_several(len(frame))
        return {name: frame.iloc[0, place] for place, name in enumerate(frame.columns)}
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


def named_row(x: Any, features: Sequence[Feature]) -> dict[str, Any]:
    """Return the values of the row ``x`` by name; ``InputError`` unless it has all ``features``."""
    row = row_of(x)
    if row is None:
        raise InputError(
            f"the row is {shown(x)}, expected values by name: a dict, df.iloc[i] or df.iloc[[i]]"
        )
    columns = features_among(features, row, "the input")
    return {
        one.name: cell_of(one, columns[one.name], [row[name] for name in columns[one.name]])
        for one in features
    }


def features_among(
    features: Sequence[Feature], given: Collection[str], what: str
) -> dict[str, list[str]]:
    """Return the columns of each feature; ``InputError`` unless all are among those ``given``."""
    columns = columns_of(features, given)
    missing = [one.name for one in features if one.name not in columns]
    refuse_missing_names(missing, [*given], what)
    return columns


def refuse_missing_names(names: Sequence[str], given: Sequence[str], what: str) -> None:
    """Raise ``InputError`` unless all ``names`` of features are among those ``given``."""
    missing = [name for name in names if name not in given]
    if missing:
        close = closest(missing[0], [name for name in given if name not in names])
        remedy = "" if close is None else f" Is {close!r} meant for {missing[0]!r}? Rename it."
        raise InputError(
            f"{what} needs a value for each feature; missing: {missing}; the names seen are "
            f"{listed(given)}.{remedy}"
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
