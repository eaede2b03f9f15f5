"""The linear relaxation of scenarios, and the numbers of a leaf that its duals give.

    minimise Σ_f c_f A_f    subject to, for each scenario,
        z = W a + V A + b,    a = z + g,    a ≤ s z + t + e,    margins ≤ 0

``A`` are the indicators of features, ``z`` and ``a`` the neurons as the checker lists them. An
undecided neuron has ``a, g ≥ 0`` and ``e = 0``, with the line ``s z + t`` above it within its
bounds; where ``z ≥ 0`` is supposed, ``a ≥ 0`` and ``g = 0``, and where ``z ≤ 0`` is, ``a = 0`` and
``g ≥ 0``. Neurons with one sign have ``a = z`` or ``a = 0`` and no other row: the sign holds for
sets within the budget alone. So the program has the rows that the checker knows, and no others.

An optimum above the budget closes a case. The duals ``−w`` of margins are their weights. Those of
the rows of ``z`` are ``−κ``: with ``k`` the coefficient that the bound meets at ``a``,

    κ = s k            an undecided neuron, k < 0, with the lower slope s
    κ = k [z ≥ 0] ± m  a neuron whose sign is supposed, with the multiplier m
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from milp_verix.base.clock import Deadline
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers.session import Interrupt
from milp_verix.solvers.warm_lp import LpResult, WarmLp
from verix_checker.minimum import Selections
from verix_encodings import ProgramBuilder
from verix_encodings.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Branch:
    """A case of branch and bound: features out or in, and signs of neurons, by variables.

    ``pricings`` counts looks so far.
    """

    features: dict[int, bool] = field(default_factory=dict)
    signs: dict[int, int] = field(default_factory=dict)
    pricings: int = 0

    def ends(self, sets: Selections) -> tuple[list[Any], list[Any]]:
        """Return the ends of all variables in this case."""
        low, high = sets.low[:], sets.high[:]
        for v, inside in self.features.items():
            low[v], high[v] = (sets.one, high[v]) if inside else (low[v], 0)
        for v, sign in self.signs.items():
            low[v], high[v] = (max(low[v], 0), high[v]) if sign > 0 else (low[v], min(high[v], 0))
        return low, high


class SelectionLp:
    """The relaxation of the scenarios of ``sets``; ``costs`` are those of features, in its unit."""

    def __init__(self, sets: Selections, costs: FloatArray) -> None:
        self.sets, net = sets, sets.claim.net
        size, self.count, self.copies = net.size, costs.size, 0
        neurons, one = list(net.rows), sets.claim.one
        self._place = {v: place for place, v in enumerate(neurons)}
        self.layers = [np.array([self._place[v] for v in layer]) for layer in net.layers]
        self._inner = _matrix(list(net.rows.values()), self._place, one)
        self._heads = _matrix(sets.claim.margins, self._place, one)
        self._features = {1 + f: f for f in range(self.count)}
        self._builder, self._costs, self._size = ProgramBuilder(), costs, size
        ends = (np.array([n / sets.one for n in end]) for end in (sets.low, sets.high))
        low, high = (end[1:] for end in ends)
        self._builder.add_columns("A", np.arange(self.count), low, high)
        self._lp = WarmLp(1, Tolerances(), similar_rows=True)
        self._lower = self._upper = np.zeros(0)
        self.low = self.high = np.zeros((0, len(neurons)))

    def extend(self) -> None:
        """Add the last scenario of ``sets``."""
        sets, neurons, builder = self.sets, len(self._place), self._builder
        first, numbers = 1 + self.count + self.copies * neurons, np.arange(neurons)
        variables = range(first, first + neurons)
        low = np.array([sets.low[v] / sets.one for v in variables])
        high = np.array([sets.high[v] / sets.one for v in variables])
        label, open_ = str(self.copies), (low < 0) & (high > 0)
        z = builder.add_columns(f"z{label}", numbers, -np.inf, np.inf)
        # neurons below zero are 0, those above zero are z, and open ones at least both
        floor, ceiling = np.where(low >= 0, -np.inf, 0.0), np.where(high <= 0, 0.0, np.inf)
        a = builder.add_columns(f"a{label}", numbers, floor, np.where(low >= 0, np.inf, ceiling))
        ends = np.where(open_ | (low >= 0), 0.0, -np.inf), np.where(low >= 0, 0.0, np.inf)
        g = builder.add_columns(f"g{label}", numbers, *ends)
        e = builder.add_columns(f"e{label}", numbers, 0.0, np.where(open_, 0.0, np.inf))
        rows = [sets.net.rows[v] for v in variables]
        chosen = np.arange(self.count)
        terms = [(1.0, z), (-self._inner, a), (-_matrix(rows, self._features, sets.one), chosen)]
        start = np.array([row.get(0, 0) / sets.one for row in rows])
        builder.add_rows(f"z{label}", numbers, terms, start, start)
        builder.add_rows(f"gap{label}", numbers, [(1.0, a), (-1.0, z), (-1.0, g)], 0.0, 0.0)
        slope = np.where(open_, high / np.where(open_, high - low, 1.0), 0.0)
        terms = [(1.0, a), (-slope, z), (-1.0, e)]
        builder.add_rows(f"line{label}", numbers, terms, -np.inf, -slope * low)
        margins = sets.margins[-self._heads.shape[0] :]
        terms = [(self._heads, a), (_matrix(margins, self._features, sets.one), chosen)]
        start = np.array([margin.get(0, 0) / sets.one for margin in margins])
        builder.add_rows(f"margins{label}", np.arange(len(margins)), terms, -np.inf, -start)
        self.low, self.high = np.vstack([self.low, low]), np.vstack([self.high, high])
        self.copies += 1
        program = builder.build()
        (self._lp.extend if self.copies > 1 else self._lp.load)(program)
        self._lp.set_cost(np.pad(self._costs, (0, program.columns - self.count)))
        self._lower, self._upper = program.column_lower, program.column_upper

    def solve(self, case: Branch, cutoff: float, deadline: Deadline) -> LpResult:
        """Minimise the cost of the sets of a case, until it is proven to be above ``cutoff``."""
        lower, upper = self._lower.copy(), self._upper.copy()
        for v, inside in case.features.items():
            lower[v - 1] = upper[v - 1] = float(inside)
        for v, sign in case.signs.items():
            copy, place = divmod(v - 1 - self.count, len(self._place))
            z = self.count + 4 * copy * len(self._place) + place
            a, g, e = z + len(self._place) * np.arange(1, 4)
            upper[e] = np.inf
            upper[g if sign > 0 else a] = 0.0
        self._lp.set_bounds(lower, upper)
        return self._lp.solve(cutoff, deadline, Interrupt())

    def duals(self, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weights of margins, shape (copies, margins), and κ, (copies, neurons)."""
        neurons, margins = len(self._place), self._heads.shape[0]
        each = multipliers.reshape(self.copies, 3 * neurons + margins)
        return np.maximum(-each[:, 3 * neurons :], 0.0), -each[:, :neurons]

    def effects(self, result: LpResult) -> FloatArray:
        """Return how far each neuron's line is from its value, times its coefficient."""
        assert result.point is not None
        values = result.point[self.count :].reshape(self.copies, 4, len(self._place))
        gap = np.abs(values[:, 1] - np.maximum(values[:, 0], 0.0))
        coefficients = np.zeros(gap.shape)
        if result.multipliers is not None:
            weights, kappa = self.duals(result.multipliers)
            coefficients = np.abs(kappa @ self._inner - weights @ self._heads)
        open_ = (self.low < 0) & (self.high > 0)
        return np.where(open_, gap * (coefficients + 1e-3), 0.0)

    def leaf(self, multipliers: FloatArray, case: Branch, digits: int) -> dict[str, Any]:
        """Return the leaf that ``multipliers`` give, with so many digits."""
        weights, kappa = self.duals(multipliers)
        scale = 10.0**digits / max(weights.max(), np.abs(kappa).max(initial=0.0), 1e-300)
        weights, kappa = np.round(weights * scale), kappa * scale
        first = 1 + self.count
        signs = np.zeros(kappa.size)
        for v, sign in case.signs.items():
            signs[v - first] = sign
        signs = signs.reshape(kappa.shape)
        low, high = np.where(signs > 0, 0.0, self.low), np.where(signs < 0, 0.0, self.high)
        met: FloatArray = -(weights @ self._heads)
        slopes, multiplied = np.zeros(kappa.shape), np.zeros(kappa.shape)
        named = np.zeros(kappa.shape, dtype=bool)
        for layer in reversed(self.layers):
            k, line, l, u = met[:, layer], kappa[:, layer], low[:, layer], high[:, layer]
            open_, side = (l < 0) & (u > 0), signs[:, layer]
            with np.errstate(divide="ignore", invalid="ignore"):
                below = np.round(np.clip(np.where(k < 0, line / k, 0.0), 0.0, 1.0), digits)
                s = np.where(open_, np.where(k > 0, u / (u - l), below), l >= 0)
            named[:, layer] = open_ & (k < 0) & (below != (u > -l))
            more = _rounded(np.maximum(side * (line - k * s), 0.0), digits)
            slopes[:, layer], multiplied[:, layer] = s, more
            met = met + (k * s + side * more) @ self._inner[layer]
        return {
            "weights": {str(i): int(weights.flat[i]) for i in np.flatnonzero(weights)},
            "slopes": {str(i): _short(slopes.flat[i]) for i in np.flatnonzero(named)},
            "multipliers": {str(i): _short(multiplied.flat[i]) for i in np.flatnonzero(multiplied)},
        }

    def close(self) -> None:
        """Free the linear program."""
        self._lp.close()


def _matrix(forms: list[dict[int, int]], place: dict[int, int], one: int) -> sp.csr_array:
    """Return the factors of the variables in ``place``, one row for each form."""
    entries = [
        (factor / one, row, place[v])
        for row, form in enumerate(forms)
        for v, factor in form.items()
        if v in place and factor
    ]
    factors, rows, columns = zip(*entries, strict=True) if entries else ((), (), ())
    shape = len(forms), len(place)
    at: tuple[IntArray, IntArray] = np.array(rows, dtype=int), np.array(columns, dtype=int)
    return sp.csr_array((np.array(factors, dtype=np.float64), at), shape=shape)


def _rounded(numbers: FloatArray, digits: int) -> FloatArray:
    """Round to so many digits; numbers far below the largest weight become zero."""
    texts = [float(f"{number:.{digits}g}") for number in numbers.flat]
    return np.where(numbers > 1e-3, np.array(texts).reshape(numbers.shape), 0.0)


def _short(number: float) -> float:
    return int(number) if number == int(number) else float(number)
