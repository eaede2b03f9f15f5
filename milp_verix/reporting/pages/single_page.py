"""The page of one result: its facts, its pictures with many counterfactuals, its notes."""

import milp_verix
from milp_verix.records.audit import Audit
from milp_verix.records.base import Result
from milp_verix.records.contrast import ContrastiveExplanation
from milp_verix.records.enumeration import Enumeration
from milp_verix.records.explanation import Explanation
from milp_verix.records.radius import RobustnessRadii
from milp_verix.records.relevance import Relevance
from milp_verix.reporting.pages.claims import claims
from milp_verix.reporting.pages.markup import element, joined
from milp_verix.reporting.pages.page import Section, page
from milp_verix.reporting.pages.result_views import facts_of, outcome, sentence, title, view
from milp_verix.reporting.pages.tables import facts_table


def single_page(result: Result, *, counterfactuals: int) -> str:
    """Return the report of one result as HTML, with so many ``counterfactuals`` at the most."""
    shown = element(
        "div", view(result, counterfactuals, "Features", sensitivity=True), class_="large"
    )
    versions = sorted(result.versions.items())
    told = sentence(result)
    words = [] if told is None else [element("p", told, class_="sentence")]
    sections = [
        Section("picture", "The explanation", joined((*words, shown))),
        Section(
            "facts", "Facts", facts_table("What was asked, and what was found", facts_of(result))
        ),
        Section("grounds", "What the answer rests on", claims(_tasks(result))),
        Section(
            "versions",
            "Versions",
            facts_table("Versions", [*versions, ("SHA-256 of the network", result.model.sha256)]),
        ),
    ]
    return page(title(result), outcome(result), sections, milp_verix.__version__)


def _tasks(result: Result) -> list[str]:
    if isinstance(result, ContrastiveExplanation):
        return ["contrastive" if result.scales is None else "nearest"]
    if isinstance(result, Enumeration):
        return ["enumeration"]
    if isinstance(result, Audit | RobustnessRadii):
        return ["audit" if isinstance(result, Audit) else "radius"]
    if isinstance(result, Relevance):
        return ["relevance"]
    minimum = isinstance(result, Explanation) and result.lower_bound is not None
    return ["explain", "minimum"] if minimum else ["explain"]
