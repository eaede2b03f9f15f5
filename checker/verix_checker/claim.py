"""The claim of a certificate, and the trees of cases that prove it: the argument of the checker.

Numbers are integers over one denominator; only bounds are rounded, outward.
Claim. f is the network of the file, its weights taken exactly. X are the inputs x' of the ball, the
domain and the rules that differ from x in irrelevant features alone (ball.py). A class c is kept if
f_j(x') < f_c(x') for all x' in X and rivals j; outputs are kept if |f(x') - f(x)| <= delta. So
margins, affine in f, must be negative (of outputs: at most zero) everywhere in X.
Network. Run on forms, sums of numbers times variables, the file becomes a list of neurons
a = max(z, 0), with z a form in inputs and earlier neurons (neurons.py). Both are run and must agree
(guard.py), before a word is said.
Bound. Let l <= z <= u. If l >= 0, a = z; if u <= 0, a = 0. Otherwise, for every s in [0, 1],
s z <= a <= s z + t with t = max(-s l, (1 - s) u): a is convex, this line above both ends. Replacing
neurons of a form by lines, last ones first, leaves a form in the inputs that is above it. Its
greatest value over X is a bound. The same for z and -z, layer by layer, gives l and u.
Proof. A tree of cases for each margin: a neuron has z >= 0 or z <= 0, an input is above or below a
number. Two cases cover everything. At each leaf the bound must be negative, unless no input of X is
left. New ends of inputs give new l and u. Where z >= 0 is supposed, m z with m >= 0 may be added to
the margin, and -m z where z <= 0 is: that only raises it. The proof names slopes s and multipliers
m; all are valid, and good ones succeed.
Needed. A point of the ball, domain and rules that differs from x in irrelevant features and in
feature i alone, with another prediction, shows that i is needed. Lower bounds: minimum.py.
"""

from itertools import chain, product
from math import ceil, floor, inf
from typing import Any

from verix_checker.claim_inputs import Ball
from verix_checker.fields import CLAIM, named
from verix_checker.forms import Form
from verix_checker.neurons import Network
from verix_checker.numbers import exact
from verix_checker.shapes import require

GRID = 2**24  # slopes are multiples of 1 / GRID
MOST_BITS = 2000


class Claim:
    """The claim of a certificate; ``low`` and ``high`` are ends of inputs, and of z of neurons."""

    loose = False  # inputs that may move without end have no bound

    def __init__(self, model: bytes, claim: Any, beside: Any = None) -> None:
        claim = self.stated = named("claim", CLAIM, claim)
        odd, bits = claim.get("odd", 1), claim["bits"]
        require(odd and bits <= MOST_BITS, f"odd is zero, or bits are more than {MOST_BITS}")
        self.one = odd << bits
        net = self.net = self.read(model, claim, beside)
        self.ball, self.groups = Ball(net, claim), claim["features"]
        self.irrelevant, self.kept = {*claim["irrelevant"]}, {*range(len(self.groups))}
        whole = all(self.groups) and sorted(chain(*self.groups)) == [*range(net.size)]
        require(whole, "the features are no partition of the inputs")
        require(self.irrelevant <= self.kept, "an irrelevant feature is none")
        self.kept -= self.irrelevant
        require(self.ball.holds(self.ball.x, set()), "the input is not in the ball and the domain")
        self.low, self.high = self.within(self.irrelevant)
        self.margins, self.limit = self.margins_of(net.forms, claim)

    def read(self, model: bytes, claim: Any, beside: Any) -> Any:
        """Return the network of the claim."""
        own = "output" in claim and "source" not in claim
        require(own, "a network has an output and no source")
        net = Network(model, self.one, claim["output"], beside)
        require(net.vector, "the output is no vector of scores")
        own = {*(beside or ())} <= net.places
        require(own, "a file beside the network that holds no weights of it")
        return net

    def within(self, features: Any) -> tuple[list[Any], list[Any]]:
        """Return ends of inputs and neurons where features are free."""
        ends = self.ball.ends(self.variables(features), self.loose)
        low, high = self.ball.cut(*ends) or ends
        none = [inf] * len(self.net.rows)
        return self.bounds([*low, *(-end for end in none)], [*high, *none])

    def keeps(self, features: Any, trees: Any) -> list[int]:
        """Check that trees prove all margins where features are free; return their leaves."""
        low, high = (self.low, self.high) if features == self.irrelevant else self.within(features)
        pairs = zip(self.margins, trees, strict=True)
        return [self.leaves(margin, tree, low, high, {}) for margin, tree in pairs]

    def changed(self, point: list[int]) -> bool:
        """Return whether the prediction at a point is another."""
        return bool(max(self.net.values(point, self.margins)) * self.one > 1 + self.limit)

    def margins_of(self, f: list[Form], claim: Any) -> tuple[list[Form], int]:
        """Return the margins, and the most that each may be."""
        one, total, c = self.one, self.net.total, claim.get("class")
        beside, every = {*claim} & {"against", "delta", "outputs"}, {*range(len(f))}
        if c is None:
            wanted = beside == {"delta", "outputs"} and {*claim["outputs"]} <= every
            require(wanted and claim["outputs"], "delta and outputs name no values to keep")
            require(not self.net.ordered, "outputs behind a Softmax or Sigmoid")
            at_x, margins = self.net.values(self.ball.x, f), list[Form]()
            delta = self.net.number(claim["delta"])
            for k, sign in product(claim["outputs"], (one, -one)):
                margins.append(total((sign, f[k]), (one, ceil(-sign * at_x[k]) - delta)))
            return margins, 0  # each is rounded up, by less than a unit
        require(c < max(2, len(f)), "there is no such class")
        require(beside <= {"against"}, "delta or outputs beside a class")
        if len(f) == 1:  # class 1 is where the score is above zero
            require(not beside, "against names rivals, and a single score has none to choose")
            return [total((-one if c else one, f[0]))], -1
        self.rivals = sorted(claim.get("against", every - {c}))
        require(self.rivals and {*self.rivals} <= every - {c}, "against names no rivals")
        return [total((one, f[j]), (-one, f[c])) for j in self.rivals], -1

    def variables(self, features: Any) -> set[int]:
        """Return the variables of features."""
        return {1 + i for feature in features for i in self.groups[feature]}

    def upper(self, form: Form, low: Any, high: Any, layers: Any, s: Any = (), m: Any = ()) -> int:
        """Bound a form, its neurons in ``layers`` replaced by lines: slopes s, multipliers m."""
        scale, s, m = self.one, dict(s), dict(m)
        for layer in reversed(layers):
            here = {v: form.get(v, 0) for v in layer if v in form or v in m}
            form = {v: k * self.one * GRID for v, k in form.items() if v not in here}
            for v, k in here.items():
                l, u, slope = low[v], high[v], GRID if low[v] >= 0 else 0
                if l < 0 < u and k > 0:
                    slope = GRID * u // (u - l)
                    form[0] = form.get(0, 0) + k * max(-slope * l, (GRID - slope) * u)
                elif l < 0 < u:
                    slope = s.get(v, GRID if u > -l else 0)
                times = k * slope + floor(m.get(v, 0) * scale) * GRID
                for w, weight in self.net.rows[v].items() if times else ():
                    form[w] = form.get(w, 0) + times * weight
            scale *= self.one * GRID
        return int(-(-self.ball.reach(form, low, high) // scale))

    def bounds(self, low: list[Any], high: list[Any]) -> tuple[list[Any], list[Any]]:
        """Tighten ends of neurons: intervals first, lines for those that may have either sign."""
        low, high = low[:], high[:]
        for d, layer in enumerate(self.net.layers):
            for v, layers in product(layer, ([], self.net.layers[:d])[: d + 1]):
                if low[v] < 0 < high[v]:
                    minus = {w: -k for w, k in self.net.rows[v].items()}
                    high[v] = min(high[v], self.upper(self.net.rows[v], low, high, layers))
                    low[v] = max(low[v], -self.upper(minus, low, high, layers))
        return low, high

    def halves(self, tree: Any, low: Any, high: Any) -> Any:
        """Yield the name of each case of a tree, its variable and sign, and ends, None if empty."""
        first, last = 1 + self.net.size, len(low)
        v = first + tree["neuron"] if "neuron" in tree else 1 + tree["input"]
        require(first <= v < last if "neuron" in tree else 1 <= v < first, "no such variable")
        at = 0 if "neuron" in tree else floor(exact(tree["at"]) * self.one)
        under, over = high[:], low[:]
        under[v], over[v] = min(high[v], at), max(low[v], at)
        for side, sign, ends in (("below", -1, (low, under)), ("above", 1, (over, high))):
            yield side, v, sign, self.ball.cut(*ends) if v < first else ends

    def leaves(
        self, margin: Form, tree: Any, low: Any, high: Any, cases: Any, *, moved: bool = False
    ) -> int:
        """Check that a tree proves a margin, from inputs ``moved`` or not; return its leaves."""
        if moved and "input" not in tree:
            low, high = self.bounds(low, high)
        if "neuron" in tree or "input" in tree:
            count, split = 0, "input" in tree
            for side, v, sign, ends in self.halves(tree, low, high):
                count += ends is None  # a case without inputs is proven
                for under, over in [ends] if ends else []:
                    now = {**cases, v: sign}
                    count += self.leaves(margin, tree[side], under, over, now, moved=split)
            return count
        first = 1 + self.net.size
        slopes = {first + int(v): floor(exact(s) * GRID) for v, s in tree["slopes"].items()}
        given = {first + int(v): exact(m) for v, m in tree["multipliers"].items()}
        require(given.keys() <= cases.keys(), "a multiplier of a neuron that is not split")
        signed = {v: cases[v] * m for v, m in given.items()}
        require(all(0 <= s <= GRID for s in slopes.values()), "a slope is not in [0, 1]")
        require(all(m * cases[v] >= 0 for v, m in signed.items()), "a multiplier is negative")
        bound = self.upper(margin, low, high, self.net.layers, slopes, signed)
        require(bound <= self.limit, f"a case proves no more than {bound / self.one:.3g}")
        return 1
