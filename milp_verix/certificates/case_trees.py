"""Trees of cases that prove the margins of a claim, found in float64 and checked exactly.

A margin that backward bounds prove has a tree of one leaf. Other margins are branched on phases
(:mod:`.leaves`), or on inputs if few are free: of whole numbers between them, since over the hull
half a town counts as an input. A search over boxes of inputs
(:mod:`~milp_verix.oracle.engines.input_split`) leaves such inputs out, in float64. Its splits make
a tree, whose leaves the checker proves in exact arithmetic; phases are split where it does not.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.certificates.certificate import exact
from milp_verix.certificates.phase_leaves import (
    BARE,
    DIGITS,
    Cases,
    Ends,
    NoProofError,
    PhaseLeaves,
    Tree,
    checked_exactly,
    require_time,
    rounded_claim,
    searched_cases,
    trees_of_cases,
)
from milp_verix.certificates.reading import RoundedClaim
from milp_verix.oracle.engines.input_split import BoxSearch, Split
from milp_verix.oracle.verdict import TIME_LIMIT
from verix_checker.claim import Claim
from verix_checker.claim_inputs import Ball
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

    region, bounds, last = neurons.region, neurons.bounds, neurons.bounds[-1]
    spare = SPARE * last.magnitude
    search = BoxSearch(network, region, bounds, last.upper, spare, changes, domain, splits)
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


MOST_FREE = 32
"""The free inputs beyond which they are not split."""

FIRST_TURN = 2.0
"""The seconds of the first turn of a search."""

# the ratio of one turn to the next
_LONGER = 4.0

_QUICK_SPARE = 4e-6
"""The share of a margin's magnitude that quick trees leave to the rounding of leaves."""


def quick_trees(
    claim: RoundedClaim, exact: Callable[[], Claim], deadline: Deadline = NO_LIMIT
) -> list[Tree]:
    """Return a tree for each margin by bounds in float64; ``exact`` decides leaves near zero."""

    def exactly(leaf: Tree, margin: int, phases: Mapping[int, int]) -> bool:
        try:
            read = exact()
        except ValueError:
            return False
        return checked_exactly(read, margin, leaf, phases, (read.low, read.high))

    leaves = PhaseLeaves(claim, exactly)
    with np.errstate(over="ignore", invalid="ignore"):
        count = claim.network.output_size
        dials = leaves.relaxed.first_dials(count)
        whole = Cases(np.arange(count), np.zeros_like(dials), dials)
        trees = dict(enumerate(leaves.accepted(whole, [BARE])))
        left = np.array([margin for margin, tree in trees.items() if tree is None], dtype=np.intp)
        if left.size:
            trees |= trees_of_cases(leaves, searched_cases(claim, left, _QUICK_SPARE, deadline))
    return [tree for tree in trees.values() if tree is not None]


def trees_of(claim: Claim, deadline: Deadline = NO_LIMIT) -> list[Tree]:
    """Return a tree the checker accepts for each margin of ``claim``; or ``NoProofError``."""
    trees: dict[int, Tree] = {}
    margins = range(len(claim.margins))
    ends = claim.low, claim.high
    for margin in margins:
        if (leaf := _bare(claim, margin, ends)) is not None:
            trees[margin] = leaf
        require_time(deadline)
    left = [margin for margin in margins if margin not in trees]
    trees |= _searched(claim, left, deadline) if left else {}
    return [trees[margin] for margin in margins]


def _searched(claim: Claim, margins: list[int], deadline: Deadline) -> dict[int, Tree]:
    """Return trees of phases or of inputs, searched for in turns that grow; or ``NoProofError``."""
    ends = claim.low, claim.high
    ways: list[Callable[[Deadline], dict[int, Tree]]] = [
        lambda turn: _by_phases(claim, margins, ends, deadline, turn)
    ]
    free = {v for v in range(1 + claim.net.size) if claim.low[v] < claim.high[v]}
    if len(free) <= MOST_FREE:
        whole = bool(free & {*claim.ball.whole})
        ways.insert(0 if whole else 1, lambda turn: _by_inputs(claim, margins, deadline, turn))
    seconds, reason = FIRST_TURN, ""
    while ways:
        for way in tuple(ways):
            try:
                return way(deadline if len(ways) == 1 else deadline.within(seconds))
            except NoProofError as error:
                reason = str(error)
                if deadline.passed():
                    raise
                if reason != TIME_LIMIT:
                    ways.remove(way)
        seconds *= _LONGER
    raise NoProofError(reason)


def _by_phases(
    claim: Claim, margins: list[int], ends: Ends, deadline: Deadline, turn: Deadline
) -> dict[int, Tree]:
    """Return trees of phases within ``ends``: found by ``turn``, proven by ``deadline``."""

    def exactly(leaf: Tree, output: int, phases: Mapping[int, int]) -> bool:
        require_time(deadline)
        return checked_exactly(claim, margins[output], leaf, phases, ends)

    rounded = rounded_claim(claim, margins, ends)
    cases = searched_cases(rounded, np.arange(len(margins)), SPARE, turn)
    with np.errstate(over="ignore", invalid="ignore"):
        found = trees_of_cases(PhaseLeaves(rounded, exactly, always=True), cases, DIGITS[1:])
    return {margins[output]: tree for output, tree in found.items()}


def _by_inputs(
    claim: Claim, margins: list[int], deadline: Deadline, turn: Deadline
) -> dict[int, Tree]:
    """Return trees of inputs, and of phases below them, as :func:`_by_phases` does."""

    def leaf(margin: int, within: Ends) -> Tree:
        require_time(deadline)
        ends = claim.bounds(*within)
        if (bare := _bare(claim, margin, ends)) is not None:
            return bare
        return _by_phases(claim, [margin], ends, deadline, deadline)[margin]

    splits = {margin: input_splits(claim, margin, turn) for margin in margins}
    return {
        margin: tree_of_splits(claim, found, partial(leaf, margin))
        for margin, found in splits.items()
    }


def _bare(claim: Claim, margin: int, ends: Ends) -> Tree | None:
    """Return a leaf without numbers if the checker accepts it, else None."""
    leaf: Tree = {"slopes": {}, "multipliers": {}}
    return leaf if checked_exactly(claim, margin, leaf, {}, ends) else None
