"""Views of one result on a page: its pictures, or its features."""

from milp_verix.base.errors import InputError
from milp_verix.results.records.base import Result
from milp_verix.results.records.importance import ImportanceRecord
from milp_verix.results.records.radius import RobustnessRadiiRecord
from milp_verix.results.records.ranges import RangesRecord
from milp_verix.views.figures.any_result import figure_of
from milp_verix.views.pages.feature_rows import feature_view
from milp_verix.views.pages.parts import View, drawn
from milp_verix.views.pages.pictures import pictures
from milp_verix.views.words.any_result import outcome, title


def view(result: Result, most: int, name: str, *, sensitivity: bool = False) -> View:
    """Return the pictures of ``result``, or the table of its features, called ``name``.

    ``most`` counterfactuals at the most, and the ``sensitivity`` of pixels on request. A result
    whose numbers are damaged is told in words.
    """
    if isinstance(result, RobustnessRadiiRecord | RangesRecord | ImportanceRecord):
        return drawn(figure_of(result), f"{title(result)}; {outcome(result)}")
    try:
        shown = pictures(result, most, sensitivity=sensitivity)
        return View(pictures=shown) if shown else feature_view(result, most, name)
    except InputError as error:
        return View(note=f"It cannot be drawn: {error}")
