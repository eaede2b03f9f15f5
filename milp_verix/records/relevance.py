"""The part that protected features play in a decision."""

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from milp_verix.records.base import Counterfactual, Prediction
from milp_verix.records.statistics import Statistics


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Relevance:
    """Membership of ``features`` in the explanations of one decision, by proof.

    The answer ``necessary`` says that every explanation has one of them, ``relevant`` that some
    minimal one does. An answer is None where a limit or an undecided check left it open.

    Evidence of relevance is a set ``free`` of other features, empty where ``features`` are
    necessary: the prediction provably survives every change of ``free``, and ``counterfactual``,
    which changes ``features`` as well, changes it. The input ``unchanged`` is the counterfactual
    with ``features`` put back, and keeps the prediction; it is None where a rule forbids it.
    Raises ``ValueError`` for fields that contradict each other.
    """

    features: tuple[int, ...]
    feature_names: tuple[str, ...] | None = None
    prediction: Prediction
    necessary: bool | None
    relevant: bool | None
    free: tuple[int, ...] | None = None
    counterfactual: Counterfactual | None = field(default=None, repr=False)
    unchanged: NDArray[Any] | None = field(default=None, repr=False)
    unknown_reason: str | None = None
    statistics: Statistics = field(repr=False)

    def __post_init__(self) -> None:
        if self.necessary and not self.relevant:
            raise ValueError("a necessary feature is relevant")
        if (self.relevant is True) != (self.counterfactual is not None and self.free is not None):
            raise ValueError("relevance has its evidence, and nothing else has")

    @property
    def role(self) -> str:
        """``"necessary"``, ``"relevant"``, ``"irrelevant"`` or ``"unknown"``.

        A relevant feature whose necessity is open counts as ``"relevant"``.
        """
        if self.necessary:
            return "necessary"
        return {True: "relevant", False: "irrelevant", None: "unknown"}[self.relevant]

    @property
    def pair(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Two inputs that differ in ``features`` alone and are decided differently, if known.

        The prediction of the first is the one explained; where that is ``necessary``, the first is
        the input itself.
        """
        if self.unchanged is None or self.counterfactual is None:
            return None
        return self.unchanged, self.counterfactual.input
