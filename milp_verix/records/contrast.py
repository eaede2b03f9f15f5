"""A contrastive explanation: the fewest features whose change changes the prediction."""

import math
from dataclasses import dataclass

from milp_verix.records.base import Counterfactual, Result


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ContrastiveExplanation(Result):
    """A set of features, and an input that differs in these alone and is predicted otherwise.

    ``contrast`` are the features, ascending. ``counterfactual`` is the input, in the ball and run
    in onnxruntime. Both are None if no contrast was found. ``robust`` is a proof that no contrast
    exists: the prediction is the same all over the ball. ``costs`` are the costs of the features,
    None for 1 each. ``lower_bound`` is a proven lower bound on the cost of every contrast, None if
    none exists. ``unknown_reason`` names the obstacle to a proof, or is None. Raises ``ValueError``
    for fields that contradict each other.
    """

    contrast: tuple[int, ...] | None
    counterfactual: Counterfactual | None
    robust: bool
    costs: tuple[float, ...] | None
    lower_bound: float | None
    unknown_reason: str | None = None

    def __post_init__(self) -> None:
        Result.__post_init__(self)
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
        """Cost of the features of the contrast together."""
        if self.contrast is None:
            return None
        return math.fsum(1.0 if self.costs is None else self.costs[f] for f in self.contrast)

    @property
    def gap(self) -> float | None:
        """Amount by which another contrast could be cheaper; None where none was found."""
        if self.cost is None or self.lower_bound is None:
            return None
        return self.cost - self.lower_bound

    @property
    def proven(self) -> bool:
        """True if it is proven that no contrast is cheaper, or that there is none."""
        return self.robust or self.gap == 0
