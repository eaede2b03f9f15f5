"""The places of described features in a model's input, by the names of the model's columns.

A feature stands where the column of its name does. Each coordinate of a one-hot block stands where
the column of its word does, such as ``sex_female``. So a description may list features in any
order; numbers are in the order of the model.
"""

from collections.abc import Collection, Sequence

from milp_verix.errors import InputError
from milp_verix.inputs.dummies import block_names
from milp_verix.inputs.features import Feature
from milp_verix.inputs.names import different_names, listed, same_names

Places = tuple[int, ...] | None
"""The coordinate of each number of a description, feature by feature; None for 0, 1, 2, …."""


def places_in(features: Sequence[Feature], columns: Sequence[str]) -> Places:
    """Return the places of ``features`` in the input of a model with these ``columns``.

    Raises ``InputError`` that tells which names are missing and which are extra, unless all columns
    are described, and no others; and where two names may be the same.
    """
    names = [name for one in features for name in _names(one, columns)]
    for listing, what in ((names, "coordinates described"), (columns, "columns of the model")):
        if len({*listing}) < len(listing):
            twice = next(name for name in listing if [*listing].count(name) > 1)
            raise InputError(f"two {what} are named {twice!r}: rename one of them")
    found = same_names(columns, names)
    missing = [name for name in columns if name not in found]
    extra = sorted({*names} - {*found.values()}, key=names.index)
    if missing or extra:
        raise InputError(
            "the inputs described are not the columns that the model reads "
            f"({different_names(missing, extra)}): {_remedy(features, missing, extra)}"
        )
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


def _names(feature: Feature, columns: Sequence[str]) -> list[str]:
    return block_names(feature, columns) if feature.one_hot else [feature.name]


def _remedy(features: Sequence[Feature], missing: Collection[str], extra: Collection[str]) -> str:
    """Return what to do about names of columns that are ``missing`` and ``extra``."""
    words = [one.name for one in features if one.values and one.name in extra]
    split = [one for one in words if any(name.startswith(one) for name in missing)]
    if split:
        return f"the model has a column for each word: one_hot={split!r} describes such blocks"
    blocks = [one.name for one in features if one.one_hot]
    if joined := [one for one in blocks if one in missing]:
        return f"the model has one column for all words: leave {listed(joined)} out of one_hot"
    if any(name.startswith(tuple(blocks)) for name in (*missing, *extra)):
        return (
            "a block has a column for each word that the model knows, and no others (get_dummies "
            "without drop_first)"
        )
    return "describe the columns of the model, by their names, and no others"
