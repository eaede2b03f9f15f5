"""A lower bound on the cost of all explanations, in exact arithmetic.

Claim. Features have costs, 1 each if none are named. Every explanation, a set of features that
keeps the prediction of the claim, costs no less than the bound, if it holds the features ``must``
and none of ``must_not``.
Scenarios. Let p be an input of the ball and domain, and p(A) be x where features of the set A are,
and p elsewhere. Without rules that join inputs, p(A) is in ball and domain, too: no move is longer.
It differs from x outside A alone, so an explanation A keeps the prediction there: all margins are
negative (of outputs: at most zero).
Network of A. With A_f = 1 for features of the set and 0 for others, input i of p(A) is
p_i - A_f (p_i - x_i). So the neurons of the file become neurons of A, once for each scenario. Their
unit is ``one`` squared, so that products of weights and inputs are whole.
Proof. Costs are multiples of their greatest common divisor. So sets that cost less than the bound
cost at most ``budget``. A tree of cases shows that each of them has a margin above zero, and is no
explanation: a feature is in or out, a neuron is above or below zero. A leaf weighs margins by
numbers w >= 0. If minus their weighted sum is below zero for all A of the case, no A there has all
margins at zero or below. The bound on it is that of claim.py, with slopes and multipliers.
Reach. In a case, A_f is between its ends, and the sum of c_f A_f is at most the budget. For every
m >= 0, the sum of k_f A_f is at most m budget + the sum of (k_f - m c_f) A_f, term by term.
"""

from fractions import Fraction
from math import gcd, inf, lcm
from typing import Any

from verix_checker.claim import Claim
from verix_checker.fields import BOUND, named
from verix_checker.forms import Form
from verix_checker.shapes import require
from verix_checker.words import bound_words


class Budget:
    """The sets of features whose costs are at most ``budget``, in the place of a ball."""

    def __init__(self, count: int, one: int, stated: Any) -> None:
        stated = self.stated = named("claim.minimum", BOUND, stated)
        costs = [Fraction(cost) for cost in stated.get("costs", [1] * count)]
        bound = Fraction(stated["bound"])
        require(len(costs) == count and min(costs) >= 0, "each feature has a cost of at least zero")
        self.must, self.must_not = ({*stated.get(name, ())} for name in ("must", "must_not"))
        apart = not self.must & self.must_not and self.must | self.must_not <= {*range(count)}
        require(apart, "must and must_not name no features, or one twice")
        unit = lcm(bound.denominator, *(cost.denominator for cost in costs))
        self.one, self.costs = one, [0, *(int(cost * unit) for cost in costs)]
        self.step = gcd(*self.costs) or 1
        self.budget = (int(bound * unit) - 1) // self.step * self.step

    def cut(self, low: list[Any], high: list[Any]) -> Any:
        """Move ends of features to 0 or 1; return None if no set is left."""
        low, high = low[:], high[:]
        for v in range(1, len(self.costs)):
            low[v], high[v] = -(-low[v] // self.one) * self.one, high[v] // self.one * self.one
            if low[v] > high[v]:
                return None
        return (low, high) if self.left(low) >= 0 else None

    def left(self, low: list[Any]) -> int:
        """Return the budget without the costs of features that are in."""
        return self.budget - sum(c for c, a in zip(self.costs, low, strict=False) if a)

    def reach(self, form: Form, low: list[Any], high: list[Any]) -> int:
        """Bound a form: features are within the budget, and all values between their ends."""
        result, bought, last = 0, [], len(self.costs)
        for v, k in form.items():
            a, b = (low[v], high[v]) if v < last else (max(low[v], 0), max(high[v], 0))
            if 0 < v < last and a < b and k > 0 and self.costs[v]:
                bought.append((k // self.costs[v], k, self.costs[v]))
            else:
                result += k * (b if k > 0 else a)
        spare = left = self.left(low)
        m = 0
        for ratio, _, cost in sorted(bought, reverse=True):
            spare -= cost
            if spare < 0:
                m = ratio
                break
        return result + self.one * (m * left + sum(max(k - m * c, 0) for _, k, c in bought))


class Copies:
    """Copies of a network, one for each scenario: neurons of the indicators of features."""

    def __init__(self, size: int, depth: int) -> None:
        self.size = size
        self.rows: dict[int, Form] = {}
        self.layers: list[list[int]] = [[] for _ in range(depth)]


class Selections(Claim):
    """Sets of features below a bound; ``margins`` are at most zero for those that are explanations.

    ``low`` and ``high`` are ends of indicators of features, and of neurons of the copies.
    """

    def __init__(self, claim: Claim, stated: Any) -> None:
        count, self.claim, self.one, self.limit = len(claim.groups), claim, claim.one**2, -1
        self.ball: Any = Budget(count, self.one, stated)
        self.net: Any = Copies(count, len(claim.net.layers))
        self.margins: list[Form] = []
        self.feature = {1 + i: 1 + f for f, group in enumerate(claim.groups) for i in group}
        self.low, self.high = [self.one, *[0] * count], [self.one, *[self.one] * count]
        for f in self.ball.must:
            self.low[1 + f] = self.one
        for f in self.ball.must_not:
            self.high[1 + f] = 0

    def point(self, step: Any, moves: Any) -> list[int]:
        """Return the input that is so many steps from x in each coordinate."""
        unit, x = self.claim.net.number(step), self.claim.ball.x
        point = [x[0], *(a + unit * move for a, move in zip(x[1:], moves, strict=True))]
        inside = self.claim.ball.holds(point, {*range(1, len(x))})
        require(inside, "a point is not in the ball and the domain")
        return point

    def add_scenario(self, point: list[int]) -> None:
        """Add the copy and the margins of a scenario."""
        claim, net, size = self.claim, self.net, self.claim.net.size
        require(not (claim.ball.rules or claim.loose), "a scenario of rules or trees")
        shift = net.size + len(net.rows) - size

        def copied(form: Form) -> Form:
            result = {v + shift: k * claim.one for v, k in form.items() if v > size}
            result[0] = sum(k * point[v] for v, k in form.items() if v <= size)
            for v, k in form.items():
                if 0 < v <= size and point[v] != claim.ball.x[v]:
                    f = self.feature[v]
                    result[f] = result.get(f, 0) - k * (point[v] - claim.ball.x[v])
            return result

        net.rows |= {v + shift: copied(row) for v, row in claim.net.rows.items()}
        before, net.layers = net.layers, [[v + shift for v in one] for one in claim.net.layers]
        none = [inf] * len(claim.net.rows)
        self.low, self.high = self.bounds([*self.low, *(-end for end in none)], [*self.high, *none])
        net.layers = [[*a, *b] for a, b in zip(before, net.layers, strict=True)]
        for margin in map(copied, claim.margins):
            margin[0] -= (1 + claim.limit) * claim.one  # those of outputs are rounded up
            self.margins.append(margin)

    def cases(self, tree: Any, low: list[Any], high: list[Any], signs: Any) -> int:
        """Check that a tree leaves no set of features; return the number of its cases."""
        if "neuron" in tree or "input" in tree:
            count = 0
            for side, v, sign, ends in self.halves(tree, low, high):
                count += ends is None  # no set of the case is within the budget
                for under, over in [ends] if ends else []:
                    count += self.cases(tree[side], under, over, {**signs, v: sign})
            return count
        form: Form = {}
        for name, weight in tree["weights"].items():
            require(weight >= 0, "a weight is negative")
            for v, k in self.margins[int(name)].items():
                form[v] = form.get(v, 0) - weight * k
        return self.leaves(form, tree, low, high, signs)


def bounded(claim: Claim, stated: Any, proof: Any) -> str:
    """Check a lower bound on the cost of all explanations; return a line that says so."""
    sets = Selections(claim, stated)
    for moves in proof["scenarios"]:
        sets.add_scenario(sets.point(proof["step"], moves))
    way = "the features that must be in cost as much"
    for low, high in filter(None, [sets.ball.cut(sets.low, sets.high)]):
        way = f"verified; cases: {sets.cases(proof['tree'], low, high, {})}"
    return bound_words(sets.ball.stated, way)
