"""Counts and seconds: the effort of a search, stage by stage, and what ended it early."""

import time
from dataclasses import dataclass

from milp_verix.base.stored_kinds import Amount, Count
from milp_verix.oracle.verdict import Effort, Stage


class StageClock:
    """Measures how long each stage takes: it runs for one of them at a time."""

    def __init__(self, stage: Stage) -> None:
        self._started = self._since = time.monotonic()
        self._stage = stage
        self._seconds = dict.fromkeys(Stage, 0.0)

    def turn_to(self, stage: Stage) -> None:
        """Count time for ``stage`` from here on."""
        now = time.monotonic()
        self._seconds[self._stage] += now - self._since
        self._stage, self._since = stage, now

    def read(self) -> Effort:
        """Return the seconds so far, as an effort."""
        self.turn_to(self._stage)
        return Effort(seconds=self._since - self._started, stages=tuple(self._seconds.values()))


TIME_LIMIT = "time limit"
MEMORY_LIMIT = "memory limit"
BOUNDS_ALONE = "bounds alone do not decide it"
INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class StageStatistics:
    """The features that a stage of the checks decided, and the seconds spent in it.

    Attributes:
        stage: Name of the stage.
        features: Features decided there.
        seconds: Seconds spent there.
    """

    stage: str
    features: Count
    seconds: Amount


@dataclass(frozen=True, slots=True)
class SolverStatistics:
    """The checks that a solver decided, and the seconds it had for these and for others.

    Attributes:
        solver: Name of the solver.
        checks: Checks that it decided.
        seconds: Seconds that it had.
    """

    solver: str
    checks: Count
    seconds: Amount


@dataclass(frozen=True, slots=True)
class SearchEffort:
    """The effort of the search for a minimum, beside the checks.

    Attributes:
        master: Method that raised the bound: ``"tree"``, ``"program"`` or ``"hitting sets"``.
        rounds: Proposed sets of features that survive all known scenarios.
        scenarios: Known perturbations; for hitting sets, contrastive sets.
        nodes: Nodes of the branch and bound.
        programs: Relaxations solved: linear for the tree, mixed-integer for the other masters.
        iterations: Simplex iterations.
        stages: Pairs of a stage and its wall-clock seconds.
        trace: Seconds since the call, best cost and lower bound, whenever one of these changed.
    """

    master: str = "tree"
    rounds: Count = 0
    scenarios: Count = 0
    nodes: Count = 0
    programs: Count = 0
    iterations: Count = 0
    stages: tuple[tuple[str, Amount], ...] = ()
    trace: tuple[tuple[Amount, Amount, Amount], ...] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """The effort of a whole search.

    Attributes:
        checks: Claims checked, each about one feature or a block of features.
        flips: Features decided by moving a point known from an earlier check.
        solves: Programs solved.
        bounded: Margins decided by bounds alone.
        nodes: Nodes, as the solvers count them.
        iterations: Simplex iterations, as the solvers count them.
        seconds: Wall-clock time of the whole search.
        check_seconds: The part of it in checks.
        stopped: Reason of an early end, such as ``"interrupted"`` or ``"time limit"``, or None.
        stages: Decisions and seconds by the stage of the checks.
        solvers: Decisions and seconds of the last stage by solver.
        search: Effort of a search for a minimum beside its checks, or None.
    """

    checks: Count = 0
    flips: Count = 0
    solves: Count = 0
    bounded: Count = 0
    nodes: Count = 0
    iterations: Count = 0
    seconds: Amount = 0.0
    check_seconds: Amount = 0.0
    stopped: str | None = None
    stages: tuple[StageStatistics, ...] = ()
    solvers: tuple[SolverStatistics, ...] = ()
    search: SearchEffort | None = None
