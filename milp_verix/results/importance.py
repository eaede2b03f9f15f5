"""The part of features in a prediction: power indices with proven brackets, and relevance."""

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar, Literal, Self, TypeAlias, cast

from numpy.typing import NDArray

from milp_verix.base.errors import InputError, require_one_of
from milp_verix.base.stored_kinds import FeatureSet, Index, Points
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.results import shown
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.contrast import Contrast
from milp_verix.results.known_game import KnownGame
from milp_verix.results.power_indices import INDICES, brackets
from milp_verix.results.shown import Certified, Drawn

IndexName: TypeAlias = Literal["shapley", "holler-packel", "deegan-packel", "responsibility"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Importance(Certified, Drawn, Result):
    """The importance of each feature for one prediction, between proven ends.

    ``lower`` and ``upper`` have an end for each feature, ``values`` the middle between them; where
    the importance is ``exact``, all three are the same.

    The picture of an image is a map of the proven importance. Other inputs have a bar for each
    feature with its bracket, beside the scores of the other tool, if there are any.

    Attributes:
        index: The power index.
        sufficient: Sets of features that keep the prediction when they are fixed, the smallest
            first.
        contrasts: Sets of features whose change can change the prediction, with inputs.
        complete: A proof that the sets in ``sufficient`` are all minimal explanations.
        beside: A score of each feature by another tool, such as a SHAP value, or None.
        unknown_reason: Obstacle to completeness, or None.
    """

    __module__ = "milp_verix"  # so pickles stay readable wherever this file goes

    kind: ClassVar[str] = "importance"
    noun: ClassVar[str] = "an importance"
    derived = (*Result.derived, "values", "lower", "upper", "exact", "misordered")

    index: IndexName
    sufficient: tuple[FeatureSet, ...]
    contrasts: tuple[Contrast, ...]
    complete: bool
    beside: tuple[float, ...] | None = None
    unknown_reason: str | None = None

    def __post_init__(self) -> None:
        Result.__post_init__(self)
        for explanation in self.sufficient:
            self._refuse_no_features(sufficient=explanation)
        for one in self.contrasts:
            self._refuse_no_features(contrasts=one.features)
            self._refuse_points([one.counterfactual], one.features)
        if self.beside is not None and len(self.beside) != len(self.groups):
            raise ValueError("beside has a number for each feature")
        brackets(self.game, self.index)  # ValueError where sets contradict each other

    @property
    def game(self) -> KnownGame:
        """The values of sets of features, as far as they are known."""
        still = {*self.still}
        players = tuple(feature for feature in range(len(self.groups)) if feature not in still)
        changing = tuple(one.features for one in self.contrasts)
        return KnownGame(players, self.sufficient, changing, self.complete)

    @property
    def _ends(self) -> list[tuple[float, float]]:
        found = brackets(self.game, self.index)
        every = range(len(self.groups))
        return [found[one].rounded() if one in found else (0.0, 0.0) for one in every]

    @property
    def lower(self) -> tuple[float, ...]:
        """Proven lower end of each feature's importance; 0 for features in ``still``."""
        return tuple(low for low, _ in self._ends)

    @property
    def upper(self) -> tuple[float, ...]:
        """Proven upper end of each feature's importance; 0 for features in ``still``."""
        return tuple(high for _, high in self._ends)

    @property
    def values(self) -> tuple[float, ...]:
        """Importance of each feature: the middle between its ends, the same if it is exact.

        It is 0 for features in ``still``, which no input changes: nothing is proven of these.
        """
        return tuple(low if low == high else (low + high) / 2 for low, high in self._ends)

    @property
    def exact(self) -> bool:
        """True if the importance of each feature is known exactly."""
        return all(low == high for low, high in self._ends)

    @property
    def misordered(self) -> tuple[tuple[Index, Index], ...]:
        """Pairs of features that ``beside`` orders otherwise than is proven of the index.

        The first of a pair has the larger score by magnitude, and the smaller importance. Nothing
        is proven of features in ``still``, so no pair has one.
        """
        if self.beside is None:
            return ()
        scores, ends = [abs(score) for score in self.beside], self._ends
        pairs = []
        for one, other in combinations(self.game.players, 2):
            for a, b in ((one, other), (other, one)):
                if scores[a] > scores[b] and ends[a][1] < ends[b][0]:
                    pairs.append((a, b))
        return tuple(pairs)

    @property
    def ranking(self) -> tuple[int, ...]:
        """The features that can change by importance, the largest first.

        Ties and open ones are in the order of their numbers.
        """
        lower, upper = self.lower, self.upper
        return tuple(sorted(self.game.players, key=lambda one: (-lower[one] - upper[one], one)))

    def under(self, index: str) -> Self:
        """Return the importance by another index, from the same sets of features.

        Raises ``InputError`` for an index that there is not.
        """
        return replace(self, index=index_named(index))

    def replay(self, network: LoadedModel) -> tuple[FeatureSet, ...]:
        """Run onnxruntime on every counterfactual again; return the contrasts whose fails.

        ``InputError`` where ``network`` is not the network explained.
        """
        found = {one.features: one.counterfactual for one in self.contrasts}
        return self._failing([(one, one, point) for one, point in found.items()], network)


def index_named(name: str) -> IndexName:
    """Return the name of an index; ``InputError`` for one that there is not."""
    require_one_of(INDICES, name, "index")
    return cast(IndexName, name)


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
    noun: ClassVar[str] = "a result on relevance"
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

    def replay(self, network: LoadedModel) -> bool:
        """Run onnxruntime on the pair of inputs again; return whether it shows the difference.

        The counterfactual is in the ball and changes the prediction; the other input, if there is
        one, is in the ball and keeps it. ``InputError`` where there is no evidence, or where
        ``network`` is not the network asked about.
        """
        if self.counterfactual is None or self.free is None:
            raise InputError("there is no counterfactual to replay: no relevance was shown")
        problem = shown.build.problem_behind(self, network)
        if not shown.build.stands(problem, [*self.features, *self.free], self.counterfactual):
            return False
        if self.unchanged is None:
            return True
        free = problem.features.coordinates(sorted(self.free))
        inside = problem.ball.contains(self.unchanged.reshape(-1), free)
        return inside and not problem.question.changed(network.outputs_at(self.unchanged))
