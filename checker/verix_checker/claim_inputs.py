"""The inputs of a claim, in exact arithmetic: a ball inside a domain, whole numbers, and rules.

Numbers are integers over one unit, ``one``. Variable 0 is the constant 1, then come the inputs.
Set. An input x' has finite coordinates, and may differ from x in free variables alone. It lies in
the domain, and in the ball: each |x'_v - x_v| is at most the radius of v, which may be infinite; or
the L1 or L2 norm of x' - x is at most epsilon. Whole numbers are whole. The variables of a one-hot
block are 0 or 1, with the sum 1. A rule has rows, sums of numbers times variables, of which one at
least is at most its limit (below it, if it is strict).
Cut. Ends of variables are moved, and no input is lost: ends of whole numbers to whole numbers; and
if a rule has one row k y that ends leave possible, then k_v y_v <= limit - (least of other terms).
A rule with no such row leaves no input.
Reach. The greatest value of a form over the ends and the ball, or a number above it. In a block and
in the L1 ball, moves are spent on the largest factors first. In the L2 ball, k t is at most
(k t - m t t / 2) + m t t / 2 for every m > 0, and the sum of t t at most what is left of epsilon.
"""

from math import inf, isqrt
from typing import Any

from verix_checker.forms import Form
from verix_checker.neurons import Network
from verix_checker.numbers import place
from verix_checker.shapes import require

Ends = tuple[list[Any], list[Any]]
NORMS = ("linf", "l1", "l2")
FINE = 2**24
ROUNDS = 3  # ends that one rule moves may let another rule move more


class Ball:
    """The inputs of a claim; ``x`` is the input that is explained."""

    def __init__(self, net: Network, claim: Any) -> None:
        one, number, size = net.one, net.number, net.size
        self.one, self.size, self.number = one, size, number
        self.x: list[Any] = [one, *map(number, claim["input"])]
        require(claim["norm"] in NORMS, f"the norm is none of {NORMS}")
        self.norm, self.epsilon = NORMS.index(claim["norm"]), 0
        if isinstance(claim["epsilon"], list):
            require(not self.norm, "radii of coordinates need the norm linf")
            radii: list[Any] = [inf if r is None else number(r) for r in claim["epsilon"]]
        else:
            self.epsilon = number(claim["epsilon"])
            radii = [self.epsilon] * size
        ends = [end if isinstance(end, list) else [end] * size for end in claim["domain"]]
        least = [one, *(-inf if n is None else number(n) for n in ends[0])]
        most = [one, *(inf if n is None else number(n) for n in ends[1])]
        sizes = {len(self.x), 1 + len(radii), len(least), len(most)}
        require(sizes == {1 + size}, "the sizes of input, epsilon and domain differ")
        self.radii, self.domain = [0, *radii], (least, most)
        self.whole = [1 + i for i in claim.get("whole", ())]
        self.blocks = [[1 + i for i in block] for block in claim.get("blocks", ())]
        self.rules = [[self.row(row, number) for row in rule] for rule in claim.get("rules", ())]
        for block in self.blocks:
            for sign in (one, -one):
                self.rules.append([(dict.fromkeys(block, sign), sign * one, False)])
        self.hot = {v for block in self.blocks for v in block}
        require(len(self.hot) == sum(map(len, self.blocks)), "one-hot blocks overlap")
        self.named = {*self.whole, *(v for rule in self.rules for row in rule for v in row[0])}
        require(self.named <= {*range(1, 1 + size)}, "a rule or a whole number is about no input")
        require(self.hot <= {*self.whole}, "a one-hot block of other than whole numbers")
        for v in self.hot:
            least[v], most[v] = max(least[v], 0), min(most[v], one)

    @staticmethod
    def row(row: Any, number: Any) -> tuple[Form, int, bool]:
        """Return the factors of a row, its limit in products of two numbers, and if strict."""
        factors = {1 + place(i): number(k) for i, k in row["factors"].items()}
        return factors, number(row["limit"]) * number(1), row.get("strict", False)

    def holds(self, point: list[int], free: set[int]) -> bool:
        """Return whether a point is in the set, with these variables free."""
        require(all(abs(a) < inf for a in point), "a point has finite coordinates alone")
        moves = [abs(a - b) for a, b in zip(point, self.x, strict=True)]
        near = all(move <= r for move, r in zip(moves, self.radii, strict=True))
        if self.norm:
            far = sum(move**self.norm for move in moves)
            near = self.epsilon >= 0 and far <= self.epsilon**self.norm
        fixed = all(move == 0 or v in free for v, move in enumerate(moves))
        least, most = self.domain
        inside = all(a <= b <= c for a, b, c in zip(least, point, most, strict=True))
        whole = not any(point[v] % self.one for v in self.whole)
        kept = all(any(self.satisfied(row, point) for row in rule) for rule in self.rules)
        return near and fixed and inside and whole and kept

    @staticmethod
    def satisfied(row: tuple[Form, int, bool], point: list[int]) -> bool:
        """Return whether a point satisfies a row of a rule."""
        factors, limit, strict = row
        total = sum(k * point[v] for v, k in factors.items())
        return total < limit if strict else total <= limit

    def free_ends(self, v: int) -> tuple[Any, Any]:
        """Return both ends of an input that is free."""
        least, most, r = self.domain[0][v], self.domain[1][v], self.radii[v]
        low = least if r == inf else max(self.x[v] - r, least)
        return low, most if r == inf else min(self.x[v] + r, most)

    def value(self, v: int, named: Any) -> Any:
        """Return the value of an input that is a number, or "-", "." or "+" for an end or x."""
        low, high = self.free_ends(v)
        known = {"-": low, ".": self.x[v], "+": high}
        return known[named] if named in known else self.number(named)

    def ends(self, free: set[int], loose: bool = False) -> Ends:
        """Return the ends of all inputs, with these variables free; infinite ones if ``loose``."""
        low, high = self.x[:], self.x[:]
        for v in free:
            low[v], high[v] = self.free_ends(v)
            limited = (-inf < low[v] and high[v] < inf) or (loose and v not in self.named)
            require(limited, "an input may move without end")
        return low, high

    def cut(self, low: list[Any], high: list[Any]) -> Ends | None:
        """Return ends that hold the same inputs, or None if there are none."""
        low, high = low[:], high[:]
        for _ in range(ROUNDS):
            for v in self.whole:
                low[v], high[v] = -(-low[v] // self.one * self.one), high[v] // self.one * self.one
            for rule in self.rules:
                found = []
                for factors, limit, _ in rule:
                    least = {v: k * (low[v] if k > 0 else high[v]) for v, k in factors.items()}
                    if sum(least.values()) <= limit:
                        found.append((factors, least, limit - sum(least.values())))
                for factors, least, headroom in found if len(found) == 1 else ():
                    for v, k in factors.items():
                        if k > 0:
                            high[v] = min(high[v], -(-(headroom + least[v]) // k))
                        elif k < 0:
                            low[v] = max(low[v], (headroom + least[v]) // k)
                if not found:
                    return None
            if any(a > b for a, b in zip(low, high, strict=True)):
                return None
        return low, high

    def reach(self, form: Form, low: list[Any], high: list[Any]) -> int:
        """Bound a form: inputs are in the ball, and all values between their ends."""
        size, result, moves, left = self.size, 0, [], self.epsilon**self.norm
        for v, k in form.items():
            a, b = (low[v], high[v]) if v <= size else (max(low[v], 0), max(high[v], 0))
            if v in self.hot:
                continue
            if not self.norm or not 0 < v <= size:
                result += k * (b if k > 0 else a)
                continue
            near = min(max(self.x[v], a), b)  # moves t from there lead away from x
            result, left = result + k * near, left - abs(near - self.x[v]) ** self.norm
            moves.append((abs(k), b - near if k > 0 else near - a))
        for block in self.blocks:
            ways = [(form.get(v, 0), high[v] - low[v]) for v in block]
            result += sum(form.get(v, 0) * low[v] for v in block)
            result += spent(ways, self.one - sum(low[v] for v in block))
        if self.norm == 1:
            result += spent(moves, max(left, 0))
        if self.norm == 2:
            moves = [(k * FINE, headroom) for k, headroom in moves]  # the best m is no integer
            m, rest, free = 1, left, moves
            for _ in range(9):
                m = 1 + isqrt(sum(k * k for k, _ in free) // rest) if rest > 0 else m
                rest = left - sum(headroom * headroom for k, headroom in moves if k > m * headroom)
                free = [(k, headroom) for k, headroom in moves if k <= m * headroom]
            twice = (2 * k * r - m * r * r if k > m * r else -(-k * k // m) for k, r in moves)
            result -= -(m * max(left, 0) + sum(twice)) // (2 * FINE)
        return result


def spent(moves: Any, left: int) -> int:
    """Return the sum of k t with the largest k first: 0 <= t <= room, and the sum of t is left."""
    result = 0
    for k, headroom in sorted(moves, reverse=True):
        result, left = result + k * min(headroom, left), left - min(headroom, left)
    return result
