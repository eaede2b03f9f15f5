"""Trees of phases that prove the margins of a claim, found and accepted in float64.

A margin that backward bounds prove has a tree of one leaf. Other margins are branched on phases
(:mod:`~milp_verix.oracle.engines.phase_search`). Leaves suppose phases of some neurons, and hold
the slopes and multipliers that closed them, rounded (:mod:`~milp_verix.certification.leaves`).
"""

from collections.abc import Callable, Sequence

import numpy as np

from milp_verix.certification.leaves import BARE, Cases, Leaves
from milp_verix.certification.reading import RoundedClaim
from milp_verix.certification.trees import NoProofError, Tree, reason_of
from milp_verix.clock import NO_LIMIT, Deadline
from milp_verix.oracle.engines.phase_search import PhaseNodes, PhaseSearch
from verix_checker.claim import Claim
from verix_encodings.arrays import BoolArray, IntArray

# the share of a margin's magnitude that a leaf's bound is below zero before it is rounded
_SPARE = 4e-6


def quick_trees(
    claim: RoundedClaim, exact: Callable[[], Claim], deadline: Deadline = NO_LIMIT
) -> list[Tree]:
    """Return a tree for each margin of a claim that the checker accepts.

    ``exact`` returns the claim as the checker reads it; it is called for leaves near zero. Raises
    ``NoProofError`` if the deadline passes, or bounds and phases do not prove a margin.
    """
    leaves = Leaves(claim, exact)
    with np.errstate(over="ignore", invalid="ignore"):
        count = claim.network.output_size
        dials = leaves.relaxed.first_dials(count)
        whole = Cases(np.arange(count), np.zeros_like(dials), dials)
        trees = dict(enumerate(leaves.accepted(whole, [BARE])))
        left = np.array([margin for margin, tree in trees.items() if tree is None], dtype=np.intp)
        if left.size:
            cases = _cases(claim, left, deadline)
            found = leaves.accepted(cases)
            for margin in left.tolist():
                rows = np.flatnonzero(cases.margin == margin)
                trees[margin] = _tree(leaves, cases, found, rows)
    return [tree for tree in trees.values() if tree is not None]


def _cases(claim: RoundedClaim, margins: IntArray, deadline: Deadline) -> Cases:
    """Search for cases that prove the ``margins``; ``NoProofError`` if there are none."""
    network, closed = claim.network, list[PhaseNodes]()
    known = np.full(network.output_size, -np.inf)
    known[margins] = np.inf  # none of these is closed without a node
    search = PhaseSearch(
        network,
        claim.region,
        claim.bounds,
        known,
        _SPARE * claim.bounds[-1].magnitude,
        lambda point: bool(np.max(network.evaluate(point)) >= 0),
        closed,
    )
    if not search.run(deadline.passed):
        raise NoProofError(reason_of(search, deadline))
    nodes = PhaseNodes.joined(closed)
    return Cases(nodes.margin, nodes.signs, nodes.dials)


def _tree(
    leaves: Leaves,
    cases: Cases,
    found: Sequence[Tree | None],
    rows: IntArray,
    above: tuple[int, ...] = (),
) -> Tree:
    """Return the tree of the cases ``rows``, below splits of the places ``above``."""
    common: BoolArray = np.all(cases.signs[rows] != 0, axis=0)
    common[list(above)] = False
    if not common.any():
        leaf = found[int(rows[0])]
        if leaf is None:
            raise NoProofError("exact arithmetic does not confirm a case")
        return leaf
    place = int(np.argmax(common))  # the root of a tree of decisions is in each of its leaves
    signs = cases.signs[rows, place]
    halves = {
        side: _tree(leaves, cases, found, rows[signs == sign], (*above, place))
        for side, sign in (("below", -1), ("above", 1))
    }
    return {"neuron": int(leaves.names[place]), **halves}
