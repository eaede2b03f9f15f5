"""Counts and seconds: the effort of a search, and what ended it early."""

from dataclasses import dataclass

TIME_LIMIT = "time limit"
INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class StageStatistics:
    """The features that a stage of the checks decided, and the seconds spent in it."""

    stage: str
    features: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SearchEffort:
    """The effort of the search for a minimum, beside the checks.

    ``master`` is what raised the bound: ``"tree"``, ``"program"`` or ``"hitting sets"``. ``rounds``
    counts the sets of features proposed that survive all scenarios known, ``scenarios`` the
    perturbations (for hitting sets, the contrastive sets) known in the end, ``nodes`` those of the
    branch and bound, ``programs`` the relaxations solved: linear ones for the tree, mixed-integer
    ones for the others. ``stages`` are pairs of a name and the wall-clock seconds spent there.
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

    ``checks`` are claims checked, of one feature or a block of them; ``flips`` the features decided
    by moving a point known from an earlier check, ``solves`` programs solved, ``bounded`` margins
    settled by bounds alone; ``nodes`` and ``iterations`` are the solver's own counts; ``seconds``
    is the whole wall-clock time, ``check_seconds`` the part spent in checks. ``stopped`` says what
    ended the traversal early: ``"interrupted"``, ``"time limit"``, or None. ``stages`` tell what
    decided the features, from known points to solves, and where the time of the checks went.
    ``search`` is what the search for a minimum took beside its checks, None where there was none.
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
    search: SearchEffort | None = None
