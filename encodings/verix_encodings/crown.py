"""Backward linear bounds (CROWN, DeepPoly): tighter than interval arithmetic, and also valid.

An upper bound on ``c·v_t`` over a region is found by replacing values by their sources, the last
value first, down to the input:

    v = Σ_k M_k v_k + b               c·v = Σ_k (c M_k)·v_k + c·b
    s⁻ z + b⁻ ≤ v ≤ s⁺ z + b⁺         c·v ≤ c⁺·(s⁺ z + b⁺) + c⁻·(s⁻ z + b⁻)         per neuron
    v_0 = x in the region             c·x ≤ the largest c·x there

Each kind of node has lines of its own, where the bounds of its sources hold. A lower bound is minus
an upper bound on ``−c·v_t`` (Zhang, Weng, Chen, Hsieh, Daniel, NeurIPS 2018; Singh, Gehr, Püschel,
Vechev, POPL 2019).

The coefficients are computed in float64. If a product ``c M`` has the error ``E``, the bound has an
error of at most ``|E|·|v|``, and ``|v|`` is at most the magnitude of the bounds already proven:
these errors are summed and added, so that the enclosures hold in real arithmetic.

Each neuron that interval arithmetic leaves undecided is bounded so, layer after layer: tighter
bounds of one layer make the forms of the next ones tighter. Neurons do not depend on each other:
they are bounded in blocks, and the deadline is checked between blocks. Every bound is valid by
itself, so a pass that ends early is valid, too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from verix_encodings.arrays import (
    UNIT_ROUNDOFF,
    BoolArray,
    FloatArray,
    IntArray,
    Matrix,
    count_of_entries,
    dense,
    placed,
    relative_error,
)
from verix_encodings.bounds.interval import Bounds, Interval, Late, Region, never
from verix_encodings.bounds.lines import ByValue, NodeRelaxation
from verix_encodings.bounds.rows import Coefficients, Rows, RowSplits, absolute, reached, total
from verix_encodings.interval_bounds import forward_interval
from verix_encodings.kinds.node import Node
from verix_encodings.network import Network

Relaxations: TypeAlias = dict[int, NodeRelaxation]
"""The forms around each node, by the number of its value."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearForm:
    """``C v ≤ A x + b + e``: ``coefficients``, ``constant``, and the rounding ``error``."""

    coefficients: Matrix
    constant: FloatArray
    error: FloatArray

    def greatest(self, region: Region) -> FloatArray:
        """Bound the form over ``region`` from above, rounded up; shape (rows,)."""
        return self._rounded_up(region.greatest(self.coefficients))

    def highest(self, region: Region) -> tuple[FloatArray, FloatArray]:
        """Return :meth:`greatest`, and a point of ``region`` for each row where it is largest."""
        bounds, points = region.highest(dense(self.coefficients))
        return self._rounded_up(bounds), points

    def _rounded_up(self, reach: FloatArray) -> FloatArray:
        total = self.constant + reach
        return np.asarray(total + self.error + 8 * UNIT_ROUNDOFF * np.abs(total))


def upper_form(
    network: Network,
    bounds: Bounds,
    value: int,
    coefficients: Matrix,
    relaxation: Relaxations | None = None,
    *,
    slopes: ByValue | None = None,
    met: dict[int, Rows] | None = None,
    splits: RowSplits | None = None,
) -> LinearForm:
    """Return a linear form in the input that is above ``C v`` wherever ``bounds`` hold.

    ``relaxation`` is that of :func:`extend_relaxation`, computed unless it is given. ``slopes``
    replace the lower slopes of ReLUs and maxima of pairs, by the number of their value: shape
    (rows of C, neurons), between 0 and 1, and 0 or 1 where the neuron has one phase. ``met``
    receives the coefficients of each value on the way. Row by row, the form is above ``C v`` where
    the phases of ``splits`` hold: the ``slopes`` of these neurons are 0 or 1.
    """
    if relaxation is None:
        relaxation = extend_relaxation({}, network, bounds, value)
    slopes = {} if slopes is None else slopes
    rows = coefficients.shape[0]
    constant, error = np.zeros(rows), np.zeros(rows)
    splits = splits or RowSplits()
    pending: dict[int, Coefficients] = {value: coefficients, **splits.multipliers}
    at_input: Coefficients = np.zeros((rows, network.input_size))
    for current in range(value, -1, -1):
        c = pending.pop(current, None)
        if current in splits.parts:
            met_there = np.zeros((rows, network.sizes[current])) if c is None else dense(reached(c))
            c, shift, lost = splits.parts[current].left(met_there)
            constant += shift
            error += lost
        if c is None:
            continue
        if not current:
            at_input = c
            break
        if met is not None:
            met[current] = reached(c)
        shift, lost, products = relaxation[current].replaced(
            c, slopes.get(current), splits.phases.get(current)
        )
        constant += shift
        error += lost
        for source, more in products:
            if source not in pending:
                pending[source] = more
                continue
            known, magnitude = reached(pending[source]), bounds[source].magnitude
            pending[source] = total(known, more)
            error += relative_error(1) * (absolute(known) @ magnitude + absolute(more) @ magnitude)
    if met is not None:
        met[0] = reached(at_input)
    return LinearForm(dense(at_input), constant, error)


def extend_relaxation(
    found: Relaxations, network: Network, bounds: Bounds, value: int
) -> Relaxations:
    """Add to ``found`` the forms of nodes up to ``value``, by the same ``bounds``; return it."""
    for i in range(len(found) + 1, value + 1):
        found[i] = network.nodes[i - 1].relaxation(bounds)
    return found


# products of a block of rows with the matrices behind it: less than a second, and in the cache
_BLOCK = 5 * 10**8
_LEAST_ROWS = 32


Tighten: TypeAlias = Callable[[Network, Region, Bounds, IntArray, Late], Interval]
"""A function that tightens the last of some bounds, for the neurons with these numbers."""


def crown_bounds(
    network: Network, region: Region, known: Bounds = (), late: Late = never, *, within: Bounds = ()
) -> Bounds:
    """Bound every value of ``network`` over the inputs in ``region``, inside interval arithmetic.

    ``known`` are bounds proven already for the first values; they are returned as they are.
    ``within`` are bounds on all values over a larger region; the result lies inside. Values
    that no activation reads, and neurons that interval arithmetic decides, keep its bounds,
    except for the output. Once ``late()``, so do all remaining neurons: the bounds hold, but they
    are wider. Raises ``OverflowError`` as :func:`interval_bounds` does.
    """
    tighten = partial(_tightened, relaxation={})
    return layer_by_layer(network, region, tighten, known, late=late, within=within)


def layer_by_layer(
    network: Network,
    region: Region,
    tighten: Tighten,
    known: Bounds = (),
    *,
    late: Late = never,
    within: Bounds = (),
) -> Bounds:
    """Return interval bounds, tightened on the way; arguments as in :func:`crown_bounds`."""
    readers, behind = readers_of(network), behind_relus(network)
    last = len(network.nodes)
    bounds: list[Interval] = list(known) or [region.box]
    for value, node in enumerate(network.nodes, start=1):
        if value < len(known):
            continue
        interval = forward_interval(node, region, bounds, value)
        bounds.append(intersection(interval, within[value]) if within else interval)
        if value == last:
            rows = np.arange(network.sizes[value])
        else:
            rows = neurons_to_tighten(behind, readers, value, bounds[value])
        # over the input alone interval arithmetic is exact
        if rows.size and any(source != 0 for source in node.sources):
            bounds[value] = tighten(network, region, tuple(bounds), rows, late)
    return tuple(bounds)


def intersection(one: Interval, other: Interval) -> Interval:
    """Return the values in both intervals; ``ValueError`` if there are none."""
    return Interval(np.maximum(one.lower, other.lower), np.minimum(one.upper, other.upper))


def readers_of(network: Network) -> dict[int, list[Node]]:
    """Return the nodes whose lines the bounds of a value shape, by value; absent if none."""
    readers: dict[int, list[Node]] = {}
    for node in network.nodes:
        for value in node.watched:
            readers.setdefault(value, []).append(node)
    return readers


def left_open(readers: list[Node], lower: FloatArray, upper: FloatArray) -> BoolArray:
    """Mark the neurons that these bounds leave open for a reader: phases, maxima, curves."""
    open_ = np.zeros(lower.shape, dtype=bool)
    for reader in readers:
        open_ |= reader.undecided(lower, upper)
    return open_


def undecided(readers: list[Node], interval: Interval) -> IntArray:
    """Return the neurons that the ``interval`` leaves open for a reader."""
    return np.flatnonzero(left_open(readers, interval.lower, interval.upper))


def behind_relus(network: Network) -> dict[int, list[Node]]:
    """Return the nodes behind a ReLU, by the value that the ReLU reads; absent if none."""
    relus = {number: node.relu_of for number, node in enumerate(network.nodes, start=1)}
    found: dict[int, list[Node]] = {}
    for node in network.nodes:
        value = relus.get(node.sources[-1]) if node.sources else None
        if value is not None:
            found.setdefault(value, []).append(node)
    return found


def neurons_to_tighten(
    behind: dict[int, list[Node]], readers: dict[int, list[Node]], value: int, interval: Interval
) -> IntArray:
    """Return the neurons of ``value`` to tighten.

    Entries that maxima ``behind`` its ReLU compare are among them if they are close: behind the
    ReLU the bounds are the same.
    """
    positive = np.maximum(interval.lower, 0.0), np.maximum(interval.upper, 0.0)
    chosen = left_open(readers.get(value, []), interval.lower, interval.upper)
    for node in behind.get(value, []):
        chosen[node.compared(*positive)] = True
    return np.flatnonzero(chosen)


def _tightened(
    network: Network,
    region: Region,
    bounds: Bounds,
    rows: IntArray,
    late: Late,
    *,
    relaxation: Relaxations,
) -> Interval:
    """Tighten ``rows`` of the last of ``bounds``; ``relaxation`` is extended up to it."""
    value, found = len(bounds) - 1, bounds[-1]
    for block in () if late() else _blocks(network, value, rows):
        if late():
            break
        extend_relaxation(relaxation, network, bounds, value)
        signs = np.repeat([1.0, -1.0], block.size)
        # as sparse as the network is: a neuron of a convolution depends on a few of those before it
        shape = signs.size, network.sizes[value]
        units = placed(signs, np.arange(signs.size), np.tile(block, 2), shape)
        with np.errstate(over="ignore", invalid="ignore"):
            form = upper_form(network, bounds, value, units, relaxation)
            found = inside(found, block, form.greatest(region))
    return found


def inside(known: Interval, rows: IntArray, extremes: FloatArray) -> Interval:
    """Return ``known`` cut by ``extremes``: upper bounds of ``rows``, then of their negatives."""
    lower, upper = known.lower.copy(), known.upper.copy()
    # a NaN, from coefficients that overflowed, is no bound: the known one stays
    upper[rows] = np.fmin(upper[rows], extremes[: rows.size])
    lower[rows] = np.fmax(lower[rows], -extremes[rows.size :])
    apart = lower > upper  # below the least normal number rounding is not relative
    return Interval(np.where(apart, known.lower, lower), np.where(apart, known.upper, upper))


def _blocks(network: Network, value: int, rows: IntArray) -> list[IntArray]:
    """Return ``rows`` in blocks of less than a second each, by the most entries that they can meet.

    Neurons of a convolution that read the same window are put together, few at once: so the columns
    that a block reaches stay few.
    """
    places = _windows(network, value)
    if places is None or any(node.mixes for node in network.nodes[:value]):
        terms = [term for node in network.nodes[:value] for term in node.matrices]
        entries = sum(count_of_entries(matrix) for _, matrix in terms)
        at_once = max(_LEAST_ROWS, _BLOCK // max(2 * entries, 1))
    else:
        rows, at_once = rows[np.argsort(places[rows], kind="stable")], _LEAST_ROWS
    return [rows[first : first + at_once] for first in range(0, rows.size, at_once)]


_DEEPEST = 100
"""Nodes between a neuron and the map whose windows it has: a chain of more has none."""


def _windows(network: Network, value: int, deepest: int = _DEEPEST) -> IntArray | None:
    """Return the first entry that each neuron reads of the source of its sparse map, else None."""
    if value == 0 or deepest == 0:
        return None
    return network.nodes[value - 1].windows(lambda source: _windows(network, source, deepest - 1))
