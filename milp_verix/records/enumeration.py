"""Minimal explanations of a prediction, of both kinds: all of them, or as many as were found."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from milp_verix.records.base import Counterfactual, Result

FeatureSet = tuple[int, ...]
"""Features, ascending."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Enumeration(Result):
    """Minimal abductive and contrastive explanations of one prediction.

    ``abductive`` are sets of features that keep the prediction when fixed, none of which can be
    left out, the smallest first. ``contrastive`` are sets whose change changes the prediction, each
    with a counterfactual that does, none of which is needless.
    ``complete`` is the proof that there are no others: then each set of one kind is a minimal set
    that hits all of the other kind. ``lower_bound`` is proven: an abductive explanation that is not
    listed has at least so many features. ``unknown_reason`` says, in words, what kept it from being
    complete, if a check or a solver did. Raises ``ValueError`` where parts contradict.
    """

    abductive: tuple[FeatureSet, ...]
    contrastive: Mapping[FeatureSet, Counterfactual]
    complete: bool
    lower_bound: int
    unknown_reason: str | None = None

    def __post_init__(self) -> None:
        Result.__post_init__(self)
        object.__setattr__(self, "contrastive", MappingProxyType(dict(self.contrastive)))
        for explanation in self.abductive:
            for contrast in self.contrastive:
                if not set(explanation) & set(contrast):
                    raise ValueError(f"the explanation {explanation} does not hit {contrast}")

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
