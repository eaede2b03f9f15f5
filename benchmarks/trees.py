"""Explain rows by trees over whole domains: models, growth, and the engine against programs.

    python benchmarks/trees.py adult.npz --rows 6 --only growth --write trees-growth

The archive holds ``X``, ``y`` and ``feature_names``. Each column may take all whole numbers of its
range. Models of 50 trees of depth 3 and 4 are fitted to scikit-learn's breast cancer data, whose
columns are real numbers. Seconds are those of the processor, of one thread; ``open`` counts
features that are not decided. "minimum" is the share of smallest explanations that are proven
within two seconds.

``growth`` changes one size of a model at a time. ``solvers`` asks the two checks that an
explanation rests on, its irrelevant features alone and one more, by the engine and by programs; it
exits with 1 where answers contradict.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from arguments import parsed, parser
from tables import Table, write

from milp_verix import Inputs, Problem, Search, continuous, integer, load_network
from milp_verix.oracle.verdict import Answer

_MINIMUM_SECONDS = 2.0
_LIMIT = 60.0
Rows = tuple[np.ndarray, np.ndarray, Inputs]


def adult(archive: Path) -> Rows:
    """Return rows, labels and the description of the columns."""
    with np.load(archive, allow_pickle=False) as held:
        x, y, names = held["X"].astype(np.float64), held["y"], held["feature_names"].tolist()
    ends = [(int(column.min()), int(column.max())) for column in x.T]
    return x, y, Inputs([integer(name, *end) for name, end in zip(names, ends, strict=True)])


def breast_cancer() -> Rows:
    """Return scikit-learn's table of real numbers."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    ends = [(float(column.min()), float(column.max())) for column in data.data.T]
    features = [continuous(str(n), *end) for n, end in zip(data.feature_names, ends, strict=True)]
    return data.data, data.target, Inputs(features)


def lightgbm(trees: int, leaves: int = 31) -> Any:
    """Return LightGBM's classifier."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=trees, num_leaves=leaves, verbose=-1, n_jobs=1)


def xgboost(trees: int, depth: int) -> Any:
    """Return XGBoost's classifier."""
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=trees, max_depth=depth, n_jobs=1)


def forest(trees: int, depth: int | None) -> Any:
    """Return scikit-learn's random forest."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(trees, max_depth=depth, random_state=0, n_jobs=1)


def models(archive: Path | None) -> Iterator[tuple[str, Any, Callable[[], Rows]]]:
    """Yield a name, an estimator and its table."""
    yield "breast cancer, XGBoost 50 × depth 3", xgboost(50, 3), breast_cancer
    yield "breast cancer, XGBoost 50 × depth 4", xgboost(50, 4), breast_cancer
    yield "breast cancer, forest 100, full", forest(100, None), breast_cancer
    if archive is None:
        return
    for name, model in (
        ("LightGBM 100 × 31", lightgbm(100)),
        ("LightGBM 300 × 31", lightgbm(300)),
        ("forest 100 × depth 8", forest(100, 8)),
        ("forest 100, full", forest(100, None)),
        ("forest 500, full", forest(500, None)),
    ):
        yield f"Adult, {name}", model, lambda: adult(archive)


def growth(archive: Path) -> Iterator[tuple[str, Any, Callable[[], Rows]]]:
    """Yield models of Adult that grow in trees, in leaves, and in columns."""
    for trees in (25, 50, 100, 200):
        yield f"{trees} trees × 31 leaves, 13 columns", lightgbm(trees), lambda: adult(archive)
    for leaves in (7, 15, 63, 127):
        yield (
            f"100 trees × {leaves} leaves, 13 columns",
            lightgbm(100, leaves),
            lambda: adult(archive),
        )
    for columns in (4, 7, 10):

        def some(columns: int = columns) -> Rows:
            x, y, inputs = adult(archive)
            return x[:, :columns], y, Inputs(inputs.features[:columns])

        yield f"100 trees × 31 leaves, {columns} columns", lightgbm(100), some


def fitted(model: Any, x: np.ndarray, y: np.ndarray) -> Any:
    """Return the model, loaded, fitted to two thirds of the rows."""
    return load_network(model.fit(x[: len(x) * 2 // 3], y[: len(x) * 2 // 3]))


def clocked(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the processor's seconds."""
    start = time.process_time()
    return run(), time.process_time() - start


def explained(
    cases: Iterator[tuple[str, Any, Callable[[], Rows]]], count: int, title: str, *, least: bool
) -> Table:
    """Print a row for each model."""
    columns = f"{title} | leaves | rows | size | open | median s | mean s | worst s"
    table = Table(columns + " | minimum | proven" * least)
    for name, model, rows in cases:
        x, y, inputs = rows()
        network = fitted(model, x, y)
        runs, minima = [], []
        for place in np.linspace(len(x) * 2 // 3, len(x) - 1, count).astype(int):
            problem = Problem(network, x[place], inputs=inputs, epsilon=np.inf)
            runs.append(clocked(partial(problem.explain, search=Search(time_limit=_LIMIT))))
            if least:
                minima.append(problem.minimum(search=Search(time_limit=_MINIMUM_SECONDS)))
        seconds = [spent for _, spent in runs]
        leaves = int(np.count_nonzero(network.ensemble.feature < 0))
        cells = [
            *(name, leaves, count, f"{mean(found.size for found, _ in runs):.1f}"),
            sum(len(found.unknown) for found, _ in runs),
            *(f"{value:.2f}" for value in (median(seconds), mean(seconds), max(seconds))),
        ]
        if least:
            proven = sum(found.proven for found in minima)
            cells += [f"{mean(found.size for found in minima):.1f}", f"{proven / count:.0%}"]
        table.add(*cells)
    return table


def solvers(names: list[str], count: int, archive: Path | None) -> tuple[Table, bool]:
    """Print a row for each solver, and return whether no answers contradict."""
    x, y, inputs = breast_cancer() if archive is None else adult(archive)
    network = fitted(lightgbm(50), x, y)
    table = Table("solver | checks | holds | violated | open | median s | mean s | worst s")
    asked: list[tuple[Problem, list[int]]] = []
    for place in np.linspace(len(x) * 2 // 3, len(x) - 1, count).astype(int):
        problem = Problem(network, x[place], inputs=inputs, epsilon=np.inf)
        found = problem.explain()
        asked.append((problem, list(found.irrelevant)))
        asked.append((problem, sorted([*found.irrelevant, found.explanation[0]])))
    answers = []
    for name in names:
        runs = [
            clocked(partial(problem.check, free, search=Search(solver=name, time_limit=_LIMIT)))
            for problem, free in asked
        ]
        found = [str(verdict.answer.value) for verdict, _ in runs]
        seconds = [spent for _, spent in runs]
        table.add(
            *(name, len(runs)),
            *(found.count(answer.value) for answer in Answer),
            *(f"{value:.2f}" for value in (median(seconds), mean(seconds), max(seconds))),
        )
        answers.append([None if one == Answer.UNKNOWN.value else one for one in found])
    agree = all(len({*each} - {None}) <= 1 for each in zip(*answers, strict=True))
    return table, agree


def main() -> int:
    """Run the tables that were asked for."""
    arguments = parser(__doc__)
    arguments.add_argument("archive", type=Path, nargs="?", help="adult.npz")
    arguments.add_argument("--rows", type=int, default=20)
    arguments.add_argument("--solvers", default="leaves,highs,scip,gurobi,cbc")
    arguments.add_argument("--only", choices=("models", "growth", "solvers"))
    arguments.add_argument("--model", default="", help="part of the names of models to run")
    options = parsed(arguments)
    warnings.simplefilter("ignore")  # rows without names
    tables, agree = [], True
    if options.only in (None, "models"):
        chosen = (one for one in models(options.archive) if options.model in one[0])
        tables.append(explained(chosen, options.rows, "model", least=True))
    if options.archive is not None and options.only in (None, "growth"):
        tables.append(explained(growth(options.archive), options.rows, "Adult", least=False))
    if options.only in (None, "solvers"):
        table, agree = solvers(options.solvers.split(","), options.rows, options.archive)
        tables.append(table)
    if options.write:
        write(options.write, tables)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
