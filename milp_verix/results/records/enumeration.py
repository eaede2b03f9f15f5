"""Minimal explanations of a prediction, of both kinds: all of them, or as many as were found."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from milp_verix.base.stored_kinds import Count, FeatureSet
from milp_verix.results.records.base import Counterfactual, Result
from milp_verix.results.shown import Told

if TYPE_CHECKING:
    from milp_verix.models.loaded_model import LoadedModel


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
class Enumeration(Told, Result):
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
    told: ClassVar[str] = "an enumeration"

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

    def replay(self, network: "LoadedModel") -> tuple[FeatureSet, ...]:
        """Run onnxruntime on every counterfactual again; return the contrasts whose fails.

        ``InputError`` where ``network`` is not the network explained.
        """
        from milp_verix.results.replay import failing_contrasts

        return failing_contrasts(self, self.contrastive, network)
