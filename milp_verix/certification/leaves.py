"""Leaves that the checker accepts: cases whose slopes and multipliers have few digits.

A leaf is accepted by its bound in float64, with the numbers as they will be written and all
rounding counted, if that is below zero by more than the checker's own rounding can change:

    room = 2⁻²² Σ |c_j| (u_j − l_j) + 2⁻³⁰ Σ |c_j| |v_j|     c_j the coefficients met at all values

The checker rounds slopes to 2⁻²⁴, and float64 rounds coefficients to 2⁻⁵³. The exact arithmetic of
the checker decides leaves that are nearer to zero.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from milp_verix.certification.reading import RoundedClaim
from milp_verix.certification.trees import Tree
from verix_checker.claim import Claim
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.propagation.row_slopes import Relaxed, RowSlopes

BARE = 0
"""The digits of a leaf that names no number: the checker takes slopes 0 and 1."""

_DIGITS = (BARE, 2, 4, 8)
_GRID, _FLOAT = 2.0**-22, 2.0**-30
_ROWS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Cases of the margins ``margin``, (N,): phases that are supposed, and dials, (N, count) each.

    ``signs`` and ``dials`` are those of :class:`~verix_encodings.propagation.row_slopes.RowSlopes`.
    """

    margin: IntArray
    signs: FloatArray
    dials: FloatArray

    def __getitem__(self, chosen: IntArray | BoolArray | slice) -> "Cases":
        return Cases(self.margin[chosen], self.signs[chosen], self.dials[chosen])


class Leaves:
    """The leaves of a claim; ``exact`` returns the claim as the checker reads it."""

    def __init__(self, claim: RoundedClaim, exact: Callable[[], Claim]) -> None:
        self.claim, self.exact = claim, exact
        self.relaxed = Relaxed.of(claim.network, claim.bounds)
        named = [claim.variables[one.source][one.free] for one in self.relaxed.layers]
        # the numbers of neurons in certificates, by the place of their dials
        self.names = np.concatenate([np.zeros(0, dtype=np.intp), *named]) - claim.x.size - 1

    def accepted(self, cases: Cases, digits: Sequence[int] = _DIGITS) -> list[Tree | None]:
        """Return a leaf for each case, with the fewest digits accepted; None where none is."""
        found: list[Tree | None] = [None] * cases.margin.size
        for some in digits:
            left = np.array([at for at, leaf in enumerate(found) if leaf is None], dtype=np.intp)
            for start in range(0, left.size, _ROWS):
                block = left[start : start + _ROWS]
                rounded = self._rounded(cases[block], some)
                for at, leaf in zip(block, self._proven(rounded), strict=True):
                    found[at] = leaf
        return found

    def _rounded(self, cases: Cases, digits: int) -> Cases:
        split, dials = cases.signs != 0, np.round(cases.dials, digits)
        if digits == BARE:
            usual = self.relaxed.first_dials(cases.margin.size)
            return Cases(cases.margin, cases.signs, np.where(split, 0.0, usual))
        dials[split] = [float(f"{m:.{digits}g}") for m in cases.dials[split]]
        return Cases(cases.margin, cases.signs, dials)

    def _proven(self, cases: Cases) -> list[Tree | None]:
        """Return a leaf with these very numbers for each case that they prove."""
        ways = np.eye(self.claim.network.output_size)[cases.margin]
        rows = RowSlopes(self.relaxed, ways, cases.dials, cases.signs)
        bounds, room = rows.extremes(self.claim.region), self._room(rows)
        usual, met = self.relaxed.first_dials(1)[0], np.zeros(cases.dials.shape)
        for layer in self.relaxed.layers:
            if layer.value in rows.met:
                met[:, layer.places] = rows.met[layer.value][:, layer.free]
        multiplied = (cases.signs != 0) & (cases.dials > 0)
        sloped = (cases.signs == 0) & (met < 0) & (cases.dials != usual)
        result: list[Tree | None] = []
        for row, (bound, far) in enumerate(zip(bounds, room, strict=True)):
            leaf = {
                "slopes": self._named(cases.dials[row], sloped[row]),
                "multipliers": self._named(cases.dials[row], multiplied[row]),
            }
            signs, margin = cases.signs[row], int(cases.margin[row])
            proven = bound < -far or (bound <= far and self._exactly(leaf, margin, signs))
            result.append(leaf if proven else None)
        return result

    def _room(self, rows: RowSlopes) -> FloatArray:
        """Return how near to zero a bound of each row may be without being certain."""
        result = np.zeros(rows.dials.shape[0])
        for value, met in rows.met.items():
            interval = self.claim.bounds[value]
            width = interval.upper - interval.lower
            result += np.abs(met) @ (_GRID * width + _FLOAT * interval.magnitude)
        return result

    def _named(self, dials: FloatArray, chosen: BoolArray) -> dict[str, float]:
        pairs = zip(self.names[chosen].tolist(), dials[chosen].tolist(), strict=True)
        return {str(name): int(dial) if dial == int(dial) else dial for name, dial in pairs}

    def _exactly(self, leaf: Tree, margin: int, signs: FloatArray) -> bool:
        """Return whether the checker accepts a leaf."""
        try:
            claim = self.exact()
            low, high, cases = claim.low[:], claim.high[:], {}
            for place in np.flatnonzero(signs):
                variable = int(self.names[place]) + claim.net.size + 1
                cases[variable] = int(signs[place])
                low[variable] = max(low[variable], 0) if signs[place] > 0 else low[variable]
                high[variable] = min(high[variable], 0) if signs[place] < 0 else high[variable]
            as_read = json.loads(json.dumps(leaf), parse_float=Fraction)
            claim.leaves(claim.margins[margin], as_read, low, high, cases)
        except ValueError:
            return False
        return True
