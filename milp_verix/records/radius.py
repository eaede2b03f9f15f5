"""Robustness radii: how far features may move before the prediction changes."""

from dataclasses import dataclass

from milp_verix.records.base import Counterfactual, Result


@dataclass(frozen=True, slots=True, eq=False)
class RadiusBracket:
    """A bracket of the largest radius at which ``features`` are irrelevant together.

    ``lower`` is proven: no change of these features within it changes the prediction. At the
    distance ``upper`` there is a ``counterfactual`` that changes nothing else; both are None if
    none was found. ``reach`` is the largest radius asked about. ``unknown_reason`` names the
    obstacle to a bracket as narrow as asked for, or is None. Radii are in the units of the input.
    Raises ``ValueError`` for fields that contradict each other.
    """

    features: tuple[int, ...]
    lower: float
    upper: float | None
    reach: float
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
class RobustnessRadii(Result):
    """Brackets of the largest radius at which some features are irrelevant.

    ``brackets`` has one for the features asked about together, or one for each feature alone if
    ``each``. ``epsilon`` is the largest radius asked about. ``tolerance`` is the width that a
    bracket was to have, as a share of its upper end. ``scale`` are the radii of the features of a
    described input at the radius 1, in their units; ``epsilon`` is the largest of their ``radii``
    then. Raises ``ValueError`` for fields that contradict each other.
    """

    brackets: tuple[RadiusBracket, ...]
    each: bool
    tolerance: float
    scale: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        Result.__post_init__(self)
        everything = range(len(self.groups))
        if self.each:
            if [bracket.features for bracket in self.brackets] != [(i,) for i in everything]:
                raise ValueError("there is one bracket for each feature, in their order")
        elif len(self.brackets) != 1 or not set(self.brackets[0].features) <= set(everything):
            raise ValueError("there is one bracket, of features of the input")
        for bracket in self.brackets:
            if bracket.counterfactual is None:
                continue
            changed = (bracket.counterfactual.input != self.input).reshape(-1)
            allowed = [i for feature in bracket.features for i in self.groups[feature]]
            if changed.sum() > changed[allowed].sum():
                raise ValueError("a counterfactual changes features other than its own")

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
    def irrelevant(self) -> tuple[int, ...]:
        """Features that never change the prediction within the radii asked about.

        They never do so alone if ``each``, and never together if not.
        """
        return tuple(f for bracket in self.brackets if bracket.irrelevant for f in bracket.features)
