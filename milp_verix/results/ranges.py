"""How far features may move before the prediction changes: proven ranges, and robustness radii."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.arguments import ARRAY, checked, instance_of
from milp_verix.base.errors import InputError
from milp_verix.base.stored_kinds import Amount, Count, FeatureSet, Index
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.results import shown
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.shown import Certified, Drawn


@dataclass(frozen=True, slots=True, eq=False)
class Beyond:
    """One step beyond a range: a value or a word that it does not have, and why.

    Attributes:
        value: Value, change or code right beyond the range, or the place of a word in the list of
            its feature.
        counterfactual: An input with that value, all other kept features in their ranges, that
            changes the prediction; None if that is open.
        unknown_reason: Obstacle to a decision, or None.
    """

    value: float
    counterfactual: Counterfactual | None = None
    unknown_reason: str | None = None

    def __post_init__(self) -> None:
        if (self.counterfactual is None) == (self.unknown_reason is None):
            raise ValueError("beyond a range there is a counterfactual, or a reason why it is open")


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRange:
    """The range of one kept feature.

    Raises ``ValueError`` for fields that contradict each other.

    Attributes:
        feature: The feature.
        lower: Lowest value; of a feature of several coordinates, the lowest change of each. None
            for a category.
        upper: Highest value or change; None for a category.
        least: Lowest value or change asked about; None for a category.
        most: Highest value or change asked about; None for a category.
        words: Words of the range, of a feature that has words; else None.
        beyond: Steps beyond the range: below it, above it, or to another word.
    """

    feature: Index
    lower: float | None
    upper: float | None
    least: float | None
    most: float | None
    words: tuple[str, ...] | None = None
    beyond: tuple[Beyond, ...] = ()

    def __post_init__(self) -> None:
        ends = [self.least, self.lower, self.upper, self.most]
        known = [end for end in ends if end is not None]
        if known and (len(known) < len(ends) or known != sorted(known)):
            raise ValueError("a range has least <= lower <= upper <= most")
        if not known and not self.words:
            raise ValueError("a range has ends, or words")

    @property
    def ordered(self) -> bool:
        """True if the range has ends, and is no set of words."""
        return self.lower is not None

    def ends_of(self, x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the ends of the feature's coordinates, (k,), whose values in the input are ``x``.

        Changes of several coordinates are rounded outward. Of ordered features alone.
        """
        assert self.lower is not None
        assert self.upper is not None
        if x.size == 1:
            return np.array([self.lower]), np.array([self.upper])
        lower = np.nextafter(x + self.lower, -np.inf) if self.lower else x
        upper = np.nextafter(x + self.upper, np.inf) if self.upper else x
        return lower, upper

    @property
    def maximal(self) -> bool:
        """True if a counterfactual refutes each step beyond the range."""
        return all(one.counterfactual is not None for one in self.beyond)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ranges(Certified, Drawn, Result):
    """The widest proven ranges of kept features, an inflated explanation.

    Claim: every input with each feature of ``explanation`` anywhere in its range, and all other
    features anywhere in the ball, has the prediction of the original. ``intervals`` has the ranges
    by name.

    The picture of an image shows how far each kept pixel may fall and rise. Other inputs have a bar
    for each kept feature, on its own scale.

    Attributes:
        explanation: Features that are kept.
        ranges: Range of each of these, in their order; none if not even their values are proven to
            keep the prediction.
        resolution: Share of the headroom of a real feature within which its ends are refuted.
        rows: Number of rows whose share in the ranges was counted, or None.
        inside: Number of these rows that lie in the ranges, and in the ball with all other
            features, or None.
        unknown_reason: Obstacle to any proven range, or None.
    """

    __module__ = "milp_verix"  # so pickles stay readable wherever this file goes

    kind: ClassVar[str] = "ranges"
    noun: ClassVar[str] = "a result on ranges"
    derived: ClassVar[tuple[str, ...]] = (*Result.derived, "coverage", "maximal")

    explanation: FeatureSet
    ranges: tuple[FeatureRange, ...]
    resolution: Amount
    rows: Count | None = None
    inside: Count | None = None
    unknown_reason: str | None = None

    def __post_init__(self) -> None:
        Result.__post_init__(self)
        self._refuse_no_features(explanation=self.explanation)
        if self.unknown_reason is None and [r.feature for r in self.ranges] != [*self.explanation]:
            raise ValueError("each feature of the explanation has a range, in their order")
        if self.unknown_reason is not None and self.ranges:
            raise ValueError("there are ranges, or a reason why there are none")
        if (self.rows is None) != (self.inside is None) or (self.inside or 0) > (self.rows or 0):
            raise ValueError("rows and those inside belong together")
        for one in self.ranges:
            self._refuse_points(beyond.counterfactual for beyond in one.beyond)

    @checked(one=instance_of(FeatureRange), point=ARRAY)
    def holds(self, one: FeatureRange, point: NDArray[Any]) -> bool:
        """Return whether the feature of ``one`` is in its range at a ``point`` of flat shape."""
        if one.feature >= len(self.groups) or point.shape != (self.input.size,):
            raise InputError(
                f"the point has shape {point.shape}, expected ({self.input.size},), and the range "
                "one of these ranges"
            )
        low, high = self._moves(one, point)
        if one.lower is None or one.upper is None:
            assert self.inputs is not None
            return self.inputs.features[one.feature].values[int(low)] in (one.words or ())
        return one.lower <= low and high <= one.upper

    def value_at(self, one: FeatureRange, point: NDArray[Any]) -> float:
        """Return the value, change or place of a word that takes a feature out of its range.

        Inside the range it is the highest value.
        """
        low, high = self._moves(one, point)
        return low if one.lower is not None and low < one.lower else high

    def _moves(self, one: FeatureRange, point: NDArray[Any]) -> tuple[float, float]:
        """Return the least and the highest value, or change, of a feature; the place of a word."""
        group = [*self.groups[one.feature]]
        here = point[group].astype(np.float64)
        if one.lower is None:
            assert self.inputs is not None
            kind = self.inputs.features[one.feature]
            place = int(np.argmax(here)) if kind.one_hot else kind.codes.index(int(here[0]))
            return float(place), float(place)
        moved = here if here.size == 1 else here - self.input.reshape(-1)[group].astype(np.float64)
        return float(moved.min()), float(moved.max())

    @property
    def intervals(self) -> Mapping[str | int, tuple[float, float] | tuple[str, ...]]:
        """The range of each kept feature, by name, or index without names.

        Its lowest and highest value, or its words; of a feature of several coordinates, the lowest
        and highest change of each.
        """
        names = self.feature_names
        found: dict[str | int, tuple[float, float] | tuple[str, ...]] = {}
        for one in self.ranges:
            key = one.feature if names is None else names[one.feature]
            if one.words is not None:
                found[key] = one.words
            else:
                assert one.lower is not None
                assert one.upper is not None
                found[key] = (one.lower, one.upper)
        return found

    @property
    def coverage(self) -> Amount | None:
        """Share of the rows that lie in the ranges, all proven to have the prediction; or None."""
        if self.rows is None or self.inside is None:
            return None
        return self.inside / self.rows if self.rows else 0.0

    @property
    def maximal(self) -> bool:
        """True if a counterfactual refutes each range one step further."""
        return self.unknown_reason is None and all(one.maximal for one in self.ranges)

    def replay(self, network: LoadedModel) -> tuple[tuple[int, float], ...]:
        """Run onnxruntime on every counterfactual again; return those that fail.

        A pair of a feature and the value or the place of the word beyond its range names one. A
        counterfactual fails that has another value there, is outside the range of another kept
        feature or outside the ball, or does not change the prediction. Raises ``InputError`` where
        ``network`` is not the network asked about.
        """
        problem = shown.build.problem_behind(self, network)
        kept = problem.features.coordinates(self.explanation)
        ball, everything = problem.ball, range(len(self.groups))
        failing = []
        steps = [(one, step) for one in self.ranges for step in one.beyond]
        for own, step in steps:
            if step.counterfactual is None:
                continue
            point = step.counterfactual.input.reshape(-1)
            there = point[kept].astype(np.float64)
            low, high = self._moves(own, point)
            value = low if own.lower is not None and low < own.lower else high
            inside = np.all((ball.domain_lower[kept] <= there) & (there <= ball.domain_upper[kept]))
            # kept features where they are: the ball of the others remains to be checked
            box = problem.within(ball.between(kept, (there, there), point))
            changed = inside and shown.build.stands(box, everything, step.counterfactual)
            outside = [one for one in self.ranges if not self.holds(one, point)]
            if not (changed and value == step.value and outside == [own]):
                failing.append((own.feature, step.value))
        return tuple(failing)


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
    noun: ClassVar[str] = "a result on radii"
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

    def replay(self, network: LoadedModel) -> tuple[tuple[int, ...], ...]:
        """Run onnxruntime on every counterfactual again; return the features whose fails.

        A counterfactual fails that is outside the ball of its radius or the domain, or does not
        change the prediction. ``InputError`` where ``network`` is not the network asked about.
        """
        found = [(b.features, b.counterfactual) for b in self.brackets]
        return self._failing([(f, f, point) for f, point in found if point is not None], network)
