"""Robustness radii: how far features may move before the prediction changes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from milp_verix.base.stored_kinds import Amount, FeatureSet
from milp_verix.results.records.base import Counterfactual, Result
from milp_verix.results.shown import Certified, Drawn

if TYPE_CHECKING:
    from milp_verix.models.loaded_model import LoadedModel


@dataclass(frozen=True, slots=True, eq=False)
class RadiusBracket:
    """A bracket of the largest radius at which ``features`` are irrelevant together.

    Radii are in the units of the input. Raises ``ValueError`` for fields that contradict each
    other.

    Attributes:
        features: Features that move together.
        lower: Proven: no change of these features within it changes the prediction.
        upper: Distance of the counterfactual, or None.
        reach: Largest radius asked about.
        counterfactual: An input at the distance ``upper`` that changes nothing else, or None.
        unknown_reason: Obstacle to a bracket as narrow as asked for, or None.
    """

    features: FeatureSet
    lower: Amount
    upper: Amount | None
    reach: Amount
    counterfactual: Counterfactual | None = None
    unknown_reason: str | None = None

    def __post_init__(self) -> None:
        if (self.upper is None) != (self.counterfactual is None):
            raise ValueError("an upper end and its counterfactual belong together")
        if not 0 <= self.lower <= self.reach or (
            self.upper is not None and not self.lower <= self.upper <= self.reach
        ):
            raise ValueError("a bracket has 0 <= lower <= upper <= reach")

    @property
    def irrelevant(self) -> bool:
        """True if it is proven that no radius asked about changes the prediction."""
        return self.lower >= self.reach

    @property
    def settled(self) -> bool:
        """True if the bracket is as narrow as asked for."""
        return self.unknown_reason is None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RobustnessRadii(Certified, Drawn, Result):
    """Brackets of the largest radius at which some features are irrelevant.

    The picture of an image is a map of the radii of the features, or shows the counterfactual of
    the one bracket. Other inputs have a bar for each bracket.

    Attributes:
        brackets: One for the features asked about together, or one for each feature alone.
        each: True if each feature has a bracket of its own.
        tolerance: Width that a bracket was to have, as a share of its upper end.
        scale: Radii of the features of a described input at the radius 1, in their units, or None.
    """

    __module__ = "milp_verix"  # so pickles stay readable wherever this file goes

    kind: ClassVar[str] = "radius"
    told: ClassVar[str] = "a result on radii"
    derived: ClassVar[tuple[str, ...]] = (*Result.derived, "settled", "irrelevant")

    brackets: tuple[RadiusBracket, ...]
    each: bool
    tolerance: Amount
    scale: tuple[Amount, ...] | None = None

    def __post_init__(self) -> None:
        Result.__post_init__(self)
        everything = range(len(self.groups))
        if self.each:
            if [bracket.features for bracket in self.brackets] != [(i,) for i in everything]:
                raise ValueError("there is one bracket for each feature, in their order")
        elif len(self.brackets) != 1:
            raise ValueError("there is one bracket, of features of the input")
        for bracket in self.brackets:
            self._refuse_no_features(features=bracket.features)
            self._refuse_points([bracket.counterfactual], bracket.features)

    @property
    def bracket(self) -> RadiusBracket:
        """The one bracket; ``ValueError`` if there is one for each feature."""
        if self.each:
            raise ValueError("there is a bracket for each feature: use brackets")
        return self.brackets[0]

    @property
    def settled(self) -> bool:
        """True if every bracket is as narrow as asked for."""
        return all(bracket.settled for bracket in self.brackets)

    @property
    def irrelevant(self) -> FeatureSet:
        """Features that never change the prediction within the radii asked about.

        They never do so alone if ``each``, and never together if not.
        """
        return tuple(f for bracket in self.brackets if bracket.irrelevant for f in bracket.features)

    def replay(self, network: "LoadedModel") -> tuple[tuple[int, ...], ...]:
        """Run onnxruntime on every counterfactual again; return the features whose fails.

        A counterfactual fails that is outside the ball of its radius or the domain, or does not
        change the prediction. ``InputError`` where ``network`` is not the network asked about.
        """
        from milp_verix.results.replay import failing_contrasts

        found = {b.features: b.counterfactual for b in self.brackets if b.counterfactual}
        return failing_contrasts(self, found, network)
