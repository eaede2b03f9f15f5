"""Separation: a scenario or a cover that an optimum of the relaxation violates.

The optimum survives every known scenario. The adversary looks for the perturbation that hurts it
most. If it finds none against a whole set, a check decides the set; a counterfactual is improved to
a worse perturbation. A scenario may fail to exclude the set, since its encoding is a relaxation. If
the set comes back, a cover excludes it. Contrastive sets take turns as long as they lead the bound.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from milp_verix.base.clock import Deadline, elapsed_work
from milp_verix.searches.contrast_cover import ContrastCover
from milp_verix.searches.minimum.incumbent import Incumbent, is_whole
from milp_verix.searches.minimum.search_limits import SearchLimits
from verix_encodings import crown_bounds
from verix_encodings.arrays import FloatArray
from verix_encodings.encoding import Constraint, Cover, Scenario
from verix_encodings.scenario import make_scenario
from verix_encodings.work import worked

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
        if harm > (_LEAST_HARM if whole else max(self._worth * self._most_harm, _LEAST_HARM)):
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

    @property
    def _worth(self) -> float:
        """The least violation that justifies a new scenario, as a share of the largest so far.

        Successive worst cases differ less and less, and each brings phases to branch on. With more
        scenarios than features, branching on features is cheaper.
        """
        count = self._incumbent.objective.costs.size
        return self._limits.least_harm * max(1.0, (self._made / count) ** 2)

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


@dataclass(frozen=True, slots=True, eq=False)
class CoverBound:
    """The lower bound by a ``cover``, ``least`` or higher after each turn of it."""

    cover: ContrastCover
    incumbent: Incumbent
    limits: SearchLimits
    until: Deadline
    elapsed: Callable[[], float]

    def first(self, least: float, deadline: Deadline) -> float:
        """Add contrastive sets before anything else is known."""
        while self._leads(least, self.limits.first_cover_seconds) and not self.cover.exhausted:
            least = self.cover.step(deadline, least)
        if self._leads(least) and self.cover.exhausted:
            least = self._check_candidate(least, deadline)
        return least

    def between_checks(self, least: float) -> float:
        """Add contrastive sets for a share of the work so far."""
        most = self.limits.cover_share * self.elapsed()
        while self._leads(least, most) and not self.cover.exhausted:
            least = self.cover.step(self.until.within(most), least)
        return least

    def turn(self, least: float) -> float | None:
        """Take a turn beside a master, for a share of the work; None if it is the master's."""
        elapsed = self.elapsed()
        if not self._leads(least, self.limits.master_cover_share * elapsed):
            return None
        deadline = self.until.within(elapsed)
        if self.cover.exhausted:
            return self._check_candidate(least, deadline)
        return self.cover.step(deadline, least)

    def _leads(self, least: float, most: float = np.inf) -> bool:
        """Return whether contrastive sets lead the bound, and have done less work than ``most``."""
        cover = self.cover
        open_ = least < self.incumbent.cutoff and not self.until.passed()
        if cover.ended or cover.work >= most or not open_:
            return False
        return cover.bound >= least or not (cover.sets or cover.exhausted)

    def _check_candidate(self, least: float, deadline: Deadline) -> float:
        """Check the cheapest cover: a minimum explanation, or one more contrastive set."""
        cover, started = self.cover, worked()
        decision = self.incumbent.decide(cover.candidate, deadline)
        cover.work += elapsed_work(started)
        if decision.delta is not None:
            cover.refute(decision.delta, deadline)
        elif not decision.holds:
            cover.ended = deadline.work_at >= self.until.work_at
        return max(least, cover.bound)
