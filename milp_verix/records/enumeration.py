"""All minimal explanations of a prediction, of both kinds, or as many as were found."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from milp_verix.records.base import Finding
from milp_verix.records.explanation import Counterfactual
from milp_verix.records.finding_json import (
    read_counterfactual,
    read_finding,
    write_finding,
    written_out,
)
from milp_verix.records.json_format import not_a_result, read_json

if TYPE_CHECKING:
    from milp_verix.onnx_reader.onnx_network import OnnxNetwork

KIND = "enumeration"

FeatureSet = tuple[int, ...]
"""Features, ascending."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Enumeration(Finding):
    """Minimal abductive and contrastive explanations of one prediction.

    ``abductive`` are sets of features that keep the prediction when fixed, none of which can be
    left out, the smallest first. ``contrastive`` are sets whose change
    changes the prediction, each with a counterfactual that does, none of which is needless.
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
        Finding.__post_init__(self)
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

    def to_json(self, path: str | Path | None = None, *, indent: int | None = None) -> str:
        """Return the enumeration as JSON, and write it to ``path`` if given."""
        own = {
            "abductive": self.abductive,
            "contrastive": [
                {"contrast": contrast, **written_out(found)}
                for contrast, found in self.contrastive.items()
            ],
            "complete": self.complete,
            "lower_bound": self.lower_bound,
            "unknown_reason": self.unknown_reason,
        }
        return write_finding(self, KIND, own, path, indent)

    @staticmethod
    def from_json(source: str | Path) -> "Enumeration":
        """Read an enumeration from JSON text or from the path of a JSON file.

        Raises ``InputError`` for what is not an enumeration of this schema.
        """
        data, where = read_json(source)
        try:
            fields = read_finding(data, KIND)
            return Enumeration(
                **fields,
                abductive=tuple(tuple(explanation) for explanation in data["abductive"]),
                contrastive={
                    tuple(item["contrast"]): read_counterfactual(item, fields)
                    for item in data["contrastive"]
                },
                complete=data["complete"],
                lower_bound=data["lower_bound"],
                unknown_reason=data["unknown_reason"],
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise not_a_result(where, "an enumeration", error) from error

    def replay(self, network: "OnnxNetwork") -> tuple[FeatureSet, ...]:
        """Run onnxruntime on every counterfactual again; return the contrasts whose fails.

        ``InputError`` where ``network`` is not the network explained.
        """
        from milp_verix.results.replay import posed_again, stands

        problem = posed_again(self, network)
        return tuple(
            contrast
            for contrast, found in self.contrastive.items()
            if not stands(problem, contrast, found)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # read-only mappings cannot be pickled; the JSON holds all there is, bit for bit
        return Enumeration.from_json, (self.to_json(),)

    def __repr__(self) -> str:
        from milp_verix.reporting.contrast_table import enumeration_headline

        return f"Enumeration({self.model.file}: {enumeration_headline(self)})"
