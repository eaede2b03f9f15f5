"""Views of one result on a page: its pictures, or its features."""

from milp_verix.errors import InputError
from milp_verix.reporting.figures.importance_plot import plot_importance
from milp_verix.reporting.figures.radius_plot import plot_radii
from milp_verix.reporting.figures.ranges_plot import plot_ranges
from milp_verix.reporting.pages.feature_rows import feature_view
from milp_verix.reporting.pages.parts import View, drawn
from milp_verix.reporting.pages.pictures import pictures
from milp_verix.reporting.words.importance import importance_headline, importance_outcome
from milp_verix.reporting.words.radius import radii_headline, radii_outcome
from milp_verix.reporting.words.ranges import ranges_headline, ranges_outcome
from milp_verix.results.records.base import Result
from milp_verix.results.records.importance import ImportanceRecord
from milp_verix.results.records.radius import RobustnessRadiiRecord
from milp_verix.results.records.ranges import RangesRecord


def view(result: Result, most: int, name: str, *, sensitivity: bool = False) -> View:
    """Return the pictures of ``result``, or the table of its features, called ``name``.

    ``most`` counterfactuals at the most, and the ``sensitivity`` of pixels on request. A result
    whose numbers are damaged is told in words.
    """
    if isinstance(result, RobustnessRadiiRecord):
        return drawn(plot_radii(result), f"{radii_headline(result)}; {radii_outcome(result)}")
    if isinstance(result, RangesRecord):
        return drawn(plot_ranges(result), f"{ranges_headline(result)}; {ranges_outcome(result)}")
    if isinstance(result, ImportanceRecord):
        told = f"{importance_headline(result)}; {importance_outcome(result)}"
        return drawn(plot_importance(result), told)
    try:
        shown = pictures(result, most, sensitivity=sensitivity)
        return View(pictures=shown) if shown else feature_view(result, most, name)
    except InputError as error:
        return View(note=f"It cannot be drawn: {error}")
