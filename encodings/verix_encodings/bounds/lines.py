"""Straight lines around activations, and rounding errors of affine maps, where bounds hold.

    v = max(z, 0)      α z ≤ v ≤ λ z + β                     z ∈ [l, u], for each neuron
    v = max_j z_j      z_b ≤ v ≤ z_b or max_j u_j            b the entry with the best lower bound
    v = σ(z)           s⁻ z + b⁻ ≤ v ≤ s⁺ z + b⁺             (``bounds.strips``)

Backward bounds (``bounds.crown``) replace each activation by these lines.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import UNIT_ROUNDOFF, FloatArray, relative_error
from verix_encodings.bounds.dominance import candidates
from verix_encodings.bounds.interval import Bounds, Interval
from verix_encodings.bounds.strips import best_lines
from verix_encodings.network.network import Network
from verix_encodings.network.nodes import Affine, Max, Relu, Smooth


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Lines around an activation: ``B z + b ≤ v ≤ S z + t`` wherever bounds hold.

    ``above`` and ``below`` are the slopes ``S`` and ``B``, vectors of one for each neuron, or
    matrices for maxima; ``ceiling`` and ``floor`` are ``t`` and ``b``. ``reach`` is at least the
    magnitude of all products and intercepts of a neuron.
    """

    above: FloatArray | sp.csr_array
    ceiling: FloatArray
    below: FloatArray | sp.csr_array
    floor: FloatArray
    reach: FloatArray


Relaxation: TypeAlias = dict[int, FloatArray | Lines]
"""The rounding errors of each affine value, and the lines around each activation, by value."""


def relaxation_of(network: Network, bounds: Bounds, value: int) -> Relaxation:
    """Return the relaxation of all nodes up to ``value``; ``bounds`` hold before it."""
    nodes = enumerate(network.nodes[:value], start=1)
    return {
        i: _error(node, bounds) if isinstance(node, Affine) else _lines(node, bounds[node.source])
        for i, node in nodes
    }


def _error(node: Affine, bounds: Bounds) -> FloatArray:
    reach = np.abs(node.bias)
    for source, matrix in node.terms:
        reach = reach + abs(matrix) @ bounds[source].magnitude
    error: FloatArray = relative_error(node.bias.size) * reach
    return error + node.deviation(lambda source: bounds[source].magnitude)


def _lines(node: Relu | Max | Smooth, interval: Interval) -> Lines:
    if isinstance(node, Max):
        above, ceiling, below = _max_relaxation(node, interval)
        reach = np.abs(ceiling) + below @ interval.magnitude
        return Lines(above, ceiling, below, np.zeros_like(ceiling), reach)
    if isinstance(node, Smooth):
        s_low, b_low, s_high, b_high = best_lines(node.function, interval.lower, interval.upper)
        # a slope of σ is at most two
        reach = np.abs(b_low) + np.abs(b_high) + 2.0 * interval.magnitude
        return Lines(s_high, b_high, s_low, b_low, reach)
    slope, intercept, below = relu_lines(interval.lower, interval.upper)
    return Lines(slope, intercept, below, np.zeros_like(below), intercept + interval.magnitude)


def relu_lines(l: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return λ, β and α with ``α z ≤ max(z, 0) ≤ λ z + β`` for ``z ∈ [l, u]``, elementwise."""
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
