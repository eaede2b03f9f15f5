"""A study of solvers, read from its journal: every check by every pair."""

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from milp_verix.base.arguments import TEXT, checked, path_of, seconds_of
from milp_verix.base.comparable import Compared
from milp_verix.base.errors import InputError, require_one_of
from milp_verix.base.number_text import counted
from milp_verix.inputs.frame import pandas
from milp_verix.results.comparison import Pair
from milp_verix.results.comparison_files import EACH_COLUMNS, written_as_csv
from milp_verix.results.solver_times import SHIFT, PairSummary, SolverTimes
from milp_verix.study.journal import FAILED, Record, best_records

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from milp_verix.views.style import Drawing

ABOUT = ("instance", "model", "index", "epsilon", "norm", "check_time_limit")
CLOCKS = {"solver": "solver_seconds", "wall": "seconds", "cpu": "cpu_seconds"}
"""The columns of the times that count."""

_ONCE = ("machine", "versions", "command", "options")
COLUMNS = (*ABOUT, *EACH_COLUMNS[EACH_COLUMNS.index("solver") :])


@dataclass(frozen=True, slots=True, eq=False)
class SolverStudy(Compared):
    """The verdicts and times of a study of solvers.

    ``rows`` are mappings from ``COLUMNS``, one for each program and pair; ``times`` the seconds by
    pair and program, of several seeds the median. ``skipped`` says which pairs were not asked and
    why, ``disagreements`` which answers contradict each other, ``failed`` which inputs have no
    result and why. Where a study has several ways to keep a program (``warm``), the formulation
    names the way, too.
    """

    rows: tuple[Mapping[str, Any], ...]
    times: SolverTimes
    skipped: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        pairs, checks = len(self.times.pairs), len(self.times.instances)
        return f"SolverStudy({counted(pairs, 'pair')}, {counted(checks, 'program')})"

    def summary(self) -> tuple[PairSummary, ...]:
        """Return a summary of each pair, the best first."""
        return self.times.summary()

    def frame(self) -> "pd.DataFrame":
        """Return a row for each program and pair as a pandas DataFrame.

        Raises ``InputError`` where pandas is not installed.
        """
        return pandas().DataFrame(list(self.rows), columns=list(COLUMNS))

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return a line for each program and pair as CSV, and write it to ``path`` if given."""
        return written_as_csv(COLUMNS, self.rows, path)

    def summary_to_csv(self, path: str | Path | None = None) -> str:
        """Return a line for each pair as CSV, and write it to ``path`` if given."""
        lines = [asdict(one) for one in self.summary()]
        flat = [{**line.pop("pair"), **line} for line in lines]
        columns = ["solver", "formulation", *(one.name for one in fields(PairSummary))]
        return written_as_csv([name for name in columns if name != "pair"], flat, path)

    def table(self) -> "Table":
        """Return a rich table with a row for each pair."""
        from milp_verix.views.text_tables import study_table

        return study_table(self.times)

    def plot(self, path: str | Path | None = None) -> "Drawing":
        """Draw performance profiles, a cactus plot, and the best two pairs side by side.

        Raises ``InputError`` where no check has an answer, and for a path that cannot be written.
        """
        from milp_verix.views.plot import plot_solver_study

        return plot_solver_study(self.times, path)


@checked(clock=TEXT)
def read_solver_study(
    path: str | Path,
    *,
    clock: str = "solver",
    limit: float | None = None,
    shift: float = SHIFT,
    warn: Callable[[str], None] = warnings.warn,
) -> SolverStudy:
    """Return the study of solvers in the journal at ``path``, a file or a folder.

    The journal is that of :func:`milp_verix.explain_many` with ``task="compare"``, or of
    ``milp-verix batch`` with such a study file. ``clock`` is the time that counts: ``"solver"`` for
    the solver's own, ``"wall"`` for all of a question, or ``"cpu"`` for processor time, which a
    busy machine blurs least. An answer that took more than ``limit`` seconds of it counts as none;
    by default the limit is that of the study. Shifted means add ``shift`` seconds. ``warn`` is
    called as by :func:`milp_verix.read_study`. Raises ``InputError`` for a journal that cannot be
    read, one without comparisons, and an unknown clock.
    """
    require_one_of(CLOCKS, clock, "clock")
    seconds_of(limit, "limit")
    records = [
        record
        for record in best_records(path_of(path, "path"), warn)
        if record["task"] == "compare"
    ]
    if not records:
        raise InputError(f"{path} holds no comparison of solvers: its tasks are of another kind")
    return study_of(records, clock, limit, shift)


def study_of(
    records: Sequence[Record],
    clock: str = "solver",
    limit: float | None = None,
    shift: float = SHIFT,
) -> SolverStudy:
    """Return the study of the ``records`` of comparisons; see :func:`read_solver_study`."""
    seconds_of(shift, "shift")
    done = [record for record in records if "comparison" in record]
    rows = tuple(row for record in done for row in _rows(record))
    failed = [record for record in records if record["status"] == FAILED]
    compared = [record["comparison"] for record in done]
    return SolverStudy(
        rows,
        times_of(rows, clock, limit, shift),
        skipped=_distinct(
            f"{one['solver']}, {one['formulation']}: {one['reason']}"
            for found in compared
            for one in found["skipped"]
        ),
        disagreements=_distinct(text for found in compared for text in found["disagreements"]),
        failed=_distinct(f"input {one['index']}: {one.get('reason')}" for one in failed),
    )


def times_of(
    rows: Sequence[Mapping[str, Any]],
    clock: str = "wall",
    limit: float | None = None,
    shift: float = SHIFT,
) -> SolverTimes:
    """Return the seconds by ``clock`` of each pair and instance; a definite answer solves it.

    What a substitute solved counts as its own pair, ``gurobi (highs)``. Of several seeds the median
    counts, an unsolved run being an infinite time.
    """
    column = CLOCKS[clock]
    rows = [
        {**row, "solver": f"{row['solver']} ({row['handed_to']})"} if row.get("handed_to") else row
        for row in rows
    ]
    pairs = list(dict.fromkeys(Pair(row["solver"], row["formulation"]) for row in rows))
    instances = list(dict.fromkeys(row["instance"] for row in rows))
    places = {instance: place for place, instance in enumerate(instances)}
    lines = {pair: line for line, pair in enumerate(pairs)}
    seconds = np.full((len(pairs), len(instances), 2), np.inf)
    attempted = np.zeros(seconds.shape[:2], dtype=bool)
    runs: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for row in rows:
        at = lines[Pair(row["solver"], row["formulation"])], places[row["instance"]]
        attempted[at] |= row["status"] != "not run"
        took = row.get(column, row["seconds"])  # journals of version 0.2 have two clocks
        solved = row["answer"] != "unknown" and (limit is None or took <= limit)
        runs.setdefault(at, []).append((took, row["seconds"]) if solved else (np.inf, np.inf))
    for at, found in runs.items():
        seconds[at] = np.median(found, axis=0)
    limited = limit is not None
    if limit is None:
        limits = [row["check_time_limit"] for row in rows if row["check_time_limit"] is not None]
        longest = max((row.get(column, row["seconds"]) for row in rows), default=1.0)
        limit, limited = (max(limits), True) if limits else (longest, False)
    known = tuple(pairs), tuple(instances), seconds[..., 0], attempted, limit, shift, limited
    clock = clock if any(column in row for row in rows) else "wall"
    return SolverTimes(*known, whole=seconds[..., 1], clock=clock)


def _rows(record: Record) -> list[dict[str, Any]]:
    found = record["comparison"]
    about = {name: found[name] if name in found else record[name] for name in ABOUT[1:]}
    ball = f"{found['norm']} {record['epsilon']}"
    name = f"{found['model']}, input {record['index']}, {ball}"
    warm, bounds = (record["settings"].get(name, "auto") for name in ("warm", "bounds"))
    name += "" if bounds == "auto" else f", bounds {bounds}"
    kept = "" if warm == "auto" else f", {warm}"
    # journals of version 0.2 have none of these
    about |= {name: json.dumps(found[name]) for name in _ONCE if name in found}
    parameters = {pair: json.dumps(some) for pair, some in found.get("parameters", {}).items()}
    return [
        {
            "instance": f"{name}, check {row['check']}{_rival(row)}",
            **about,
            **row,
            "parameters": parameters.get(str(Pair(row["solver"], row["formulation"]))),
            "formulation": row["formulation"] + kept,
        }
        for pair in (found, *found["skipped"])
        for row in pair.get("each", ())
    ]


def _rival(row: Mapping[str, Any]) -> str:
    return f", rival {row['rival']}" if "rival" in row else ""


def _distinct(texts: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
