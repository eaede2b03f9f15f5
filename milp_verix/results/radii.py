"""Results on radii that users see: records with methods that store and draw them."""

from pathlib import Path
from typing import TYPE_CHECKING

from milp_verix.reporting.words.radius import radii_headline, sweep_headline
from milp_verix.results.public import Explanation, Storable
from milp_verix.results.records import radius, sweep

if TYPE_CHECKING:
    from rich.table import Table

    from milp_verix.loaded_model import LoadedModel
    from milp_verix.reporting.figures.sheet import Drawing


class EpsilonSweep(sweep.EpsilonSweepRecord, Storable):
    """Explanations of one prediction at several radii, from the largest radius to the smallest.

    The fields are documented in :class:`milp_verix.results.records.sweep.EpsilonSweepRecord`.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    levels: tuple[Explanation, ...]

    def sentence(self) -> str:
        """Return the sizes of the explanations in words, from the largest radius on."""
        from milp_verix.reporting.words.radius import sweep_sentence

        return sweep_sentence(self)

    def summary(self) -> "Table":
        """Return a rich table with a row for each radius."""
        from milp_verix.reporting.words.fact_table import table_of
        from milp_verix.reporting.words.radius import sweep_facts

        return table_of(sweep_facts(self))

    def plot(
        self, path: str | Path | None = None, *, image_shape: tuple[int, ...] | None = None
    ) -> "Drawing":
        """Draw the irrelevant features of each radius; write the picture to ``path`` if given.

        Images have one colour for each radius; other inputs have a row for each feature and a
        column for each radius. ``image_shape`` is that of :meth:`milp_verix.Explanation.plot`.
        """
        from milp_verix.reporting.figures.sweep_plot import plot_sweep

        return plot_sweep(self, path, image_shape=image_shape)

    def __repr__(self) -> str:
        return f"EpsilonSweep({self.levels[0].model.file}: {sweep_headline(self)})"


class RobustnessRadii(radius.RobustnessRadiiRecord, Storable):
    """Brackets of the largest radius at which some features are irrelevant.

    The fields are documented in :class:`milp_verix.results.records.radius.RobustnessRadiiRecord`.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    def replay(self, network: "LoadedModel") -> tuple[tuple[int, ...], ...]:
        """Run onnxruntime on every counterfactual again; return the features whose fails.

        A counterfactual fails that is outside the ball of its radius or the domain, or does not
        change the prediction. ``InputError`` where ``network`` is not the network asked about.
        """
        from milp_verix.results.replay import failing_contrasts

        found = {b.features: b.counterfactual for b in self.brackets if b.counterfactual}
        return failing_contrasts(self, found, network)

    def sentence(self) -> str:
        """Return how far features may move in words, and what a farther change does."""
        from milp_verix.reporting.words.radius import radii_sentence

        return radii_sentence(self)

    def summary(self) -> "Table":
        """Return a rich table of the facts."""
        from milp_verix.reporting.words.fact_table import table_of
        from milp_verix.reporting.words.radius import radii_facts

        return table_of(radii_facts(self))

    def plot(
        self, path: str | Path | None = None, *, image_shape: tuple[int, ...] | None = None
    ) -> "Drawing":
        """Draw the brackets; write the picture to ``path`` if given.

        Images: a map of the radii of the features, or the counterfactual of the one bracket. Other
        inputs: a bar for each bracket. ``image_shape`` is that of
        :meth:`milp_verix.Explanation.plot`.
        """
        from milp_verix.reporting.figures.radius_plot import plot_radii

        return plot_radii(self, path, image_shape=image_shape)

    def __repr__(self) -> str:
        return f"RobustnessRadii({self.model.file}: {radii_headline(self)})"
