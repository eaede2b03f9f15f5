"""The importance of each feature for a prediction: power indices with proven brackets."""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeAlias, cast

from milp_verix.base.errors import require_one_of
from milp_verix.base.stored_kinds import FeatureSet, Index
from milp_verix.results.power_indices.indices import INDICES, brackets
from milp_verix.results.power_indices.known_game import KnownGame
from milp_verix.results.records.base import Result
from milp_verix.results.records.enumeration import Contrast
from milp_verix.results.shown import Certified, Drawn

if TYPE_CHECKING:
    from milp_verix.models.loaded_model import LoadedModel

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
    told: ClassVar[str] = "an importance"
    derived: ClassVar[tuple[str, ...]] = (
        *Result.derived,
        *("values", "lower", "upper", "exact", "misordered"),
    )

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
        """The features with room to change by importance, the largest first.

        Ties and open ones are in the order of their numbers.
        """
        lower, upper = self.lower, self.upper
        return tuple(sorted(self.game.players, key=lambda one: (-lower[one] - upper[one], one)))

    def under(self, index: str) -> Self:
        """Return the importance by another index, from the same sets of features.

        Raises ``InputError`` for an index that there is not.
        """
        return replace(self, index=index_named(index))

    def replay(self, network: "LoadedModel") -> tuple[FeatureSet, ...]:
        """Run onnxruntime on every counterfactual again; return the contrasts whose fails.

        ``InputError`` where ``network`` is not the network explained.
        """
        from milp_verix.results.replay import failing_contrasts

        found = {one.features: one.counterfactual for one in self.contrasts}
        return failing_contrasts(self, found, network)


def index_named(name: str) -> IndexName:
    """Return the name of an index; ``InputError`` for one that there is not."""
    require_one_of(INDICES, name, "index")
    return cast(IndexName, name)
