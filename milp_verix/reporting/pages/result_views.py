"""Views of one result on a page: its outcome in words, its pictures or its features."""

from base64 import b64encode

from milp_verix.errors import InputError
from milp_verix.records.audit import Audit
from milp_verix.records.base import Result
from milp_verix.records.contrast import ContrastiveExplanation
from milp_verix.records.enumeration import Enumeration
from milp_verix.records.explanation import Explanation
from milp_verix.records.radius import RobustnessRadii
from milp_verix.records.relevance import Relevance
from milp_verix.reporting.figures.radius_plot import plot_radii
from milp_verix.reporting.figures.sheet import Drawing
from milp_verix.reporting.pages.feature_rows import feature_table
from milp_verix.reporting.pages.markup import Html, element
from milp_verix.reporting.pages.pictures import pictures
from milp_verix.reporting.words.audit_table import audit_facts
from milp_verix.reporting.words.audit_wording import audit_headline, audit_outcome
from milp_verix.reporting.words.contrast_table import contrast_facts, enumeration_facts
from milp_verix.reporting.words.explanation_table import facts
from milp_verix.reporting.words.radius_table import radii_facts
from milp_verix.reporting.words.radius_wording import radii_headline, radii_outcome
from milp_verix.reporting.words.relevance_table import (
    relevance_facts,
    relevance_headline,
    relevance_outcome,
)
from milp_verix.reporting.words.wording import (
    contrast_headline,
    contrast_outcome,
    enumeration_headline,
    headline,
    outcome_text,
    size_text,
)


def view(result: Result, most: int, name: str, *, sensitivity: bool = False) -> Html:
    """Return the pictures of ``result``, or the table of its features, called ``name``.

    ``most`` counterfactuals at the most, and the ``sensitivity`` of pixels on request. A result
    whose numbers are damaged is told in words.
    """
    if isinstance(result, RobustnessRadii):
        return drawn(plot_radii(result), f"{radii_headline(result)}; {radii_outcome(result)}")
    try:
        shown = pictures(result, most, sensitivity=sensitivity)
        if shown is None:
            shown = feature_table(result, most, name)
    except InputError as error:
        return element("p", f"It cannot be drawn: {error}")
    return element("p", "There is nothing to draw.") if shown is None else shown


def drawn(figure: Drawing, alt: str) -> Html:
    """Return a figure as an image."""
    address = "data:image/png;base64," + b64encode(figure.render()).decode("ascii")
    return element("img", src=address, alt=alt, class_="drawing")


def outcome(result: Result) -> str:
    """Return the size of ``result`` and what is proven of it."""
    if isinstance(result, Explanation):
        return f"{size_text(result)}, {outcome_text(result)}"
    if isinstance(result, ContrastiveExplanation):
        if result.size is None:
            return contrast_outcome(result)
        return f"{result.size} of {len(result.groups)} features, {contrast_outcome(result)}"
    if isinstance(result, RobustnessRadii):
        return radii_outcome(result)
    if isinstance(result, Relevance):
        return relevance_outcome(result)
    return audit_outcome(result) if isinstance(result, Audit) else ""


def sentence(result: Result) -> str | None:
    """Return a ``result`` on a described input in words, None for another one."""
    return next((text for name, text in facts_of(result) if name == "in words"), None)


def title(result: Result) -> str:
    """Return the headline of ``result``."""
    if isinstance(result, Explanation):
        return headline(result)
    if isinstance(result, ContrastiveExplanation):
        return contrast_headline(result)
    if isinstance(result, Enumeration):
        return enumeration_headline(result)
    if isinstance(result, Audit):
        return audit_headline(result)
    if isinstance(result, RobustnessRadii):
        return radii_headline(result)
    if isinstance(result, Relevance):
        return relevance_headline(result)
    raise TypeError(type(result).__name__)


def facts_of(result: Result) -> list[tuple[str, str]]:
    """Return the facts about ``result``, as pairs of a name and a text."""
    if isinstance(result, Explanation):
        return facts(result)
    if isinstance(result, ContrastiveExplanation):
        return contrast_facts(result)
    if isinstance(result, Enumeration):
        return enumeration_facts(result)
    if isinstance(result, Audit):
        return audit_facts(result)
    if isinstance(result, RobustnessRadii):
        return radii_facts(result)
    if isinstance(result, Relevance):
        return relevance_facts(result)
    raise TypeError(type(result).__name__)
