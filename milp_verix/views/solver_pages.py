"""The pages of a comparison, from its file, and of a study of solvers."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError, refusing
from milp_verix.base.number_text import counted, exact, nearest
from milp_verix.base.tolerances import Tolerances
from milp_verix.results.comparison_files import COLUMNS, CSV_COLUMNS, unescaped
from milp_verix.results.solver_times import SolverTimes
from milp_verix.views.plot import plot_solver_study
from milp_verix.views.rendering import PageTable, drawn, rendered
from milp_verix.views.style import typeset
from milp_verix.views.text_tables import STUDY_HEADS, TEXTS, meaning, narrowed, study_rows
from milp_verix.views.wording import norm_text

_TEXTS = 3
_MOST_DIFFERENCES, _MOST_CHECKS = 100, 2000
_DAMAGED = (KeyError, TypeError, ValueError, AttributeError, IndexError)


def runs_in_csv(path: Path) -> list[dict[str, Any]]:
    """Return the runs in the CSV file of a comparison; ``InputError`` for any other file."""
    with (
        refusing(f"cannot read {path}"),
        refusing(f"{path} is not CSV", UnicodeDecodeError, csv.Error),
        path.open(newline="", encoding="utf-8") as file,
    ):
        lines = csv.DictReader(file)
        if tuple(lines.fieldnames or ()) != CSV_COLUMNS:
            raise InputError(f"{path} is no comparison: its columns are not those of compare")
        return [
            {name: unescaped(text) if text else None for name, text in line.items()}
            for line in lines
            if not line["skipped"]
        ]


def comparison_page(
    name: str, runs: Sequence[Mapping[str, Any]], data: Mapping[str, Any] = MappingProxyType({})
) -> str:
    """Return the report of a comparison as HTML: its ``runs`` by the names of ``COLUMNS``.

    ``data`` is the whole JSON, if there is some. Raises ``InputError`` where parts are missing.
    """
    try:
        return _comparison(name, runs, data)
    except _DAMAGED as error:
        raise InputError(f"{name} is not a comparison that compare wrote: {error!r}") from error


def _comparison(name: str, runs: Sequence[Mapping[str, Any]], data: Mapping[str, Any]) -> str:
    lead = f"{counted(len(runs), 'pair')} of solver and formulation, one question"
    if data:
        others = (*data.get("conflicts", ()), *data.get("unequal", ()))
        contradictions = counted(len(data["disagreements"]) + len(others), "contradiction")
        none = "no two definite answers contradict each other"
        lead += f": {none if data['agree'] else contradictions}"
    heads = [column.replace("_", " ") for column in COLUMNS]
    lines = [[_cell(run.get(column)) for column in COLUMNS] for run in runs]
    seconds = [float(run["seconds"]) for run in runs]
    longest = max(seconds, default=0.0) or 1.0
    times = [(_pair(run), s, s / longest) for run, s in zip(runs, seconds, strict=True)]
    return rendered(
        "comparison.html",
        name=name,
        lead=f"{lead}.",
        question=_question(data) if data else (),
        runs=PageTable("A line for each run", heads, lines, _TEXTS, "sortable"),
        times=times,
        remarks=_remarks(data) if data else (),
        differences=_differences(data) if data else None,
        tolerances=Tolerances(),
    )


def _question(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    checks, epsilon = data["checks"], data["epsilon"]
    radius = "∞" if epsilon is None else exact(epsilon)
    limits = narrowed(data.get("against"), data.get("output"), data.get("rules", ()))
    return [
        ("model", f"{data['model']['file']} (SHA-256 {data['model']['sha256']})"),
        ("prediction", str(data["prediction"])),
        ("ball", f"ε = {radius} ({norm_text(data['norm'])})"),
        *([("δ", exact(data["delta"]))] if data["delta"] is not None else []),
        *([("restricted", limits)] if limits else []),
        ("features", str(data["features"])),
        ("asked", "an explanation" if checks is None else counted(len(checks), "check")),
        ("rounds", str(data["rounds"])),
        *([("stopped", str(data["stopped"]))] if data["stopped"] else []),
    ]


def _cell(value: Any) -> str:
    """Return a whole number and a text as they are, another number with three digits."""
    text = "–" if value is None else str(value)
    try:
        return text if text.isdigit() else typeset(nearest(float(text), 3))
    except ValueError:
        return text


def _remarks(data: Mapping[str, Any]) -> list[str]:
    """Return the contradictions, the pairs left out, and the notes of the runs."""
    parts = []
    for found in data["disagreements"]:
        holding, violated = (_pair(found[side]) for side in ("holding", "violated"))
        parts.append(
            f"Contradiction: {holding} says that a check on "
            f"{counted(len(found['free']), 'feature')} holds, which a counterfactual of {violated} "
            f"refutes (margin {found['margin']} is {nearest(found['reached'], 6)} there)."
        )
    others = (*data.get("conflicts", ()), *data.get("unequal", ()))
    parts += [f"Contradiction: {text}." for text in others]
    if data["agree"]:
        unknown = sum(int(run["unknown"]) for run in data["runs"])
        parts.append(f"No two definite answers contradict each other; {unknown} are unknown.")
    parts += [f"Not compared: {_pair(one)}: {one['reason']}" for one in data["skipped"]]
    for run in data["runs"]:
        stopped = [f"stopped: {run['stopped']}"] if run["stopped"] else []
        parts += [f"{_pair(run)}: {text}" for text in (*stopped, *run["notes"])]
    return list(dict.fromkeys(parts))


def _differences(data: Mapping[str, Any]) -> PageTable:
    """Return the features, or checks, on which the runs answered differently."""
    answers = [run["answers"] for run in data["runs"]]
    count = min(map(len, answers), default=0)
    differ = [place for place in range(count) if len({str(run[place]) for run in answers}) > 1]
    what = "feature" if data["checks"] is None else "check"
    most = _MOST_DIFFERENCES
    name = f"Answers that differ: {counted(len(differ), what)}"
    name += f", the first {most}" if len(differ) > most else ""
    heads = [what, *(_pair(run) for run in data["runs"])]
    lines = [[str(place), *(str(run[place]) for run in answers)] for place in differ[:most]]
    return PageTable(name, heads, lines, texts=len(heads))


def _pair(pair: Mapping[str, Any]) -> str:
    return f"{pair['solver']}, {pair['formulation']}"


def solver_study_page(
    name: str, times: SolverTimes, facts: Sequence[tuple[str, str]], remarks: Sequence[str]
) -> str:
    """Return the report of the study ``name`` as HTML.

    ``facts`` are what was asked, ``remarks`` what a reader has to know: contradictions, pairs left
    out.
    """
    asked, figure = int(times.attempted.any(axis=1).sum()), None
    text = f"{counted(asked, 'pair')} of solver and formulation"
    if np.isfinite(times.seconds).any():
        best = times.summary()[0]
        alt = f"performance profiles of {text}; {best.pair} answered the most, {best.solved}"
        figure = drawn(plot_solver_study(times), alt).drawing
    pairs = "A line for each pair"
    return rendered(
        "solver_study.html",
        name=name,
        lead=f"{text} on {counted(len(times.instances), 'program')}.",
        question=facts,
        meaning=meaning(times),
        summary=PageTable(pairs, STUDY_HEADS, study_rows(times), TEXTS, "sortable"),
        picture=figure,
        checks=_checks(times),
        remarks=remarks,
        tolerances=Tolerances(),
    )


def _checks(times: SolverTimes) -> PageTable:
    """Return the seconds of each check; ``>`` marks a run that ended without an answer."""

    def cell(seconds: float, attempted: bool) -> str:
        if np.isfinite(seconds):
            return f"{seconds:.3f}"
        return f"> {times.limit:g}" if attempted else "–"

    count, most = len(times.instances), _MOST_CHECKS
    caption = "Seconds of each program by each pair; > limit: no answer; –: not asked"
    caption += f"; the first {most} of {count}" if count > most else ""
    columns = zip(times.instances[:most], times.seconds.T, times.attempted.T, strict=False)
    lines = [[one, *map(cell, seconds, attempted)] for one, seconds, attempted in columns]
    return PageTable(caption, ["program", *map(str, times.pairs)], lines, 1, "sortable")
