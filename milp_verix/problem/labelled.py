"""Arguments by the names of an input's coordinates: a row, a domain, scores of other tools."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.errors import InputError
from milp_verix.image_shape import shape_seen
from milp_verix.inputs.frame import is_frame
from milp_verix.inputs.labelled import values_by_label
from milp_verix.inputs.names import listed, same_names, shown
from milp_verix.inputs.one_row import by_names, counts
from milp_verix.loaded_model import LoadedModel
from milp_verix.problem.ball import Domain


def row_placed(
    x: Any, row: Mapping[str, Any] | None, network: LoadedModel, feature_names: Any
) -> tuple[Any, Sequence[str] | None, tuple[str, ...]]:
    """Return the input, the names of its coordinates if each has one, and notes.

    ``row`` are the values of ``x`` by name, None if it has none. They are placed by the names of
    the model, or else by ``feature_names``, or in their own order. Raises ``InputError`` for a name
    that is missing, and for one of ``feature_names`` that stands elsewhere in the model.
    """
    given = tuple(map(str, feature_names)) if isinstance(feature_names, Iterable) else None
    columns = network.columns_for(given or () if row is None else row)
    for known, name in same_names(columns or (), given or ()).items():
        here, there = (given or ()).index(name), (columns or ()).index(known)
        if here != there:
            raise InputError(
                f"feature_names: {name!r} is at place {here}, and the model has it at place "
                f"{there}: {listed(columns or ())}. Give names in this order, or none"
            )
    if row is None:
        return x, columns or given, ()
    if columns is None and given is not None:
        row, notes = by_names(row, given, "the row")
        return network.numbers_of(row), given, notes
    numbers, notes = network.placed(row)
    return numbers, columns or (None if counts([*row]) else tuple(row)), notes


def shaped_domain(
    domain: Any,
    names: Sequence[str] | None,
    input_shape: tuple[int, ...],
    image_shape: tuple[int, ...] | None,
) -> Domain:
    """Return the domain; its arrays that fit like an input get ``input_shape``.

    Ends with labels are put in the order of ``names``, those of the coordinates. An array of
    another shape is left to be broadcast, or refused, by ``make_ball``.
    """

    def shaped(end: Any) -> ArrayLike:
        end = values_by_label(end, names, math.prod(input_shape), "domain")
        try:
            array = np.asarray(end)
            shape_seen(array.shape, input_shape, image_shape)
        except (TypeError, ValueError):
            return end  # type: ignore[no-any-return]
        return array.reshape(input_shape)

    if is_frame(domain) and len(domain) == 2:
        domain = domain.iloc[0], domain.iloc[1]
    if hasattr(domain, "keys"):
        raise InputError(
            "the domain is a pair (lower, upper), and each may be numbers by name; got "
            f"{shown(domain)}"
        )
    try:
        low, high = domain
    except (TypeError, ValueError):
        return domain  # type: ignore[no-any-return]
    return shaped(low), shaped(high)
