"""The part that protected features play in a decision."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.base.stored_kinds import FeatureSet, Points
from milp_verix.results.records.base import Counterfactual, Result
from milp_verix.results.shown import Certified

if TYPE_CHECKING:
    from milp_verix.models.loaded_model import LoadedModel


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Relevance(Certified, Result):
    """The part that protected features play in the explanations of one decision, by proof.

    Attributes:
        features: The features asked about, which count as one.
        necessary: True if every explanation has one of them, or None.
        relevant: True if some minimal explanation has one of them, or None.
        free: Other features, every change of which provably keeps the prediction; empty where
            ``features`` are necessary; None without evidence.
        counterfactual: An input that changes ``features`` and features in ``free``, and the
            prediction; None without evidence.
        unchanged: The counterfactual with ``features`` put back, which keeps the prediction; None
            where a rule forbids it, and without evidence.
        unknown_reason: What kept an answer open, or None.
    """

    __module__ = "milp_verix"  # so pickles stay readable wherever this file goes

    kind: ClassVar[str] = "relevance"
    told: ClassVar[str] = "a result on relevance"
    derived: ClassVar[tuple[str, ...]] = (*Result.derived, "role")

    features: FeatureSet
    necessary: bool | None
    relevant: bool | None
    free: FeatureSet | None = None
    counterfactual: Counterfactual | None = field(default=None, repr=False)
    unchanged: Points | None = field(default=None, repr=False)
    unknown_reason: str | None = None

    def __post_init__(self) -> None:
        Result.__post_init__(self)
        self._refuse_no_features(features=self.features, free=self.free or ())
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
            self._refuse_points([self.counterfactual], (*self.features, *self.free))
            if self.unchanged is not None:
                self._refuse_change(self.unchanged, self.free)

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
    def role(self) -> Literal["necessary", "relevant", "irrelevant", "unknown"]:
        """``"necessary"``, ``"relevant"``, ``"irrelevant"`` or ``"unknown"``.

        A relevant feature whose necessity is open counts as ``"relevant"``.
        """
        if self.necessary:
            return "necessary"
        if self.relevant is None:
            return "unknown"
        return "relevant" if self.relevant else "irrelevant"

    @property
    def pair(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Two inputs that differ in ``features`` alone and are decided differently, if known.

        The prediction of the first is the one explained; where that is ``necessary``, the first is
        the input itself.
        """
        if self.unchanged is None or self.counterfactual is None:
            return None
        return self.unchanged, self.counterfactual.input

    def replay(self, network: "LoadedModel") -> bool:
        """Run onnxruntime on the pair of inputs again; return whether it shows the difference.

        The counterfactual is in the ball and changes the prediction; the other input, if there is
        one, is in the ball and keeps it. ``InputError`` where there is no evidence, or where
        ``network`` is not the network asked about.
        """
        from milp_verix.results.replay import relevance_stands

        if self.counterfactual is None:
            raise InputError("there is no counterfactual to replay: no relevance was shown")
        return relevance_stands(self, network)
