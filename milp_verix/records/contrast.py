"""A contrastive explanation: the fewest features whose change changes the prediction."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milp_verix.errors import InputError
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
    from milp_verix.reporting.figures.sheet import Drawing

KIND = "contrastive"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class ContrastiveExplanation(Finding):
    """A set of features, and an input that differs in these alone and is predicted otherwise.

    ``contrast`` are the features, ascending, and ``counterfactual`` the input, in the ball and run
    in onnxruntime; both are None where none was found. ``robust`` says that there is none at all:
    a proof that the prediction stays all over the ball. ``costs`` are those of the features, None
    for 1 each. ``lower_bound`` is a proven lower bound on the cost of every contrastive
    explanation, None where there is none. ``unknown_reason`` says, in words, what keeps the search
    from a proof, if anything does. Raises ``ValueError`` where parts contradict.
    """

    contrast: tuple[int, ...] | None
    counterfactual: Counterfactual | None
    robust: bool
    costs: tuple[float, ...] | None
    lower_bound: float | None
    unknown_reason: str | None = None

    def __post_init__(self) -> None:
        Finding.__post_init__(self)
        if (self.contrast is None) != (self.counterfactual is None):
            raise ValueError("a contrast and its counterfactual belong together")
        if self.robust and (self.contrast is not None or self.lower_bound is not None):
            raise ValueError("where nothing changes the prediction there is nothing to explain")
        if self.contrast is None or self.counterfactual is None:
            return
        if list(self.contrast) != sorted({*self.contrast} & {*range(len(self.groups))}):
            raise ValueError("a contrast lists features of the input, ascending")
        changed = (self.counterfactual.input != self.input).reshape(-1)
        allowed = [i for feature in self.contrast for i in self.groups[feature]]
        if changed.sum() > changed[allowed].sum():
            raise ValueError("the counterfactual changes features outside the contrast")
        if self.lower_bound is None or (self.gap or 0.0) < 0:
            raise ValueError("the lower bound is above the cost of the contrast")

    @property
    def size(self) -> int | None:
        """Number of features in the contrast."""
        return None if self.contrast is None else len(self.contrast)

    @property
    def cost(self) -> float | None:
        """What the features of the contrast cost together."""
        if self.contrast is None:
            return None
        return math.fsum(1.0 if self.costs is None else self.costs[f] for f in self.contrast)

    @property
    def gap(self) -> float | None:
        """How much cheaper another contrast could be; None where none was found."""
        if self.cost is None or self.lower_bound is None:
            return None
        return self.cost - self.lower_bound

    @property
    def proven(self) -> bool:
        """Whether no contrast is cheaper, or there is none: proven, one or the other."""
        return self.robust or self.gap == 0

    def to_json(self, path: str | Path | None = None, *, indent: int | None = None) -> str:
        """Return the explanation as JSON, and write it to ``path`` if given."""
        found = self.counterfactual
        own = {
            "contrast": self.contrast,
            "counterfactual": None if found is None else written_out(found),
            "robust": self.robust,
            "costs": self.costs,
            "cost": self.cost,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "proven": self.proven,
            "unknown_reason": self.unknown_reason,
        }
        return write_finding(self, KIND, own, path, indent)

    @staticmethod
    def from_json(source: str | Path) -> "ContrastiveExplanation":
        """Read an explanation from JSON text or from the path of a JSON file.

        Raises ``InputError`` for what is not a contrastive explanation of this schema.
        """
        data, where = read_json(source)
        try:
            fields = read_finding(data, KIND)
            found, contrast, costs = data["counterfactual"], data["contrast"], data["costs"]
            return ContrastiveExplanation(
                **fields,
                contrast=None if contrast is None else tuple(contrast),
                counterfactual=None if found is None else read_counterfactual(found, fields),
                robust=data["robust"],
                costs=None if costs is None else tuple(costs),
                lower_bound=data["lower_bound"],
                unknown_reason=data["unknown_reason"],
            )
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise not_a_result(where, "a contrastive explanation", error) from error

    def replay(self, network: "OnnxNetwork") -> bool:
        """Run onnxruntime on the counterfactual again; return whether it is one.

        It is in the ball and the domain, changes no feature outside the contrast, and changes the
        prediction to the one recorded. ``InputError`` where there is none, or where ``network``
        is not the network explained.
        """
        from milp_verix.results.replay import posed_again, stands

        if self.contrast is None or self.counterfactual is None:
            raise InputError("there is no counterfactual to replay: no contrast was found")
        return stands(posed_again(self, network), self.contrast, self.counterfactual)

    def plot(
        self, path: str | Path | None = None, *, image_shape: tuple[int, ...] | None = None
    ) -> "Drawing":
        """Draw the contrast and its counterfactual; write it to ``path`` if given.

        ``image_shape`` is that of :meth:`milp_verix.Explanation.plot`.
        """
        from milp_verix.reporting.figures.contrast_plot import plot_contrast

        return plot_contrast(self, path, image_shape=image_shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return ContrastiveExplanation.from_json, (self.to_json(),)

    def __repr__(self) -> str:
        from milp_verix.reporting.contrast_table import contrast_headline

        return f"ContrastiveExplanation({self.model.file}: {contrast_headline(self)})"

    def _repr_html_(self) -> str:
        from milp_verix.reporting.contrast_table import contrast_html

        return contrast_html(self)
