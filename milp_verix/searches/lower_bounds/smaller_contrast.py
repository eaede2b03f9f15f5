"""Fewer features that still change the prediction: prefixes by first-order gain, then one by one.

At a perturbation ``δ`` of some features, each adds about ``Σ_{i ∈ f} g_i δ_i`` to the worst margin
with gradient ``g``. The shortest prefix of the features, largest gain first, that keeps the margin
above zero is found by forward passes in batches; climbs inside that prefix raise the margin again,
and allow a shorter one. The result need not be minimal.
"""

import numpy as np

from milp_verix.oracle.perturbation_set import PerturbationSet
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.interval import Late
from verix_encodings.network import batch_outputs, batch_slopes

_ROUNDS = 6  # of prefixes and climbs; not measured
_PREFIXES = 8  # evaluated in one pass; not measured
_ONE_BY_ONE = 64  # features at most that are left out one by one; not measured


def smaller_contrast(
    perturbations: PerturbationSet,
    needed: FloatArray,
    free: BoolArray,
    delta: FloatArray,
    late: Late,
) -> tuple[BoolArray, FloatArray]:
    """Return fewer of the features ``free``, and a change of them that changes the prediction.

    ``delta``, shape (d,), changes it by all of ``free``, shape (features,): it raises a margin
    above ``needed``, (m,). Once ``late()``, the features so far are returned.
    """
    order = np.flatnonzero(free)
    for _ in range(_ROUNDS):
        order = _shortest(perturbations, needed, _ranked(perturbations, needed, free, delta), delta)
        fewer = np.isin(np.arange(free.size), order)
        shorter = fewer.sum() < free.sum()
        free = fewer
        if not shorter or late():
            break
        delta = _climbed(perturbations, needed, free, delta, late)[1]
    for feature in order[::-1] if order.size <= _ONE_BY_ONE else ():
        if late():
            break
        without = free.copy()
        without[feature] = False
        harmful, climbed = _climbed(perturbations, needed, without, delta, late)
        if harmful:
            free, delta = without, climbed
    return free, delta


def _climbed(
    p: PerturbationSet, needed: FloatArray, free: BoolArray, delta: FloatArray, late: Late
) -> tuple[bool, FloatArray]:
    """Climb the margins from ``delta``; return whether one exceeds what is needed, and where."""
    deltas, values = p.worst(p.weight(~free), delta[:, None], 1, late)
    margin = int(np.argmax(values - needed))
    return bool(values[margin] > needed[margin]), deltas[:, margin]


def _ranked(p: PerturbationSet, needed: FloatArray, free: BoolArray, delta: FloatArray) -> IntArray:
    """Return the features ``free``, those with the largest first-order gain first."""
    weight = p.weight(~free)
    there = (p.centre + weight * delta)[:, None]
    worst = np.argmax(batch_outputs(p.margins, there)[:, 0] - needed)
    slope = batch_slopes(p.margins, there, np.array([worst]))[:, 0]
    gains = np.zeros(free.size)
    np.add.at(gains, p.feature_of, weight * slope * delta)
    features = np.flatnonzero(free)
    return np.asarray(features[np.argsort(-gains[features], kind="stable")])


def _shortest(
    p: PerturbationSet, needed: FloatArray, order: IntArray, delta: FloatArray
) -> IntArray:
    """Return the shortest prefix of ``order`` found whose change by ``delta`` is harmful."""
    low, high = 0, order.size
    while high - low > 1:
        lengths = np.unique(np.linspace(low, high, _PREFIXES + 2).astype(int)[1:-1])
        lengths = lengths[(lengths > low) & (lengths < high)]
        moved = np.zeros((int(p.feature_of.max()) + 1, lengths.size))
        for column, length in enumerate(lengths):
            moved[order[:length], column] = 1.0
        inputs = p.centre[:, None] + moved[p.feature_of] * delta[:, None]
        reached = batch_outputs(p.margins, inputs) - needed[:, None]
        harmful = np.flatnonzero(reached.max(axis=0) > 0)
        first = int(harmful[0]) if harmful.size else lengths.size
        low = int(lengths[first - 1]) if first else low
        high = int(lengths[first]) if harmful.size else high
    return order[:high]
