"""Trees as a loaded model: the ensemble for proofs, the library itself for predictions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from milp_verix.base.errors import ModelError, refusing
from milp_verix.base.number_text import counted
from milp_verix.models.loaded_model import LoadedModel, TieRule
from milp_verix.models.trees.registry import Link, Runner
from verix_encodings.arrays import FloatArray
from verix_encodings.kinds.tree_ensemble import TreeEnsemble


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class TreeNetwork(LoadedModel):
    """Trees that can be reasoned about (``ir``) and run by their own library (:meth:`evaluate`).

    ``ir`` has the trees as its last node, and mostly as its only one: scores in real arithmetic, of
    which the library computes within the node's ``error``. ``runner`` is the library's model; its
    outputs are ``link(s / divisor)``; a single score of zero is class 1 if ``upper_at_tie``. Scores
    are exact multiples of ``step``, which is 0 where sums are rounded. ``plain`` are the trees
    without missing values, where some numbers stand for these.
    """

    runner: Runner
    link: Link
    divisor: float
    upper_at_tie: bool
    step: float
    library: str
    words: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    plain: "TreeNetwork | None" = None

    @property
    def ensemble(self) -> TreeEnsemble:
        """The trees."""
        node = self.ir.nodes[-1]
        assert isinstance(node, TreeEnsemble)
        return node

    @property
    def runtime(self) -> dict[str, str]:
        """The library and its version."""
        name, _, version = self.library.rpartition(" ")
        return {name: version} if name else {}

    @property
    def tie_rule(self) -> TieRule:
        """The library's rule for ties."""
        return TieRule(self.upper_at_tie, self.step)

    @property
    def classifies(self) -> bool:
        """True if the library says that the scores are those of classes."""
        return self.facts.regressor is None

    def outputs_at(self, x: ArrayLike) -> NDArray[np.floating]:
        """Run the library's own prediction at ``x`` and return its outputs, shape (m,)."""
        return np.asarray(self.outputs(self.as_input(x).astype(np.float64))[0])

    def scores_at(self, x: ArrayLike) -> NDArray[np.floating]:
        """Return the sums of the trees as the library computes them."""
        if self.link == "identity":
            return self.outputs_at(x) * self.divisor
        return np.asarray(self._run(self.runner.sums, self.as_input(x).astype(np.float64))[0])

    def outputs(self, rows: FloatArray) -> NDArray[np.floating]:
        """Run the library at ``rows``, shape (n, d); return its outputs, shape (n, m).

        Raises ``ModelError`` where the library fails.
        """
        return self._run(self.runner.outputs, rows)

    def _run(
        self, way: Callable[[FloatArray], NDArray[np.floating]], rows: FloatArray
    ) -> NDArray[np.floating]:
        told = f"{self.library} cannot run {self.path or self.name}"
        with refusing(told, Exception, kind=ModelError):  # each library has its own exceptions
            return way(rows)

    def __repr__(self) -> str:
        trees = self.ensemble
        return (
            f"TreeNetwork({self.name!r}: {counted(self.input_size, 'input')} -> "
            f"{counted(self.output_size, 'score')}, "
            f"{counted(trees.tree_count, 'tree')} with "
            f"{int(np.count_nonzero(trees.feature < 0))} leaves, {self.library})"
        )
