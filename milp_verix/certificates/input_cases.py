"""Splits of inputs that prove a margin where phases do not: of whole numbers between them.

Over the hull, half a town counts as an input. A search over boxes of inputs
(:mod:`~milp_verix.oracle.engines.input_split`) leaves such inputs out, in float64. Its splits make
a tree, whose leaves the checker proves in exact arithmetic; phases are split where it does not.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.certificates.claims import exact
from milp_verix.certificates.leaves import NoProofError
from milp_verix.certificates.neurons import Ends, rounded_claim
from milp_verix.oracle.engines.input_split import BoxSearch, Split
from milp_verix.oracle.statistics import TIME_LIMIT
from verix_checker.ball import Ball
from verix_checker.claim import Claim
from verix_encodings.arrays import FloatArray
from verix_encodings.bounds.mixed_domain import HalfSpace, MixedDomain

SPARE = 1e-6
"""The share of a margin's magnitude that a bound is below zero before it is rounded."""


def input_splits(claim: Claim, margin: int, deadline: Deadline) -> dict[bytes, Split]:
    """Return splits of boxes, by their keys, that prove a margin, or raise ``NoProofError``."""
    neurons = rounded_claim(claim, [margin])
    network, domain = neurons.network, domain_of(claim.ball)
    splits: dict[bytes, Split] = {}

    def changes(point: FloatArray) -> bool:
        inside = True
        if domain is not None:  # climbs leave whole numbers
            whole = np.where(domain.integral, np.round(point), point)
            inside = bool(np.all(whole == point) and domain.nearly(point[None])[0])
        return inside and bool(network.evaluate(point)[0] >= 0)

    search = BoxSearch(
        network,
        neurons.region,
        neurons.bounds,
        neurons.bounds[-1].upper,
        SPARE * neurons.bounds[-1].magnitude,
        changes,
        domain,
        splits,
    )
    with np.errstate(over="ignore", invalid="ignore"):
        if search.run(deadline.passed):
            return splits
    if search.tried.found:
        raise NoProofError("a point of the ball has another prediction in float64")
    raise NoProofError(TIME_LIMIT if deadline.passed() else "a margin is too close to zero")


def tree_of_splits(
    claim: Claim, splits: Mapping[bytes, Split], leaf: Callable[[Ends], dict[str, Any]]
) -> dict[str, Any]:
    """Return the tree that ``splits`` make; ``leaf`` proves a case within some ends."""
    children = {key for split in splits.values() for key in (split.below, split.above)}
    root = next(iter(splits.keys() - children), None)

    def tree(key: bytes | None, ends: Ends) -> dict[str, Any]:
        if key is None or key not in splits:
            return leaf(ends)
        split = splits[key]
        made: dict[str, Any] = {"input": split.axis, "at": exact(split.at)}
        children = {"below": split.below, "above": split.above}
        for side, _, _, within in claim.halves(made, *ends):
            # the checker does not look at a case without inputs
            made[side] = {} if within is None else tree(children[side], within)
        return made

    return tree(root, (claim.low, claim.high))


def domain_of(ball: Ball) -> MixedDomain | None:
    """Return whole numbers and rules of a ball in float64; None if there are none."""
    if not (ball.whole or ball.rules):
        return None
    integral = np.zeros(ball.size, dtype=bool)
    integral[[v - 1 for v in ball.whole]] = True
    clauses = tuple(tuple(_half(ball, *row) for row in rule) for rule in ball.rules)
    return MixedDomain(integral, clauses, tuple(np.array(block) - 1 for block in ball.blocks))


def _half(ball: Ball, factors: Mapping[int, int], limit: int, strict: bool) -> HalfSpace:
    places = np.array([v - 1 for v in factors], dtype=np.intp)
    weights = np.array([k / ball.one for k in factors.values()])
    return HalfSpace(places, weights, limit / ball.one**2, strict)
