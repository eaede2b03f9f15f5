"""The importance of features that users see: a record with methods that store and draw it."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from milp_verix.errors import InputError
from milp_verix.power_indices.indices import INDICES
from milp_verix.reporting.words.importance import importance_headline
from milp_verix.results.public import Drawn
from milp_verix.results.records import importance, kinds

if TYPE_CHECKING:
    from rich.table import Table

    from milp_verix.onnx_reader.onnx_network import OnnxNetwork
    from milp_verix.reporting.figures.sheet import Drawing


class Importance(importance.ImportanceRecord, Drawn):
    """The importance of each feature for one prediction, between proven ends.

    ``lower`` and ``upper`` have an end for each feature, ``values`` the middle between them; where
    the importance is ``exact``, all three are the same. The fields are documented in
    :class:`milp_verix.results.records.importance.ImportanceRecord`.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    def under(self, index: str) -> Self:
        """Return the importance by another index, from the same sets of features.

        Raises ``InputError`` for an index that there is not.
        """
        return replace(self, index=index_named(index))

    def replay(self, network: "OnnxNetwork") -> tuple[kinds.FeatureSet, ...]:
        """Run onnxruntime on every counterfactual again; return the contrasts whose fails.

        ``InputError`` where ``network`` is not the network explained.
        """
        from milp_verix.results.replay import failing_contrasts

        found = {one.features: one.counterfactual for one in self.contrasts}
        return failing_contrasts(self, found, network)

    def sentence(self) -> str:
        """Return the most important features in words, and how far this is proven."""
        from milp_verix.reporting.words.importance import importance_sentence

        return importance_sentence(self)

    def summary(self) -> "Table":
        """Return the facts as a rich table."""
        from milp_verix.reporting.words.fact_table import table_of
        from milp_verix.reporting.words.importance import importance_facts

        return table_of(importance_facts(self))

    def plot(
        self, path: str | Path | None = None, *, image_shape: tuple[int, ...] | None = None
    ) -> "Drawing":
        """Draw the importance; write it to ``path`` if given.

        Images: a map of the proven importance. Other inputs: a bar for each feature with its
        bracket, beside the scores of the other tool, if there are any. ``image_shape`` is that of
        :meth:`milp_verix.Explanation.plot`.
        """
        from milp_verix.reporting.figures.importance_plot import plot_importance

        return plot_importance(self, path, image_shape=image_shape)

    def __repr__(self) -> str:
        return f"Importance({self.model.file}: {importance_headline(self)})"


def index_named(name: str) -> importance.IndexName:
    """Return the name of an index; ``InputError`` for one that there is not."""
    if name not in INDICES:
        raise InputError(f"unknown index {name!r}; choose one of {', '.join(INDICES)}")
    return cast(importance.IndexName, name)
