"""The model's variables and expressions that a network is put between.

Which of the entries given is which input or output of a network: by key, or in order.

Keys are the network's names, or else places: whole numbers or tuples of them, from 0 or from 1
without a gap. Entries of lists and arrays are in the network's order. Other keys are refused, since
the order of a dictionary is no contract.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from math import isfinite, prod
from numbers import Integral
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError, different_names, listed, same_names
from milp_verix.base.image_shape import is_flat, shape_seen
from milp_verix.embedding.host import Ends, Host
from milp_verix.inputs.feature import word_of
from milp_verix.models.loaded_model import LoadedModel
from verix_encodings import Interval
from verix_encodings.arrays import IntArray


@dataclass(frozen=True, slots=True)
class Side:
    """The inputs or the outputs of a network: ``what`` they are, their shape and names, if any.

    Entries of the columns ``unread``, which the network drops, are left out.
    """

    what: str
    shape: tuple[int, ...]
    names: tuple[str, ...] | None
    unread: tuple[str, ...] = ()


def sides_of(network: LoadedModel, names: Sequence[str] | None = None) -> tuple[Side, Side]:
    """Return inputs, by the names that ``network`` stores or else ``names``, and outputs by class.

    A single score is that of the second class. Raises ``InputError`` unless ``names`` are one for
    each input, and those of the network where it stores them.
    """
    classes, size = network.facts.class_names, network.output_size
    outputs = Side("outputs", (size,), (classes[1:] if size == 1 else classes) or None)
    known = network.columns
    if names is not None:
        known, unnamed = network.columns_for(names) or tuple(names), dict.fromkeys(names)
        other = different_names(known, unnamed) if len(names) == len(unnamed) else ""
        if other or not len(names) == len(unnamed) == network.input_size:
            raise InputError(
                f"names are {listed(names, 5)}, expected one for each of {network.input_size} "
                f"inputs, none twice, and the network's own if any{other and f'; {other}'}"
            )
    return Side("inputs", network.input_shape, known, network.unread), outputs


def paired(host: Host, given: Any, side: Side) -> dict[str, Any]:
    """Return the entries given, in the network's order, by their own names or else numbers."""
    given = [*given] if isinstance(given, Iterator | ValuesView) else given
    while (pairs := host.keyed(given)) is None:
        if (parts := host.parts(given)) is None or len(parts) != 1:
            return {str(place): one for place, one in enumerate(_flat(host, given, side))}
        (given,) = parts  # a list of one row
    keys: list[Hashable] = []
    groups: list[list[Any]] = []
    idle = {*same_names(side.unread, [word_of(key) for key, _ in pairs]).values()}
    for key, value in (pair for pair in pairs if word_of(pair[0]) not in idle):
        group = _flat(host, value, side)
        several = isinstance(key, str) and len(group) != 1  # entries of one of several inputs
        keys += [f"{key}[{place}]" for place in range(len(group))] if several else [key]
        groups += [[one] for one in group] if several else [group]
    order = order_of(keys, side)
    labels = [*map(word_of, keys)]
    own = {label: name for name, label in same_names(side.names or (), labels).items()}
    names = [own[labels[place]] for place in order if labels[place] in own]
    entries = [one for place in order for one in groups[place]]
    named = len(names) == len(entries) == len(side.names or ())
    return dict(zip(names if named else map(str, range(len(entries))), entries, strict=True))


def order_of(keys: Sequence[Hashable], side: Side) -> list[int]:
    """Return the places of ``keys`` in the network's order; ``InputError`` for other keys."""
    places = {word_of(key): place for place, key in enumerate(keys)}
    if len(places) < len(keys):
        raise InputError(f"two entries of {side.what} have one name: {listed([*map(str, keys)])}")
    found = same_names(side.names or (), places)
    if side.names is not None and len(found) == len(side.names) == len(places):
        return [places[label] for label in found.values()]
    # numbers that are names of other entries are no places
    if not found and (order := _by_number(keys, side.shape)) is not None:
        return order
    if side.names is not None:
        raise InputError(
            f"{side.what} are given by other names than the network's, which has one for each "
            f"coordinate; {different_names(side.names, places)}"
        )
    if len(keys) == prod(side.shape) == 1:
        return [0]
    names = ", or names=[…] in that order" if side.what == "inputs" else ""
    raise InputError(
        f"{side.what} have the keys {listed(places, 5)}, and nothing tells the place of each: give "
        f"one mapping by all names that the network stores, or, if it stores none, a list in the "
        f"network's order{names}"
    )


def _flat(host: Host, given: Any, side: Side) -> list[Any]:
    """Return entries one by one; keys inside of a list can only be places."""
    if (pairs := host.keyed(given)) is None:
        parts = host.parts(given)
    else:
        order = order_of([key for key, _ in pairs], Side(side.what, (0,), None))
        parts = [pairs[place][1] for place in order]
    return [given] if parts is None else [one for part in parts for one in _flat(host, part, side)]


def _by_number(keys: Sequence[Hashable], shape: tuple[int, ...]) -> list[int] | None:
    """Return the order of keys that are all places without a gap, None for others.

    Raises ``InputError`` for tuples that are places in a tensor of another ``shape``.
    """
    rows = [key if isinstance(key, tuple) else (key,) for key in keys]
    whole = all(isinstance(n, Integral) and not isinstance(n, bool) for row in rows for n in row)
    if not rows or not whole or len({*map(len, rows)}) > 1:
        return None
    numbers = np.array(rows, dtype=np.float64)
    first = numbers.min(axis=0)
    sizes = tuple(int(size) for size in numbers.max(axis=0) - first + 1)
    if not np.isin(first, (0, 1)).all() or len(rows) != prod(sizes):
        return None
    if len(sizes) > 1 and shape and not is_flat(shape):
        shape_seen(sizes, shape)
    return [int(place) for place in np.lexsort(numbers.T[::-1])]


@dataclass(frozen=True, slots=True, eq=False)
class Sockets:
    """The entries at the inputs, d of them, and at the outputs, m or none given, as paired.

    ``own`` are the distinct variables of the model among them. ``input_places``, shape (d,), and
    ``output_places``, shape (m,), are their places in ``own``, and -1 for what needs a new column:
    expressions, numbers, and outputs that are not given. ``box`` holds the inputs.
    """

    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    own: Sequence[Any]
    input_places: IntArray
    output_places: IntArray
    box: Interval

    def reach(self, values: Interval) -> Interval:
        """Return bounds of the variables ``own``, where the outputs lie in ``values``."""
        lower, upper = np.zeros(len(self.own)), np.zeros(len(self.own))
        for places, interval in ((self.output_places, values), (self.input_places, self.box)):
            known = places >= 0
            lower[places[known]] = interval.lower[known]
            upper[places[known]] = interval.upper[known]
        return Interval(lower, upper)

    def equated(
        self, inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> Iterator[tuple[str, int, Any, Any]]:
        """Yield the variables, of the network's inputs and outputs, that equal expressions.

        Each comes with a word for its kind, its number, and the expression.
        """
        for what, variables, entries, places in (
            ("input", inputs, self.inputs, self.input_places),
            ("output", outputs, self.outputs, self.output_places),
        ):
            for i, entry in enumerate(entries.values()):
                if places[i] < 0 and not (what == "input" and _is_number(entry)):
                    yield what, i, variables[i], entry


def sockets_of(host: Host, sides: tuple[Side, Side], inputs: Any, outputs: Any) -> Sockets:
    """Read the arguments of :func:`milp_verix.embed`; raises ``InputError`` as described there."""
    given = _entries(host, inputs, sides[0])
    wanted = {} if outputs is None else _entries(host, outputs, sides[1])
    for i, entry in wanted.items():
        if _is_number(entry) and not isfinite(entry):
            raise InputError(f"output {i} shall equal {entry}: give a finite number")
    own, places = _distinct(host, [*given.values(), *wanted.values()])
    behind = places[len(given) :] if wanted else np.full(prod(sides[1].shape), -1)
    return Sockets(given, wanted, own, places[: len(given)], behind, _box(host, given))


def _is_number(entry: Any) -> bool:
    return isinstance(entry, int | float | np.integer | np.floating) and not isinstance(entry, bool)


def _entries(host: Host, given: Any, side: Side) -> dict[str, Any]:
    """Return the model's entries for one side of the network; ``InputError`` for others."""
    entries, what, size = paired(host, given, side), side.what, prod(side.shape)
    for i, entry in entries.items():
        known = host.is_variable(entry) or host.is_expression(entry)
        if not known and not _is_number(entry):
            raise InputError(
                f"entry {i} of {what} is a {type(entry).__module__}.{type(entry).__name__}, "
                "expected variables or linear expressions of the model, or numbers"
            )
    if len(entries) != size:
        raise InputError(
            f"{what} has {len(entries)} entries, but the network has {size} {what}: give one "
            "for each, in the order of the flattened tensor"
        )
    return entries


def _box(host: Host, given: Mapping[str, Any]) -> Interval:
    ends = [
        Ends(float(entry), float(entry)) if _is_number(entry) else host.ends(entry)
        for entry in given.values()
    ]
    for i, (low, high) in zip(given, ends, strict=True):
        if not (np.isfinite(low) and np.isfinite(high)):
            side = "lower" if not np.isfinite(low) else "upper"
            of = "" if host.is_variable(given[i]) else ", as its variables have none"
            raise InputError(
                f"input {i} ({given[i]}) has no finite {side} bound{of}: a network is embedded "
                f"over a box; give its variables bounds by {host.to_bound}"
            )
        if low > high:
            raise InputError(
                f"input {i} ({given[i]}) has the bounds {low:g} to {high:g}, which no number keeps"
            )
    return Interval(*np.array(ends, dtype=np.float64).reshape(-1, 2).T)


def _distinct(host: Host, entries: list[Any]) -> tuple[list[Any], IntArray]:
    """Return the distinct variables among ``entries``, and the place of each entry there, or -1."""
    own: list[Any] = []
    places: dict[Any, int] = {}
    numbers = np.full(len(entries), -1, dtype=np.intp)
    for i, entry in enumerate(entries):
        if not _is_number(entry) and host.is_variable(entry):
            key = host.key(entry)
            if key not in places:
                places[key] = len(own)
                own.append(entry)
            numbers[i] = places[key]
    return own, numbers
