"""Rows between the same ReLU in two runs of a network, whose arguments differ by little.

With ``a = max(z, 0)``, ``a' = max(z', 0)`` and ``t = z − z' ∈ [l, u]``,

    l ≥ 0        a ≤ a' + z − z'                           d ≥ d'
    u ≤ 0        a ≤ a'                                    d ≤ d'
    l < 0 < u    a ≤ a' + u (z − z' − l) / (u − l)

These hold for ``d = 1`` where ``z > 0``, and ``d = 0`` elsewhere. Why: a ReLU grows, and no faster
than its argument, so that ``a − a' ≤ max(t, 0)``; that is convex in ``t``, and over ``[l, u]`` its
least concave upper bound is the chord, ``t``, 0, or the line from ``(l, 0)`` to ``(u, u)``. Where
``t ≥ 0``, ``z' > 0`` implies ``z > 0``; where ``t ≤ 0``, the other way round.

In its own relaxation, ``a`` may be above ``max(z, 0)`` by ``−l u / (u − l)`` for its own bounds.
Here ``l`` and ``u`` bound a difference, and ``a'`` may have a fixed phase: then ``a`` is nearly
fixed, too. The rows for ``a'`` beside ``a`` are those of ``z' − z ∈ [−u, −l]``.

The idea is from Wang, Huang, Zhu, *Efficient global robustness certification of neural networks via
interleaving twin-network encoding*, DATE 2022, where both runs are of unknown inputs.
"""

from typing import NamedTuple

import numpy as np

from verix_encodings.arrays import UNIT_ROUNDOFF, IntArray
from verix_encodings.bounds.interval import Interval
from verix_encodings.program.builder import ProgramBuilder

_NONE = np.zeros(0, dtype=np.intp)


class ReluColumns(NamedTuple):
    """The columns of some neurons of one ReLU, shape (n,) each, -1 where a neuron has none.

    The column of an active neuron is its ``argument``; an inactive neuron has no column.
    """

    argument: IntArray
    activation: IntArray
    phase: IntArray

    def among(self, which: IntArray) -> "ReluColumns":
        """Return the columns of the neurons at the places ``which``."""
        return ReluColumns(self.argument[which], self.activation[which], self.phase[which])


def relu_columns(builder: ProgramBuilder, label: str, neurons: IntArray) -> ReluColumns:
    """Return the columns of the ``neurons`` of the ReLU that was encoded as ``label``."""

    def found(kind: str) -> IntArray:
        numbers, first = builder.column_blocks.get(f"{kind}_{label}", (_NONE, 0))
        if not numbers.size:
            return np.full(neurons.size, -1)
        # they ascend
        places = numbers.searchsorted(neurons)
        return np.where(numbers.take(places, mode="clip") == neurons, first + places, -1)

    return ReluColumns(found("z"), found("a"), found("d"))


def couple(
    builder: ProgramBuilder,
    label: str,
    neurons: IntArray,
    columns: tuple[ReluColumns, ReluColumns],
    interval: Interval,
) -> None:
    """Add the rows for ``a`` beside ``a'``, whose columns are ``columns``.

    ``interval`` is a proven ``[l, u]`` for each of the ``neurons``. The rows are valid in real
    arithmetic: the chord is rounded outward. There are no rows if ``a`` has no column of its own,
    or ``z'`` has no column.
    """
    there = np.flatnonzero((columns[0].activation >= 0) & (columns[1].argument >= 0))
    if not there.size:
        return
    one, other = (both.among(there) for both in columns)
    numbers, l, u = neurons[there], interval.lower[there], interval.upper[there]
    crossing = (l < 0) & (u > 0)
    slope = np.where(crossing, u / np.where(crossing, u - l, 1.0), l >= 0)
    # z' of an active neuron stands in a row twice: so that 1 − k is no rounded number
    slope = 1.0 - (1.0 - slope)
    # a few roundings, each by no more than UNIT_ROUNDOFF (u − l), may have lowered the chord
    rise = np.where(crossing, -slope * l + 8 * UNIT_ROUNDOFF * (u - l), 0.0)
    ones = np.ones(there.size)
    beside = np.where(other.activation >= 0, other.activation, other.argument)
    terms = [
        (ones, one.activation),
        (-ones, beside),
        (-slope, one.argument),
        (slope, other.argument),
    ]
    builder.add_rows(f"twins_{label}", numbers, terms, -np.inf, rise)
    for name, ordered, sign in (("before", l >= 0, 1.0), ("after", u <= 0, -1.0)):
        which = np.flatnonzero(ordered & (other.phase >= 0))
        if which.size:
            signs = np.full(which.size, sign)
            order = [(signs, one.phase[which]), (-signs, other.phase[which])]
            builder.add_rows(f"{name}_{label}", numbers[which], order, 0.0, np.inf)
