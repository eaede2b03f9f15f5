"""The model's variables and expressions that a network is put between."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, prod
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.embedding.host import Ends, Host
from milp_verix.embedding.pairing import Side, paired
from verix_encodings import Interval
from verix_encodings.arrays import IntArray


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
    """Read the arguments of :func:`milp_verix.embed`; raises ``InputError`` as told there."""
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
