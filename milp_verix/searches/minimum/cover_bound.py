"""Turns of the contrastive sets within a search: they raise the bound as long as they lead it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from milp_verix.base.clock import Deadline, elapsed_work
from milp_verix.searches.lower_bounds.contrast_cover import ContrastCover
from milp_verix.searches.minimum.heuristics.incumbent import Incumbent
from milp_verix.searches.minimum.search_limits import SearchLimits
from verix_encodings.work import worked


@dataclass(frozen=True, slots=True, eq=False)
class CoverBound:
    """The lower bound by a ``cover``, for its shares of the work of a search.

    Each method takes the bound proven so far, ``least``, and returns the one proven after its turn.
    The search ends at the deadline ``until``; ``elapsed()`` are its seconds of work so far.
    """

    cover: ContrastCover
    incumbent: Incumbent
    limits: SearchLimits
    until: Deadline
    elapsed: Callable[[], float]

    def first(self, least: float, deadline: Deadline) -> float:
        """Add contrastive sets before anything else is known."""
        while self._leads(least, self.limits.first_cover_seconds) and not self.cover.exhausted:
            least = self._step(least, deadline)
        if self._leads(least) and self.cover.exhausted:
            least = self._check_candidate(least, deadline)
        return least

    def between_checks(self, least: float) -> float:
        """Add contrastive sets for a share of the work so far."""
        most = self.limits.cover_share * self.elapsed()
        while self._leads(least, most) and not self.cover.exhausted:
            least = self._step(least, self.until.within(most))
        return least

    def turn(self, least: float) -> float | None:
        """Take a turn beside a master; None if it is the master's.

        Contrastive sets have a share of the work, and checks of candidates take longer the longer
        the search runs.
        """
        elapsed = self.elapsed()
        if not self._leads(least, self.limits.master_cover_share * elapsed):
            return None
        deadline = self.until.within(elapsed)
        if self.cover.exhausted:
            return self._check_candidate(least, deadline)
        return self._step(least, deadline)

    def close(self) -> None:
        """Release the solver of the covering programs."""
        self.cover.close()

    def _leads(self, least: float, most: float = np.inf) -> bool:
        """Return whether contrastive sets lead the bound, and have done less work than ``most``."""
        cover = self.cover
        open_ = least < self.incumbent.cutoff and not self.until.passed()
        if cover.ended or cover.work >= most or not open_:
            return False
        return cover.bound >= least or not (cover.sets or cover.exhausted)

    def _step(self, least: float, deadline: Deadline) -> float:
        """Add contrastive sets, if they may prove more than ``least``."""
        self.cover.step(deadline, lambda: self.cover.hopeless(least))
        return max(least, self.cover.bound)

    def _check_candidate(self, least: float, deadline: Deadline) -> float:
        """Check the cheapest set that intersects all contrastive sets, as gradients find no more.

        It is a minimum explanation, or has a further contrastive set.
        """
        cover, started = self.cover, worked()
        decision = self.incumbent.decide(cover.candidate, deadline)
        cover.work += elapsed_work(started)
        if decision.delta is not None:
            cover.refute(decision.delta, deadline)
        elif not decision.holds:
            cover.ended = deadline.work_at >= self.until.work_at
        return max(least, cover.bound)
