"""Leaves that the checker accepts, and trees of them, for margins branched on phases.

A search goes over the neurons of a claim, as the checker reads them, as a network with bounds in
float64; what it finds is proven by the checker alone. Leaves suppose phases of some neurons, and
hold the slopes and multipliers that closed them (:mod:`~milp_verix.oracle.engines.beta_search`),
with few digits. A leaf is accepted by its bound in float64, with the numbers as they will be
written and all rounding counted, if that is below zero by more than the checker's own rounding can
change:

    slack = 2⁻²² Σ |c_j| (u_j − l_j) + 2⁻³⁰ Σ |c_j| |v_j|     c_j the coefficients met at all values

The checker rounds slopes to 2⁻²⁴, and float64 rounds coefficients to 2⁻⁵³. The exact arithmetic of
the checker decides leaves that are nearer to zero, or all of them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.certificates.reading import RoundedClaim, rounded_network
from milp_verix.oracle.engines.beta_search import PhaseNodes, PhaseSearch
from milp_verix.oracle.verdict import TIME_LIMIT
from verix_checker.claim import Claim
from verix_encodings import Interval, NormBall
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.boxes import one_hot_box
from verix_encodings.interval_bounds import forward_interval
from verix_encodings.row_slopes import Relaxed, RowSlopes

Ends = tuple[list[Any], list[Any]]
"""The lower and upper ends of the checker's variables."""


def rounded_claim(claim: Claim, margins: Sequence[int], ends: Ends | None = None) -> RoundedClaim:
    """Return the network of the ``margins``, its region and bounds within ``ends``."""
    network, variables = rounded_network(claim.net, [claim.margins[one] for one in margins])
    size = claim.net.size
    low, high = (_scaled(end, claim.one) for end in ends or (claim.low, claim.high))
    box = Interval(low[1 : size + 1], high[1 : size + 1])
    bounds = [box]
    for layer in claim.net.layers:
        z = Interval(low[layer], high[layer])
        bounds += [z, Interval(np.maximum(z.lower, 0.0), np.maximum(z.upper, 0.0))]
    bounds += [forward_interval(network.nodes[-1], box, bounds, len(network.nodes))]
    blocks = [np.array(block) - 1 for block in claim.ball.blocks]
    region: Interval | NormBall = one_hot_box(box, blocks)
    if claim.ball.norm:
        centre = np.clip(_scaled(claim.ball.x, claim.one)[1:], box.lower, box.upper)
        region = NormBall(box, centre, claim.ball.epsilon / claim.one, claim.ball.norm)
    return RoundedClaim(network, region, tuple(bounds), variables)


def _scaled(numbers: Sequence[int], one: int) -> FloatArray:
    return np.array([number / one for number in numbers], dtype=np.float64)


Tree: TypeAlias = dict[str, Any]
"""A leaf with ``slopes`` and ``multipliers``, or a split with ``below`` and ``above``."""

Exactly: TypeAlias = Callable[[Tree, int, Mapping[int, int]], bool]
"""The checker's verdict on a leaf of an output, below phases by the checker's variables."""

BARE = 0
"""The digits of a leaf that names no number: the checker takes slopes 0 and 1."""

DIGITS = (BARE, 2, 4, 8)
"""The digits of numbers in leaves, the fewest first."""

_GRID, _FLOAT = 2.0**-22, 2.0**-30
_ROWS = 64


class NoProofError(Exception):
    """Raised where no tree is found; the message says why."""


def require_time(deadline: Deadline) -> None:
    """Raise ``NoProofError`` once the deadline has passed."""
    if deadline.passed():
        raise NoProofError(TIME_LIMIT)


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Cases of the margins ``margin``, (N,), with signs and dials of ``RowSlopes``, (N, count)."""

    margin: IntArray
    signs: FloatArray
    dials: FloatArray

    def __getitem__(self, chosen: IntArray | BoolArray | slice) -> "Cases":
        return Cases(self.margin[chosen], self.signs[chosen], self.dials[chosen])


class PhaseLeaves:
    """The leaves of a claim; ``exactly`` decides those near zero, or all if it does ``always``."""

    def __init__(self, claim: RoundedClaim, exactly: Exactly, *, always: bool = False) -> None:
        self.claim, self._exactly, self._always = claim, exactly, always
        self.relaxed = Relaxed.of(claim.network, claim.bounds)
        named = [claim.variables[one.source][one.free] for one in self.relaxed.layers]
        # the numbers of neurons in certificates, by the place of their dials
        self._first = claim.network.input_size + 1
        self.names = np.concatenate([np.zeros(0, dtype=np.intp), *named]) - self._first

    def accepted(self, cases: Cases, digits: Sequence[int] = DIGITS) -> list[Tree | None]:
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
        bounds, headroom = rows.extremes(self.claim.region), self._headroom(rows)
        usual, met = self.relaxed.first_dials(1)[0], np.zeros(cases.dials.shape)
        for layer in self.relaxed.layers:
            if layer.value in rows.met:
                met[:, layer.places] = rows.met[layer.value][:, layer.free]
        multiplied = (cases.signs != 0) & (cases.dials > 0)
        sloped = (cases.signs == 0) & (met < 0) & (cases.dials != usual)
        result: list[Tree | None] = []
        for row, (bound, far) in enumerate(zip(bounds, headroom, strict=True)):
            leaf = {
                "slopes": self._named(cases.dials[row], sloped[row]),
                "multipliers": self._named(cases.dials[row], multiplied[row]),
            }
            proven = bound < -far and not self._always
            if not proven and (bound <= far or self._always):
                split, signs = np.flatnonzero(cases.signs[row]), cases.signs[row]
                phases = {int(self.names[at]) + self._first: int(signs[at]) for at in split}
                proven = self._exactly(leaf, int(cases.margin[row]), phases)
            result.append(leaf if proven else None)
        return result

    def _headroom(self, rows: RowSlopes) -> FloatArray:
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


def checked_exactly(
    claim: Claim, margin: int, leaf: Tree, phases: Mapping[int, int], ends: Ends
) -> bool:
    """Return whether the checker accepts a leaf below ``phases`` of variables within ``ends``."""
    low, high = ends[0][:], ends[1][:]
    for variable, sign in phases.items():
        low[variable] = max(low[variable], 0) if sign > 0 else low[variable]
        high[variable] = min(high[variable], 0) if sign < 0 else high[variable]
    as_read = json.loads(json.dumps(leaf), parse_float=Fraction)
    try:
        claim.leaves(claim.margins[margin], as_read, low, high, phases)
    except ValueError:
        return False
    return True


def searched_cases(
    claim: RoundedClaim, outputs: IntArray, spare: float, deadline: Deadline
) -> Cases:
    """Search for cases that prove the ``outputs``; ``NoProofError`` if there are none.

    ``spare`` is the share of an output's magnitude that a bound is below zero before it is rounded.
    """
    network, closed = claim.network, list[PhaseNodes]()
    known = np.full(network.output_size, -np.inf)
    known[outputs] = np.inf  # none of these is closed without a node
    needed, region = spare * claim.bounds[-1].magnitude, claim.region

    def replays(point: FloatArray) -> bool:
        return bool(np.max(network.evaluate(point)) >= 0)

    search = PhaseSearch(network, region, claim.bounds, known, needed, replays, closed)
    with np.errstate(over="ignore", invalid="ignore"):
        proven = search.run(deadline.passed)
    if not proven:
        if search.tried.found:
            raise NoProofError("a point of the ball has another prediction in float64")
        open_ = "phases are split, and bounds still leave a margin open"
        raise NoProofError(TIME_LIMIT if deadline.passed() else open_)
    nodes = closed[0].joined(closed[1:])
    return Cases(nodes.margin, nodes.signs, nodes.dials)


def trees_of_cases(
    leaves: PhaseLeaves, cases: Cases, digits: Sequence[int] = DIGITS
) -> dict[int, Tree]:
    """Return the tree of each output that ``cases`` prove; ``NoProofError`` if one is not."""
    found = leaves.accepted(cases, digits)
    every = np.unique(cases.margin).tolist()
    return {one: _tree(leaves, cases, found, np.flatnonzero(cases.margin == one)) for one in every}


def _tree(
    leaves: PhaseLeaves,
    cases: Cases,
    found: Sequence[Tree | None],
    rows: IntArray,
    above: tuple[int, ...] = (),
) -> Tree:
    """Return the tree of the cases ``rows``, below splits of the places ``above``."""
    common: BoolArray = np.all(cases.signs[rows] != 0, axis=0)
    common[list(above)] = False
    if not common.any():
        leaf = found[int(rows[0])]
        if leaf is None:
            raise NoProofError("exact arithmetic does not confirm a case")
        return leaf
    place = int(np.argmax(common))  # the root of a tree of decisions is in each of its leaves
    signs = cases.signs[rows, place]
    halves = {
        side: _tree(leaves, cases, found, rows[signs == sign], (*above, place))
        for side, sign in (("below", -1), ("above", 1))
    }
    return {"neuron": int(leaves.names[place]), **halves}
