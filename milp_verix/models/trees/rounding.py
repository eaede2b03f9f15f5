"""Bounds on the rounding of sums over trees."""

from collections.abc import Sequence

import numpy as np

from verix_encodings.arrays import FloatArray
from verix_encodings.kinds.tree_ensemble import Tree

_UNIT = 2.0**-24


def single_precision(operations: int) -> float:
    """Return γ_n of float32: the relative error of ``n`` operations, for sums of magnitudes.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1.
    """
    return operations * _UNIT / (1.0 - operations * _UNIT) * (1.0 + 1e-9)


def largest_values(trees: Sequence[Tree], scores: int) -> FloatArray:
    """Return the sum over trees of the largest magnitude of a leaf's value, shape (scores,)."""
    each = [np.abs(tree.value).max(axis=0) for tree in trees]
    return np.asarray(np.sum([*each, np.zeros(scores)], axis=0))
