"""Compare every solver on the same programs of eight networks and four ensembles of trees.

    python benchmarks/solver_study.py --shared ../shared --journal main.jsonl
    python benchmarks/solver_study.py --shared ../shared --journal main.jsonl --write solver-study

Of explanations in each model, the checks count that no bound and no attack decides, with a limit of
30 s for each. ``--stage`` chooses the question:

- ``main``: 204 checks, 17 of each model, by all solvers in the formulation big-M;
- ``spread``: 60 of them, three times each, with seeds and permutations of rows and columns;
- ``shipped``: 36 of them, by all solvers with our parameters and with their own;
- ``formulations``: 40 checks of the networks in all formulations, rebuilt or warm, with bounds of
  intervals and the usual ones.

A journal goes on where it was; ``--checks`` takes fewer of each model, and no less time for each.
``--as-it-is`` does none that is left. ``--write`` puts the table into RESULTS.md, and those of all
models as CSV into ``benchmarks/tables``.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tables import Table, add_write, write

import milp_verix as mv
from milp_verix.base.errors import InputError, ModelError
from milp_verix.comparison.generated_models import generated
from milp_verix.results.solver_times import SolverTimes
from milp_verix.study.journal import best_records, identity
from milp_verix.study.solver_study import SolverStudy
from milp_verix.study.study_run import Part, part_of, run_parts
from milp_verix.views.text_tables import STUDY_HEADS, meaning, study_rows

ROOT = Path(__file__).resolve().parents[1]
PICTURE, TABLES = ROOT / "benchmarks" / "solver_study.png", ROOT / "benchmarks" / "tables"
SOLVERS = ("gurobi", "highs", "scip", "cbc", "xpress", "copt", "cplex", "ortools", "phase")
FORMULATIONS = ("big_m", "indicator", "sos1", "general", "partition:2")
SECONDS = 30.0
MOST_INPUTS = 60  # of a model: bounds and attacks may decide all checks of an input


@dataclass(frozen=True)
class Source:
    """A network and its inputs as files, or the widths of trees of a kind that are generated.

    ``columns`` are tables, whose domain is the range of each column; regressions have a ``delta``.
    """

    name: str
    epsilon: float
    inputs: str = ""
    columns: bool = False
    widths: tuple[int, ...] = ()
    delta: float | None = None

    def opened(self, shared: Path, folder: Path) -> tuple[Any, Any, Any]:
        """Return the model, its inputs and their domain; ``folder`` keeps what is generated."""
        if self.widths:
            made = generated(self.name.partition("-")[0], self.widths, seed=len(self.name))
            (folder / f"{self.name}.onnx").write_bytes(made.model)
            return mv.load_network(folder / f"{self.name}.onnx"), made.inputs, (0.0, 1.0)
        network = mv.load_network(_place(self.name, shared))
        path, _, key = self.inputs.partition(":")
        with np.load(_place(path, shared)) as archive:
            raw = archive[key]
        xs = raw[:MOST_INPUTS].astype(np.float32)
        domain: Any = (0.0, 1.0)
        if self.columns:
            domain = (raw.min(axis=0).astype(float), raw.max(axis=0).astype(float))
        elif raw.dtype == np.uint8:
            xs = xs / np.float32(255)
        return network, xs.reshape(len(xs), *network.input_shape[1:]), domain


NETWORKS = (
    Source("examples/digits.onnx", 0.15, "examples/digits.npz:images"),
    Source("models/digits-maxpool-cnn.onnx", 0.05, "examples/digits.npz:images"),
    Source("models/mnist-10x2.onnx", 0.05, "data/mnist_test.npz:images"),
    Source("models/fame-mnist-cnn.onnx", 0.05, "data/mnist_test.npz:images"),
    Source("models/vnncomp-mnist-256x2.onnx", 0.02, "data/mnist_test.npz:images"),
    Source("models/gtsrb-10x2.onnx", 0.01, "data/gtsrb10.npz:test_images"),
    Source("models/adult-AC-1.onnx", 10, "data/adult.npz:X", columns=True),
    Source("models/german-GC-2.onnx", 10, "data/german_credit.npz:X", columns=True),
)
TREES = (
    Source("forest-30x6", 0.15, widths=(30, 6)),
    Source("forest-100x8", 0.2, widths=(100, 8)),
    Source("boosted-40x6", 0.15, widths=(40, 6), delta=0.1),
    Source("boosted-150x8", 0.2, widths=(150, 8), delta=0.1),
)


@dataclass(frozen=True)
class Stage:
    """So many ``checks`` of each of the ``sources``, with options and settings of a study."""

    sources: Sequence[Source]
    checks: int
    options: dict[str, Any]
    grid: dict[str, Any] | None = None


_BIG_M, _SHIPPED = {"formulations": ["big_m"]}, "?parameters=shipped"
STAGES = {
    "main": Stage((*NETWORKS, *TREES), 17, _BIG_M),
    "spread": Stage((*NETWORKS, *TREES), 5, {**_BIG_M, "seeds": 3}),
    "shipped": Stage(
        (*NETWORKS, *TREES),
        3,
        {**_BIG_M, "solvers": [f"{name}{end}" for name in SOLVERS[:-1] for end in ("", _SHIPPED)]},
    ),
    "formulations": Stage(
        NETWORKS,
        5,
        {"formulations": list(FORMULATIONS), "relaxations": True},
        {"warm": ["rebuilt", "in_place"], "bounds": ["interval", "auto"]},
    ),
}


def _place(name: str, shared: Path) -> Path:
    return (ROOT if name.startswith("examples") else shared) / name


def run(stage: Stage, shared: Path, journal: Path, solvers: list[str]) -> None:
    """Do what is left: a check of each model, then another, so that a part is a study, too."""
    common = {"solvers": solvers, "most_checks": 1, "check_time_limit": SECONDS, **stage.options}
    parts: dict[Source, Iterator[Part]] = {}
    for source in stage.sources:
        try:
            network, xs, domain = source.opened(shared, journal.parent)
        except (FileNotFoundError, InputError, ModelError) as error:
            print(f"left out: {source.name}: {error}", flush=True)
            continue
        asked = {**common, "domain": domain, "delta": source.delta}
        whole = part_of(
            network,
            xs,
            epsilon=source.epsilon,
            task="compare",
            grid=stage.grid,
            options=asked,
        )
        parts[source] = _each_input(whole, len(xs))
    for number in range(1, stage.checks + 1):
        for source, left in parts.items():
            # an input whose checks are all decided beforehand has no program
            for part in left:
                run_parts([part], journal, results=False)
                if _programs(part, journal):
                    break
            print(f"check {number} of {stage.checks}: {source.name}", flush=True)


def _each_input(whole: Part, count: int) -> Iterator[Part]:
    for index in range(count):
        yield Part(whole.network, whole.inputs, [index], whole.settings)


def _programs(part: Part, journal: Path) -> int:
    """Return how many rows of programs the journal has of the ``part``."""
    keys = {identity(task.key, task.index) for task in part.tasks()}
    records = [one for one in best_records(journal) if identity(one["key"], one["index"]) in keys]
    return sum(len(one["comparison"]["each"]) for one in records if "comparison" in one)


def studies_of(journal: Path, stage: str) -> dict[str, SolverStudy]:
    """Return the study of a journal under the name of its table, or one for each kind of bounds."""
    grid = STAGES[stage].grid
    if grid is None:
        return {stage: mv.read_solver_study(journal)}
    studies = {}
    for bounds in grid["bounds"]:
        lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
        with TemporaryDirectory() as folder:
            part = Path(folder) / "part.jsonl"
            part.write_text("".join(one for one in lines if _bounds(one) == bounds))
            studies[f"{stage}-{bounds}"] = mv.read_solver_study(part)
    return studies


def _bounds(line: str) -> object:
    return json.loads(line).get("settings", {}).get("bounds")


def tables_of(studies: dict[str, SolverStudy]) -> list[object]:
    """Write the tables of all models as CSV; return what RESULTS.md holds."""
    TABLES.mkdir(exist_ok=True)
    pieces: list[object] = []
    for name, study in studies.items():
        study.summary_to_csv(TABLES / f"{name}.csv")
        table, which = Table("|".join(STUDY_HEADS), words=2), ""
        parts = [study.times]
        if len(studies) > 1:
            which = f"Bounds `{name.rpartition('-')[2]}`, each solver's pairs among themselves: "
            parts = _each_solver(study.times)
        for part in parts:
            for row in study_rows(part):
                table.add(*row)
        pieces += [which + meaning(study.times).partition(" No difference")[0], table]
    return pieces


def _each_solver(times: SolverTimes) -> list[SolverTimes]:
    """Return the times of each solver alone, so that its formulations have ratios to its best."""
    parts = []
    for solver in dict.fromkeys(pair.solver for pair in times.pairs):
        mine = [k for k, pair in enumerate(times.pairs) if pair.solver == solver]
        rows = np.array(mine)
        names = ["seconds", "attempted"] + ["whole"] * (times.whole is not None)
        of_it: dict[str, Any] = {name: getattr(times, name)[rows] for name in names}
        parts.append(replace(times, pairs=tuple(times.pairs[k] for k in mine), **of_it))
    return parts


def main() -> None:
    """Do the tasks that are left; write the table if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shared", type=Path, required=True, help="folder of models and data")
    parser.add_argument("--journal", type=Path, required=True, help="where the study goes on")
    parser.add_argument("--stage", choices=list(STAGES), default="main", help="its question")
    parser.add_argument("--checks", type=int, help="checks of each model")
    parser.add_argument("--solvers", help="names with commas between; all installed by default")
    parser.add_argument("--as-it-is", action="store_true", help="do no task that is left")
    add_write(parser)
    given = parser.parse_args()
    stage = STAGES[given.stage]
    if given.checks is not None:
        stage = replace(stage, checks=given.checks)
    solvers = given.solvers.split(",") if given.solvers else list(SOLVERS)
    if not given.as_it_is:
        run(stage, given.shared, given.journal, solvers)
    studies = studies_of(given.journal, given.stage)
    pieces = tables_of(studies)
    for study in studies.values():
        for text in (*study.skipped, *study.disagreements, *study.failed):
            print(text)
    if given.write:
        if given.stage == "main":
            studies["main"].plot(PICTURE)
        write(given.write, pieces)


if __name__ == "__main__":
    main()
