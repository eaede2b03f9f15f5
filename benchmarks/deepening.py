"""Switch the techniques of deeper bounds off, one by one, over cases of the suite.

    python benchmarks/deepening.py --journal deepening.jsonl --limit 15 --write ablation-deepening

Without "deepening" neurons keep CROWN's bounds: that is the suite before there were deeper ones.
Seconds and their limit are those of the clock of work, as in ``ablation.py``. Each finished
explanation is a line of the journal, and is not repeated.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
from arguments import described
from suite import read
from suite_cases import CASES, Case, Request, prepare
from tables import Table, add_write, commit, measured_now, put

import milp_verix
from milp_verix.base.clock import Deadline, elapsed_work
from milp_verix.oracle import oracle
from milp_verix.oracle.ball_bounds import SmallerBalls
from verix_encodings import Bounds, deepening
from verix_encodings.arrays import FloatArray
from verix_encodings.deepening import Deepening
from verix_encodings.row_slopes import RowSlopes
from verix_encodings.work import worked

CHOSEN = (
    *("mnist-4x256@0.018", "mnist-4x256@0.02", "mnist-4x256", "vnncomp-mnist-256x2"),
    *("mnist-leaky-5x20", "marabou-cnn-max"),
)
"""Cases that stages of bounds may decide within a short limit."""


def _widest(rows: RowSlopes) -> FloatArray:
    """Return how far each neuron's line is from it, whatever the coefficient met there."""
    result = np.full(rows.dials.shape, -np.inf)
    for layer in rows.relaxed.layers:
        met = rows.met[layer.value][:, layer.free] if layer.value in rows.met else 0.0
        cost = np.where(met != 0, layer.heights, 0.0)
        result[:, layer.places] = np.where(rows.signs[:, layer.places] == 0, cost, -np.inf)
    return result


def _not_kept(_: SmallerBalls, __: object, deeper: Any, bounds: Bounds) -> Bounds:
    return bounds if deeper is None else deeper.bounds


TECHNIQUES: Mapping[str, Sequence[tuple[type | ModuleType, str, Any]]] = {
    "deepening": [(oracle, "DEEPENED", ())],
    "slopes": [(Deepening, "_slopes", lambda _: iter(()))],
    "trees": [(deepening, "_DEEPEST", 1)],
    "trees of 32 and more": [(deepening, "_DEEPEST", 2)],
    "order of neurons": [
        (Deepening, "_effects", lambda self, value: np.zeros(self.network.sizes[value]))
    ],
    "split rule": [(RowSlopes, "effects", _widest)],
    "ceiling": [(SmallerBalls, "deepened", _not_kept)],
}
"""For each technique the attributes that are replaced to switch it off, and by which value.

Without the split rule, nodes are split at the widest neuron that their bound depends on.
"""


def main() -> None:
    """Run what the journal lacks, and print the tables."""
    made = described(__doc__)
    made.add_argument("--journal", type=Path, required=True, help="JSON lines, one for each run")
    made.add_argument("--limit", type=float, default=15.0, help="seconds of work (%(default)g)")
    made.add_argument("--cases", nargs="+", default=CHOSEN, metavar="NAME[@EPSILON]")
    made.add_argument("--without", nargs="*", choices=TECHNIQUES, default=[*TECHNIQUES])
    made.add_argument("--tables", action="store_true", help="print the tables, and run nothing")
    add_write(made)
    arguments = made.parse_args()
    names = ["nothing", *arguments.without]
    if not arguments.tables:
        for case in map(named, arguments.cases):
            request = prepare(case, arguments.journal.parent / "suite-networks")
            measure(request, names, arguments)
    runs = {
        (run["without"], run["case"]): run
        for run in read(arguments.journal)
        if run["limit"] == arguments.limit and run["case"] in arguments.cases
    }
    tables = [totals(runs, names), cases(runs, names)]
    if arguments.write:
        about = f"Limit {arguments.limit:g} s of work for each case."
        commits = dict.fromkeys(run["commit"] for run in runs.values())
        measured = replace(measured_now(), commit=", ".join(commits))
        put(arguments.write, [measured, about, *tables])


def named(name: str) -> Case:
    """Return the case of the suite with that name, with the radius behind an ``@``."""
    base, _, epsilon = name.partition("@")
    case = CASES[base]
    return replace(case, name=name, epsilon=float(epsilon)) if epsilon else case


def measure(request: Request, names: Sequence[str], arguments: argparse.Namespace) -> None:
    """Explain a request without each technique, and append what the journal lacks."""
    done = {
        (run["without"], run["case"], run["limit"], run["digest"])
        for run in read(arguments.journal)
    }
    for name in names:
        about = {"without": name, "case": request.name, "limit": arguments.limit}
        if (*about.values(), request.digest) in done:
            continue
        found = explained(request.arguments, name, arguments.limit)
        record = {**about, "digest": request.digest, "commit": commit(), **found}
        with arguments.journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        print(record, flush=True)


def explained(asked: Mapping[str, Any], without: str, limit: float) -> dict[str, Any]:
    """Explain what is ``asked`` without a technique; return size, undecided and seconds of work."""
    arrays = {
        "x": np.array(asked["x"], np.float32),
        "domain": tuple(np.array(end) for end in asked["domain"]),
    }
    if "features" in asked:
        arrays["features"] = np.array(asked["features"])
    with ExitStack() as switched:
        for place in TECHNIQUES.get(without, ()):
            switched.enter_context(patch.object(*place))
        began = worked()
        found = milp_verix.explain(
            **{**asked, **arrays},
            time_limit=Deadline(planned=limit).within(limit),  # type: ignore[arg-type]
        )
    return {
        "features": len(found.permutation),
        "size": found.size,
        "undecided": len(found.unknown),
        "seconds": elapsed_work(began),
        "stages": {one.stage: one.features for one in found.statistics.stages},
    }


Runs = Mapping[tuple[str, str], Mapping[str, Any]]
"""Records by technique and case."""


def totals(runs: Runs, names: Sequence[str]) -> Table:
    """Return a row for each technique: its cases without it, beside the same with all."""
    table = Table(
        "without | cases | size | undecided | seconds | size with it | undecided | seconds"
    )
    for name in names[1:]:
        shared = [case for without, case in runs if without == name and ("nothing", case) in runs]
        if shared:
            found = _sums([runs[name, case] for case in shared])
            table.add(name, len(shared), *found, *_sums([runs["nothing", case] for case in shared]))
    return table


def _sums(runs: Sequence[Mapping[str, Any]]) -> tuple[int, int, str]:
    seconds = math.fsum(run["seconds"] for run in runs)
    return sum(run["size"] for run in runs), sum(run["undecided"] for run in runs), f"{seconds:.1f}"


def cases(runs: Runs, names: Sequence[str]) -> Table:
    """Return size/undecided and seconds of each case, without each technique."""
    table = Table(" | ".join(["case | features", *names]))
    listed = dict.fromkeys(case for _, case in runs)
    for case in listed:
        found: Iterator[Any] = (runs.get((name, case)) for name in names)
        cells = [_cell(run) if run else "–" for run in found]
        features = next(run["features"] for (_, own), run in runs.items() if own == case)
        table.add(case, features, *cells)
    return table


_cell: Callable[[Mapping[str, Any]], str] = "{0[size]}/{0[undecided]} {0[seconds]:.1f}".format


if __name__ == "__main__":
    main()
