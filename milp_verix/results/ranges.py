"""Results on ranges that users see: records with methods that store, draw and check them."""

from pathlib import Path
from typing import TYPE_CHECKING

from milp_verix.reporting.words.ranges import ranges_headline
from milp_verix.results.public import Drawn
from milp_verix.results.records import ranges

if TYPE_CHECKING:
    from rich.table import Table

    from milp_verix.certification.certificate import Certificate
    from milp_verix.loaded_model import LoadedModel
    from milp_verix.reporting.figures.sheet import Drawing


class Ranges(ranges.RangesRecord, Drawn):
    """The widest proven ranges of kept features, an inflated explanation.

    Claim: every input with each feature of ``explanation`` anywhere in its range, and all other
    features anywhere in the ball, has the prediction of the original. ``intervals`` has the ranges
    by name. The fields are documented in
    :class:`milp_verix.results.records.ranges.RangesRecord`.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    def replay(self, network: "LoadedModel") -> tuple[tuple[int, float], ...]:
        """Run onnxruntime on every counterfactual again; return those that fail.

        A pair of a feature and the value or the place of the word beyond its range names one. A
        counterfactual fails that has another value there, is outside the range of another kept
        feature or outside the ball, or does not change the prediction. Raises ``InputError`` where
        ``network`` is not the network asked about.
        """
        from milp_verix.results.replay import failing_steps

        return failing_steps(self, network)

    def sentence(self) -> str:
        """Return the claim in words, and its share of the rows."""
        from milp_verix.reporting.words.ranges import ranges_sentence

        return ranges_sentence(self)

    def summary(self) -> "Table":
        """Return a rich table of the facts: a row for each range."""
        from milp_verix.reporting.words.fact_table import table_of
        from milp_verix.reporting.words.ranges import ranges_facts

        return table_of(ranges_facts(self))

    def certify(self, network: "LoadedModel", *, time_limit: float | None = None) -> "Certificate":
        """Return a proof that needs neither a solver nor trust: see :func:`milp_verix.certify`."""
        from milp_verix.certification.certify import certify

        return certify(network, self, time_limit=time_limit)

    def plot(
        self, path: str | Path | None = None, *, image_shape: tuple[int, ...] | None = None
    ) -> "Drawing":
        """Draw the ranges; write the picture to ``path`` if given.

        Images: how far each kept pixel may fall and rise. Other inputs: a bar for each kept
        feature, on its own scale. ``image_shape`` is that of :meth:`milp_verix.Explanation.plot`.
        """
        from milp_verix.reporting.figures.ranges_plot import plot_ranges

        return plot_ranges(self, path, image_shape=image_shape)

    def __repr__(self) -> str:
        return f"Ranges({self.model.file}: {ranges_headline(self)})"
