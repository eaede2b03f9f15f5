"""The page of one result or sweep: its pictures, its facts, and what the answer rests on."""

from milp_verix.reporting.figures.any_result import figure_of
from milp_verix.reporting.pages.parts import drawn
from milp_verix.reporting.pages.rendering import rendered
from milp_verix.reporting.pages.result_views import view
from milp_verix.reporting.words.any_result import facts_of, outcome, title
from milp_verix.results.records.audit import AuditRecord
from milp_verix.results.records.base import Result
from milp_verix.results.records.contrast import ContrastiveExplanationRecord
from milp_verix.results.records.enumeration import EnumerationRecord
from milp_verix.results.records.explanation import ExplanationRecord
from milp_verix.results.records.importance import ImportanceRecord
from milp_verix.results.records.radius import RobustnessRadiiRecord
from milp_verix.results.records.ranges import RangesRecord
from milp_verix.results.records.relevance import RelevanceRecord
from milp_verix.results.records.sweep import EpsilonSweepRecord
from milp_verix.tolerances import Tolerances


def result_page(result: Result, *, counterfactuals: int) -> str:
    """Return the report of one result as HTML, with so many ``counterfactuals`` at the most."""
    facts = facts_of(result)
    return rendered(
        "result.html",
        title=title(result),
        lead=outcome(result),
        heading="The explanation",
        sentence=dict(facts).get("in words"),
        shown=view(result, counterfactuals, "Features", sensitivity=True),
        told=facts,
        grounds="What the answer rests on",
        tasks=_tasks(result),
        tolerances=Tolerances(),
        versions=_versions(result),
    )


def sweep_page(sweep: EpsilonSweepRecord) -> str:
    """Return the report of a sweep as HTML."""
    headline = title(sweep)
    return rendered(
        "result.html",
        title=headline,
        lead="; ".join(map(outcome, sweep.levels)),
        heading="The radii",
        sentence=None,
        shown=drawn(figure_of(sweep), headline),
        told=facts_of(sweep),
        grounds="What the answers rest on",
        tasks=["explain"],
        tolerances=Tolerances(),
        versions=_versions(sweep.levels[0]),
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
