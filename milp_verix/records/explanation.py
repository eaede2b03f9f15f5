"""The result of an explanation: frozen data that can be stored, drawn and checked again."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from milp_verix.onnx_reader.onnx_network import OnnxNetwork

Prediction = int | tuple[float, ...]
"""A class, or the values of the outputs that a regression is about."""

DomainEnd = float | tuple[float, ...]
"""One end of the input domain: the same for all coordinates, or one number for each."""


@dataclass(frozen=True, slots=True, eq=False)
class Counterfactual:
    """An input inside the ball whose ``prediction`` by onnxruntime is not the original's.

    It differs from the original only in irrelevant features and in the one that it belongs to.
    """

    input: NDArray[Any]
    prediction: Prediction


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Which network an explanation is about. ``sha256`` is that of the ONNX file."""

    file: str
    sha256: str
    input_shape: tuple[int, ...]
    dtype: str
    softmax_stripped: bool
    sigmoid_stripped: bool = False


@dataclass(frozen=True, slots=True)
class StageStatistics:
    """How many features a stage of the checks decided, and the seconds spent in it."""

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
    """What an explanation took.

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


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """An abductive explanation of one prediction.

    Claim: with the features in ``explanation`` fixed, every input in the ball and the domain has
    the prediction of the original. Each feature in ``explanation`` but not in ``unknown`` has a
    counterfactual, so that it could not have been left out. Feature numbers refer to ``groups``.

    ``input`` has the network's input shape and dtype. ``order`` names the traversal order and
    ``permutation`` lists the features in it; ``sensitivity`` is the score per feature behind it, or
    None. ``traversal`` names the traversal, None where there was none. ``domain`` is the pair of
    ends, each a float or a flat tuple. ``unknown`` are features that were not decided
    (``unknown_reasons``); ``explanation`` holds them too. ``output`` is the one that a regression
    is about, None for all; ``bounds`` names how neurons were bounded, ``formulation`` how ReLUs
    were encoded. ``lower_bound`` is a proven lower bound on the cost of every explanation, None
    where nobody asked; ``costs`` are those of the features, 1 each where there are none, so that
    the cost is the size. Features in ``must`` were asked to be explained, those in ``must_not`` not
    to be: ``lower_bound`` is about explanations of that kind. ``image_shape`` is the shape in which
    the input is an image, None where its own shape says it; ``feature_names`` are those that the
    user gave, or None. Raises ``ValueError`` where parts contradict.
    """

    model: ModelInfo
    input: NDArray[Any]
    prediction: Prediction
    epsilon: float
    norm: str
    delta: float | None
    domain: tuple[DomainEnd, DomainEnd]
    groups: tuple[tuple[int, ...], ...]
    feature_shape: tuple[int, ...] | None
    order: str
    permutation: tuple[int, ...]
    sensitivity: tuple[float, ...] | None
    solver: str
    explanation: tuple[int, ...]
    irrelevant: tuple[int, ...]
    unknown_reasons: Mapping[int, str]
    counterfactuals: Mapping[int, Counterfactual]
    statistics: Statistics
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    output: int | None = None
    lower_bound: float | None = None
    bounds: str | None = None
    formulation: str | None = None
    costs: tuple[float, ...] | None = None
    traversal: str | None = None
    image_shape: tuple[int, ...] | None = None
    must: tuple[int, ...] = ()
    must_not: tuple[int, ...] = ()
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        self._check()
        for name in ("unknown_reasons", "counterfactuals", "versions"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        self.input.flags.writeable = False

    def _check(self) -> None:
        """Raise ``ValueError`` where the parts contradict each other."""
        everything = list(range(len(self.groups)))
        if sorted([*self.explanation, *self.irrelevant]) != everything:
            raise ValueError("explanation and irrelevant must hold each feature exactly once")
        if sorted(self.permutation) != everything:
            raise ValueError("permutation must hold each feature exactly once")
        if not set(self.unknown_reasons) <= set(self.explanation):
            raise ValueError("a feature that is unknown must be in the explanation")
        if set(self.counterfactuals) != set(self.explanation) - set(self.unknown_reasons):
            raise ValueError("each feature explained and not unknown needs a counterfactual")
        if self.costs is not None and len(self.costs) != len(self.groups):
            raise ValueError("each feature has one cost")
        if self.feature_names is not None and len(self.feature_names) != len(self.groups):
            raise ValueError("each feature has one name")
        if self.lower_bound is not None and not 0 <= self.lower_bound <= self.cost:
            raise ValueError("the lower bound is above the cost of the explanation")

    @property
    def strategy(self) -> str | None:
        """The former name of ``traversal``."""
        return self.traversal

    @property
    def size(self) -> int:
        """Number of features in the explanation."""
        return len(self.explanation)

    @property
    def unknown(self) -> tuple[int, ...]:
        """Features that are in the explanation because they were not decided, ascending."""
        return tuple(sorted(self.unknown_reasons))

    @property
    def minimal(self) -> bool:
        """Whether no single feature can be left out: all were decided."""
        return not self.unknown_reasons

    @property
    def cost(self) -> float:
        """Sum of the costs of the features in the explanation; its size where there are none."""
        if self.costs is None:
            return self.size
        total = math.fsum(self.costs[feature] for feature in self.explanation)
        return int(total) if total == int(total) else total

    @property
    def gap(self) -> float | None:
        """By how much a cheaper explanation could be cheaper; None where nobody asked."""
        return None if self.lower_bound is None else self.cost - self.lower_bound

    @property
    def proven(self) -> bool:
        """Whether no explanation is cheaper, up to a millionth where costs are no whole numbers."""
        return self.gap is not None and self.gap <= 1e-6 * self.cost

    def to_json(self, path: str | Path | None = None, *, indent: int | None = None) -> str:
        """Return the explanation as JSON, and write it to ``path`` if given."""
        from milp_verix.records.json_format import dump, write_atomically

        text = dump(self, indent=indent)
        if path is not None:
            write_atomically(Path(path), text)
        return text

    @staticmethod
    def from_json(source: str | Path) -> "Explanation":
        """Read an explanation from JSON text or from the path of a JSON file.

        Raises ``InputError`` for what is not an explanation of this schema.
        """
        from milp_verix.records.json_format import load

        return load(source)

    def replay(self, network: "OnnxNetwork") -> tuple[int, ...]:
        """Run onnxruntime on every counterfactual again; return the features whose fails.

        A counterfactual fails that is outside the ball or the domain, touches a feature that is
        neither irrelevant nor its own, or does not change the prediction. Raises ``InputError``
        where ``network`` is not the network explained.
        """
        from milp_verix.results.replay import failing_counterfactuals

        return failing_counterfactuals(self, network)

    def plot(
        self, path: str | Path | None = None, *, image_shape: tuple[int, ...] | None = None
    ) -> "Figure":
        """Draw the explanation; write it to ``path`` if given.

        Images: the original, the sensitivity map, the explanation over the image, and
        counterfactuals. Other inputs: a bar for each feature. ``image_shape``, such as (28, 28),
        says how to draw an input whose image shape was not said when it was explained.
        """
        from milp_verix.reporting.plotting import plot_explanation

        return plot_explanation(self, path, image_shape=image_shape)

    def __reduce__(self) -> tuple[Any, ...]:
        # read-only mappings cannot be pickled or copied; the JSON holds all there is, bit for bit
        return Explanation.from_json, (self.to_json(),)

    def __repr__(self) -> str:
        from milp_verix.reporting.wording import outcome_text

        return (
            f"Explanation({self.model.file}: prediction {self.prediction}, {self.size} of "
            f"{len(self.groups)} features, {outcome_text(self)}, "
            f"epsilon={self.epsilon:g} {self.norm}, "
            f"{self.statistics.seconds:.2f} s by {self.solver})"
        )

    def _repr_html_(self) -> str:
        from milp_verix.reporting.explanation_table import to_html

        return to_html(self)
