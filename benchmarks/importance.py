"""Weigh the features of rows of Adult and German credit: how often exactly, and against SHAP.

    python benchmarks/importance.py --rows 50 --time-limit 30

The question is the whole table: each column anywhere in its range. Seconds are those of the
processor, so that other programs on the machine do not count. SHAP's values are by the package
``shap``, its permutation explainer with 100 rows of the table behind it; a pair of columns counts
as ordered wrongly if the order by the size of these values is refuted by proven brackets.
"""

import importlib.metadata
import time
from math import comb, inf
from statistics import median
from typing import Any

import numpy as np
import onnxruntime
from arguments import parsed, parser, solver_versions
from numpy.typing import NDArray
from suite_networks import SHARED
from tables import Table, write

import milp_verix
from milp_verix import Importance, Inputs, OnnxNetwork, Search, integer

CASES = (
    ("adult.npz", "adult-AC-1"),
    ("adult.npz", "adult-AC-8"),
    ("german_credit.npz", "german-GC-4"),
    ("german_credit.npz", "german-GC-2"),
    ("adult.npz", "adult-AC-4"),
)
EXACT_WITHIN = 5.0
"""Seconds of the target."""
BACKGROUND = 100


def main() -> int:
    """Print a line for each network; return the exit code."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=50)
    options.add_argument("--time-limit", type=float, default=30.0)
    arguments = parsed(options)
    table = Table(
        "network | rows | exact in 5 s | exact | seconds (median) | seconds (90 %) | sets (median) "
        "| rows where SHAP's order is refuted | pairs refuted | first column refuted"
    )
    for file, name in CASES:
        with np.load(SHARED / "data" / file) as data:
            X, names = data["X"], [str(one) for one in data["feature_names"]]
        ends = zip(names, X.min(axis=0), X.max(axis=0), strict=True)
        inputs = Inputs([integer(n, int(low), int(high)) for n, low, high in ends])
        network = milp_verix.load_network(SHARED / "models" / f"{name}.onnx")
        rng = np.random.default_rng(0)
        chosen = X[rng.choice(len(X), arguments.rows, replace=False)]
        background = X[rng.choice(len(X), BACKGROUND, replace=False)]
        scores = _shap_values(network, chosen, background)
        found, seconds = [], []
        for row, score in zip(chosen, scores, strict=True):
            x = row.astype(network.dtype).reshape(network.input_shape)
            problem = milp_verix.Problem(network, x, inputs=inputs, epsilon=inf)
            started = time.process_time()
            search = Search(time_limit=arguments.time_limit)
            found.append(problem.importance(search=search, beside=score))
            seconds.append(time.process_time() - started)
        _tell(table, name, found, seconds)
    if arguments.write:
        versions = [*solver_versions(["auto"]), f"shap {importlib.metadata.version('shap')}"]
        write(arguments.write, [table], versions)
    return 0


def _tell(table: Table, name: str, found: list[Importance], seconds: list[float]) -> None:
    rows, pairs = len(found), comb(len(found[0].groups), 2)
    quick = sum(
        one.exact and spent <= EXACT_WITHIN for one, spent in zip(found, seconds, strict=True)
    )
    first = 0
    for one in found:
        assert one.beside is not None
        top = int(np.argmax(np.abs(one.beside)))
        first += any(top == larger for larger, _ in one.misordered)
    refuted = sum(len(one.misordered) for one in found)
    table.add(
        name,
        rows,
        f"{100 * quick / rows:.0f} %",
        f"{100 * sum(one.exact for one in found) / rows:.0f} %",
        f"{median(seconds):.2f}",
        f"{np.quantile(seconds, 0.9):.2f}",
        f"{median(len(one.sufficient) for one in found):g}",
        f"{100 * sum(bool(one.misordered) for one in found) / rows:.0f} %",
        f"{100 * refuted / (rows * pairs):.0f} %",
        f"{100 * first / rows:.0f} %",
    )


def _shap_values(
    network: OnnxNetwork, rows: NDArray[Any], background: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the SHAP value of each column for the network's probability, shape (rows, columns)."""
    import shap  # takes seconds to load

    session = onnxruntime.InferenceSession(
        network.model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    told = session.get_inputs()[0]

    def probability(x: NDArray[Any]) -> NDArray[Any]:
        inner = network.input_shape[1:]
        given = np.asarray(x, network.dtype).reshape(len(x), *inner)
        return np.asarray(session.run(None, {told.name: given})[0]).reshape(len(x))

    explainer = shap.PermutationExplainer(
        probability, background.astype(float), seed=0, feature_names=None
    )
    values = explainer(rows.astype(float), max_evals=20 * (2 * rows.shape[1] + 1), silent=True)
    return np.asarray(values.values, dtype=np.float64)


if __name__ == "__main__":
    raise SystemExit(main())
