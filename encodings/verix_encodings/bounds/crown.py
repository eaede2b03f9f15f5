"""Backward linear bounds (CROWN, DeepPoly): tighter than interval arithmetic, and also valid.

An upper bound on ``c·v_t`` over the box is found by replacing values by their sources, the last
value first, down to the input:

    v = Σ_k M_k v_k + b       c·v = Σ_k (c M_k)·v_k + c·b
    v = max(z, 0), z ∈ [l, u]   c·v ≤ c⁺·(λ z + β) + c⁻·(α z)          per neuron
        u ≤ 0:      λ = β = α = 0
        l ≥ 0:      λ = α = 1, β = 0
        l < 0 < u:  λ = u / (u − l), β = −λ l,  α = 1 if u > −l, else 0
    v = max_j z_j, z_j ∈ [l_j, u_j], b = argmax_j l_j                               per group
        u_j ≤ l_b for all j ≠ b:   v = z_b
        otherwise:                 c·v ≤ c⁺·max_j u_j + c⁻·z_b
    v = σ(z), z ∈ [l, u]        c·v ≤ c⁺·(s⁺ z + b⁺) + c⁻·(s⁻ z + b⁻)               per neuron
    v_0 = x in the region       c·x ≤ the largest c·x there

(Zhang, Weng, Chen, Hsieh, Daniel, NeurIPS 2018; Singh, Gehr, Püschel, Vechev, POPL 2019.) A lower
bound is minus an upper bound on ``−c·v_t``.

The coefficients are computed in float64. If a product ``c M`` has the error ``E``, the bound has an
error of at most ``|E|·|v|``, and ``|v|`` is at most the magnitude of the bounds already proven:
these errors are summed and added, so that the enclosures hold in real arithmetic.

Rows of ``C`` do not depend on each other: they are replaced in blocks, and the deadline is checked
between blocks. Every bound is valid by itself, so a pass that ends early is valid, too.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import (
    UNIT_ROUNDOFF,
    FloatArray,
    IntArray,
    Matrix,
    count_of_entries,
    dense,
    placed,
    relative_error,
)
from verix_encodings.bounds.dominance import candidates
from verix_encodings.bounds.interval import (
    Bounds,
    Interval,
    Late,
    Region,
    forward_interval,
    never,
)
from verix_encodings.bounds.strips import best_lines
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Affine, Max, Node, Relu, Smooth

# above this share of entries that are not zero, a product with an ndarray is faster
_SPARSE = 0.1

# products of a block of rows with the matrices behind it: about a second's work
_BLOCK = 10**9
_LEAST_ROWS = 32


def crown_bounds(
    network: Network, region: Region, known: Bounds = (), late: Late = never
) -> Bounds:
    """Bound every value of ``network`` over the inputs in ``region``, inside interval arithmetic.

    ``known`` are bounds proven already for the first values; they are returned as they are. Values
    that no activation reads, and neurons that interval arithmetic decides, keep its bounds,
    except for the output. Once ``late()``, so do all remaining neurons: the bounds hold, but they
    are wider. Raises ``OverflowError`` as :func:`interval_bounds` does.
    """
    readers = readers_of(network)
    last = len(network.nodes)
    bounds: list[Interval] = list(known) or [region.box]
    for value, node in enumerate(network.nodes, start=1):
        if value < len(known):
            continue
        interval = forward_interval(node, region, bounds, value)
        bounds.append(interval)
        if value == last:
            rows = np.arange(network.sizes[value])
        else:
            rows = undecided(readers.get(value, []), interval)
        # over the input alone interval arithmetic is exact
        if rows.size and any(source != 0 for source in node.sources):
            bounds[value] = _tightened(network, region, bounds, value, rows, late=late)
    return tuple(bounds)


def readers_of(network: Network) -> dict[int, list[Relu | Max | Smooth]]:
    """Return the activations that read each value; values without one have no entry."""
    readers: dict[int, list[Relu | Max | Smooth]] = {}
    for node in network.nodes:
        if isinstance(node, Relu | Max | Smooth):
            readers.setdefault(node.source, []).append(node)
    return readers


def undecided(readers: list[Relu | Max | Smooth], interval: Interval) -> IntArray:
    """Return the neurons that the ``interval`` leaves open for a reader: phases, maxima, curves."""
    open_ = np.zeros(interval.lower.size, dtype=bool)
    for reader in readers:
        if isinstance(reader, Max):
            open_[reader.indices[candidates(reader, interval).open]] = True
        elif isinstance(reader, Smooth):
            # every bound shapes the lines around it
            open_ |= interval.lower < interval.upper
        else:
            open_ |= (interval.lower < 0) & (interval.upper > 0)
    return np.flatnonzero(open_)


def _tightened(
    network: Network,
    region: Region,
    bounds: list[Interval],
    value: int,
    rows: IntArray,
    *,
    late: Late,
) -> Interval:
    lower, upper = bounds[value].lower.copy(), bounds[value].upper.copy()
    errors = _errors(network, tuple(bounds), value)
    for block in _blocks(network, value, rows):
        if late():
            break
        signs = np.repeat([1.0, -1.0], block.size)
        # as sparse as the network is: a neuron of a convolution depends on a few of those before it
        shape = signs.size, network.sizes[value]
        units = placed(signs, np.arange(signs.size), np.tile(block, 2), shape)
        with np.errstate(over="ignore", invalid="ignore"):
            extremes = upper_bounds(network, region, tuple(bounds), value, units, errors=errors)
        # a NaN, from coefficients that overflowed, is no bound: the known one stays
        upper[block] = np.fmin(upper[block], extremes[: block.size])
        lower[block] = np.fmax(lower[block], -extremes[block.size :])
    return Interval(lower, upper)


def _blocks(network: Network, value: int, rows: IntArray) -> list[IntArray]:
    """Return ``rows`` in blocks of a second or so each, by the most entries that they can meet."""
    nodes = [node for node in network.nodes[:value] if isinstance(node, Affine)]
    entries = sum(count_of_entries(matrix) for node in nodes for _, matrix in node.terms)
    at_once = max(_LEAST_ROWS, _BLOCK // max(2 * entries, 1))
    return [rows[first : first + at_once] for first in range(0, rows.size, at_once)]


def _errors(network: Network, bounds: Bounds, value: int) -> dict[int, FloatArray]:
    """Return the rounding errors of each affine value up to ``value``."""
    nodes = enumerate(network.nodes[:value], start=1)
    return {i: _error(node, bounds) for i, node in nodes if isinstance(node, Affine)}


def _error(node: Affine, bounds: Bounds) -> FloatArray:
    reach = np.abs(node.bias)
    for source, matrix in node.terms:
        reach = reach + abs(matrix) @ bounds[source].magnitude
    error: FloatArray = relative_error(node.bias.size) * reach
    return error + node.deviation(lambda source: bounds[source].magnitude)


def upper_bounds(
    network: Network,
    region: Region,
    bounds: Bounds,
    value: int,
    coefficients: Matrix,
    *,
    errors: dict[int, FloatArray] | None = None,
) -> FloatArray:
    """Bound ``C v`` from above for the value ``v`` numbered ``value``; shape (rows of C,).

    ``bounds`` must be valid for the values before ``value``; ``coefficients`` is ``C``; ``errors``
    are those of :func:`upper_form`.
    """
    form = upper_form(network, bounds, value, coefficients, errors)
    total = form.constant + region.greatest(form.coefficients)
    return total + form.error + 8 * UNIT_ROUNDOFF * np.abs(total)


@dataclass(frozen=True, slots=True, eq=False)
class LinearForm:
    """``C v ≤ A x + b + e`` for inputs ``x`` in the region: ``A`` is ``coefficients``.

    ``constant`` is ``b``; ``error`` is ``e``, a bound on the rounding on the way.
    """

    coefficients: Matrix
    constant: FloatArray
    error: FloatArray


def upper_form(
    network: Network,
    bounds: Bounds,
    value: int,
    coefficients: Matrix,
    errors: dict[int, FloatArray] | None = None,
) -> LinearForm:
    """Return a linear form in the input that is above ``C v`` wherever ``bounds`` hold.

    ``errors`` are the rounding errors of the affine values, computed unless they are given.
    """
    errors = _errors(network, bounds, value) if errors is None else errors
    rows = coefficients.shape[0]
    constant, error = np.zeros(rows), np.zeros(rows)
    pending = {value: coefficients}
    for current in range(value, 0, -1):
        c = pending.pop(current, None)
        if c is None:
            continue
        shift, lost, products = _replaced(
            network.nodes[current - 1], bounds, c, errors.get(current)
        )
        constant += shift
        error += lost
        for source, product in products:
            known = pending.get(source)
            pending[source] = product if known is None else known + product
            if known is not None:
                total = abs(known) + abs(product)
                error += relative_error(1) * (total @ bounds[source].magnitude)
    at_input = pending.get(0)
    if at_input is None:
        at_input = sp.csr_array((rows, network.input_size))
    return LinearForm(at_input, constant, error)


def _replaced(
    node: Node, bounds: Bounds, c: Matrix, off: FloatArray | None
) -> tuple[FloatArray, FloatArray, list[tuple[int, Matrix]]]:
    """Replace ``c·v`` by a form in the sources of ``v`` that is above it.

    ``off`` are the rounding errors of an affine value. Returns the form's constant, its rounding
    error, and the coefficients of each source.
    """
    if isinstance(node, Affine):
        assert off is not None
        products = [(source, _filled(c @ matrix)) for source, matrix in node.terms]
        return c @ node.bias, abs(c) @ off, products
    interval = bounds[node.source]
    if isinstance(node, Max):
        above, ceiling, below = _max_relaxation(node, interval)
        positive, negative = _sides(c)
        shift, product = positive @ ceiling, positive @ above + negative @ below
        reach = np.abs(ceiling) + below @ interval.magnitude
    elif isinstance(node, Smooth):
        s_low, b_low, s_high, b_high = best_lines(node.function, interval.lower, interval.upper)
        positive, negative = _sides(c)
        shift, product = positive @ b_high + negative @ b_low, _by_sign(c, s_high, s_low)
        # a slope of σ is at most two
        reach = np.abs(b_low) + np.abs(b_high) + 2.0 * interval.magnitude
    else:
        slope, intercept, floor = _relaxation(interval)
        shift, product = _sides(c)[0] @ intercept, _by_sign(c, slope, floor)
        reach = intercept + interval.magnitude
    return shift, relative_error(reach.size) * (abs(c) @ reach), [(node.source, product)]


def _filled(c: Matrix) -> Matrix:
    """Return ``c`` as an ndarray once it has so many entries that sparse products cost more."""
    rows, columns = c.shape
    return dense(c) if isinstance(c, np.ndarray) or c.nnz > _SPARSE * rows * columns else c


def _sides(c: Matrix) -> tuple[Matrix, Matrix]:
    """Return the positive and the negative part of ``c``."""
    if isinstance(c, np.ndarray):
        return np.maximum(c, 0.0), np.minimum(c, 0.0)
    return c.maximum(0.0), c.minimum(0.0)


def _by_sign(c: Matrix, above: FloatArray, below: FloatArray) -> Matrix:
    """Multiply each column of ``c`` by its factor: ``above`` where c > 0, ``below`` elsewhere."""
    if isinstance(c, np.ndarray):
        return c * np.where(c > 0, above, below)
    factor = np.where(c.data > 0, above[c.indices], below[c.indices])
    # copies: to drop zeros changes these arrays in place, and c is read again
    product = sp.csr_array((c.data * factor, c.indices.copy(), c.indptr.copy()), shape=c.shape)
    product.eliminate_zeros()
    return product


def _relaxation(interval: Interval) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return λ, β and α with ``α z ≤ max(z, 0) ≤ λ z + β`` on the interval, for each neuron."""
    l, u = interval.lower, interval.upper
    unstable = (l < 0) & (u > 0)
    width = np.where(unstable, u - l, 1.0)
    slope = np.where(unstable, u / width, (l >= 0).astype(np.float64))
    # valid for the slope as it was rounded: the line must be above both ends of the graph
    ends = np.maximum(-slope * l, (1.0 - slope) * u)
    intercept = np.where(unstable, ends * (1 + 4 * UNIT_ROUNDOFF) + 4 * UNIT_ROUNDOFF * u, 0.0)
    floor = np.where(unstable, (u > -l).astype(np.float64), slope)
    return slope, intercept, floor


def _max_relaxation(node: Max, interval: Interval) -> tuple[sp.csr_array, FloatArray, sp.csr_array]:
    """Return S, β and B with ``B z ≤ max_j z_j ≤ S z + β``; a row of S is that of B, or zero."""
    found = candidates(node, interval)
    decided = np.ones(node.starts.size)
    decided[node.groups[found.open]] = 0.0
    ceiling = np.where(decided == 1.0, 0.0, node.reduce(interval.upper[node.indices]))
    best = (np.arange(node.starts.size), node.indices[found.best])
    shape = (node.starts.size, interval.lower.size)
    above = sp.csr_array((decided, best), shape)
    return above, ceiling, sp.csr_array((np.ones(node.starts.size), best), shape)
