"""Ensembles of trees: their file, what it computes, and the cases that prove a claim about it.

File. A text in JSON, so that no library is needed: the number of ``inputs``, a ``base`` for each
score, and ``trees``, each a list of nodes. A node [i, t, l, r] sends an input x to the node l where
x_i <= t, else to r; both stand behind it, and have no other parent. A leaf {"k": w} adds w to score
k. So each tree has one leaf for each input, a box: low < x_i <= high. Scores are sums of leaves.
Rounding. A library computes within ``rounding`` of these sums. That covers its additions, or is
refused: T numbers added in float64 or float32 are off by T u / (1 - T u) times the sum of their
magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1), with u = 2**-53 or
2**-24. No rounding is named where all sums are exact, being multiples of a power of two, and below
2**53 of it, or 2**24. Then ``ties`` may say where a model sends a tie.
Margins. A class c is kept if each rival's score stays below that of c, by more than the rounding of
both; after exact sums, ties that go to c keep it, too: with several scores the first of the largest
wins (``ties`` is "first"), and a single score of zero is class 1 if it is "upper", 0 if "lower".
Values are kept if they stay within delta, with twice the rounding of each.
Proof. A tree of cases for each margin: an input is at most a number, or above it. In a case, each
tree has some leaves that the box meets. The sum of each tree's highest one bounds the margin.
A case without inputs is proven: some tree has no leaf in it, or it is farther away than the ball.
"""

from fractions import Fraction
from itertools import product
from math import floor, gcd, inf
from typing import Any

from verix_checker.claim import Claim
from verix_checker.fields import FILE, named
from verix_checker.forms import Form, Forms
from verix_checker.numbers import exact, parsed, place
from verix_checker.shapes import MOST, require

Leaf = tuple[dict[int, int], dict[int, list[Any]]]  # numbers by score; the box, by variable


class Ensemble(Forms):
    """The trees of a file, each a list of leaves; variables behind the inputs are their sums."""

    real = "d"

    def __init__(self, model: bytes, one: int) -> None:
        super().__init__(one)
        read = named("the file", FILE, parsed(model))
        self.size, self.base = read["inputs"], [self.number(k) for k in read["base"]]
        require(0 < self.size <= MOST, "the number of inputs")
        self.rounding, self.ties = [self.number(k) for k in read["rounding"]], read["ties"]
        self.first, self.ordered = 1 + self.size, False
        self.trees = [self.leaves_of(nodes) for nodes in read["trees"]]
        self.forms: list[Form] = [{self.first + k: one} for k in range(len(self.base))]
        require(self.forms and len(self.rounding) == len(self.base), "scores")
        self.adds = self.added()

    @property
    def parts(self) -> str:
        """The parts of the ensemble, in words."""
        return f"{len(self.trees)} trees of {sum(map(len, self.trees))} leaves"

    def leaves_of(self, nodes: Any) -> list[Leaf]:
        """Return the leaves of a tree."""
        boxes: dict[int, dict[int, list[Any]]] = {0: {}}
        found: list[Leaf] = []
        for i, node in enumerate(nodes):
            require(i in boxes, "a node without a parent")
            box = boxes.pop(i)
            if isinstance(node, dict):
                numbers = {place(k): self.number(w) for k, w in node.items()}
                require(max(numbers, default=0) < len(self.base), "a leaf adds to no score")
                found.append((numbers, box))
                continue
            require(type(node) is list and len(node) == 4, "a node is no leaf and no split")
            v, at, left, right = node
            require(type(v) is int and 0 <= v < self.size, "a node asks for no input")
            children = type(left) is type(right) is int and i < min(left, right)
            require(children and left != right, "the children of a node")
            low, high = box.get(1 + v, (-inf, inf))
            cut = self.number(at)
            for child, ends in ((left, [low, min(high, cut)]), (right, [max(low, cut), high])):
                require(child not in boxes, "a node with two parents")
                boxes[child] = {**box, 1 + v: ends}
        require(not boxes, "a node that is not there")
        return found

    def added(self) -> str:
        """Return how a library adds, according to the rounding that is allowed for."""
        totals, used = [abs(k) for k in self.base], [1] * len(self.base)
        odd = self.one // (self.one & -self.one)
        step = gcd(*self.base, *(k for t in self.trees for leaf, _ in t for k in leaf.values()))
        power = (step // odd & -(step // odd)) * odd if step % odd == 0 else 0
        for k, tree in product(range(len(totals)), self.trees):
            most = max(abs(leaf.get(k, 0)) for leaf, _ in tree)
            totals[k], used[k] = totals[k] + most, used[k] + bool(most)
        for digits, name in ((24, "float32"), (53, "float64")):
            if not any(self.rounding) and (not step or max(totals) < power << digits):
                return f"sums are exact in {name}"
            parts = zip(self.rounding, used, totals, strict=True)
            if all(r * ((1 << digits) - t) >= t * total for r, t, total in parts):
                require(self.ties is None, "ties of sums that are rounded")
                return f"the rounding of sums in {name} is allowed for"
        raise ValueError("sums are rounded by more than the file says")

    def values(self, point: list[int], forms: list[Form]) -> list[Fraction]:
        """Return the exact values of forms at an input."""
        sums, one = [0] * self.size + self.base, self.one
        for tree in self.trees:
            met = [
                leaf for leaf, box in tree if all(a < point[v] <= b for v, (a, b) in box.items())
            ]
            require(len(met) == 1, "a point meets no leaf of a tree, or several")
            for k, weight in met[0].items():
                sums[self.size + k] += weight
        known = [one, *sums]
        return [Fraction(sum(k * known[v] for v, k in row.items()), one * one) for row in forms]


class TreeClaim(Claim):
    """A claim about trees; ``low`` and ``high`` are ends of inputs."""

    loose = True

    def read(self, model: bytes, claim: Any, beside: Any) -> Any:
        """Return the trees of the claim."""
        require("source" in claim and "output" not in claim and not beside, "no claim about trees")
        return Ensemble(model, self.one)

    def margins_of(self, f: list[Form], claim: Any) -> tuple[list[Form], int]:
        """Return the margins, with all rounding against the claim, and the most each may be."""
        margins, limit = super().margins_of(f, claim)
        net, c, ties = self.net, claim.get("class"), self.net.ties
        known = ("lower", "upper") if len(f) == 1 else ("first",)
        require(ties is None or ties in known, "a rule for ties of another kind")
        self.least = list[int]()  # of a margin where the prediction is another
        for number, margin in enumerate(margins):
            off = sum(abs(k) * net.rounding[v - net.first] for v, k in margin.items() if v)
            off = -(-off // self.one) * (2 if c is None else 1)
            decided = c is not None and ties is not None
            kept = decided and (c == (ties == "upper") if len(f) == 1 else c < self.rivals[number])
            margin[0] = margin.get(0, 0) + off - bool(kept)
            self.least.append(1 + limit + 2 * off - decided)
        return margins, limit

    def changed(self, point: list[int]) -> bool:
        """Return whether the prediction at a point is another, whatever the rounding."""
        values = self.net.values(point, self.margins)
        pairs = zip(values, self.least, strict=True)
        return any(value * self.one > least for value, least in pairs)

    def empty(self, met: Any, low: list[Any], high: list[Any]) -> bool:
        """Return whether a case is without inputs: no leaf of a tree, or none of the ball."""
        norm, x = self.ball.norm, self.ball.x
        moves = (max(low[v] - x[v], x[v] - high[v], 0) for v in range(1, len(x)) if norm)
        return not all(met) or sum(move**norm for move in moves) > self.ball.epsilon**norm

    def leaves(
        self, margin: Form, tree: Any, low: Any, high: Any, cases: Any, *, moved: bool = False
    ) -> int:
        """Check that a tree of cases proves a margin; return the number of cases."""
        net, every = self.net, range(1, 1 + self.net.size)
        factors = {v - net.first: k for v, k in margin.items() if v}
        const = margin.get(0, 0) * self.one + sum(k * net.base[s] for s, k in factors.items())
        met = [
            [(sum(factors.get(s, 0) * w for s, w in leaf.items()), box) for leaf, box in one]
            for one in net.trees
        ]
        return self.closed(const, met, tree, (low, high, cases), every)

    def closed(self, const: int, met: Any, tree: Any, ends: Any, moved: Any) -> int:
        """Check a case, whose ``ends`` have ``moved``; return the number of its leaves.

        ``met`` are the leaves met before; the third of ``ends`` are numbers that inputs are above.
        """
        low, high, above = ends

        def meets(box: dict[int, list[Any]]) -> bool:
            return not any(
                box[v][1] < low[v] or box[v][0] >= high[v] or box[v][1] <= above.get(v, -inf)
                for v in moved
                if v in box
            )

        met = [[leaf for leaf in one if meets(leaf[1])] for one in met]
        if self.empty(met, low, high):
            return 1
        if "input" not in tree:
            require(not tree, "a leaf of trees names nothing")
            total = const + sum(max(weight for weight, _ in one) for one in met)
            bound = -(-total // self.one)
            require(bound <= self.limit, f"a case proves no more than {bound / self.one:.3g}")
            return 1
        count = 0
        for side, v, sign, found in self.halves(tree, low, high):
            count += found is None  # a case without inputs is proven
            for under, over in [found] if found else []:
                least = max(floor(exact(tree["at"]) * self.one), above.get(v, -inf))
                beyond = above if sign < 0 else {**above, v: least}
                now = [
                    w
                    for w in range(1, 1 + self.net.size)
                    if low[w] != under[w] or high[w] != over[w]
                ]
                count += self.closed(const, met, tree[side], (under, over, beyond), {*now, v})
        return count
