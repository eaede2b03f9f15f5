"""The suite's score and its tables, from the records of a journal."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from tables import Table

Record = Mapping[str, Any]
Column = Mapping[str, Record]
"""Records by the case's name."""

DEFAULT, BEFORE = "auto", "auto before"
LICENSED = frozenset({"gurobi"})
"""Solvers that are not compared with: the default cannot count on them."""

FORMULA = (
    "The score of a run is seconds + limit × undecided; undecided are features that the "
    "explanation has without a counterfactual that onnxruntime confirms, and all features where "
    "the run failed or was killed. The score of a column is the sum over the cases. Cells are "
    "size/undecided and seconds on the wall. The target is 1.5 times the score of the best "
    "single open-source solver plus 2 s."
)


def score(record: Record) -> float:
    """Return seconds + limit × undecided features, in seconds; lower is better."""
    return float(record["seconds"] + record["limit"] * record["undecided"])


def chosen(records: Iterable[Record], limit: float, before: str | None) -> dict[str, Column]:
    """Return the columns: the newest records of the default and of each solver, case by case.

    Records with another limit are left out, and records of a case that has changed since. Those
    whose commit is ``before`` make a column of their own if they are the default's.
    """
    fitting = [r for r in records if r["limit"] == limit and "unavailable" not in r]
    newest = {r["case"]: r["digest"] for r in fitting}
    columns: dict[str, dict[str, Record]] = {BEFORE: {}, DEFAULT: {}}
    for record in fitting:
        old = before is not None and record["commit"].startswith(f"`{before}")
        if record["digest"] == newest[record["case"]] and (not old or record["solver"] == DEFAULT):
            title = BEFORE if old else record["solver"]
            columns.setdefault(title, {})[record["case"]] = record
    return {title: column for title, column in columns.items() if column}


def best(columns: Mapping[str, Column], case: str) -> tuple[float, str] | None:
    """Return the least score of a single open-source solver on a case, and its name."""
    single = set(columns) - LICENSED - {BEFORE, DEFAULT}
    scores = [(score(columns[t][case]), t) for t in sorted(single) if case in columns[t]]
    return min(scores, default=None)


def case_table(columns: Mapping[str, Column]) -> Table:
    """Return what each column reached case by case, and how the default compares to the best."""
    titles = list(columns)
    table = Table(
        " | ".join(
            [
                "case | features",
                *titles,
                "best single",
                "ratio",
                "in target",
                "peak MB",
                "decided by",
            ]
        ),
        quiet=True,
    )
    for case in _cases(columns):
        found = {title: columns[title].get(case) for title in titles}
        features = next(record["features"] for record in found.values() if record)
        after, least = found.get(DEFAULT), best(columns, case)
        table.add(
            *(case, features),
            *(_reached(record) for record in found.values()),
            least[1] if least else "–",
            *_compared(after, least),
            _peak([after] if after else []),
            _deciders(after) if after else "–",
        )
    return table


def score_table(columns: Mapping[str, Column]) -> Table:
    """Return each column's score, and the numbers behind it.

    A column that lacks a case has no score. ``empty`` counts runs with neither a proof nor a
    counterfactual.
    """
    table = Table(
        "run by | cases | score | undecided | empty | failed | seconds | CPU seconds | peak MB "
        "| median ratio | worst ratio | out of target",
        quiet=True,
    )
    every = _cases(columns)
    for title, column in columns.items():
        records = [column[case] for case in every if case in column]
        pairs = [(r, least) for r in records if (least := best(columns, r["case"]))]
        ratios = [score(record) / least[0] for record, least in pairs]
        table.add(
            *(title, len(records)),
            f"{sum(map(score, records)):.0f}" if len(records) == len(every) else "–",
            sum(record["undecided"] for record in records),
            sum(record["undecided"] == record["features"] for record in records),
            sum("error" in record for record in records),
            f"{sum(record['seconds'] for record in records):.0f}",
            f"{sum(record['cpu'] for record in records):.0f}",
            _peak(records),
            *(f"{value(ratios):.2f}" if ratios else "–" for value in (median, max)),
            sum(not _in_target(record, least) for record, least in pairs),
        )
    return table


def sources(columns: Mapping[str, Column]) -> str:
    """Return the commits that each column's records come from."""
    told = []
    for title, column in columns.items():
        commits = dict.fromkeys(record["commit"] for record in column.values())
        told.append(f"{title}: {', '.join(commits)}")
    return "; ".join(told) + "."


def _cases(columns: Mapping[str, Column]) -> Sequence[str]:
    return list(dict.fromkeys(case for column in columns.values() for case in column))


def _reached(record: Record | None) -> str:
    if record is None:
        return "–"
    seconds = f"{record['seconds']:.1f}"
    if "error" in record:
        return f"failed {seconds}"
    return f"{record['size']}/{record['undecided']} {seconds}"


def _peak(records: Iterable[Record]) -> str:
    """Return the most that a run held in memory, in MB; solvers in other processes do not count."""
    known = [record["peak"] for record in records if record.get("peak")]
    return f"{max(known) / 1e6:.0f}" if known else "–"


def _compared(after: Record | None, least: tuple[float, str] | None) -> tuple[str, str]:
    """Return the ratio of a run's score to the best one, and whether it is in the target."""
    if after is None or least is None:
        return "–", "–"
    return f"{score(after) / least[0]:.2f}", "yes" if _in_target(after, least) else "no"


def _in_target(record: Record, least: tuple[float, str]) -> bool:
    return score(record) <= 1.5 * least[0] + 2


def _deciders(record: Record) -> str:
    """Return the features that each stage decided, and the checks that each solver decided."""
    stages = {entry["stage"]: entry["features"] for entry in record.get("stages", ())}
    solvers = {entry["solver"]: entry["checks"] for entry in record.get("solvers", ())}
    listed = (
        ", ".join(f"{name} {count}" for name, count in counts.items() if count)
        for counts in (stages, solvers)
    )
    return "; checks by ".join(text for text in listed if text) or "–"
