"""Explain networks of every kind by the default and by single solvers, each in its own process.

    python benchmarks/suite.py --journal runs.jsonl --at 19beb5c --solvers auto
    python benchmarks/suite.py --journal runs.jsonl --solvers auto phase highs scip gurobi
    python benchmarks/suite.py --journal runs.jsonl --tables --before 19beb5c --write suite

Each finished run is a line of the journal, under its case, solver, limit and commit. A run in the
journal is not repeated, so a suite that was cut short goes on from there; runs of a checkout with
changes are repeated, and solvers that are unavailable are asked again. ``--tables`` runs nothing.
"""

import argparse
import datetime as dt
import json
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tables
from arguments import described
from suite_cases import CASES, Request, prepare
from suite_processes import Task, run
from suite_tables import FORMULA, case_table, chosen, score_table, sources

SOLVERS = ("auto", "phase", "highs", "scip", "gurobi", "split")


def read(journal: Path) -> list[dict[str, Any]]:
    """Return the records in a journal; a last line that was cut short is removed from the file."""
    if not journal.exists():
        return []
    text = journal.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        journal.write_text(whole, encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def key(record: dict[str, Any]) -> tuple[Any, ...]:
    """Return what tells a run from others: case with its digest, solver, limit and commit."""
    return tuple(record[name] for name in ("case", "digest", "solver", "limit", "commit"))


def finished(records: Sequence[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """Return the keys of runs that need not be repeated."""
    return {
        key(record)
        for record in records
        if "unavailable" not in record and not record["commit"].endswith("with changes")
    }


def prepared(names: Sequence[str], folder: Path) -> Iterator[Request]:
    """Yield the requests of cases; those whose files are absent are skipped by name."""
    for name in names:
        try:
            yield prepare(CASES[name], folder)
        except FileNotFoundError as error:
            print(f"skipped {name}: {error}", flush=True)


def measure(arguments: argparse.Namespace, tree: Path, commit: str) -> None:
    """Run what the journal lacks by the code in ``tree``, and append it."""
    journal = arguments.journal
    same = {"limit": arguments.limit, "commit": commit}

    def about(request: Request, solver: str) -> dict[str, Any]:
        named = {"case": request.name, "digest": request.digest, "solver": solver}
        return {**named, **same, "features": request.features}

    done = finished(read(journal))
    requests = list(prepared(arguments.cases, journal.parent / "suite-networks"))
    tasks = [
        Task(request, solver, arguments.limit, tree)
        for request in requests
        for solver in arguments.solvers
        if key(about(request, solver)) not in done
    ]
    print(f"{len(tasks)} runs of {len(requests) * len(arguments.solvers)} to do", flush=True)
    for task, found in run(tasks, arguments.jobs):
        today = dt.datetime.now(tz=dt.UTC).date().isoformat()
        record = {**about(task.request, task.solver), "date": today, **found}
        with journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        print(said(record), flush=True)


def said(record: dict[str, Any]) -> str:
    """Return a line about a run."""
    begin = f"{record['case']}, {record['solver']}:"
    if reason := record.get("unavailable") or record.get("error"):
        return f"{begin} {reason}"
    return (
        f"{begin} {record['size']} of {record['features']} features, {record['undecided']} "
        f"undecided, {record['seconds']:.1f} s, {record['cpu']:.1f} s CPU"
    )


def report(arguments: argparse.Namespace) -> None:
    """Print the tables, and write them where that was asked for."""
    columns = chosen(read(arguments.journal), arguments.limit, arguments.before)
    if not columns:
        print("no runs with this limit")
        return
    cases, scores = case_table(columns), score_table(columns)
    print(f"\n{cases}\n\n{scores}")
    if arguments.write:
        records = [record for column in columns.values() for record in column.values()]
        versions = {"Python": platform.python_version()}
        for record in records:
            versions |= record.get("versions", {})
        versions.pop("python", None)
        measured = tables.Measurement(
            commit=", ".join(dict.fromkeys(record["commit"] for record in records)),
            date=max(record["date"] for record in records),
            machine=tables.machine(),
            versions=", ".join(f"{name} {version}" for name, version in versions.items()),
            command=tables.command(sys.argv),
        )
        about = [f"Limit {arguments.limit:g} s. {FORMULA}", f"Commits are {sources(columns)}"]
        tables.put(arguments.write, [measured, *about, cases, scores])


def main() -> None:
    """Run the suite and print its tables."""
    made = described(__doc__)
    made.add_argument("--journal", type=Path, required=True, help="JSON lines, one for each run")
    made.add_argument("--at", metavar="COMMIT", help="an earlier commit, whose code is run")
    made.add_argument("--limit", type=float, default=60.0, help="seconds (%(default)g)")
    made.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), metavar="NAME")
    made.add_argument("--solvers", nargs="+", default=SOLVERS, metavar="NAME")
    made.add_argument("--jobs", type=int, default=1, help="processes at once, a thread each")
    made.add_argument("--before", metavar="COMMIT", help="the commit of the column before")
    made.add_argument("--tables", action="store_true", help="print the tables, and run nothing")
    tables.add_write(made)
    arguments = made.parse_args()
    if not arguments.tables and arguments.at is None:
        measure(arguments, tables.ROOT, tables.commit())
    elif not arguments.tables:
        with tables.archived(arguments.at) as tree:
            measure(arguments, tree, f"`{arguments.at}`")
    report(arguments)


if __name__ == "__main__":
    main()
