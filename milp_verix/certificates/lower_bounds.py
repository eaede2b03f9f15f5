"""Proofs of lower bounds on the cost of all explanations: a tree of cases over scenarios.

Each step takes an open case, minimises the cost of its sets in a linear relaxation, and does the
first of these that applies:

1. *close* the case if the optimum is above the budget, by a leaf that the checker accepts;
2. *split a neuron*, if the optimum does not survive a known scenario: its relaxation is too weak;
3. *add a scenario* that the optimum does not survive, and solve the case again;
4. *split a feature*; a set that survives everything is cheaper than the bound, and ends the search.

The cost of an explanation is known, so that no incumbent is looked for, and neurons are bounded
over the sets that cost less: these bounds are far tighter than those over all sets. Moves of
scenarios are rounded towards zero to whole multiples of a step, so that they are exact in a few
digits and stay in the ball.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.certificates.certificate import exact
from milp_verix.certificates.phase_leaves import NoProofError, require_time
from milp_verix.certificates.reading import rounded_network
from milp_verix.certificates.selection_lp import Branch, SelectionLp
from milp_verix.oracle.attacks import PerturbationSet
from milp_verix.oracle.engines.beta_search import PhaseSearch
from milp_verix.results.explanation import Explanation
from milp_verix.solvers.session import SolveStatus
from milp_verix.solvers.warm_lp import LpResult
from verix_checker.claim import Claim
from verix_checker.minimum import Selections
from verix_encodings import Interval, NormBall, crown_bounds
from verix_encodings.arrays import BoolArray, FloatArray

_DIGITS = (3, 5, 8)
_DEEPEST = 200
_WHOLE = 1e-6
# the share of the gap from the budget to the cost of the explanation that closes a case
_CLEAR = 0.02
# looks for a scenario that a fractional optimum violates: so many, then one every so many times
_PRICINGS, _PERIOD = 2, 4
# the lower bound is a little below a cost with many digits
_FINEST = 1e-4


def bound_claim(explanation: Explanation) -> dict[str, Any]:
    """Return the claim that no explanation costs less than the lower bound of this one."""
    costs = [Fraction(cost) for cost in explanation.costs or [1.0] * len(explanation.groups)]
    bound = Fraction(explanation.lower_bound or 0)
    if explanation.proven:  # costs are added in floats
        bound = sum((costs[feature] for feature in explanation.explanation), Fraction(0))
    unit = int(np.lcm.reduce([cost.denominator for cost in costs], dtype=object))
    step = int(np.gcd.reduce([int(cost * unit) for cost in costs], dtype=object))
    if Fraction(step, unit) < _FINEST * bound:
        digits = int(np.ceil(-np.log10(_FINEST * float(bound))))
        bound = Fraction(int(bound * Fraction(10) ** digits), 1) / Fraction(10) ** digits
    question: dict[str, Any] = {"bound": exact(bound)}
    if explanation.costs is not None:
        question["costs"] = [exact(cost) for cost in explanation.costs]
    for name in ("must", "must_not"):
        if features := getattr(explanation, name):
            question[name] = list(features)
    return question


def bound_proof(claim: Claim, question: Mapping[str, Any], deadline: Deadline) -> dict[str, Any]:
    """Return a proof that no explanation costs less than ``question`` says; or ``NoProofError``."""
    if claim.ball.rules:
        raise NoProofError("inputs with rules have no scenarios")
    try:
        search = _BoundSearch(claim, question, deadline)
    except ValueError as error:
        raise NoProofError(f"the checker does not read the claim: {error}") from error
    try:
        return search.run()
    except OverflowError as error:
        raise NoProofError(f"numbers leave the range of float64: {error}") from error
    finally:
        search.lp.close()


class _BoundSearch:
    """The state of a search: scenarios, the linear program, and the tree so far."""

    def __init__(self, claim: Claim, question: Mapping[str, Any], deadline: Deadline) -> None:
        self.sets = Selections(claim, question)
        ball = self.sets.ball
        scale = max(*ball.costs, 1)
        self.costs = np.array([cost / scale for cost in ball.costs[1:]])
        self.budget = ball.budget / scale
        known = sum(ball.costs[1 + feature] for feature in claim.kept) / scale
        step = max(ball.step / scale, _FINEST * abs(self.budget))
        self.cutoff = self.budget + _CLEAR * min(step, known - self.budget)
        self.lp = SelectionLp(self.sets, self.costs)
        self.refuter = Refuter(claim, deadline)
        self.deadline = deadline
        self.scenarios: list[list[int]] = []

    def run(self) -> dict[str, Any]:
        """Return the proof."""
        tree: dict[str, Any] = {}
        ends = self.sets.ball.cut(self.sets.low, self.sets.high)
        if ends is not None:
            count = self.costs.size
            must = np.array([end / self.sets.one for end in ends[0][1 : 1 + count]])
            if not self._add(must):
                raise NoProofError("no perturbation refutes the features that must be in")
        open_ = [(Branch(), tree)] if ends is not None else []
        while open_:
            case, node = open_.pop()
            open_ += self._replaced(case, node)
        return {"step": exact(self.refuter.step), "scenarios": self.scenarios, "tree": tree}

    def _add(self, selection: FloatArray) -> bool:
        """Add a scenario that ``selection`` does not survive; return whether one is found."""
        moves = self.refuter.against(selection)
        if moves is None:
            return False
        self.scenarios.append(moves)
        self.sets.add_scenario(self.sets.point(Fraction(self.refuter.step), moves))
        self.lp.extend()
        return True

    def _replaced(self, case: Branch, node: dict[str, Any]) -> list[tuple[Branch, dict[str, Any]]]:
        """Close a case, or split it; return its halves with their nodes of the tree."""
        if len(case.features) + len(case.signs) > _DEEPEST:
            raise NoProofError("the tree is too deep")
        low, high = case.ends(self.sets)
        if self.sets.ball.cut(low, high) is None:
            return []  # the features that are in cost more than the budget
        while True:
            require_time(self.deadline)
            result = self._solved(case, node)
            if result is None:
                return []
            if result.point is None:  # the program is infeasible for sets beyond the budget alone
                ends = zip(low[1:], high[1 : 1 + self.costs.size], strict=False)
                return self._split(case, node, None, np.array([float(a < b) for a, b in ends]))
            selection = np.clip(result.point[: self.costs.size], 0.0, 1.0)
            near = np.round(selection)
            fractions = np.abs(selection - near)
            selection = np.where(fractions < _WHOLE, near, selection)
            if self.refuter.violated(selection):
                return self._split(case, node, self.lp.effects(result), fractions)
            looked, case = case.pricings, replace(case, pricings=case.pricings + 1)
            skipped = np.max(fractions) >= _WHOLE and looked >= _PRICINGS and looked % _PERIOD
            if skipped or not self._add(selection):
                return self._split(case, node, None, fractions)

    def _solved(self, case: Branch, node: dict[str, Any]) -> LpResult | None:
        """Solve the relaxation of a case; None if a leaf, written to ``node``, closes it."""
        for cutoff in (self.cutoff, np.inf):
            result = self.lp.solve(case, cutoff, self.deadline)
            above = result.status in (SolveStatus.TARGET, SolveStatus.INFEASIBLE)
            if result.status is SolveStatus.OPTIMAL and result.point is not None:
                above = float(self.costs @ result.point[: self.costs.size]) > self.budget
            if not above:
                return result
            if result.multipliers is not None and self._leaf(case, node, result):
                return None
        return result

    def _leaf(self, case: Branch, node: dict[str, Any], result: LpResult) -> bool:
        """Write a leaf that the checker accepts to ``node``; return whether there is one."""
        assert result.multipliers is not None
        low, high = case.ends(self.sets)
        # the sign of a ray is unknown
        for sign in (1.0, -1.0) if result.status is SolveStatus.INFEASIBLE else (1.0,):
            for digits in _DIGITS:
                leaf = self.lp.leaf(sign * result.multipliers, case, digits)
                read = json.loads(json.dumps(leaf), parse_float=Fraction)
                try:
                    self.sets.cases(read, low, high, case.signs)
                except ValueError:
                    continue
                node.update(leaf)
                return True
        return False

    def _split(
        self, case: Branch, node: dict[str, Any], effects: FloatArray | None, fractions: FloatArray
    ) -> list[tuple[Branch, dict[str, Any]]]:
        """Split a case at the neuron with the largest effect, or at a feature."""
        below, above = dict[str, Any](), dict[str, Any]()
        first = 1 + self.costs.size
        known = [v - first for v in case.signs]
        if effects is not None:
            effects.flat[known] = 0.0
        if effects is not None and np.max(effects) > 0.0:
            v = first + int(np.argmax(effects))
            node.update({"neuron": v - first, "below": below, "above": above})
            signs = ({**case.signs, v: sign} for sign in (-1, 1))
            cases = [replace(case, signs=one) for one in signs]
        else:
            v = 1 + int(np.argmax(fractions))
            if fractions[v - 1] < _WHOLE:
                raise NoProofError("no perturbation is found that refutes a cheaper set")
            node.update({"input": v - 1, "at": "1/2", "below": below, "above": above})
            sides = ({**case.features, v: inside} for inside in (False, True))
            cases = [replace(case, features=one) for one in sides]
        return list(zip(cases, (below, above), strict=True))


_STEPS = 2**15
"""Steps from the input to the end of the ball, about."""

_CLIMBS, _MORE_CLIMBS = 3, 16


class Refuter:
    """Finds perturbations of the ball; ``known``, (d, N), are those found, in whole steps."""

    def __init__(self, claim: Claim, deadline: Deadline) -> None:
        ball, size, one = claim.ball, claim.net.size, claim.one
        low, high = ball.cut(*ball.ends({*range(1, 1 + size)})) or ball.ends(set())
        ends = [np.array([end / one for end in side[1:]]) for side in (low, high)]
        centre = np.array([end / one for end in ball.x[1:]])
        box = Interval(*ends)
        region = NormBall(box, centre, ball.epsilon / one, ball.norm) if ball.norm else box
        feature_of = np.zeros(size, dtype=np.intp)
        for feature, group in enumerate(claim.groups):
            feature_of[group] = feature
        network, _ = rounded_network(claim.net, claim.margins)
        self.perturbations = PerturbationSet(network, centre, region, feature_of)
        self._deadline, self._coarse = deadline, np.zeros(size, dtype=bool)
        self._coarse[[v - 1 for v in ball.whole]] = True
        furthest = max(float(np.max(box.upper - box.lower, initial=0.0)), 1e-300)
        exponent = int(np.log2(_STEPS / furthest)) + 1
        # a step is a whole multiple of the unit
        self.step = 2.0 ** -min(max(exponent, 0), one.bit_length() - 1)
        self.known = np.zeros((size, 0))
        self._most = 0.0

    def moves(self, delta: FloatArray) -> list[int]:
        """Return a perturbation in whole steps, towards zero."""
        whole = np.where(self._coarse, np.trunc(delta), delta)
        return [int(move) for move in np.trunc(whole / self.step)]

    def violated(self, selection: FloatArray) -> bool:
        """Return whether a known perturbation makes a margin positive at ``selection``."""
        p = self.perturbations
        return bool(np.any(p.margins_at(p.weight(selection), self.known) > 1e-7))

    def against(self, selection: FloatArray) -> list[int] | None:
        """Return new moves that ``selection`` does not survive; a whole one is searched out."""
        p, whole = self.perturbations, bool(np.all((selection == 0) | (selection == 1)))
        weight = p.weight(selection)
        starts = np.concatenate([np.zeros((weight.size, 1)), self.known], axis=1)
        climbs = _MORE_CLIMBS if whole else _CLIMBS
        found, _ = p.worst(weight, starts, climbs, self._deadline.passed)
        # later scenarios differ less, and each brings phases to split
        worth = 1e-3 * max(1.0, (self.known.shape[1] / selection.size) ** 2)
        best = self._best(weight, found, 0.0 if whole else worth * self._most)
        if best is None and whole:
            start = self._searched(selection > 0.5)
            if start is not None:
                found, _ = p.worst(weight, start[:, None], climbs, self._deadline.passed)
                best = self._best(weight, np.hstack([found, start[:, None]]), 0.0)
        return best

    def _best(self, weight: FloatArray, deltas: FloatArray, least: float) -> list[int] | None:
        """Return the worst of ``deltas`` after rounding if a margin is above ``least``."""
        moves = [self.moves(delta) for delta in deltas.T]
        rounded = np.array(moves, dtype=np.float64).T * self.step
        values = self.perturbations.margins_at(weight, rounded).max(axis=0)
        best = int(np.argmax(values))
        self._most = max(self._most, float(values[best]))
        if values[best] <= max(least, 1e-9):
            return None
        self.known = np.concatenate([self.known, rounded[:, [best]]], axis=1)
        return moves[best]

    def _searched(self, chosen: BoolArray) -> FloatArray | None:
        """Return a perturbation that the set ``chosen`` does not survive, by phases, or None."""
        p, network = self.perturbations, self.perturbations.margins
        fixed, outer = chosen[p.feature_of], p.region.box
        box = Interval(*(np.where(fixed, p.centre, end) for end in (outer.lower, outer.upper)))
        region: Interval | NormBall = box
        if isinstance(p.region, NormBall):
            region = NormBall(box, p.centre, p.region.radius, p.region.norm)
        bounds = crown_bounds(network, region)
        found: list[FloatArray] = []

        def replays(point: FloatArray) -> bool:
            found.append(point)
            return bool(np.max(network.evaluate(point)) > 0)

        needed = np.zeros(network.output_size)
        search = PhaseSearch(network, region, bounds, bounds[-1].upper, needed, replays)
        search.run(self._deadline.passed)
        return found[-1] - p.centre if search.tried.found and found else None
