"""The page of a study of solvers: summary, performance profiles, and each check."""

from collections.abc import Sequence

import numpy as np

from milp_verix.base.number_text import counted
from milp_verix.base.tolerances import Tolerances
from milp_verix.results.solver_study import SolverTimes
from milp_verix.views.figures.solver_study_plot import plot_solver_study
from milp_verix.views.pages.rendering import PageTable, drawn, rendered
from milp_verix.views.words.solver_study import HEADS, TEXTS, meaning, rows

_MOST = 2000


def solver_study_page(
    name: str, times: SolverTimes, facts: Sequence[tuple[str, str]], remarks: Sequence[str]
) -> str:
    """Return the report of the study ``name`` as HTML.

    ``facts`` are what was asked, ``remarks`` what a reader has to know: contradictions, pairs left
    out.
    """
    some = bool(np.isfinite(times.seconds).any())
    told = counted(len(times.pairs), "pair") + " of solver and formulation"
    figure = None
    if some:
        best = times.summary()[0]
        alt = f"performance profiles of {told}; {best.pair} answered the most, {best.solved}"
        figure = drawn(plot_solver_study(times), alt).drawing
    return rendered(
        "solver_study.html",
        title=f"Study of solvers {name}",
        lead=f"{told} on {counted(len(times.instances), 'check')}.",
        sections=[
            ("question", "What was asked"),
            ("summary", "Summary"),
            ("profiles", "Profiles"),
            ("checks", "Each check"),
            ("remarks", "Remarks"),
            ("grounds", "What the answers rest on"),
        ],
        question=facts,
        meaning=meaning(times),
        summary=PageTable("A line for each pair", HEADS, rows(times), TEXTS, "sortable"),
        picture=figure,
        checks=_checks(times),
        remarks=remarks or ["No two definite answers contradict each other."],
        tolerances=Tolerances(),
    )


def _checks(times: SolverTimes) -> PageTable:
    """Return the seconds of each check; ``>`` marks a run that ended without an answer."""
    count = len(times.instances)
    caption = "Seconds of each check by each pair; > limit: no answer; –: not asked"
    caption += f"; the first {_MOST} of {count}" if count > _MOST else ""
    lines = [
        [instance, *(_cell(times, row, place) for row in range(len(times.pairs)))]
        for place, instance in enumerate(times.instances[:_MOST])
    ]
    return PageTable(caption, ["check", *map(str, times.pairs)], lines, 1, "sortable")


def _cell(times: SolverTimes, row: int, place: int) -> str:
    seconds = times.seconds[row, place]
    if np.isfinite(seconds):
        return f"{seconds:.3f}"
    return f"> {times.limit:g}" if times.asked[row, place] else "–"
