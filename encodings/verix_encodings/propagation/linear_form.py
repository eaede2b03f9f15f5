"""Linear forms in the input that are above a value: one backward pass of CROWN (DeepPoly).

An upper bound on ``c·v_t`` over the box is found by replacing values by their sources, the last
value first, down to the input:

    v = Σ_k M_k v_k + b       c·v = Σ_k (c M_k)·v_k + c·b
    v = max(z, 0), z ∈ [l, u]   c·v ≤ c⁺·(λ z + β) + c⁻·(α z)          per neuron
        u ≤ 0:      λ = β = α = 0
        l ≥ 0:      λ = α = 1, β = 0
        l < 0 < u:  λ = u / (u − l), β = −λ l,  α = 1 if u > −l, else 0
    v = max(z_p, z_q) = z_p + max(d, 0), d = z_q − z_p ∈ [l, u]                     per pair
        c·v ≤ c⁺·(z_p + λ d + β) + c⁻·(z_p + α d)            λ, β, α of the ReLU of d
        c·v ≤ c⁺·max(u_p, u_q)   + c⁻·(z_p + α d)            where l < 0 < u and it pays
    v = σ(z), z ∈ [l, u]        c·v ≤ c⁺·(s⁺ z + b⁺) + c⁻·(s⁻ z + b⁻)               per neuron
    v_0 = x in the region       c·x ≤ the largest c·x there

(Zhang, Weng, Chen, Hsieh, Daniel, NeurIPS 2018; Singh, Gehr, Püschel, Vechev, POPL 2019.) A lower
bound is minus an upper bound on ``−c·v_t``.

The coefficients are computed in float64. If a product ``c M`` has the error ``E``, the bound has an
error of at most ``|E|·|v|``, and ``|v|`` is at most the magnitude of the bounds already proven:
these errors are summed and added, so that the enclosures hold in real arithmetic.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from verix_encodings.arrays import UNIT_ROUNDOFF, FloatArray, Matrix, dense, relative_error
from verix_encodings.bounds.interval import Bounds, Region
from verix_encodings.bounds.lines import Lines, Relaxation, relaxation_of
from verix_encodings.bounds.patches import (
    Coefficients,
    Patch,
    Rows,
    absolute,
    product,
    reached,
    total,
)
from verix_encodings.bounds.phases import Phases, Splits, entries_of
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Affine, Max, Node
from verix_encodings.work import spend_entries


@dataclass(frozen=True, slots=True, eq=False)
class LinearForm:
    """``C v ≤ A x + b + e`` for inputs ``x`` in the region: ``A`` is ``coefficients``.

    ``constant`` is ``b``; ``error`` is ``e``, a bound on the rounding on the way.
    """

    coefficients: Matrix
    constant: FloatArray
    error: FloatArray

    def greatest(self, region: Region) -> FloatArray:
        """Bound the form over ``region`` from above, rounded up; shape (rows,)."""
        total = self.constant + region.greatest(self.coefficients)
        return total + self.error + 8 * UNIT_ROUNDOFF * np.abs(total)


def upper_form(
    network: Network,
    bounds: Bounds,
    value: int,
    coefficients: Matrix,
    relaxation: Relaxation | None = None,
    *,
    slopes: Mapping[int, FloatArray] | None = None,
    met: dict[int, Rows] | None = None,
    splits: Splits | None = None,
) -> LinearForm:
    """Return a linear form in the input that is above ``C v`` wherever ``bounds`` hold.

    ``relaxation`` is :func:`relaxation_of` the nodes, computed unless it is given. ``slopes``
    replace the lower slopes of ReLUs and maxima of pairs, by the number of their value: shape
    (rows of C, neurons), between 0 and 1, and 0 or 1 where the neuron has one phase. ``met``
    receives the coefficients of each value on the way. Row by row, the form is above ``C v`` where
    the phases of ``splits`` hold: the ``slopes`` of these neurons are 0 or 1.
    """
    relaxation = relaxation_of(network, bounds, value) if relaxation is None else relaxation
    slopes = {} if slopes is None else slopes
    rows = coefficients.shape[0]
    constant, error = np.zeros(rows), np.zeros(rows)
    splits = splits or Splits()
    pending: dict[int, Coefficients] = {value: coefficients, **splits.multipliers}
    for current in range(value, 0, -1):
        c = pending.pop(current, None)
        if c is None:
            continue
        if met is not None:
            met[current] = reached(c)
        shift, lost, products = _replaced(
            network.nodes[current - 1],
            c,
            relaxation[current],
            slopes.get(current),
            splits.phases.get(current),
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
    at_input = pending.get(0)
    if at_input is None:
        at_input = np.zeros((rows, network.input_size))
    return LinearForm(dense(at_input), constant, error)


def _replaced(
    node: Node,
    c: Coefficients,
    relaxed: FloatArray | Lines,
    slopes: FloatArray | None,
    phases: Phases | None,
) -> tuple[FloatArray, FloatArray, list[tuple[int, Rows]]]:
    """Replace ``c·v`` by a form in the sources of ``v`` that is above it.

    Returns the form's constant, its rounding error, and the coefficients of each source.
    """
    if isinstance(node, Affine):
        assert isinstance(relaxed, np.ndarray)
        products = [(source, product(c, matrix)) for source, matrix in node.terms]
        c = reached(c)
        return c @ node.bias, absolute(c) @ relaxed, products
    assert isinstance(relaxed, Lines)
    assert not isinstance(node, Affine)
    c, above, below = reached(c), relaxed.above, relaxed.below
    spend_entries((c.entries if isinstance(c, Patch) else c).size, 48)
    positive, negative = _sides(c)
    if phases is not None:
        positive, negative = phases.below_alone(dense(positive), dense(negative))
    shift = positive @ relaxed.ceiling
    if relaxed.floor.any():
        shift += negative @ relaxed.floor
    if isinstance(node, Max) and slopes is not None:
        lower, shares = dense(negative), entries_of(node, above.shape[1])
        before = product(np.hstack([lower * (1.0 - slopes), lower * slopes]), shares)
        before = total(before, product(positive, above))
    elif isinstance(above, np.ndarray) and isinstance(below, np.ndarray):
        below = below if slopes is None else slopes
        if phases is None:
            before = _by_sign(c, above, below)
        else:
            before = dense(positive) * above + dense(negative) * below
    else:
        before = total(product(positive, above), product(negative, below))
    error = relative_error(relaxed.reach.size) * (absolute(c) @ relaxed.reach)
    return shift, error, [(node.entries if isinstance(node, Max) else node.source, before)]


def _sides(c: Rows) -> tuple[Rows, Rows]:
    """Return the positive and the negative part of ``c``."""
    if isinstance(c, Patch):
        return c.of(np.maximum(c.entries, 0.0)), c.of(np.minimum(c.entries, 0.0))
    return np.maximum(c, 0.0), np.minimum(c, 0.0)


def _by_sign(c: Rows, above: FloatArray, below: FloatArray) -> Rows:
    """Multiply each entry of ``c`` by its factor: ``above`` where c > 0, ``below`` elsewhere.

    ``below`` has a factor for each column, or for each entry.
    """
    if isinstance(c, Patch):
        above, below = above[c.columns], below[..., c.columns]
        # a neuron without slopes reaches nothing
        alive = (above != 0) | np.any(np.atleast_2d(below) != 0, axis=0)
        entries = _by_sign(c.entries[:, alive], above[alive], below[..., alive])
        return Patch(dense(entries), c.columns[alive], c.width)
    return c * np.where(c > 0, above, below)
