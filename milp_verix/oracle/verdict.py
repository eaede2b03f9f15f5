"""The answer to a check: three values, never two; and the effort of answers, stage by stage.

The only way to a VIOLATED verdict: an input in the ball, run in the model's own runtime.
"""

import time
from dataclasses import dataclass
from enum import Enum
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.base.stored_kinds import Amount, Count
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.work import spend_calls

if TYPE_CHECKING:
    from milp_verix.problem.problem import ProblemData
    from milp_verix.problem.question import Question


class Answer(Enum):
    """The three answers to a check."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


class Stage(Enum):
    """The means that decide a check, the cheapest first.

    Bounds with slopes of their own for each neuron, and trees of phases, serve later checks, too.
    """

    POINTS = "known points"
    BOUNDS = "bounds"
    GROWTH = "derivative bounds"
    SLOPES = "optimised slopes"
    TREES = "trees of phases"
    SOLVES = "solves"


@dataclass(frozen=True, slots=True)
class Effort:
    """The effort of an answer.

    ``solves`` counts solves of programs, and claims that engines without programs were asked about;
    ``bounded`` the margins that bounds alone prove; ``flips`` the checks, or single features, that
    known points or gradients refute; ``stages`` are the seconds spent in each :class:`Stage`.
    """

    solves: int = 0
    bounded: int = 0
    flips: int = 0
    nodes: int = 0
    iterations: int = 0
    seconds: float = 0.0
    stages: tuple[float, ...] = (0.0,) * len(Stage)

    def __add__(self, other: "Effort") -> "Effort":
        return Effort(
            self.solves + other.solves,
            self.bounded + other.bounded,
            self.flips + other.flips,
            self.nodes + other.nodes,
            self.iterations + other.iterations,
            self.seconds + other.seconds,
            tuple(map(add, self.stages, other.stages)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """The outcome of one check.

    ``HOLDS`` carries ``bound``, a proven upper bound on the worst margin, below zero; None where it
    is not, since the library of trees decides ties within its own rounding. Inside of engines
    :attr:`.Decision.upper` has the bounds, and the oracle puts the worst of them here.
    ``VIOLATED`` carries ``witness``, an input of the network's shape and dtype inside the ball,
    and ``prediction``, what onnxruntime predicts for it; ``rival`` is the class that overtakes the
    original's there, if only some classes are in question. ``UNKNOWN`` carries ``reason``.
    ``stage`` is the last one that the answer needed.
    """

    answer: Answer
    bound: float | None = None
    witness: NDArray[Any] | None = None
    prediction: int | tuple[float, ...] | None = None
    reason: str | None = None
    effort: Effort = Effort()
    stage: Stage = Stage.SOLVES
    rival: int | None = None

    @property
    def point(self) -> NDArray[np.float64]:
        """The witness of a claim that is refuted, flat, in float64."""
        if self.witness is None:
            raise InputError("there is no witness: the claim is not refuted")
        return self.witness.reshape(-1).astype(np.float64)

    @property
    def holds(self) -> bool:
        """True if the claim is proven."""
        return self.answer is Answer.HOLDS

    @property
    def violated(self) -> bool:
        """True if the claim is refuted."""
        return self.answer is Answer.VIOLATED

    def __bool__(self) -> bool:
        raise TypeError("a verdict has three values: ask for .holds or .violated")


def replayed(problem: "ProblemData", point: FloatArray, free: IntArray) -> Verdict | None:
    """Run onnxruntime next to ``point``; return VIOLATED if the prediction changes, else None.

    ``point`` is any vector of shape (d,). onnxruntime runs on the nearest input of the network's
    dtype that lies in the ball over the coordinates ``free``. None if ``point`` is not finite.
    """
    if not np.isfinite(point).all():
        return None  # slopes that overflow lead nowhere
    network, question, ball = problem.network, problem.question, problem.ball
    witness = ball.nearest_witness(point, free)
    if not ball.contains(witness, free):
        return None
    spend_calls(40)
    # a solver's zero may be -0.0, which is the same number, and reads "-0"
    witness = np.where(witness == ball.centre, ball.centre, witness + witness.dtype.type(0))
    outputs = network.outputs_at(witness)
    if not question.changed(outputs):
        return None
    witness = witness.reshape(network.input_shape)
    witness.flags.writeable = False
    return violated_by(question, witness, outputs)


def violated_by(question: "Question", witness: NDArray[Any], outputs: NDArray[Any]) -> Verdict:
    """Return VIOLATED with a ``witness`` that changes the prediction to that of ``outputs``."""
    return Verdict(
        Answer.VIOLATED,
        witness=witness,
        prediction=question.predicted(outputs),
        rival=question.rival(outputs),
    )


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
        flips: Features decided by points known from earlier checks, or found by gradients.
        solves: Programs solved; by ``split``, ``beta`` and ``leaves``, claims asked about.
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
