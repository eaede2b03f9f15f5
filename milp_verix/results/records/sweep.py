"""Explanations of one prediction at several radii."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from milp_verix.base.stored_kinds import Amount
from milp_verix.results.records.explanation import Explanation
from milp_verix.results.records.question import difference_of
from milp_verix.results.shown import Drawn


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
    told: ClassVar[str] = "a sweep"
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
        """Return how many features with room to change are irrelevant at each level."""
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
