"""The pages of a result and of a decision for the person it is about; HTML for notebooks."""

from typing import Any

from milp_verix.base.errors import InputError
from milp_verix.base.number_text import counted
from milp_verix.base.tolerances import Tolerances
from milp_verix.results.audit import Audit
from milp_verix.results.base import Result
from milp_verix.results.comparison import Comparison
from milp_verix.results.contrast import ContrastiveExplanation, Enumeration
from milp_verix.results.explanation import EpsilonSweep, Explanation
from milp_verix.results.importance import Importance, Relevance
from milp_verix.results.json_format import StoredResult
from milp_verix.results.ranges import Ranges, RobustnessRadii
from milp_verix.views.feature_rows import feature_view
from milp_verix.views.labels import marked_words
from milp_verix.views.notice import (
    LIMITS,
    MOST_REASONS,
    changes_of,
    least_text,
    others_text,
    proven_texts,
    reason_text,
    reasons_of,
)
from milp_verix.views.pictures import pictures
from milp_verix.views.plot import figure_of
from milp_verix.views.rendering import View, drawn, png, rendered
from milp_verix.views.result_words import facts_of, outcome, title
from milp_verix.views.style import Drawing
from milp_verix.views.text_tables import TEXTS, comparison_heads, comparison_rows, remarks
from milp_verix.views.wording import compared, decided

_TASKS = {
    Enumeration: "enumeration",
    Audit: "audit",
    RobustnessRadii: "radius",
    Ranges: "ranges",
    Relevance: "relevance",
    Importance: "importance",
}


def view(result: Result, most: int, name: str, *, sensitivity: bool = False) -> View:
    """Return the pictures of ``result``, or the table of its features, called ``name``.

    ``most`` counterfactuals at the most, and the ``sensitivity`` of pixels on request. A result
    whose numbers are damaged is told in words.
    """
    if isinstance(result, RobustnessRadii | Ranges | Importance):
        return drawn(figure_of(result), f"{title(result)}; {outcome(result)}")
    try:
        shown = pictures(result, most, sensitivity=sensitivity)
        return View(pictures=shown) if shown else feature_view(result, most, name)
    except InputError as error:
        return View(note=f"It cannot be drawn: {error}")


def result_page(result: StoredResult, *, counterfactuals: int) -> str:
    """Return the report of a result or sweep as HTML, with so many ``counterfactuals`` at most."""
    facts = facts_of(result)
    if isinstance(result, EpsilonSweep):
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
        versions=[*sorted(first.versions.items()), ("SHA-256 of the network", first.model.sha256)],
    )


def _tasks(result: Result) -> list[str]:
    """Return the kinds of claims that the page of ``result`` explains."""
    if isinstance(result, ContrastiveExplanation):
        return ["contrastive" if result.scales is None else "nearest"]
    if isinstance(result, Explanation):
        return ["explain", "minimum"] if result.lower_bound is not None else ["explain"]
    return [name for kind, name in _TASKS.items() if isinstance(result, kind)]


def notice_page(
    found: Ranges,
    contrast: ContrastiveExplanation | None,
    importance: Any,
    proof: str | None,
) -> str:
    """Return the notice of a decision as HTML; ``proof`` are words on the file with the proof."""
    ranked = reasons_of(found, importance)
    shown = ranked[:MOST_REASONS]
    decision = f"{decided(found)}{compared(found)}"
    order = "in the order of the importance given"
    order = "the one with the least room first" if importance is None else order
    count = counted(len(shown), "reason") if len(shown) == len(ranked) else "main reasons"
    versions = [f"{name} {version}" for name, version in sorted(found.versions.items())]
    return rendered(
        "notice.html",
        title=f"{decision[0].upper()}{decision[1:]}, and what decided",
        lead="Made by a model, explained with a proof",
        introduction=f"The {count} for {decision}, {order}:"
        if shown
        else f"No reason is listed for {decision}.",
        reasons=[reason_text(found, one) for one in shown],
        others=others_text(found, ranked, len(shown)),
        drawing=drawn(figure_of(found), "The ranges of what decided").drawing,
        changes=[] if contrast is None else changes_of(contrast),
        least=least_text(contrast),
        proven=proven_texts(found, contrast, proof),
        about=[
            ("model", found.model.file),
            ("SHA-256 of the model", found.model.sha256),
            ("SHA-256 of the input", found.input_sha256),
            ("written with", ", ".join(versions)),
        ],
        limits=LIMITS,
    )


def result_html(result: StoredResult, figure: Drawing) -> str:
    """Return the headline of ``result``, its ``figure`` and its facts."""
    return rendered(
        "notebook.html",
        title=title(result),
        address=png(figure.render()),
        width=figure.css_width,
        facts=facts_of(result),
    )


def comparison_html(comparison: Comparison) -> str:
    """Return a row for each run of ``comparison``, and the remarks."""
    return rendered(
        "notebook_comparison.html",
        heads=comparison_heads(comparison),
        rows=comparison_rows(comparison),
        texts=TEXTS,
        remarks=remarks(comparison),
    )
