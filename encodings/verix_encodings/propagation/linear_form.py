"""Linear forms in the input that are above a value: one backward pass of CROWN (DeepPoly).

An upper bound on ``c·v_t`` over the box is found by replacing values by their sources, the last
value first, down to the input:

    v = Σ_k M_k v_k + b               c·v = Σ_k (c M_k)·v_k + c·b
    s⁻ z + b⁻ ≤ v ≤ s⁺ z + b⁺         c·v ≤ c⁺·(s⁺ z + b⁺) + c⁻·(s⁻ z + b⁻)         per neuron
    v_0 = x in the region             c·x ≤ the largest c·x there

Each kind of node has lines of its own, where the bounds of its sources hold.

(Zhang, Weng, Chen, Hsieh, Daniel, NeurIPS 2018; Singh, Gehr, Püschel, Vechev, POPL 2019.) A lower
bound is minus an upper bound on ``−c·v_t``.

The coefficients are computed in float64. If a product ``c M`` has the error ``E``, the bound has an
error of at most ``|E|·|v|``, and ``|v|`` is at most the magnitude of the bounds already proven:
these errors are summed and added, so that the enclosures hold in real arithmetic.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from verix_encodings.arrays import UNIT_ROUNDOFF, FloatArray, Matrix, dense, relative_error
from verix_encodings.bounds.interval import Bounds, Region
from verix_encodings.bounds.lines import ByValue, Relaxation
from verix_encodings.bounds.patches import Coefficients, Rows, absolute, reached, total
from verix_encodings.bounds.phases import Splits
from verix_encodings.network.network import Network

Relaxations: TypeAlias = dict[int, Relaxation]
"""The forms around each node, by the number of its value."""


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
        if current in splits.parts:
            met_there = np.zeros((rows, network.sizes[current])) if c is None else dense(reached(c))
            c, shift, lost = splits.parts[current].left(met_there)
            constant += shift
            error += lost
        if c is None:
            continue
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
    at_input = pending.get(0)
    if at_input is None:
        at_input = np.zeros((rows, network.input_size))
    if 0 in splits.parts:
        at_input, shift, lost = splits.parts[0].left(dense(at_input))
        constant += shift
        error += lost
    if met is not None:
        met[0] = reached(at_input)
    return LinearForm(dense(at_input), constant, error)


def relaxation_of(network: Network, bounds: Bounds, value: int) -> Relaxations:
    """Return the relaxations of all nodes up to ``value``; ``bounds`` hold before it."""
    found: Relaxations = {}
    extend_relaxation(found, network, bounds, value)
    return found


def extend_relaxation(found: Relaxations, network: Network, bounds: Bounds, value: int) -> None:
    """Add the nodes up to ``value`` that ``found`` for the first nodes does not hold yet.

    ``bounds`` hold before ``value``, and are those that the nodes were added with.
    """
    for i in range(len(found) + 1, value + 1):
        found[i] = network.nodes[i - 1].relaxation(bounds)
