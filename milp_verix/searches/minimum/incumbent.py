"""The incumbent, the cheapest explanation known, and the perturbations that other sets fail under.

Perturbations are found by gradients (:mod:`~milp_verix.oracle.attacks`), beginning at the
newest ones, and exactly. With ``w = 1 − A`` for the selection ``A``, the perturbation that hurts it
the most is a maximiser of

    max_j max_δ m_j(x + w ∘ δ),   δ in the ball,

which is a verification problem for the network ``δ ↦ m(x + w ∘ δ)``. A search by gradients ends at
a local maximum, and nearly always there is a higher one. With local maxima alone, a relaxation
needs several times the scenarios, each with phases of its own to branch on.

No bound rests on these programs. So their solver is the branch and bound over phases, whichever
solver proves the bounds. Balls in the L2 norm are left to the search by gradients: programs enclose
them by tangents, and take seconds.

Separation: a scenario or a cover that an optimum of the relaxation violates.

The optimum survives every known scenario. The adversary looks for the perturbation that hurts it
most. If it finds none against a whole set, a check decides the set; a counterfactual is improved to
a worse perturbation. A scenario may fail to exclude the set, since its encoding is a relaxation. If
the set comes back, a cover excludes it.
"""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from milp_verix.base.clock import NO_CHECK_LIMIT, NO_LIMIT, Deadline, Limit, elapsed_work
from milp_verix.base.errors import SolverError
from milp_verix.oracle.attacks import INSIDE, PerturbationSet, pulled_in
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.objective import Objective
from milp_verix.searches.budget_bound import Attacker
from milp_verix.searches.minimum.search_limits import SearchLimits
from milp_verix.searches.strategies import Traversal
from milp_verix.solvers import Session, Targets, open_session
from verix_encodings import Interval, NormBall, ball_encoding, crown_bounds, encode
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.encoding import Constraint, Cover, Scenario
from verix_encodings.scenario import make_scenario
from verix_encodings.work import worked


class ExactPricing:
    """Finds worst perturbations, in sessions of ``another``, for a share of the work since."""

    def __init__(
        self,
        perturbations: PerturbationSet,
        limits: SearchLimits,
        another: Callable[[], Session] = lambda: open_session("phase"),
    ) -> None:
        self._perturbations, self._limits, self._another = perturbations, limits, another
        self._started = worked()
        self._spent = 0.0
        region = perturbations.region
        l2 = isinstance(region, NormBall) and region.norm == 2
        self._able = limits.uses("exact pricing") and not l2

    def worst(self, selection: FloatArray, least: float, deadline: Deadline) -> FloatArray | None:
        """Return the worst perturbation found with a margin above ``least``, (d,), or None."""
        now = worked()
        share = self._limits.pricing_share * elapsed_work(self._started)
        left = self._limits.first_pricing_seconds + share - self._spent
        if not self._able or left <= 0:
            return None
        try:
            return self._worst(selection, least, deadline.within(left))
        except (OverflowError, SolverError):
            # no bound rests on pricing, and the failure would repeat
            self._able = False
            return None
        finally:
            self._spent += elapsed_work(now)

    def _worst(self, selection: FloatArray, least: float, deadline: Deadline) -> FloatArray | None:
        p = self._perturbations
        weight, found = p.weight(selection), None
        network = p.margins.after(sp.diags_array(weight).tocsr(), p.centre, p.region.box)
        # coordinates without effect are fixed at zero
        moves = p.moves.box
        box = Interval(*(np.where(weight > 0, end, 0.0) for end in (moves.lower, moves.upper)))
        region: Interval | NormBall = box
        inside = 1.0
        if isinstance(p.region, NormBall):
            region, inside = NormBall(box, np.zeros(weight.size), p.region.radius, 1), INSIDE
        bounds = crown_bounds(network, region, late=deadline.passed)
        if deadline.passed():
            return None
        encoding = encode(network, bounds, ball=ball_encoding(region))
        upper = bounds[-1].upper
        with closing(self._another()) as session:
            session.load(encoding.program)
            for margin in np.argsort(-upper, kind="stable"):
                if upper[margin] <= least or deadline.passed():
                    break
                cost, constant = encoding.output.row(int(margin), encoding.program.columns)
                targets = Targets(holds_above=constant - least).until(deadline)
                point = session.minimise(-cost, targets).point
                if point is None:
                    continue
                # within the solver's tolerance, the point may be outside the region
                delta = inside * pulled_in(region, encoding.input.at(point))
                reached = float(np.max(p.margins_at(weight, delta[:, None])))
                if reached > least:
                    least, found = reached, delta
        return found


_HARMLESS = 1e-6  # a margin up to this, in logits, harms no selection


class Adversary(Attacker):
    """An attacker that finds worst perturbations exactly, too, while there is time for that."""

    def __init__(
        self,
        perturbations: PerturbationSet,
        limits: SearchLimits,
        deadline: Deadline = NO_LIMIT,
        exact: ExactPricing | None = None,
    ) -> None:
        numbers = limits.newest, limits.climbs, limits.remembered
        super().__init__(perturbations, deadline.passed, *numbers)
        self._most_climbs = limits.climbs_before_check
        self._exact = exact or ExactPricing(perturbations, limits)

    def worsened(self, chosen: BoolArray, witness: FloatArray, deadline: Deadline) -> FloatArray:
        """Improve a counterfactual ``witness`` of a set to a worse perturbation, shape (d,)."""
        p = self._perturbations
        moved = witness.reshape(-1).astype(np.float64) - p.centre
        start = np.clip(moved, p.moves.box.lower, p.moves.box.upper)[:, None]
        deltas, values = p.worst(p.weight(chosen), start, 1, self._late)
        deltas = deltas[:, values > 0] if np.any(values > 0) else start
        self.remember(deltas)
        delta, value = self.worst(chosen.astype(np.float64), deadline)
        if value <= 0:
            return np.asarray(deltas[:, -1])
        self.remember(delta)
        return delta

    def attack(
        self, selection: FloatArray, climbs: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the worst perturbation found for each margin, shape (d, m), and its value."""
        deltas, values = super().attack(selection, climbs)
        if is_whole(selection) and np.max(values) <= 0 and not self._late():
            # more climbs cost far less than the check that would follow
            found = super().attack(selection, self._most_climbs)
            deltas = np.where(found[1] > values, found[0], deltas)
            values = np.maximum(values, found[1])
        return deltas, values

    def worst(self, selection: FloatArray, deadline: Deadline) -> tuple[FloatArray, float]:
        """Return the perturbation with the largest margin found, (d,), and that margin."""
        deltas, values = self.attack(selection)
        least = max(float(np.max(values)), 0.0) + _HARMLESS
        further = self._exact.worst(selection, least, deadline)
        if further is not None:
            # fixed coordinates have no effect now: set them to their worst value for later
            p = self._perturbations
            deltas, values = p.worst(p.weight(selection), further[:, None], 1, self._late)
        margin = int(np.argmax(values))
        return deltas[:, margin], float(values[margin])


class SetVerdict(NamedTuple):
    """The answer of a check: the set ``holds``, ``delta``, (d,), refutes it, or neither."""

    holds: bool
    delta: FloatArray | None


class Incumbent:
    """The cheapest explanation known; at first all features outside ``must_not``.

    ``chosen`` marks its features, shape (features,), and ``cost`` is their sum. ``traversal`` is
    the traversal that found it with a counterfactual for each feature, None if none did.
    ``adversary`` knows perturbations that other sets do not survive. ``gap`` is the relative gap
    that the search may leave, and ``at_most`` a cost that it may stop at. ``on_change`` is called
    with each new incumbent.
    """

    def __init__(
        self,
        oracle: Oracle,
        perturbations: PerturbationSet,
        objective: Objective,
        adversary: Adversary,
        *,
        gap: float = 0.0,
        at_most: float = np.inf,
        check_limit: Limit = NO_CHECK_LIMIT,
    ) -> None:
        self.oracle, self.perturbations, self.objective = oracle, perturbations, objective
        self.adversary, self.check_limit = adversary, check_limit
        self._gap, self._at_most = gap, at_most
        self.chosen: BoolArray = ~objective.must_not
        self.cost = objective.cost(self.chosen)
        self.traversal: Traversal | None = None
        self.on_change: Callable[[], None] = lambda: None

    @property
    def cutoff(self) -> float:
        """The lower bound that ends the search; it falls with ``cost``."""
        return self.objective.cutoff(self.cost, self._gap, self._at_most)

    @property
    def selection(self) -> FloatArray:
        """The incumbent as 0 and 1, shape (features,)."""
        return self.chosen.astype(np.float64)

    def take(self, chosen: BoolArray, traversal: Traversal | None = None) -> bool:
        """Make a proven set the incumbent if it is cheaper; return whether it is."""
        cost = self.objective.cost(chosen)
        cheaper = cost < self.cost
        # at equal cost, a set with counterfactuals replaces one without
        if cheaper or (cost == self.cost and traversal is not None and self.traversal is None):
            self.chosen, self.cost, self.traversal = chosen.copy(), cost, traversal
            self.on_change()
        return cheaper

    def take_traversal(self, traversal: Traversal) -> None:
        """Take the features that a traversal keeps; its counterfactuals, too, once it has ended."""
        chosen = np.ones(self.chosen.size, dtype=bool)
        chosen[traversal.irrelevant] = False
        if not chosen[self.objective.must_not].any():
            self.take(chosen, None if traversal.remaining else traversal)

    def decide(self, chosen: BoolArray, deadline: Deadline) -> SetVerdict:
        """Check a set: take it if it holds, and remember the worst perturbation if it fails."""
        until = deadline.limited(self.check_limit)
        verdict = self.oracle.check(self.perturbations.free(chosen), until)
        if verdict.holds:
            self.take(chosen)
        if verdict.witness is None:
            return SetVerdict(verdict.holds, None)
        return SetVerdict(False, self.adversary.worsened(chosen, verdict.witness, deadline))


def is_whole(selection: FloatArray) -> bool:
    """Return whether every entry of ``selection``, shape (features,), is 0 or 1."""
    return bool(np.all((selection == 0) | (selection == 1)))


_LEAST_HARM = 1e-6  # the least margin, in logits, of a scenario


class Separator:
    """Finds constraints that a selection violates; ``rounds`` counts the calls of ``separate``."""

    def __init__(self, incumbent: Incumbent, limits: SearchLimits, deadline: Deadline) -> None:
        self._incumbent, self._limits = incumbent, limits
        self._deadline = deadline
        self._most_harm = 0.0
        self._made = 0
        self._refuted: set[bytes] = set()
        self._perturbations: dict[bytes, FloatArray] = {}
        self.rounds = 0

    def separate(self, selection: FloatArray, pricings: int) -> list[Constraint]:
        """Return a constraint that ``selection`` violates; an empty list if none is found.

        ``selection`` has shape (features,). ``pricings`` counts the earlier pricing steps at the
        same node: fractional selections are priced at first, and later only now and then.
        """
        self.rounds += 1
        limits, adversary = self._limits, self._incumbent.adversary
        whole = is_whole(selection)
        if not whole and pricings >= limits.pricings and pricings % limits.pricing_period:
            return []
        delta, harm = adversary.worst(selection, self._deadline)
        self._most_harm = max(self._most_harm, harm)
        # successive worst cases differ less and less, and each brings phases to branch on; with
        # more scenarios than features, branching on features is cheaper
        count = self._incumbent.objective.costs.size
        worth = limits.least_harm * max(1.0, (self._made / count) ** 2) * self._most_harm
        if harm > (_LEAST_HARM if whole else max(worth, _LEAST_HARM)):
            self._made += 1
            adversary.remember(delta)
            return [self._cover(selection) or self.scenario(delta)]
        if not whole:
            return []
        found = self._incumbent.decide(selection > 0.5, self._deadline).delta
        return [] if found is None else [self._cover(selection) or self.scenario(found)]

    @property
    def known(self) -> tuple[FloatArray, ...]:
        """The perturbations of all scenarios made so far, shape (d,) each."""
        return tuple(self._perturbations.values())

    def _cover(self, selection: FloatArray) -> Cover | None:
        """Return a cover if ``selection`` is a set that a scenario did not exclude before."""
        if not is_whole(selection):
            return None
        chosen = selection > 0.5
        key = np.packbits(chosen).tobytes()
        if key in self._refuted:
            return Cover(np.flatnonzero(~chosen))
        self._refuted.add(key)
        return None

    def scenario(self, delta: FloatArray) -> Scenario:
        """Return the scenario of a perturbation, shape (d,)."""
        self._perturbations[delta.tobytes()] = delta
        p, objective = self._incumbent.perturbations, self._incumbent.objective
        # the incumbent is an explanation, so a minimum explanation costs no more
        limited = self._limits.uses("scenario budget")
        most = objective.most_features(self._incumbent.cost) if limited else np.inf
        method, count = partial(crown_bounds, late=self._deadline.passed), objective.costs.size
        return make_scenario(
            p.margins, p.centre, delta, p.feature_of, features=count, method=method, most=most
        )
