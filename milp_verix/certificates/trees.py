"""Trees of cases that prove the margins of a claim, found in float64 and checked exactly.

A margin that backward bounds prove has a tree of one leaf. Other margins are branched on phases
(:mod:`.leaves`), or on inputs if few are free (:mod:`.input_cases`).
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.certificates.input_cases import (
    SPARE,
    input_splits,
    tree_of_splits,
)
from milp_verix.certificates.leaves import (
    BARE,
    DIGITS,
    Cases,
    Leaves,
    NoProofError,
    Tree,
    checked_exactly,
    searched_cases,
    trees_of_cases,
)
from milp_verix.certificates.neurons import Ends, rounded_claim
from milp_verix.certificates.reading import RoundedClaim
from milp_verix.oracle.statistics import TIME_LIMIT
from verix_checker.claim import Claim

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
    """Return a tree for each margin of a claim that the checker accepts, by bounds in float64.

    ``exact`` returns the claim as the checker reads it; it is called for leaves near zero. Raises
    ``NoProofError`` if the deadline passes, or bounds and phases do not prove a margin.
    """

    def exactly(leaf: Tree, margin: int, phases: Mapping[int, int]) -> bool:
        try:
            read = exact()
        except ValueError:
            return False
        return checked_exactly(read, margin, leaf, phases, (read.low, read.high))

    leaves = Leaves(claim, exactly)
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
    """Return a tree for each margin of ``claim`` that the checker accepts.

    Raises ``NoProofError`` if the deadline passes, or no cases are found that prove a margin.
    """
    trees: dict[int, Tree] = {}
    margins = range(len(claim.margins))
    ends = claim.low, claim.high
    for margin in margins:
        if (leaf := _bare(claim, margin, ends)) is not None:
            trees[margin] = leaf
        if deadline.passed():
            raise NoProofError(TIME_LIMIT)
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
    """Return trees of phases that prove ``margins`` within ``ends``; or ``NoProofError``.

    They are searched for until ``turn`` has passed, and proven until ``deadline`` has.
    """

    def exactly(leaf: Tree, output: int, phases: Mapping[int, int]) -> bool:
        if deadline.passed():
            raise NoProofError(TIME_LIMIT)
        return checked_exactly(claim, margins[output], leaf, phases, ends)

    rounded = rounded_claim(claim, margins, ends)
    cases = searched_cases(rounded, np.arange(len(margins)), SPARE, turn)
    with np.errstate(over="ignore", invalid="ignore"):
        found = trees_of_cases(Leaves(rounded, exactly, always=True), cases, DIGITS[1:])
    return {margins[output]: tree for output, tree in found.items()}


def _by_inputs(
    claim: Claim, margins: list[int], deadline: Deadline, turn: Deadline
) -> dict[int, Tree]:
    """Return trees of inputs, and of phases below them, as :func:`_by_phases` does."""

    def leaf(margin: int, within: Ends) -> Tree:
        if deadline.passed():
            raise NoProofError(TIME_LIMIT)
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
