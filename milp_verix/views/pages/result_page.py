"""The page of one result or sweep: its pictures, its facts, and what the answer rests on."""

from milp_verix.base.tolerances import Tolerances
from milp_verix.results.records.audit import AuditRecord
from milp_verix.results.records.base import Result
from milp_verix.results.records.contrast import ContrastiveExplanationRecord
from milp_verix.results.records.enumeration import EnumerationRecord
from milp_verix.results.records.explanation import ExplanationRecord
from milp_verix.results.records.importance import ImportanceRecord
from milp_verix.results.records.json_format import StoredResult
from milp_verix.results.records.radius import RobustnessRadiiRecord
from milp_verix.results.records.ranges import RangesRecord
from milp_verix.results.records.relevance import RelevanceRecord
from milp_verix.results.records.sweep import EpsilonSweepRecord
from milp_verix.views.figures.any_result import figure_of
from milp_verix.views.pages.parts import drawn
from milp_verix.views.pages.rendering import rendered
from milp_verix.views.pages.result_views import view
from milp_verix.views.words.any_result import facts_of, outcome, title
from milp_verix.views.words.message_words import marked_words


def result_page(result: StoredResult, *, counterfactuals: int) -> str:
    """Return the report of a result or sweep as HTML, with so many ``counterfactuals`` at most."""
    facts = facts_of(result)
    if isinstance(result, EpsilonSweepRecord):
        first: Result = result.levels[0]
        heading, grounds = "The radii", "What the answers rest on"
        lead, tasks = "; ".join(map(outcome, result.levels)), ["explain"]
        shown = drawn(figure_of(result), title(result))
    else:
        first, heading, grounds = result, "The explanation", "What the answer rests on"
        lead, tasks = outcome(result), _tasks(result)
        shown = view(result, counterfactuals, "Features", sensitivity=True)
    return rendered(
        "result.html",
        title=title(result),
        lead=lead,
        heading=heading,
        sentence=dict(facts).get("in words"),
        message=marked_words(first),
        shown=shown,
        told=facts,
        grounds=grounds,
        tasks=tasks,
        tolerances=Tolerances(),
        versions=_versions(first),
    )


def _versions(result: Result) -> list[tuple[str, str]]:
    return [*sorted(result.versions.items()), ("SHA-256 of the network", result.model.sha256)]


def _tasks(result: Result) -> list[str]:
    """Return the kinds of claims that the page of ``result`` explains."""
    if isinstance(result, ContrastiveExplanationRecord):
        return ["contrastive" if result.scales is None else "nearest"]
    if isinstance(result, ExplanationRecord):
        return ["explain", "minimum"] if result.lower_bound is not None else ["explain"]
    kinds = {
        EnumerationRecord: "enumeration",
        AuditRecord: "audit",
        RobustnessRadiiRecord: "radius",
        RangesRecord: "ranges",
        RelevanceRecord: "relevance",
        ImportanceRecord: "importance",
    }
    return [name for kind, name in kinds.items() if isinstance(result, kind)]
