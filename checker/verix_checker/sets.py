"""Claims about all sets of features at once: lower bounds, features that play no part.

Changes. A point of the ball, domain and rules with another prediction changes a set D of features.
So every set A without a feature of D fails to keep the prediction: the point agrees with x in A.
Kept. If trees of cases prove that the features outside a set S may move, S keeps the prediction,
and so does every set that holds S. Both hold whatever the model is, and for inputs with rules.
Cases. A feature is in a set or not: two cases cover all sets. In a case, I are in, O are out.
Lower bound. Costs are multiples of their greatest common divisor, so sets that cost less than the
bound cost at most a budget. A leaf weighs changes by w >= 0. A set of the case that keeps the
prediction has a feature of each D. Those whose D has no feature in I are left; if the weights of
the ones with feature f add up to c_f at most, for each f that is open, it costs at least the costs
of I and all these weights (a dual solution). A case with D inside of O has no such set.
No part. Let P be features that no minimal explanation has a feature of. Then for every set A of
others, A with P does not keep the prediction, or A alone does. A leaf names D inside of O, or S
inside of I without a feature of P. Conversely, a minimal explanation M with a feature of P would
have M without P keep the prediction, and not be minimal.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import factorial
from typing import Any

from verix_checker.claim import Claim
from verix_checker.minimum import Budget
from verix_checker.numbers import exact, place
from verix_checker.shapes import require
from verix_checker.words import bound_words, said

Set = frozenset[int]
MOST = 16  # features, all subsets of which are counted


def changed_by(claim: Claim, moves: Any) -> Set:
    """Return the features that a point with another prediction changes."""
    point, every = [*claim.ball.x], range(1, 1 + claim.net.size)
    for name, value in moves.items():
        point[1 + place(name)] = claim.ball.value(1 + place(name), value)
    require(claim.ball.holds(point, {*every}), "a change is not in the ball and the domain")
    require(claim.changed(point), "a change has the same prediction")
    moved = {v for v in every if point[v] != claim.ball.x[v]}
    return frozenset(f for f, group in enumerate(claim.groups) if {1 + i for i in group} & moved)


def cases(tree: Any, inside: Set, outside: Set, closed: Callable[[Any, Set, Set], bool]) -> int:
    """Check that all leaves of a tree are closed; return how many there are."""
    if "feature" not in tree:
        require(closed(tree, inside, outside), "a case of sets is open")
        return 1
    f = tree["feature"]
    require(f not in inside | outside, "a feature that is decided")
    found = cases(tree["out"], inside, outside | {f}, closed)
    return found + cases(tree["in"], inside | {f}, outside, closed)


def bounded(claim: Claim, stated: Any, proof: Any) -> str:
    """Check a lower bound on the cost of all explanations; return a line that says so."""
    count = len(claim.groups)
    sets = Budget(count, 1, stated)
    costs, changes = sets.costs[1:], [changed_by(claim, moves) for moves in proof["changes"]]

    def closed(leaf: Any, inside: Set, outside: Set) -> bool:
        total: Any = sum(costs[f] for f in inside)
        spent: dict[int, Any] = {}
        for name, weight in leaf["weights"].items():
            change, number = changes[place(name)], exact(weight)
            require(number >= 0, "a weight is negative")
            if change <= outside:
                return True
            if not change & inside:
                total += number
                spent |= {f: spent.get(f, 0) + number for f in change}
        within = all(spent[f] <= costs[f] for f in spent if f not in outside)
        return within and total > sets.budget

    number = cases(proof["tree"], frozenset(sets.must), frozenset(sets.must_not), closed)
    return bound_words(sets.stated, f"verified; cases: {number}, changes: {len(changes)}")


def family(claim: Claim, proof: Any) -> tuple[list[Set], list[Set]]:
    """Check sets that keep the prediction, and changes; return both."""
    every = {*range(len(claim.groups))}
    changes = [changed_by(claim, moves) for moves in proof["changes"]]
    kept = []
    for one in proof["kept"]:
        fixed = frozenset(one["features"])
        require(fixed <= every, "a set of no features")
        claim.keeps(every - fixed, one["trees"])
        kept.append(fixed)
    return kept, changes


def no_part(claim: Claim, protected: Any, proof: Any) -> str:
    """Check that no minimal explanation has one of some features; return a line that says so."""
    p, (kept, changes) = frozenset(protected), family(claim, proof)
    require(p and p <= {*range(len(claim.groups))}, "no_part names no features")

    def closed(leaf: Any, inside: Set, outside: Set) -> bool:
        require(not p & (inside | outside), "a feature that is asked about")
        if "change" in leaf:
            return bool(changes[leaf["change"]] <= outside)
        return bool(kept[leaf["kept"]] <= inside)

    number = cases(proof["tree"], frozenset(), frozenset(), closed)
    text = f"verified; cases: {number}, sets that keep it: {len(kept)}, changes: {len(changes)}"
    return f"features {said(sorted(p))} play no part in any minimal explanation: {text}"


def importance(claim: Claim, stated: Any, proof: Any) -> Iterator[str]:
    """Check sets and changes, and brackets of the Shapley value; yield a line for each."""
    kept, changes = family(claim, proof)
    for one in kept:
        yield f"features {said(sorted(one))} keep the prediction"
    for one in changes:
        yield f"features {said(sorted(one))} change the prediction"
    if "shapley" not in stated:
        return
    ends = [claim.ball.free_ends(v) for v in range(1 + claim.net.size)]
    moved = [any(ends[1 + i][0] < ends[1 + i][1] for i in group) for group in claim.groups]
    players = [f for f, moves in enumerate(moved) if moves]
    require(len(players) <= MOST and len(stated["shapley"]) == len(moved), "too many features")
    bit = {f: 1 << i for i, f in enumerate(players)}
    held, lost = ([sum(bit.get(f, 0) for f in one) for one in sets] for sets in (kept, changes))
    kept_by = [any(k & s == k for k in held) for s in range(1 << len(players))]
    lost_by = [not all(c & s for c in lost) for s in range(1 << len(players))]
    m = len(players)
    shares = [Fraction(factorial(k) * factorial(m - 1 - k), factorial(m)) for k in range(m)]
    for f, (low, high) in enumerate(stated["shapley"]):
        least, most, own = Fraction(0), Fraction(0), bit.get(f, 0)
        for s in range(1 << m) if own else ():
            if not s & own:
                least += shares[s.bit_count()] * (lost_by[s] and kept_by[s | own])
                most += shares[s.bit_count()] * (not kept_by[s] and not lost_by[s | own])
        require(low <= least and most <= high, f"the importance of feature {f}")
        yield f"feature {f}: a Shapley value from {low} to {high}"
