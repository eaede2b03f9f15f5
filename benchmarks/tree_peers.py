"""Explanations of trees by PyXAI and by us, on the same rows, each set of features judged.

    pip install '.[rivals,xgboost]'
    python benchmarks/tree_peers.py --rows 20 --write trees-peers

PyXAI explains boosted trees by tree-specific reasons and forests by sufficient reasons: conditions
such as "x ≤ 3", whose features are counted here (Audemard, Lagniez, Marquis and Szczepanski, IJCAI
2023). ``audit`` says of each set of features whether fixing them keeps the prediction of the model
itself, and whether all of them are needed.
"""

import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from arguments import parsed, parser
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from tables import Table, write
from xgboost import XGBClassifier

import milp_verix
from milp_verix import Problem, Search

MODELS = {
    "XGBoost 50 × depth 3": XGBClassifier(n_estimators=50, max_depth=3, random_state=0),
    "XGBoost 50 × depth 4": XGBClassifier(n_estimators=50, max_depth=4, random_state=0),
    "forest 100 × depth 6": RandomForestClassifier(100, max_depth=6, random_state=0),
}
"""Models that are fitted to the breast cancer data of scikit-learn."""

Found = list[tuple[Sequence[int], float]]
"""The features of each row's explanation, and processor seconds."""


def by_pyxai(model: Any, data: NDArray[Any], seconds: int | None) -> Found:
    """Return the explanations of PyXAI, in a process of its own.

    Boosted trees have the smallest of 50 reasons, or of those that it finds in ``seconds``.
    """
    from pyxai import Explaining, Learning
    from pyxai.sources.learners.model_io import ModelIO

    names = [f"f{column}" for column in range(data.shape[1])]
    example = pd.DataFrame(np.zeros((2, len(names))), columns=names).assign(label=[0, 1])
    _, read = ModelIO.import_models([model], example)
    explainer = Explaining.initialize(read, features_type={"numerical": Learning.DEFAULT})
    found: Found = []
    for x in data:
        started = time.process_time()
        explainer.set_instance(x)
        if isinstance(model, RandomForestClassifier):
            reason = explainer.sufficient_reason(time_limit=seconds)
        else:
            reason = explainer.tree_specific_reason(time_limit=seconds, seed=1)
        told = explainer.to_features(reason, details=True)
        found.append(([names.index(name) for name in told], time.process_time() - started))
    return found


def by_us(problems: Sequence[Problem], question: str, search: Search) -> Found:
    """Return our explanations."""
    found: Found = []
    for problem in problems:
        started = time.process_time()
        explanation = getattr(problem, question)(search=search).explanation
        found.append((explanation, time.process_time() - started))
    return found


def compared(
    model: Any, data: NDArray[Any], ends: tuple[NDArray[Any], NDArray[Any]], seconds: int
) -> Iterator[tuple[object, ...]]:
    """Yield a row for each way to explain the rows of ``data``, features between ``ends``."""
    network = milp_verix.load_network(model)
    epsilon = float(np.max(ends[1] - ends[0]))  # every feature goes through its whole domain
    problems = [Problem(network, x, epsilon=epsilon, domain=ends) for x in data]
    search = Search(time_limit=seconds)
    # PyXAI loads OR-Tools, whose HiGHS and ours do not stand each other
    with ProcessPoolExecutor(1, get_context("spawn")) as apart:
        ways = {"PyXAI": apart.submit(by_pyxai, model, data, None).result()}
        if not isinstance(model, RandomForestClassifier):
            longer = apart.submit(by_pyxai, model, data, seconds).result()
            ways[f"PyXAI, {seconds} s"] = longer
    ways |= {question: by_us(problems, question, search) for question in ("explain", "minimum")}
    for title, found in ways.items():
        audits = [
            problem.audit(features, search=search)
            for problem, (features, _) in zip(problems, found, strict=True)
        ]
        sizes, spent = [len(features) for features, _ in found], [spent for _, spent in found]
        yield (
            *(title, len(data), f"{statistics.mean(sizes):.1f}"),
            sum(audit.sound is True for audit in audits),
            sum(audit.minimal is True for audit in audits),
            *(f"{value(spent):.2f}" for value in (statistics.median, max)),
        )


def main() -> None:
    """Measure, and print a table."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=20)
    options.add_argument("--time-limit", type=int, default=20, help="seconds (%(default)g)")
    given = parsed(options)
    data, classes = load_breast_cancer(return_X_y=True)
    ends = data.min(axis=0), data.max(axis=0)
    table = Table(
        "model | explained by | rows | size | keeps the prediction | minimal | CPU s | worst",
        words=2,
        quiet=True,
    )
    for name, model in MODELS.items():
        fitted = model.fit(data, classes)
        for row in compared(fitted, data[: given.rows], ends, given.time_limit):
            table.add(name, *row)
    print(table)
    if given.write:
        write(given.write, [table], [f"PyXAI {metadata.version('pyxai')}"])


if __name__ == "__main__":
    main()
