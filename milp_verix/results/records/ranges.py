"""Ranges: how far kept features may move together while the prediction provably stays."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.stored_kinds import Amount, Count, FeatureSet, Index
from milp_verix.results.records.base import Counterfactual, Result
from milp_verix.results.shown import Certified, Drawn

if TYPE_CHECKING:
    from milp_verix.models.loaded_model import LoadedModel


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
        resolution: Share of the room of a real feature within which its ends are refuted.
        rows: Number of rows whose share in the ranges was counted, or None.
        inside: Number of these rows that lie in the ranges, and in the ball with all other
            features, or None.
        unknown_reason: Obstacle to any proven range, or None.
    """

    __module__ = "milp_verix"  # so pickles stay readable wherever this file goes

    kind: ClassVar[str] = "ranges"
    told: ClassVar[str] = "a result on ranges"
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

    def holds(self, one: FeatureRange, point: NDArray[Any]) -> bool:
        """Return whether the feature of ``one`` is in its range at a ``point`` of flat shape."""
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

    def replay(self, network: "LoadedModel") -> tuple[tuple[int, float], ...]:
        """Run onnxruntime on every counterfactual again; return those that fail.

        A pair of a feature and the value or the place of the word beyond its range names one. A
        counterfactual fails that has another value there, is outside the range of another kept
        feature or outside the ball, or does not change the prediction. Raises ``InputError`` where
        ``network`` is not the network asked about.
        """
        from milp_verix.results.replay import failing_steps

        return failing_steps(self, network)
