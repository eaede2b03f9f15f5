"""Contrastive explanations: the least change that changes the prediction, and all minimal ones."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from milp_verix.base.arguments import INTEGERS, checked, instance_of
from milp_verix.base.errors import InputError
from milp_verix.base.stored_kinds import Amount, Cost, Count, FeatureSet
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.shown import Drawn, Stated

NEAREST_GAP = 1e-3
"""A distance counts as proven if no counterfactual is nearer by more than this share of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """A further change of the prediction, without the sets of features shown before it.

    Attributes:
        contrast: The features that change, ascending.
        counterfactual: The input, in the ball and run in onnxruntime.
        lower_bound: Proven least cost of a change that does not change all features of a set
            shown before.
        unknown_reason: Obstacle to a proof that it is the least, or None.
    """

    contrast: FeatureSet
    counterfactual: Counterfactual
    lower_bound: Cost
    unknown_reason: str | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ContrastiveExplanation(Drawn, Result):
    """The fewest features whose change changes the prediction, with an input that shows it.

    ``proven`` says that no other set is smaller (or cheaper), or that no change in the ball does
    it.

    The picture of an image shows the input with the contrast outlined, the change, and the
    counterfactual. A described input has a row for each feature; any other input has a bar for the
    change of each coordinate in the contrast, the first 40 of them.

    Attributes:
        contrast: The features, ascending; None if no contrast was found.
        counterfactual: The input, in the ball and run in onnxruntime; None without a contrast.
        robust: A proof that no contrast exists: the prediction is the same all over the ball, or
            wherever the features ``must_not`` keep their values.
        costs: Costs of the features; None for 1 each.
        lower_bound: Proven least cost of every contrast; None if none exists.
        unknown_reason: Obstacle to a proof, or None.
        must_not: Features that no contrast may change.
        scales: What the change of each coordinate is divided by in the ``distance``; None where the
            number or the cost of features was minimised.
        alternatives: Further changes that were asked for, the least first.
    """

    __module__ = "milp_verix"  # so pickles stay readable wherever this file goes

    kind: ClassVar[str] = "contrastive"
    noun: ClassVar[str] = "a contrastive explanation"
    derived: ClassVar[tuple[str, ...]] = (*Result.derived, "cost", "gap", "proven")

    contrast: FeatureSet | None
    counterfactual: Counterfactual | None
    robust: bool
    costs: tuple[Amount, ...] | None
    lower_bound: Cost | None
    unknown_reason: str | None = None
    must_not: FeatureSet = ()
    scales: tuple[Amount, ...] | None = None
    alternatives: tuple[Alternative, ...] = ()

    def __post_init__(self) -> None:
        Result.__post_init__(self)
        self._refuse_no_features(must_not=self.must_not, contrast=self.contrast or ())
        if self.costs is not None and len(self.costs) != len(self.groups):
            raise ValueError("each feature has one cost")
        scales = self.scales
        if scales is not None and not (len(scales) == self.input.size and min(scales) > 0):
            raise ValueError("each coordinate has a scale above zero")
        if (self.contrast is None) != (self.counterfactual is None):
            raise ValueError("a contrast and its counterfactual belong together")
        if self.robust and (self.contrast is not None or self.lower_bound is not None):
            raise ValueError("where nothing changes the prediction there is nothing to explain")
        if self.contrast is None or self.counterfactual is None:
            return
        if {*self.contrast} & {*self.must_not}:
            raise ValueError("a contrast has none of the features that must not change")
        self._refuse_points([self.counterfactual], self.contrast)
        if self.lower_bound is None or (self.gap or 0.0) < 0:
            raise ValueError("the lower bound is above the cost of the contrast")
        shown = [{*self.contrast}]
        for other in self.alternatives:
            self._refuse_no_features(alternatives=other.contrast)
            self._refuse_points([other.counterfactual], other.contrast)
            if {*other.contrast} & {*self.must_not} or any(s <= {*other.contrast} for s in shown):
                raise ValueError("an alternative changes what was held, or all of a set before it")
            if other.lower_bound > self.cost_of(other.contrast, other.counterfactual) * (1 + 1e-9):
                raise ValueError("the lower bound is above the cost of an alternative")
            shown.append({*other.contrast})

    @checked(contrast=INTEGERS, found=instance_of(Counterfactual))
    def cost_of(self, contrast: FeatureSet, found: Counterfactual) -> float:
        """Return the cost of a change: of its features together, or its distance."""
        if self.scales is None:
            return math.fsum(self._cost_of(f) for f in contrast)
        before, after = (x.reshape(-1).tolist() for x in (self.input, found.input))
        shares = [abs(b - a) / s for a, b, s in zip(before, after, self.scales, strict=True)]
        for i, last in ({} if self.inputs is None else self.inputs.missing).items():
            if (before[i] > last) != (after[i] > last):
                shares[i] = 1.0
        return math.fsum(self._cost_of(f) * self._amount(f, shares) for f in contrast)

    @property
    def size(self) -> int | None:
        """Number of features in the contrast."""
        return None if self.contrast is None else len(self.contrast)

    @property
    def cost(self) -> float | None:
        """Cost of the features of the contrast together, or the distance if that is minimised."""
        if self.contrast is None or self.counterfactual is None:
            return None
        return self.cost_of(self.contrast, self.counterfactual)

    @property
    def distance(self) -> float | None:
        """Distance of the counterfactual, see :func:`milp_verix.contrastive`.

        None without a counterfactual, and where the number or the cost of features was minimised.
        """
        return None if self.scales is None else self.cost

    def _amount(self, feature: int, shares: list[float]) -> float:
        """Return how far a feature moves, from the ``shares`` that its coordinates move."""
        moved = [shares[i] for i in self.groups[feature]]
        if self.inputs is not None and self.inputs.features[feature].unordered:
            return float(any(moved))
        return math.fsum(moved)

    def _cost_of(self, feature: int) -> float:
        return 1.0 if self.costs is None else self.costs[feature]

    @property
    def gap(self) -> float | None:
        """Amount by which another contrast could be cheaper; None where none was found."""
        if self.cost is None or self.lower_bound is None:
            return None
        return self.cost - self.lower_bound

    @property
    def proven(self) -> bool:
        """True if it is proven that no contrast is cheaper, or that there is none.

        Of distances: that none is nearer by more than 0.1 %.
        """
        if self.robust or self.gap is None or self.cost is None:
            return self.robust
        return self.gap <= (0.0 if self.scales is None else NEAREST_GAP * self.cost)

    def replay(self, network: LoadedModel) -> bool:
        """Run onnxruntime on the counterfactual again; return whether it is one.

        It is in the ball and the domain, changes no feature outside the contrast, and changes the
        prediction to the one recorded; so do ``alternatives``. ``InputError`` where there is none,
        or where ``network`` is not the network explained.
        """
        if self.contrast is None or self.counterfactual is None:
            raise InputError("there is no counterfactual to replay: no contrast was found")
        found = [(other.contrast, other.counterfactual) for other in self.alternatives]
        shown = [(self.contrast, self.counterfactual), *found]
        return not self._failing([(one, one, point) for one, point in shown], network)


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """A set of features whose change can change the prediction, and an input that shows it.

    Attributes:
        features: The features, ascending.
        counterfactual: An input that changes these features alone.
    """

    features: FeatureSet
    counterfactual: Counterfactual


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Enumeration(Stated, Result):
    """Minimal abductive and contrastive explanations of one prediction.

    ``complete`` says that no set is missing.

    Attributes:
        abductive: Minimal sets of features that keep the prediction when they are fixed, the
            smallest first.
        contrasts: Minimal sets of features whose change can change the prediction, with inputs.
        complete: A proof that no set is missing: then each set of one kind is a minimal hitting set
            of the other kind.
        lower_bound: Proven: an abductive explanation that is not listed has at least so many
            features.
        unknown_reason: Obstacle to completeness, or None.
    """

    __module__ = "milp_verix"  # so pickles stay readable wherever this file goes

    kind: ClassVar[str] = "enumeration"
    noun: ClassVar[str] = "an enumeration"

    abductive: tuple[FeatureSet, ...]
    contrasts: tuple[Contrast, ...]
    complete: bool
    lower_bound: Count
    unknown_reason: str | None = None

    def __post_init__(self) -> None:
        Result.__post_init__(self)
        for one in self.contrasts:
            self._refuse_no_features(contrasts=one.features)
            self._refuse_points([one.counterfactual], one.features)
        for explanation in self.abductive:
            self._refuse_no_features(abductive=explanation)
            for contrast in self.contrastive:
                if not set(explanation) & set(contrast):
                    raise ValueError(f"the explanation {explanation} does not hit {contrast}")

    @property
    def contrastive(self) -> Mapping[FeatureSet, Counterfactual]:
        """The counterfactual of each minimal set whose change can change the prediction."""
        return MappingProxyType({one.features: one.counterfactual for one in self.contrasts})

    @property
    def minimum(self) -> FeatureSet | None:
        """An explanation with the fewest features there can be; None where that is not proven."""
        smallest = self.abductive[0] if self.abductive else None
        proven = smallest is not None and (self.complete or len(smallest) <= self.lower_bound)
        return smallest if proven else None

    @property
    def necessary(self) -> FeatureSet:
        """Features whose change alone changes the prediction: they are in every explanation."""
        return tuple(sorted(contrast[0] for contrast in self.contrastive if len(contrast) == 1))

    def replay(self, network: LoadedModel) -> tuple[FeatureSet, ...]:
        """Run onnxruntime on every counterfactual again; return the contrasts whose fails.

        ``InputError`` where ``network`` is not the network explained.
        """
        found = self.contrastive.items()
        return self._failing([(one, one, point) for one, point in found], network)
