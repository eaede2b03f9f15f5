"""A traversal by bounds alone, in blocks that a knapsack over linear forms suggests.

Let ``B`` be free, ``u_j < 0`` the bound on margin ``j`` over its ball, and ``g_ij`` the most that
feature ``i`` can add to CROWN's linear form of the margin (``oracle.room``). The next features
``C`` in the order are asked about at once as long as

    u_j + κ Σ_{i ∈ C} g_ij < 0    for each margin j

As ``C`` is freed the bounds of neurons widen, so margins grow faster than this form: κ is how much
faster they grew with the last block, and at first with the whole ball. Forms choose the questions;
the bounds over the ball of ``B ∪ C`` prove. A feature that does not fit even with κ = 1 gets no
question, since ``u_j`` does not fall as ``B`` grows.

FAME (ICLR 2026) frees a set by one linear form over the ball of all features. In deep networks that
form is too loose to prove even the empty set; bounds over growing sets are not.
"""

from milp_verix.oracle.statistics import BOUNDS_ALONE
from milp_verix.oracle.verdict import Answer, Verdict
from milp_verix.searches.explain.traversal import Walk


def free_by_forms(walk: Walk) -> None:
    """Decide the features that remain by bounds and attacks; raises ``OutOfTimeError``.

    They remain if there is no form: for L1 and L2, and if the empty set is not proven.
    """
    if not (walk.remaining and walk.check((), by_bounds=True).holds):
        return
    attacked, most, factor = False, len(walk.remaining), 1.0
    room, whole = walk.oracle.room(()), walk.oracle.upper_over_whole
    if room is not None and whole is not None:
        factor = room.factor(walk.remaining, whole)
    while room is not None and walk.remaining:
        for feature in sorted({*walk.remaining}.difference(room.fitting(walk.remaining))):
            walk.settle([feature], Verdict(Answer.UNKNOWN, reason=BOUNDS_ALONE))
        block = walk.remaining[: room.together(walk.remaining[:most], factor)]
        if len(block) == 1 and not attacked:
            # a counterfactual saves the question about its feature
            walk.attack(walk.remaining)
            attacked = True
        elif block and _freed(walk, block):
            before, room = room, walk.oracle.room(walk.state.irrelevant)
            most = len(walk.remaining)
            factor = factor if room is None else before.factor(block, room.upper)
        else:
            most = max(1, 2 * len(block) // 3)


def _freed(walk: Walk, block: tuple[int, ...]) -> bool:
    """Ask bounds whether ``block`` can be freed; a single feature that cannot is undecided."""
    verdict = walk.check(block, by_bounds=True)
    if not verdict.holds:
        # a pass that ended early decides nothing
        walk.deadline.check()
    if verdict.holds or len(block) == 1:
        walk.settle(block, verdict)
    return verdict.holds
