"""Counts and seconds: the effort of a search, and what ended it early."""

from dataclasses import dataclass

TIME_LIMIT = "time limit"
BOUNDS_ALONE = "bounds alone do not decide it"
INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class StageStatistics:
    """The features that a stage of the checks decided, and the seconds spent in it."""

    stage: str
    features: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SolverStatistics:
    """The checks that a solver decided, and the seconds it had for these and for others."""

    solver: str
    checks: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SearchEffort:
    """The effort of the search for a minimum, beside the checks.

    ``master`` raised the bound: ``"tree"``, ``"program"`` or ``"hitting sets"``. ``rounds`` counts
    the proposed sets of features that survive all known scenarios. ``scenarios`` counts the known
    perturbations (for hitting sets, contrastive sets), ``nodes`` the nodes of the branch and bound.
    ``programs`` counts the relaxations solved: linear for the tree, mixed-integer for the other
    masters. ``stages`` are pairs of a name and wall-clock seconds.
    """

    master: str = "tree"
    rounds: int = 0
    scenarios: int = 0
    nodes: int = 0
    programs: int = 0
    iterations: int = 0
    stages: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """The effort of a whole search.

    ``checks`` counts claims checked, each about one feature or a block of features. ``flips``
    counts features decided by moving a point known from an earlier check. ``solves`` counts
    programs solved, ``bounded`` margins decided by bounds alone. ``nodes`` and ``iterations`` are
    the solver's own counts. ``seconds`` is the whole wall-clock time, ``check_seconds`` the part
    spent in checks. ``stopped`` names the reason of an early end, such as ``"interrupted"`` or
    ``"time limit"``, or is None. ``stages`` split decisions and seconds of the checks by stage,
    ``solvers`` those of the last stage by solver.
    ``search`` is the effort of a search for a minimum, beside its checks, or None.
    """

    checks: int = 0
    flips: int = 0
    solves: int = 0
    bounded: int = 0
    nodes: int = 0
    iterations: int = 0
    seconds: float = 0.0
    check_seconds: float = 0.0
    stopped: str | None = None
    stages: tuple[StageStatistics, ...] = ()
    solvers: tuple[SolverStatistics, ...] = ()
    search: SearchEffort | None = None
