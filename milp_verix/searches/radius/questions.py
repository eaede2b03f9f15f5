"""Answers to the questions of brackets, for one set of features and one radius at a time."""

from dataclasses import replace

from milp_verix.base.clock import Deadline
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.smaller_balls import SmallerBalls
from milp_verix.oracle.statistics import SolverStatistics
from milp_verix.oracle.verdict import Effort
from milp_verix.problem.search import Search
from milp_verix.searches.radius.balls import Balls
from milp_verix.searches.radius.bracket import Bracket, Step


class Questions:
    """Asks oracles, one for each radius, and hands their answers to brackets.

    The first one is that of ``epsilon``. Deeper bounds at a radius serve smaller ones. ``effort``,
    ``checks``, ``solvers`` and ``versions`` sum those of all oracles.
    """

    def __init__(self, balls: Balls, epsilon: float, search: Search) -> None:
        self._balls, self._epsilon = balls, epsilon
        self._bounds = SmallerBalls.of(balls.problem, search)
        # what an oracle prepares and reuses is for sets that grow
        self._search = replace(search, reuse=False)
        self._oracle = self._opened(epsilon)
        self.effort, self.checks = Effort(), 0
        self.versions: dict[str, str] = {}
        self._solvers: dict[str, SolverStatistics] = {}

    @property
    def solver(self) -> str:
        """Name of the solver that decided the most checks."""
        most = max(self._solvers.values(), key=lambda solver: solver.checks, default=None)
        return self._oracle.solver if most is None or not most.checks else most.solver

    @property
    def solvers(self) -> tuple[SolverStatistics, ...]:
        """The checks that each solver decided, and its seconds."""
        return tuple(self._solvers.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the last oracle."""
        return self._oracle.notes

    def close(self) -> None:
        """Close the last oracle, and keep its counts."""
        self.effort += self._oracle.effort
        self.checks += self._oracle.checks
        self.versions |= self._oracle.versions
        for one in self._oracle.solvers:
            known = self._solvers.get(one.solver, SolverStatistics(one.solver, 0, 0.0))
            self._solvers[one.solver] = SolverStatistics(
                one.solver, known.checks + one.checks, known.seconds + one.seconds
            )
        self._oracle.close()

    def ask(self, bracket: Bracket, step: Step, deadline: Deadline) -> None:
        """Answer ``step`` of ``bracket`` by the ``deadline``."""
        oracle = self._at(step.epsilon)
        if step.means == "attack":
            *others, last = bracket.features
            found = oracle.attacked(others, [last], deadline)
            if last in found:
                bracket.violated(step.epsilon, found[last])
            return
        ask = oracle.check_by_bounds if step.means == "bounds" else oracle.check
        verdict = ask(bracket.free, deadline)
        if verdict.holds:
            bracket.holds(step.epsilon)
        elif verdict.violated:
            bracket.violated(step.epsilon, verdict)
        elif step.means == "check":
            bracket.undecided(step.epsilon, verdict.reason or "unknown")

    def _at(self, epsilon: float) -> Oracle:
        """Return the oracle at a radius; the last one is kept."""
        if self._epsilon != epsilon:
            opened = self._opened(epsilon)
            self.close()
            self._oracle, self._epsilon = opened, epsilon
        return self._oracle

    def _opened(self, epsilon: float) -> Oracle:
        return Oracle(self._balls.at(epsilon), self._search, self._bounds)
