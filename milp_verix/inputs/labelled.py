"""Arguments with an entry for each feature, understood by the labels that they come with.

A mapping, a Series, a DataFrame of one row: each value goes to the feature of its label, wherever
it stands. A label is a name, or the index of a feature where no name is a number. Without labels,
the order tells.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from milp_verix.base.errors import (
    InputError,
    different_names,
    listed,
    meant,
    refusing,
    same_names,
    shown,
)
from milp_verix.inputs.frame import is_frame
from milp_verix.inputs.one_row import counts, row_of

_OTHERS = "*"
"""The label that stands for all features that are not named."""


class Labels(NamedTuple):
    """The ``names`` of ``size`` features, if any, and of columns ``unread`` by the model."""

    names: Sequence[str] | None
    size: int
    unread: Sequence[str] = ()


def values_by_label(given: Any, labels: Labels, what: str, usual: str = "") -> Any:
    """Return the values of features in their order; values without labels as they are.

    ``what`` is the name of the argument, and ``usual`` what an error proposes for features left
    out, such as ``": 1"``. Columns that are not read are left out. Raises ``InputError`` for labels
    that are no features, and for features without a label where no ``"*"`` stands for these.
    """
    (names, count, unread), others = labels, None
    if is_frame(given) and counts([*map(str, given.columns)]):
        return given.to_numpy()[0] if len(given) == 1 else given.to_numpy()
    with refusing(what, InputError):
        row = row_of(given)
    if row is None:
        return given
    idle = {*same_names(unread, row).values()}
    row = {label: value for label, value in row.items() if label not in idle}
    known = dict.fromkeys(map(str, range(count)) if names is None else names)
    unnamed = counts([*row]) and (names is None or not {*row} & {*names})
    if unnamed and not isinstance(given, Mapping):
        return np.asarray(given)
    if _OTHERS in row and _OTHERS not in known:
        others = row.pop(_OTHERS)
    named = not unnamed and any(map(str.isdecimal, known))  # by numbers: none is an index, too
    by_index = {} if named else {str(place): name for place, name in enumerate(known)}
    values = {by_index.get(label, label): value for label, value in row.items()}
    found = same_names(known, values)
    used = {*found.values()}
    unknown = [label for label in values if label not in used]
    if names is None and unknown:
        raise InputError(
            f"{what} has the labels {listed(unknown, 5)}, and the features have no names: give a "
            "list in the order of the features, or their names by feature_names"
        )
    if unknown or len(values) < len(row) or (others is None and len(found) < count):
        told = different_names(known if others is None else found, values)
        remedy = f": name them, or add {_OTHERS!r}{usual}" if told else ""
        if unknown:
            remedy = meant(unknown[0], [name for name in known if name not in found])
        told = f"{told}{remedy}" or "two labels are of one feature"
        raise InputError(
            f"{what} by name has a value for each feature, or '*' for the others; {told}"
        )
    return [values[found[name]] if name in found else others for name in known]


def features_listed(given: Any, labels: Labels, what: str) -> Any:
    """Return a list of features as it is; of a mask the indices of the features that are True.

    A mask has True or False, 1.0 or 0.0, for each feature, by name or in their order. Other
    arguments and errors are those of :func:`values_by_label`; numbers by name are refused, too.
    """
    if hasattr(given, "iloc") and not is_frame(given):
        values = given.tolist()
        texts = [all(isinstance(one, str) for one in ones) for ones in (values, given.index)]
        if not values or (not _flags(values) and (texts[0] or not texts[1])):
            return values
    found = values_by_label(given, labels, what)
    mask = found is not given or isinstance(found, np.ndarray)
    if mask and np.shape(found) == (labels.size,) and _flags(found):
        return np.flatnonzero(found).tolist()
    if found is not given and isinstance(found, list):
        raise InputError(
            f"{what} lists features, or has True or False for each by name; got {shown(given)}"
        )
    return found


def _flags(values: Iterable[Any]) -> bool:
    # a mask of a tensor or a table may hold 0.0 and 1.0, and whole numbers are indices
    kinds = bool | np.bool_ | float | np.floating
    return all(isinstance(one, kinds) and one in {0, 1} for one in values)
