"""A comparison as rows of text, and as a table for the command line."""

from collections.abc import Sequence

from rich.table import Table

from milp_verix.base.number_text import counted, nearest
from milp_verix.oracle.verdict import Answer
from milp_verix.results.comparison import Comparison, Run
from milp_verix.views.words.fact_table import table_of_rows
from milp_verix.views.words.wording import joined

TEXTS = 2


def headings(comparison: Comparison) -> tuple[str, ...]:
    """Return the names of the columns; all but the first two hold numbers."""
    answers = {"check": ("holds", "violated"), "explain": ("size",)}.get(
        comparison.task, ("cost", "bound", "master")
    )
    times = ("seconds", "build", "solve", "re-solve")
    counts = ("checks", "solves", "nodes", "iterations")
    return ("solver", "formulation", *answers, "unknown", *times, *counts)


def rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return the cells of each run, as text. Times are in seconds."""
    return [_row(run, comparison) for run in comparison.runs]


def _row(run: Run, comparison: Comparison) -> tuple[str, ...]:
    inside = run.inside
    answers: list[object] = [run.count(Answer.HOLDS), run.count(Answer.VIOLATED)]
    if comparison.task == "explain":
        answers = [run.size]
    elif comparison.task != "check":
        costs = (run.cost, run.bound)
        told = ["–" if cost is None else nearest(cost, 6).replace("∞", "none") for cost in costs]
        answers = [*told, run.master or "–"]
    times = (run.seconds, inside.build_seconds, inside.solve_seconds, inside.resolve_seconds)
    return (
        run.pair.solver,
        run.pair.formulation,
        *(str(one) for one in answers),
        str(run.unknown),
        *(f"{seconds:.2f}" for seconds in times),
        str(run.checks),
        str(run.solves),
        *("–" if count is None else str(count) for count in (run.nodes, run.iterations)),
    )


def table(comparison: Comparison) -> Table:
    """Return a table without lines, a row for each run."""
    return table_of_rows(headings(comparison), rows(comparison), TEXTS)


def remarks(comparison: Comparison) -> list[str]:
    """Return the lines that go with the numbers: verdict, pairs left out, notes."""
    found = _verdict(comparison)
    asked = narrowed(comparison.against, comparison.output, comparison.rules)
    found += [f"the question: {asked}"] if asked else []
    several = comparison.task in ("check", "explain")
    decided = {run.answers for run in comparison.runs if not run.unknown}
    if several and comparison.agree and len(decided) > 1:
        found.append(
            "runs that decided everything differ all the same: by rounding, or by an order that "
            "depends on what a solver finds"
        )
    found += [f"not compared: {skipped}" for skipped in comparison.skipped]
    runs = comparison.runs
    # a note that all runs have is about the question
    shared = [
        note
        for note in (runs[0].notes if len(runs) > 1 else ())
        if all(note in r.notes for r in runs)
    ]
    for run in runs:
        found += [f"{run.pair}: stopped: {run.stopped}"] if run.stopped else []
        found += [f"{run.pair}: {note}" for note in run.notes if note not in shared]
    return found + shared


def narrowed(against: Sequence[int] | None, output: int | None, rules: Sequence[str]) -> str:
    """Return what narrows a question, ``"against class 9 alone, 2 rules"``, or nothing."""
    told = [] if against is None else [f"against {joined(f'class {c}' for c in against)} alone"]
    told += [] if output is None else [f"output {output} alone"]
    return ", ".join([*told, *([counted(len(rules), "rule")] if rules else [])])


def _verdict(comparison: Comparison) -> list[str]:
    if not comparison.agree:
        every = (*comparison.disagreements, *comparison.conflicts)
        return [f"disagreement: {found}" for found in every]
    unknown = sum(run.unknown for run in comparison.runs)
    left = f"; {unknown} answers are unknown" if unknown else ""
    if len(comparison.runs) == 1:
        return [f"one run, nothing to hold it against{left}"]
    return [f"no two definite answers contradict each other{left}"]
