"""Pieces of HTML for notebooks, which need no other file."""

from milp_verix.results.records.comparison import ComparisonRecord
from milp_verix.results.records.json_format import StoredResult
from milp_verix.views.figures.parts.sheet import Drawing
from milp_verix.views.pages.parts import png
from milp_verix.views.pages.rendering import rendered
from milp_verix.views.words.any_result import facts_of, title
from milp_verix.views.words.comparison import TEXTS, headings, remarks, rows


def result_html(result: StoredResult, figure: Drawing) -> str:
    """Return the headline of ``result``, its ``figure`` and its facts."""
    return rendered(
        "notebook.html",
        title=title(result),
        address=png(figure.render()),
        width=figure.css_width,
        facts=facts_of(result),
    )


def comparison_html(comparison: ComparisonRecord) -> str:
    """Return a row for each run of ``comparison``, and the remarks."""
    return rendered(
        "notebook_comparison.html",
        heads=headings(comparison),
        rows=rows(comparison),
        texts=TEXTS,
        remarks=remarks(comparison),
    )
