"""Dominance: the entries of a group that can be its maximum, given bounds.

    b = argmax_j l_j                the best lower bound of the group, the first of several
    u_j ≤ l_b  (j ≠ b)   ⇒   z_j ≤ z_b, and the maximum needs j no more

An entry that another one dominates is dominated by ``b`` too, so one comparison finds them all. The
*candidates* are ``b``, and every ``j`` with ``u_j > l_b``.
"""

from dataclasses import dataclass

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.interval import Interval
from verix_encodings.network.nodes import Max


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The candidates of the groups of a maximum.

    ``best`` holds for each group the position of ``b`` in ``node.indices``; ``open`` marks the
    positions of candidates in groups that have more than one.
    """

    best: IntArray
    open: BoolArray


def candidates(node: Max, interval: Interval) -> Candidates:
    """Return the candidates of ``node``, whose source lies in ``interval``."""
    groups = node.groups
    lower, upper = interval.lower[node.indices], interval.upper[node.indices]
    greatest: FloatArray = node.reduce(lower)
    attains = np.flatnonzero(lower == greatest[groups])
    _, first = np.unique(groups[attains], return_index=True)
    best = attains[first]
    candidate = upper > greatest[groups]
    candidate[best] = True
    count = np.bincount(groups[candidate], minlength=node.starts.size)
    return Candidates(best, candidate & (count[groups] > 1))
