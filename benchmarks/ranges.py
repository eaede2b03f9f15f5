"""Ranges of explained rows of tables: seconds and coverage beside a plain order, and Anchors.

    python benchmarks/ranges.py adult.npz adult-AC-1.onnx lightgbm --rows 100 --write ranges

The archive holds ``X``, ``y``, ``feature_names`` and ``categories`` (JSON: the words behind each
code). ``lightgbm`` stands for 50 trees of 15 leaves, fitted to the table. Rows are drawn with a
seed, explained over their whole domains, and inflated towards the rows of the table.

``explain`` and ``inflate`` are median seconds, ``ratio`` is that of their sums. ``coverage`` is the
mean share of the table's rows inside the ranges, ``plain`` that of ranges widened one feature after
the other, in the order of the columns. ``maximal`` counts the rows where each step beyond a range
is refuted by a counterfactual that was run again. ``rules`` is the share of the table that 12 rules
of 36 rows prove. Anchors (Ribeiro, Singh, Guestrin, AAAI 2018, threshold 0.95) explain the first
rows if ``anchor-exp`` is installed: coverage, and precision, on the table; that of ranges is 1.

Exits with 1 where a counterfactual fails.
"""

import json
import re
import time
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from arguments import parsed, parser, solver_versions
from tables import Table, write

import milp_verix
from milp_verix import Inputs, Problem, Search, category, integer
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.oracle.verdict import Verdict
from milp_verix.problem.search import Request
from milp_verix.results.ranges import Ranges
from milp_verix.searches.ranges.axes import axes_of
from milp_verix.searches.ranges.ranges_search import End, RangesSearch
from milp_verix.searches.ranges.regions import Regions, State
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.network import batch_values

_RESOLUTION = 0.01


class _Plain(RangesSearch):
    """The search that begins at the input, and widens one feature after the other."""

    def _first(self, _rows: FloatArray) -> State | Verdict:
        return self.regions.start

    def _gain(self, end: End) -> tuple[float, float]:
        return -float(end[0]), -float(end[1])


def plainly(problem: Problem, explanation: milp_verix.Explanation, rows: FloatArray) -> Ranges:
    """Return the ranges that the plain order finds."""
    radii = np.full(problem.features.count, np.inf)
    axes = axes_of(problem, explanation.explanation, radii, _RESOLUTION)
    run = _Plain(Request.now(problem, Search()), Regions(problem, axes), _RESOLUTION, rows)
    return run.run(None, None)


def described(data: Any) -> tuple[FloatArray, Inputs]:
    """Return the rows of an archive, and the description of their columns."""
    x, words = data["X"].astype(np.float64), json.loads(str(data["categories"]))
    features = [
        category(name, [str(word) for word in words[name]])
        if name in words
        else integer(name, int(column.min()), int(column.max()))
        for name, column in zip(map(str, data["feature_names"]), x.T, strict=True)
    ]
    return x, Inputs(features)


def loaded(model: str, data: Any) -> LoadedModel:
    """Return a network of a file, or trees fitted to the table."""
    if model != "lightgbm":
        return milp_verix.load_network(model)
    import lightgbm

    trees = lightgbm.LGBMClassifier(n_estimators=50, num_leaves=15, verbose=-1, n_jobs=1)
    return milp_verix.load_network(trees.fit(data["X"].astype(np.float64), data["y"]))


def anchored(
    network: LoadedModel, rows: FloatArray, inputs: Inputs, chosen: FloatArray, clock: Any
) -> tuple[str, str, str]:
    """Return mean coverage and precision of Anchors on the table, and median seconds."""
    try:
        from anchor.anchor_tabular import AnchorTabularExplainer
    except ImportError:
        return "–", "–", "–"

    def predicted(x: FloatArray) -> IntArray:
        scores = batch_values(network.ir, np.atleast_2d(x).T.astype(np.float64))[-1]
        return (scores[0] > 0).astype(int) if len(scores) == 1 else np.argmax(scores, axis=0)

    words = {i: list(f.values) for i, f in enumerate(inputs.features) if f.values}
    made = AnchorTabularExplainer(["0", "1"], list(inputs.names), rows, words)
    labels = predicted(rows)
    shares, precisions, seconds = [], [], []
    for row in chosen:
        started = clock()
        found = made.explain_instance(row, predicted, threshold=0.95)
        seconds.append(clock() - started)
        inside = np.ones(len(rows), dtype=bool)
        for condition in found.names():
            inside &= _holds(condition, rows, inputs)
        shares.append(float(np.mean(inside)))
        precisions.append(float(np.mean(labels[inside] == predicted(row)[0])))
    return f"{100 * mean(shares):.1f} %", f"{mean(precisions):.3f}", f"{median(seconds):.2f}"


def _holds(condition: str, rows: FloatArray, inputs: Inputs) -> BoolArray:
    """Mark the rows that satisfy a condition of Anchors, such as ``"28.00 < age <= 37.00"``."""
    parts = re.fullmatch(r"(?:(-?[\d.]+) < )?(.+?) (<=|>=|=|<|>) (.+)", condition)
    assert parts is not None, condition
    low, name, sign, end = parts.groups()
    index = inputs.names.index(name)
    values, feature = rows[:, index], inputs.features[index]
    limit = float(feature.code_of(end)) if feature.values else float(end)
    found = {
        "<=": values <= limit,
        ">=": values >= limit,
        "=": values == limit,
        "<": values < limit,
        ">": values > limit,
    }[sign]
    return np.asarray(found & (values > float(low)) if low else found)


def main() -> int:
    """Print a line for each model; return the exit code."""
    options = parser(__doc__)
    options.add_argument("archive", help="the table")
    options.add_argument("models", nargs="+", help="networks, or lightgbm")
    options.add_argument("--rows", type=int, default=100)
    options.add_argument("--anchors", type=int, default=10, help="rows that Anchors explain")
    options.add_argument("--rules", type=int, default=12, help="rules; 0 for none")
    arguments = parsed(options)

    clock = time.process_time if arguments.cpu_clock else time.monotonic
    table = Table(
        "table | model | rows | kept | explain, s | inflate, s | ratio | coverage | plain "
        "| maximal | rules | Anchors: coverage | precision | s",
        words=2,
    )
    failing = 0
    with np.load(arguments.archive, allow_pickle=False) as stored:
        data = dict(stored)
    rows, inputs = described(data)
    drawn = np.random.default_rng(0).permutation(len(rows))[: arguments.rows]
    for model in arguments.models:
        network = loaded(model, data)
        Problem(network, rows[drawn[0]], epsilon=np.inf, inputs=inputs).explain()  # loads packages
        spent, shares, plain, kept, maximal = [], [], [], [], 0
        for index in drawn:
            problem = Problem(network, rows[index], epsilon=np.inf, inputs=inputs)
            begun = clock()
            explanation = problem.explain()
            middle = clock()
            found = problem.inflate(explanation, rows=rows)
            spent.append((middle - begun, clock() - middle))
            other = plainly(problem, explanation, rows)
            kept.append(len(found.explanation))
            shares.append(found.coverage or 0.0)
            plain.append(other.coverage or 0.0)
            failed = len(found.replay(network)) + len(other.replay(network))
            failing += failed
            maximal += found.maximal and not failed
        told = "–"
        if arguments.rules:
            rules = milp_verix.find_rules(
                network, rows, epsilon=np.inf, inputs=inputs, count=arguments.rules
            )
            told = f"{100 * rules.coverage:.1f} %"
        first, second = zip(*spent, strict=True)
        table.add(
            *(Path(arguments.archive).stem, Path(model).stem, len(spent), f"{mean(kept):.1f}"),
            *(f"{median(first):.3f}", f"{median(second):.3f}", f"{sum(second) / sum(first):.1f}"),
            *(f"{100 * mean(shares):.1f} %", f"{100 * mean(plain):.1f} %", f"{maximal}", told),
            *anchored(network, rows, inputs, rows[drawn[: arguments.anchors]], clock),
        )
    print(f"\n{failing} counterfactuals fail in replay")
    if arguments.write:
        write(arguments.write, [table], solver_versions(["auto"]))
    return 1 if failing else 0


if __name__ == "__main__":
    raise SystemExit(main())
