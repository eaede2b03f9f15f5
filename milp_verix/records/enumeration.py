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

    ``abductive`` lists minimal sets of features that keep the prediction when they are fixed, the
    smallest first. ``contrastive`` maps minimal sets of features whose change can change the
    prediction to counterfactuals. ``complete`` is the proof that no set is missing: then each set
    of one kind is a minimal hitting set of the other kind. ``lower_bound`` is proven: an abductive
    explanation that is not listed has at least so many features. ``unknown_reason`` names the
    obstacle to completeness, or is None. Raises ``ValueError`` for fields that contradict each
    other.
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
