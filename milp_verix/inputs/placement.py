"""The places of described features in a model's input, by the names of the model's columns.

A feature stands where the column of its name does. Each coordinate of a one-hot block stands where
the column of its word does, such as ``sex_female``. So a description may list features in any
order; numbers are in the order of the model.
"""

from collections.abc import Sequence

from milp_verix.errors import InputError
from milp_verix.inputs.dummies import block_names
from milp_verix.inputs.features import Feature
from milp_verix.inputs.names import different_names, same_names

Places = tuple[int, ...] | None
"""The coordinate of each number of a description, feature by feature; None for 0, 1, 2, …."""


def places_in(features: Sequence[Feature], columns: Sequence[str]) -> Places:
    """Return the places of ``features`` in the input of a model with these ``columns``.

    Raises ``InputError`` that tells which names are missing and which are extra, unless all columns
    are described, and no others; and where two names may be the same.
    """
    blocks = [block_names(one, columns) if one.one_hot else [one.name] for one in features]
    names = [name for block in blocks for name in block]
    for listing, what in ((names, "coordinates described"), (columns, "columns of the model")):
        if len({*listing}) < len(listing):
            twice = next(name for name in listing if [*listing].count(name) > 1)
            raise InputError(f"two {what} are named {twice!r}: rename one of them")
    if other := different_names(columns, names):
        raise InputError(
            f"the inputs described are not the columns that the model was fitted on ({other}): "
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
