"""The relaxation by scenarios as a mixed-integer program, for any solver.

Each step solves the program with all scenarios known; its bound is a bound on every explanation,
and its set of features is an explanation, or does not survive a further scenario.
"""

import time

import numpy as np

from milp_verix.perturbations import Perturbations
from milp_verix.scenario_tree import Separate, Threshold
from milp_verix.solvers import Session, SolveStatus, Targets
from milp_verix.wishes import Wishes
from verix_encodings.scenario import Part, ScenarioProgram

_BROKEN = (SolveStatus.FAILED, SolveStatus.INFEASIBLE)


class ProgramMaster:
    """A master on a solver's session; see :class:`milp_verix.scenario_tree.ScenarioTree`."""

    def __init__(
        self,
        session: Session,
        perturbations: Perturbations,
        wishes: Wishes,
        separate: Separate,
        enough: Threshold,
    ) -> None:
        self._session = session
        self._wishes = wishes
        self._separate = separate
        self._enough = enough
        p = perturbations
        self._growing = ScenarioProgram(
            p.margins, p.centre, p.feature_of, wishes.least, wishes.most
        )
        self._ended = False
        self.bound = 0.0

    @property
    def done(self) -> bool:
        """Whether the bound is enough, or the last set survives all that is known."""
        return self._ended or self.bound >= self._enough()

    def step(self, deadline: float) -> None:
        """Solve the program and ask what its set does not survive."""
        program, columns = self._growing.build(), self._growing.columns
        self._session.load(program)
        cost = np.zeros(program.columns)
        cost[columns] = self._wishes.costs
        enough = self._enough()
        targets = Targets(
            seconds=deadline - time.monotonic(), holds_above=enough + 1e-3, whole=self._wishes.whole
        )
        result = self._session.minimise(cost, targets)
        trusted = program.largest_big_m <= self._session.largest_big_m
        if np.isfinite(result.bound) and result.status not in _BROKEN and trusted:
            self.bound = max(self.bound, self._wishes.rounded(result.bound))
        self._ended = result.point is None
        if result.point is None or self.bound >= self._enough():
            return
        chosen = (result.point[columns] > 0.5).astype(np.float64)
        parts = self._separate(chosen, self.bound, 0)
        self.extend(parts)
        self._ended = not parts

    def extend(self, parts: list[Part]) -> None:
        """Add scenarios and covers."""
        for part in parts:
            self._growing.add(part)

    def close(self) -> None:
        """Close the session."""
        self._session.close()
