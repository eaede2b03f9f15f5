"""The relaxation by scenarios as a mixed-integer program, for any solver.

Each step solves the program with all scenarios known; its bound is a bound on every explanation,
and its set of features is an explanation, or does not survive a further scenario. A step ends
early on a set that costs what earlier steps have proven: there is none cheaper.

The program only grows, so solvers that can go on with the one they have do. Phases are branched on
before features, by solvers that take priorities: see ``global_search.branch_and_cut`` for why.
"""

import time

import numpy as np

from milp_verix.errors import SolverError
from milp_verix.global_search.separation import Separator
from milp_verix.problem.objective import Cutoff, Objective
from milp_verix.records.statistics import SearchEffort
from milp_verix.solvers import Session, SolveResult, SolveStatus, Targets, extend
from verix_encodings.models.constraints import Constraint, Scenario
from verix_encodings.models.scenario import ScenarioProgram

_NEAR = 1e-3
_BROKEN = (SolveStatus.FAILED, SolveStatus.INFEASIBLE)


class ProgramMaster:
    """A master on a solver's session; see ``branch_and_cut.ScenarioTree``."""

    def __init__(
        self,
        session: Session,
        objective: Objective,
        separator: Separator,
        cutoff: Cutoff,
    ) -> None:
        self._session = session
        self._objective = objective
        self._separator = separator
        self._cutoff = cutoff
        self._growing = ScenarioProgram(objective.least, objective.most)
        self._ended = False
        self._trouble: tuple[str, ...] = ()
        self._scenarios = self._programs = self._nodes = self._iterations = 0
        self.bound = 0.0

    @property
    def done(self) -> bool:
        """Whether the bound is enough, or the last set survives all that is known."""
        return self._ended or self.bound >= self._cutoff()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about how the bound came about."""
        return self._session.notes + self._trouble

    @property
    def effort(self) -> SearchEffort:
        """The effort so far."""
        return SearchEffort(
            "program",
            self._separator.rounds,
            self._scenarios,
            self._nodes,
            self._programs,
            self._iterations,
        )

    def step(self, deadline: float) -> None:
        """Solve the program and ask what its set does not survive.

        Where the solver fails, what is proven stays, the notes say why, and this was the last step.
        """
        cutoff = self._cutoff()
        try:
            result = self._solved(deadline)
        except SolverError as error:
            self._give_up(str(error), deadline)
            return
        if self.bound >= self._cutoff():
            return
        if result.point is None:
            self._give_up(result.detail or result.status.value, deadline)
            return
        chosen = (result.point[self._growing.columns] > 0.5).astype(np.float64)
        self._separator.try_heuristics(chosen, self.bound)
        constraints = self._separator.separate(chosen, 0)
        self.extend(constraints)
        if not constraints and self._cutoff() >= cutoff:
            # a set that survives all is a cheaper explanation, where the check can decide it
            self._give_up("nothing was found against its last set, and no proof for it", deadline)

    def _give_up(self, reason: str, deadline: float) -> None:
        self._ended = True
        if not self._trouble and time.monotonic() < deadline:
            self._trouble = (f"the search for a higher lower bound was given up: {reason}",)

    def _solved(self, deadline: float) -> SolveResult:
        """Solve the program with all that is known by now, and raise the bound."""
        program, columns = self._growing.build(), self._growing.columns
        extend(self._session, program)
        cost = np.zeros(program.columns)
        cost[columns] = self._objective.costs
        targets = Targets(
            seconds=deadline - time.monotonic(),
            violated_below=self.bound + _NEAR,
            holds_above=self._cutoff() + _NEAR,
            whole=self._objective.whole,
            first=np.setdiff1d(np.flatnonzero(program.integer), columns),
        )
        result = self._session.minimise(cost, targets)
        self._programs += 1
        self._nodes += result.nodes
        self._iterations += result.iterations
        if not np.isfinite(result.bound) or result.status in _BROKEN:
            return result
        if program.largest_big_m > self._session.largest_big_m:
            self._trouble = (
                f"no lower bound rests on big-Ms beyond {self._session.largest_big_m:g}, which is "
                f"as far as {self._session.name} is trusted",
            )
        else:
            self.bound = max(self.bound, self._objective.attainable(result.bound))
        return result

    def extend(self, constraints: list[Constraint]) -> None:
        """Add scenarios and covers."""
        for constraint in constraints:
            self._growing.add(constraint)
            self._scenarios += isinstance(constraint, Scenario)

    def close(self) -> None:
        """Close the session."""
        self._session.close()
