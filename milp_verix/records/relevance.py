"""The part that protected features play in a decision."""

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from milp_verix.records.base import Counterfactual, Result


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Relevance(Result):
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
    necessary: bool | None
    relevant: bool | None
    free: tuple[int, ...] | None = None
    counterfactual: Counterfactual | None = field(default=None, repr=False)
    unchanged: NDArray[Any] | None = field(default=None, repr=False)
    unknown_reason: str | None = None

    def __post_init__(self) -> None:
        Result.__post_init__(self)
        if self.necessary and not self.relevant:
            raise ValueError("a necessary feature is relevant")
        if self.relevant is False and self.necessary is not False:
            raise ValueError("an irrelevant feature is not necessary")
        if (self.relevant is True) != (self.counterfactual is not None and self.free is not None):
            raise ValueError("relevance has its evidence, and nothing else has")
        if self.necessary and self.free:
            raise ValueError("a necessary feature changes the prediction alone")
        if (self.unknown_reason is None) != self.settled:
            raise ValueError("an answer is open exactly where something kept it from being found")
        if self.counterfactual is not None and self.free is not None:
            self._refuse_change(self.counterfactual.input, (*self.features, *self.free))
            if self.unchanged is not None:
                self._refuse_change(self.unchanged, self.free)

    def _refuse_change(self, point: NDArray[Any], features: tuple[int, ...]) -> None:
        changed = (point != self.input).reshape(-1)
        allowed = [i for feature in features for i in self.groups[feature]]
        if changed.sum() > changed[allowed].sum():
            raise ValueError("the evidence changes features other than its own")

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of ``features``, or None."""
        known = self.feature_names
        return None if known is None else tuple(known[feature] for feature in self.features)

    @property
    def settled(self) -> bool:
        """True if both answers are known."""
        return self.necessary is not None and self.relevant is not None

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
