"""Check the certificate of an explanation: ``python verix_check.py MODEL.onnx proof.json``.

Exit code 0: the claim is proven. 1: it is refused, and why. 2: a file cannot be read. All numbers
are integers over one denominator; only bounds are rounded, outward. The argument:
Claim. f is the network of the file, its weights taken exactly. X are the inputs x' of the domain
with |x' - x| <= epsilon that differ from x in irrelevant features alone. A class c is kept if
f_j(x') < f_c(x') for all x' in X and rivals j; outputs are kept if |f(x') - f(x)| <= delta. So
margins, affine in f, must be negative (of outputs: at most zero) everywhere in X.
Network. Run on forms, sums of numbers times variables, the file becomes a list of neurons
a = max(z, 0), with z a form in inputs and earlier neurons (onnx_neurons.py).
Bound. Let l <= z <= u. If l >= 0, a = z; if u <= 0, a = 0. Otherwise, for every s in [0, 1],
s z <= a <= s z + t with t = max(-s l, (1 - s) u): a is convex, this line above both ends. Replacing
neurons of a form by lines, last ones first, leaves a form in the inputs that is above it. Its
greatest value over X is a bound. The same for z and -z, layer by layer, gives l and u.
Proof. A tree of cases for each margin: a neuron has z >= 0 or z <= 0, an input is above or below a
number. Two cases cover everything. At each leaf the bound must be negative. Where z >= 0 is
supposed, m z with m >= 0 may be added to the margin, and -m z where z <= 0 is: that only raises it.
The proof names slopes s and multipliers m; all are valid, and good ones succeed.
Needed. A point of the ball and domain that differs from x in irrelevant features and feature i
alone, with another prediction, shows that i cannot be left out, too.
"""

import hashlib
import json
import sys
from fractions import Fraction
from itertools import chain, product
from math import ceil, floor, inf, isqrt
from pathlib import Path
from typing import Any

from onnx_neurons import Form, Network, UnreadableError, require

GRID = 2**24  # slopes are multiples of 1 / GRID


class Claim:
    """The claim of a certificate; ``low`` and ``high`` are ends of inputs, and of z of neurons."""

    def __init__(self, model: bytes, claim: Any) -> None:
        one = self.one = 1 << min(claim["bits"], 2000)
        net = self.net = Network(model, one)
        self.x, self.epsilon = [one, *map(net.number, claim["input"])], net.number(claim["epsilon"])
        self.norm, self.groups = ("linf", "l1", "l2").index(claim["norm"]), claim["features"]
        self.irrelevant, self.kept = {*claim["irrelevant"]}, {*range(len(self.groups))}
        ends = [end if isinstance(end, list) else [end] * net.size for end in claim["domain"]]
        self.least = [one, *(-inf if n is None else net.number(n) for n in ends[0])]
        self.most = [one, *(inf if n is None else net.number(n) for n in ends[1])]
        require(sorted(chain(*self.groups)) == [*range(net.size)], "the features are no partition")
        require(self.irrelevant <= self.kept, "an irrelevant feature is none")
        self.kept -= self.irrelevant
        require(self.holds(self.x, set()), "the input is not in the ball and the domain")
        low, high = ([*self.x, *[end] * len(net.rows)] for end in (-inf, inf))
        for v in self.variables(self.irrelevant):
            low[v] = max(self.x[v] - self.epsilon, self.least[v])
            high[v] = min(self.x[v] + self.epsilon, self.most[v])
        self.low, self.high = self.bounds(low, high)
        self.margins, self.limit = self.margins_of(net.outputs(claim["output"]), claim)

    def margins_of(self, f: list[Form], claim: Any) -> tuple[list[Form], int]:
        """Return the margins, and the most that each may be."""
        one, total, c = self.one, self.net.total, claim.get("class")
        if c is None:
            require(not self.net.squashed and min(claim["outputs"]) >= 0, "no values to keep")
            at_x, delta, margins = self.net.values(self.x, f), self.net.number(claim["delta"]), []
            for k, sign in product(claim["outputs"], (one, -one)):
                margins.append(total((sign, f[k]), (one, ceil(-sign * at_x[k]) - delta)))
            return margins, 0  # each is rounded up, by less than a unit
        require(type(c) is int and 0 <= c < max(2, len(f)), "there is no such class")
        if len(f) == 1:  # class 1 is where the score is above zero
            return [total((-one if c else one, f[0]))], -1
        rivals = sorted(claim.get("against", {*range(len(f))} - {c}))
        require(rivals and min(rivals) >= 0, "there is no such rival")
        return [total((one, f[j]), (-one, f[c])) for j in rivals], -1

    def variables(self, features: Any) -> set[int]:
        """Return the variables of features."""
        return {1 + i for feature in features for i in self.groups[feature]}

    def holds(self, point: list[int], free: set[int]) -> bool:
        """Return whether a point is in ball and domain and differs in ``free`` alone."""
        moves = [abs(a - b) for a, b in zip(point, self.x, strict=True)]
        far = sum(move**self.norm for move in moves) if self.norm else max(moves)
        inside = all(a <= b <= c for a, b, c in zip(self.least, point, self.most, strict=True))
        fixed = all(move == 0 or v in free for v, move in enumerate(moves))
        return inside and fixed and self.epsilon >= 0 and far <= self.epsilon ** max(self.norm, 1)

    def reach(self, form: Form, low: list[Any], high: list[Any]) -> int:
        """Bound a form: inputs are in the ball, and all values between their ends."""
        size, result, moves, left = self.net.size, 0, [], self.epsilon**self.norm
        for v, k in form.items():
            a, b = (low[v], high[v]) if v <= size else (max(low[v], 0), max(high[v], 0))
            if not self.norm or not 0 < v <= size:
                result += k * (b if k > 0 else a)
                continue
            near = min(max(self.x[v], a), b)  # moves t from there lead away from x
            result, left = result + k * near, left - abs(near - self.x[v]) ** self.norm
            moves.append((abs(k), b - near if k > 0 else near - a))
        if self.norm == 1:  # the sum of k t, where 0 <= t <= room, and the sum of t <= left
            for k, room in sorted(moves, reverse=True):
                result, left = result + k * max(min(room, left), 0), left - room
        if self.norm == 2:  # the sum of t t <= left; for m > 0, k t = (k t - m t t / 2) + m t t / 2
            m, rest, free = 1, left, moves
            for _ in range(9):
                m = 1 + isqrt(sum(k * k for k, _ in free) // rest) if rest > 0 else m
                rest = left - sum(room * room for k, room in moves if k > m * room)
                free = [(k, room) for k, room in moves if k <= m * room]
            twice = (2 * k * r - m * r * r if k > m * r else -(-k * k // m) for k, r in moves)
            result -= -(m * max(left, 0) + sum(twice)) // 2
        return result

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
        return int(-(-self.reach(form, low, high) // scale))

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

    def leaves(self, margin: Form, tree: Any, low: Any, high: Any, cases: Any) -> int:
        """Check that a tree proves a margin; return the number of its leaves."""
        first, last = 1 + self.net.size, len(low)
        if "neuron" in tree or "input" in tree:
            v = first + tree["neuron"] if "neuron" in tree else 1 + tree["input"]
            require(first <= v < last if "neuron" in tree else 1 <= v < first, "no such variable")
            at = 0 if "neuron" in tree else floor(Fraction(tree["at"]) * self.one)
            under, over = high[:], low[:]
            under[v], over[v] = min(high[v], at), max(low[v], at)
            ends = {("below", -1): (low, under), ("above", 1): (over, high)}
            again = self.bounds if "input" in tree else lambda *ends: ends
            halves = ((tree[key[0]], *again(*ends[key]), {**cases, v: key[1]}) for key in ends)
            return sum(self.leaves(margin, *half) for half in halves)
        slopes = {first + int(v): floor(s * GRID) for v, s in tree["slopes"].items()}
        signed = {first + int(v): cases[first + int(v)] * m for v, m in tree["multipliers"].items()}
        require(all(0 <= s <= GRID for s in slopes.values()), "a slope is not in [0, 1]")
        require(all(m * cases[v] >= 0 for v, m in signed.items()), "a multiplier is negative")
        bound = self.upper(margin, low, high, self.net.layers, slopes, signed)
        require(bound <= self.limit, f"a case proves no more than {bound / self.one:.3g}")
        return 1


def verify(model: bytes, proof: Any) -> Any:
    """Yield a line for each thing verified; raise an error at the first that fails."""
    asked, trees, points = proof["claim"], proof["trees"], proof["points"]
    require(hashlib.sha256(model).hexdigest() == asked["sha256"], "this is another network")
    claim = Claim(model, asked)
    told = {name: asked[name] for name in ("class", "delta", "epsilon", "norm") if name in asked}
    yield f"network: {claim.net.size} inputs, {len(claim.net.rows)} neurons; claim: {told}"
    for margin, tree in zip(claim.margins, trees, strict=True):
        yield f"a margin holds in {claim.leaves(margin, tree, claim.low, claim.high, {})} cases"
    for feature, moved in points.items():
        point, free = [*claim.x], claim.variables({*claim.irrelevant, int(feature)})
        for place, value in moved.items():
            point[1 + int(place)] = claim.net.number(value)
        require(
            int(feature) in claim.kept and claim.holds(point, free), f"point {feature} is outside"
        )
        worst = max(claim.net.values(point, claim.margins)) * claim.one
        require(worst > 1 + claim.limit, f"point {feature} has the same prediction")
        yield f"feature {feature}: needed"
    require({*map(int, points)} == claim.kept or not asked["minimal"], "a feature has no point")
    yield f"VERIFIED: {len(claim.kept)} features keep the prediction, and {len(points)} are needed"


def main(model: str, proof: str) -> int:
    """Check two files, print what is verified, and return the exit code."""
    try:
        given = json.loads(Path(proof).read_bytes(), parse_float=Fraction)
        for line in verify(Path(model).read_bytes(), given):
            print(line)
        return 0
    except Exception as error:
        print(f"REFUSED: {type(error).__name__}: {error}")
        return 2 if isinstance(error, OSError | UnreadableError) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
