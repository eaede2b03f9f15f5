"""Abductive explanations: features that keep the prediction when they are fixed; at many radii."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

from milp_verix.base.errors import InputError, printable
from milp_verix.base.number_text import counted
from milp_verix.base.stored_kinds import Amount, Cost, Count, FeatureSet, Index, Indices, Points
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.results import shown
from milp_verix.results.base import Counterfactual, Result, difference_of
from milp_verix.results.shown import Certified, Drawn, Stated

if TYPE_CHECKING:
    from milp_verix.problem.problem import ProblemData
    from milp_verix.results.ranges import Ranges


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Explanation(Certified, Drawn, Result):
    """An abductive explanation of one prediction.

    Claim: with the features in ``explanation`` fixed, every input in the ball and the domain has
    the prediction of the original. Each feature in ``explanation`` but not in ``unknown`` has a
    counterfactual, so that it could not have been left out.

    The picture of an image shows the input, the sensitivity of its features if the order has one,
    the explanation over it, and the changes of up to 8 counterfactuals. A described input has a row
    for each feature, with its range and its values; any other input has a bar for each feature.

    Attributes:
        order: Name of the traversal order.
        permutation: The features in that order.
        sensitivity: Score of each feature behind the order, or None.
        explanation: Features that keep the prediction when they are fixed.
        irrelevant: The other features; those in ``still`` cannot change.
        unknown_reasons: Why features of the explanation were not decided.
        counterfactuals: For each decided feature of the explanation, an input that changes it and
            irrelevant ones alone.
        lower_bound: Proven lower bound on the cost of each explanation with the features ``must``
            and without those in ``must_not``; None if no minimum was sought.
        needed: Proven: every explanation has at least so many features, ``must`` or not.
        bounds: Method that bounded neurons, or None.
        formulation: Encoding of ReLUs, or None.
        costs: Cost of each feature; None for 1 each, so that the cost is the size.
        traversal: Name of the traversal, or None.
        at_most: The cost at which the search could stop, if one was given.
        must: Features that the explanation had to have.
        must_not: Features that it could not have.
        scenarios: Inputs of the ball of all features on which the lower bound rests: another search
            may begin with them.
        bound_cases: The cases in which a search proved the lower bound over the scenarios, each
            before its halves: ``""`` is one that it did not split, ``"12"`` one where feature 12
            is out, then in, ``"3:2:17"`` one where phase 17 of node 2 is 0, then 1, in scenario 3.
    """

    __module__ = "milp_verix"  # so pickles stay readable wherever this file goes

    kind: ClassVar[str] = "explanation"
    noun: ClassVar[str] = "an explanation"
    derived = (*Result.derived, "unknown", "minimal", "cost", "gap", "proven", "reachable")

    order: str
    permutation: Indices
    sensitivity: tuple[float, ...] | None
    explanation: FeatureSet
    irrelevant: FeatureSet
    unknown_reasons: Mapping[Index, str]
    counterfactuals: Mapping[Index, Counterfactual]
    lower_bound: Cost | None = None
    bounds: str | None = None
    formulation: str | None = None
    costs: tuple[Amount, ...] | None = None
    traversal: str | None = None
    must: FeatureSet = ()
    must_not: FeatureSet = ()
    scenarios: tuple[Points, ...] = ()
    bound_cases: tuple[str, ...] = ()
    needed: Count = 0
    at_most: Cost | None = None

    def __post_init__(self) -> None:
        Result.__post_init__(self)
        everything = list(range(len(self.groups)))
        if sorted([*self.explanation, *self.irrelevant]) != everything:
            raise ValueError("explanation and irrelevant must hold each feature exactly once")
        if sorted(self.permutation) != everything:
            raise ValueError("permutation must hold each feature exactly once")
        if not set(self.unknown_reasons) <= set(self.explanation):
            raise ValueError("a feature that is unknown must be in the explanation")
        if set(self.counterfactuals) != set(self.explanation) - set(self.unknown_reasons):
            raise ValueError("each feature explained and not unknown needs a counterfactual")
        if self.costs is not None and len(self.costs) != len(self.groups):
            raise ValueError("each feature has one cost")
        if self.sensitivity is not None and len(self.sensitivity) != len(self.groups):
            raise ValueError("each feature has one score in sensitivity")
        self._refuse_no_features(must=self.must, must_not=self.must_not)
        self._refuse_points(self.counterfactuals.values())
        if self.lower_bound is not None and not 0 <= self.lower_bound <= self.cost:
            raise ValueError("the lower bound is above the cost of the explanation")
        if self.needed > self.size:
            raise ValueError("an explanation has fewer features than are needed")

    @property
    def size(self) -> int:
        """Number of features in the explanation."""
        return len(self.explanation)

    @property
    def unknown(self) -> FeatureSet:
        """Features that are in the explanation because they were not decided, ascending."""
        return tuple(sorted(self.unknown_reasons))

    @property
    def minimal(self) -> bool:
        """True if no single feature can be left out: all were decided."""
        return not self.unknown_reasons

    @property
    def cost(self) -> Cost:
        """Sum of the costs of the features in the explanation; its size where there are none."""
        if self.costs is None:
            return self.size
        total = math.fsum(self.costs[feature] for feature in self.explanation)
        return int(total) if total == int(total) else total

    @property
    def gap(self) -> Cost | None:
        """Amount by which another explanation could be cheaper; None where nobody asked."""
        return None if self.lower_bound is None else self.cost - self.lower_bound

    @property
    def proven(self) -> bool:
        """True if the lower bound is within a millionth of the cost.

        No cheaper explanation exists then, up to that rounding.
        """
        return self.gap is not None and self.gap <= 1e-6 * self.cost

    @property
    def reachable(self) -> bool | None:
        """Whether an explanation costs at most ``at_most``; None if open, or nobody asked.

        True by this explanation, False by its lower bound.
        """
        if self.at_most is None:
            return None
        if self.cost <= self.at_most:
            return True
        return False if (self.lower_bound or 0) > self.at_most else None

    def replay(self, network: LoadedModel) -> tuple[int, ...]:
        """Run onnxruntime on every counterfactual again; return the features whose fails.

        A counterfactual fails that is outside the ball or the domain, touches a feature that is
        neither irrelevant nor its own, or does not change the prediction. Raises ``InputError``
        where ``network`` is not the network explained.
        """
        found = sorted(self.counterfactuals.items())
        return self._failing([(f, [*self.irrelevant, f], point) for f, point in found], network)

    def sentence(self, feature: int | str | None = None) -> str:
        """Return the explanation in words, or the counterfactual of one ``feature`` of it.

        ``feature`` is an index or a name. Raises ``InputError`` for one without a counterfactual.
        """
        if feature is None:
            return Stated.sentence(self)  # a class with slots is made twice
        names = list(self.feature_names or ())
        index = names.index(feature) if isinstance(feature, str) and feature in names else feature
        if not isinstance(index, Integral) or index not in self.counterfactuals:
            raise InputError(
                f"feature {feature!r:.60} has no counterfactual: it is not in the explanation"
            )
        found = self.counterfactuals[int(index)]
        return printable(shown.sentences.counterfactual_sentence(self, found))

    def of(self, problem: "ProblemData") -> Self:
        """Return a copy of the explanation that remembers its ``problem`` until it is stored."""
        found = replace(self)
        object.__setattr__(found, "_problem", problem)
        return found

    def inflate(self, network: LoadedModel | None = None, **options: Any) -> "Ranges":
        """Return the widest ranges of the kept features that provably keep the prediction.

        ``network`` is needed where the explanation was read from a file. ``options`` are those of
        :func:`milp_verix.inflate`, such as ``rows``; the question is that of the explanation.
        Raises ``InputError`` where ``network`` is missing, or is not the network explained.
        """
        from milp_verix.models.onnx.onnx_network import loaded

        if network is None:
            problem = getattr(self, "_problem", None)
            if problem is None:
                raise InputError(
                    "an explanation from a file does not hold its network: give inflate(network)"
                )
            network = problem.network
        network = loaded(network, self.inputs)
        self.refuse_other(network)
        question = {**shown.build.question_in(self)}
        if self.inputs is None:
            question |= {"feature_names": self.feature_names, "image_shape": self.image_shape}
        return shown.inflated(network, self, {**question, **options})

    def __repr__(self) -> str:
        text = f"{shown.explanation_words.outcome_text(self)}, {shown.facts.ball_text(self)}"
        return printable(
            f"Explanation({self.model.file}: prediction {self.prediction}, {self.size} of "
            f"{counted(len(self.groups), 'feature')}, {text}, "
            f"{self.statistics.seconds:.2f} s by {self.solver})"
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EpsilonSweep(Drawn):
    """Explanations of one prediction at several radii, from the largest radius to the smallest.

    The picture of an image has one colour for each radius; that of another input has a row for each
    feature and a column for each radius.

    Attributes:
        levels: An explanation for each radius.
        nested: True if the irrelevant features of each level are irrelevant at all smaller radii.
        seconds: Wall-clock time of the whole sweep.
    """

    __module__ = "milp_verix"  # so pickles stay readable wherever this file goes

    kind: ClassVar[str] = "sweep"
    noun: ClassVar[str] = "a sweep"
    derived: ClassVar[tuple[str, ...]] = ()

    levels: tuple[Explanation, ...]
    nested: bool
    seconds: Amount

    def __post_init__(self) -> None:
        if not self.levels:
            raise ValueError("a sweep has at least one level")
        for before, after in pairwise(self.levels):
            if not _smaller(after, before):
                raise ValueError("the radii of a sweep descend")
            if difference_of(before, after, ("epsilon", "radii")):
                raise ValueError("the levels of a sweep differ in more than the radius")
            if self.nested and not set(before.irrelevant) <= set(after.irrelevant):
                raise ValueError("a feature is irrelevant at a radius, not at a smaller one")

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The radii, descending; of a described input, the largest that a feature has."""
        return tuple(level.epsilon for level in self.levels)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of features in the explanation at each radius."""
        return tuple(level.size for level in self.levels)

    @property
    def minimal(self) -> bool:
        """True if every explanation is locally minimal."""
        return all(level.minimal for level in self.levels)

    @property
    def stopped(self) -> str | None:
        """Reason of an early end, such as ``"interrupted"``, or None."""
        return next((s for level in self.levels if (s := level.statistics.stopped)), None)

    def level_of(self) -> tuple[int | None, ...]:
        """Return for each feature the first level at which it is irrelevant, None for no level.

        That level has the largest radius of those.
        """
        found: list[int | None] = [None] * len(self.levels[0].groups)
        for number, level in reversed([*enumerate(self.levels)]):
            for feature in level.irrelevant:
                found[feature] = number
        return tuple(found)

    def freed(self) -> tuple[int, ...]:
        """Return how many features that can change are irrelevant at each level."""
        return tuple(len({*level.irrelevant} - {*level.still}) for level in self.levels)

    def added(self) -> tuple[int, ...]:
        """Return how many of these are irrelevant at no larger radius."""
        first = self.level_of()
        return tuple(
            sum(first[feature] == number for feature in {*level.irrelevant} - {*level.still})
            for number, level in enumerate(self.levels)
        )


def _smaller(after: Explanation, before: Explanation) -> bool:
    """Return whether no radius of ``after`` is above that of ``before``, and one is below."""
    if after.radii is None or before.radii is None:
        return after.epsilon < before.epsilon
    pairs = zip(after.radii, before.radii, strict=True)
    return after.radii != before.radii and all(low <= high for low, high in pairs)
