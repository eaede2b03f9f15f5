"""Traversals: ways to ask the oracle about features. For one order, all find one explanation.

``sequential`` is the loop of the paper; ``binary`` and ``quickxplain`` ask about halves;
``galloping`` asks about as many features at once as known points and bounds suggest. If the oracle
decides every check, each finds the ``B`` of Algorithm 1: a block is freed only as a whole, and a
feature is kept only once all features before it are decided.

Where bounds alone decide, a knapsack over linear forms suggests blocks. Let ``B`` be free,
``u_j < 0`` the bound on margin ``j`` over its ball, and ``g_ij`` the most that feature ``i`` can
add to CROWN's linear form of the margin (``oracle.room``). The next features ``C`` in the order are
asked about at once as long as

    u_j + κ Σ_{i ∈ C} g_ij < 0    for each margin j

As ``C`` is freed the bounds of neurons widen, so margins grow faster than this form: κ is how much
faster they grew with the last block, and at first with the whole ball. Forms choose the questions;
the bounds over the ball of ``B ∪ C`` prove. A feature that does not fit even with κ = 1 gets no
question, since ``u_j`` does not fall as ``B`` grows. (FAME, ICLR 2026, frees a set by one linear
form over the ball of all features, which in deep networks is too loose to prove the empty set.)
"""

from milp_verix.base.errors import require_one_of
from milp_verix.oracle.verdict import BOUNDS_ALONE, Answer, Verdict
from milp_verix.searches.traversal import Strategy, Walk


def sequential(walk: Walk) -> None:
    """One check for each feature (Wu, Wu, Barrett, NeurIPS 2023, Algorithm 1)."""
    for feature in walk.remaining:
        walk.settle([feature], walk.check([feature]))


def binary(walk: Walk) -> None:
    """Halve blocks until they can be freed at once (Wu, Li, Wu, Barrett, 2024, Algorithm 2)."""
    if len(walk.remaining) > 1:
        _halve(walk, walk.remaining, refuted=None)
    else:
        quickxplain(walk)


def quickxplain(walk: Walk) -> None:
    """Ask about all features first, then halve, as ``binary`` does (Junker, AAAI 2004)."""
    if walk.remaining:
        _decide(walk, walk.remaining)


def _decide(walk: Walk, features: tuple[int, ...]) -> bool:
    """Decide ``features``; return whether all of them were freed."""
    verdict = walk.check(features)
    if verdict.holds or len(features) == 1:
        walk.settle(features, verdict)
    else:
        _halve(walk, features, verdict)
    return verdict.holds


def _halve(walk: Walk, features: tuple[int, ...], refuted: Verdict | None) -> None:
    """Decide two features or more; ``refuted`` is the check of all of them, if one was made."""
    first, second = features[: len(features) // 2], features[len(features) // 2 :]
    if _decide(walk, first) and refuted is not None and refuted.violated:
        # with the first half free, what was refuted is the second half
        if len(second) == 1:
            walk.settle(second, refuted)
        else:
            _halve(walk, second, refuted)
    else:
        _decide(walk, second)


def galloping(walk: Walk) -> None:
    """Use known points, then bounds, then one check of all features expected to go together.

    Counterfactuals from known points are taken for all features at once, since they stay valid as
    ``B`` grows. Then bounds free as many features as they prove. Then one exact check is made of
    the features that :mod:`~milp_verix.oracle.reuse` expects to go together.
    """
    if walk.oracle.exactness == "bounds":
        free_by_forms(walk)
    _free_by_bounds(walk, len(walk.remaining))
    if walk.oracle.exactness != "exact":
        walk.attack(walk.remaining)
    # bounds alone decide one feature as well as a block
    last, most = 0, 1 if walk.oracle.exactness == "bounds" else len(walk.remaining)
    again = False
    while walk.remaining:
        for feature, verdict in walk.flipped().items():
            walk.settle([feature], verdict)
        _free_by_bounds(walk, 1)
        if not walk.remaining:
            return
        expected = walk.oracle.forecast(walk.state.irrelevant, walk.remaining, walk.deadline)
        before = len(walk.state.irrelevant)
        block = walk.remaining[: min(expected or max(1, 2 * last), most)]
        open_ = _settle_front(walk, block, walk.check(block))
        last = len(walk.state.irrelevant) - before
        # a part of a small block is hardly easier: the search for the block goes on, once
        again = bool(open_) and not again and walk.resumes(open_)
        if not again:
            most = max(1, open_ // 4) if open_ else max(most, 2 * last)
        if open_:
            # programs are dear here: attacks need none
            walk.attack(walk.remaining)


def _free_by_bounds(walk: Walk, block: int) -> None:
    """Free the features in front that bounds prove: doubled blocks, halved after the first miss."""
    growing = True
    while block and walk.remaining:
        features = walk.remaining[:block]
        verdict = walk.check(features, bounds_only=True)
        if verdict.holds:
            walk.settle(features, verdict)
            block *= 2 if growing else 1
        else:
            growing = False
            block //= 2


def _settle_front(walk: Walk, block: tuple[int, ...], verdict: Verdict) -> int:
    """Decide the first of ``block``, or more; return the length of one that stayed open, or 0.

    ``verdict`` is the check of all of them.
    """
    beyond: tuple[int, Verdict] | None = None
    while verdict.violated and len(block) > 1:
        length, shorter = walk.oracle.shortest_violated(
            walk.state.irrelevant, block, verdict, walk.deadline
        )
        beyond, block = (block[length - 1], shorter), block[: length - 1]
        if block:
            verdict = walk.check(block)
    if block and (verdict.holds or len(block) == 1):
        walk.settle(block, verdict)
    # a counterfactual for what comes right after the block stays one only if the block is free
    if beyond is not None and (not block or verdict.holds):
        feature, found = beyond
        walk.settle([feature], found)
    return len(block) if not (verdict.holds or verdict.violated) else 0


STRATEGIES: dict[str, Strategy] = {
    "galloping": galloping,
    "sequential": sequential,
    "binary": binary,
    "quickxplain": quickxplain,
}


def resolve_strategy(strategy: str) -> Strategy:
    """Return the traversal called ``strategy``; ``InputError`` for an unknown name."""
    require_one_of(STRATEGIES, strategy, "traversal")
    return STRATEGIES[strategy]


def free_by_forms(walk: Walk) -> None:
    """Decide the features that remain by bounds and attacks; none for L1 and L2."""
    if not (walk.remaining and walk.check((), bounds_only=True).holds):
        return
    attacked, most, factor = False, len(walk.remaining), 1.0
    headroom, whole = walk.oracle.headroom(()), walk.oracle.upper_over_whole
    if headroom is not None and whole is not None:
        factor = headroom.factor(walk.remaining, whole)
    while headroom is not None and walk.remaining:
        for feature in sorted({*walk.remaining}.difference(headroom.fitting(walk.remaining))):
            walk.settle([feature], Verdict(Answer.UNKNOWN, reason=BOUNDS_ALONE))
        block = walk.remaining[: headroom.together(walk.remaining[:most], factor)]
        if len(block) == 1 and not attacked:
            # a counterfactual saves the question about its feature
            walk.attack(walk.remaining)
            attacked = True
        elif block and _freed(walk, block):
            before, headroom = headroom, walk.oracle.headroom(walk.state.irrelevant)
            most = len(walk.remaining)
            factor = factor if headroom is None else before.factor(block, headroom.upper)
        else:
            most = max(1, 2 * len(block) // 3)


def _freed(walk: Walk, block: tuple[int, ...]) -> bool:
    """Ask bounds whether ``block`` can be freed; a single feature that cannot is undecided."""
    verdict = walk.check(block, bounds_only=True)
    if not verdict.holds:
        # a pass that ended early decides nothing
        walk.deadline.require_time()
    if verdict.holds or len(block) == 1:
        walk.settle(block, verdict)
    return verdict.holds
