"""The engine ``beta``: claims where linear programs are dear, decided by branching on phases."""

from dataclasses import dataclass

import numpy as np

from milp_verix.oracle.engines.claim import Claim, Decision
from milp_verix.oracle.engines.phase_search import PhaseSearch
from milp_verix.oracle.engines.tried_points import BoundsEngine, Replays, decided
from milp_verix.problem.problem import Problem
from milp_verix.results.records.statistics import TIME_LIMIT
from verix_encodings.propagation.cone import cone


class PhaseSplit(BoundsEngine):
    """Decides claims by a :class:`~milp_verix.oracle.engines.phase_search.PhaseSearch`.

    The search for the last claim goes on where it stopped if it is asked again.
    """

    name = "beta"

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._last: _Search | None = None

    def close(self) -> None:
        """Forget the last search."""
        self._last = None

    def decide(self, claim: Claim) -> Decision:
        """Decide ``claim`` by its deadline, which is looked at between batches."""
        if self._last is None or self._last.first.bounds is not claim.bounds:
            self._last = _Search.of(self._problem, claim)
        first, search = self._last.first, self._last.search
        margins, before = np.sort(first.open_), search.nodes
        search.wanted = np.isin(margins, claim.open_)
        with np.errstate(over="ignore", invalid="ignore"):
            holds = search.run(claim.deadline.passed)
        upper = claim.upper.copy()
        upper[margins] = search.upper
        points = {
            int(margin): search.tried.worst[place]
            for place, margin in enumerate(margins)
            if np.isfinite(search.tried.reached[place])
        }
        reason = None if holds else _reason(claim, search)
        nodes = search.nodes - before
        return decided(claim, upper, points, self._last.replays.verdict, reason, nodes=nodes)


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """The ``search`` for the open margins of a claim in ascending order, as it was ``first``."""

    first: Claim
    search: PhaseSearch
    replays: Replays

    @classmethod
    def of(cls, problem: Problem, claim: Claim) -> "_Search":
        replays, margins = Replays(problem, claim.free), np.sort(claim.open_)
        network, bounds, _ = cone(claim.margins, claim.bounds, len(claim.margins.nodes), margins)
        upper, needed = claim.upper[margins], claim.needed[margins]
        search = PhaseSearch(network, claim.region, bounds, upper, needed, replays)
        return cls(claim, search, replays)


def _reason(claim: Claim, search: PhaseSearch) -> str:
    if not search.stuck or claim.deadline.passed():
        return TIME_LIMIT
    worst = float(search.tried.reached.max())
    return f"phases are split, and bounds still leave margins open; the worst seen is {worst:.2e}"
