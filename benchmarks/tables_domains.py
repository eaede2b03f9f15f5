"""Explain rows of a table over whole domains: whole numbers and words against their hulls.

    python benchmarks/tables_domains.py adult.npz adult-AC-1.onnx adult-AC-8.onnx --rows 20

The archive holds ``X``, ``feature_names`` and ``categories`` (JSON: the words behind each code).
Every feature may take each value in its range. "Hull" lets whole numbers and codes take all real
numbers between; "rules" excludes, too, each pair of codes of the two columns named by ``--rule``
that no row has. Each setting explains the same rows, drawn with a seed, in the order "influence",
and finds their minimum. Local explanations may grow as the domain shrinks: a feature that can be
freed now may take the place of several that came later. Minima cannot.

``size`` is the mean of local explanations, undecided features included; ``minimum`` that of the
smallest ones found, ``proven`` how many of these are, and ``smaller on`` counts the rows where one
is smaller than over the hull.
Exits with 1 where a counterfactual fails in onnxruntime.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from arguments import parsed, parser, solver_versions
from tables import Table, write

import milp_verix
from milp_verix import Explanation, Inputs, binary, category, integer
from milp_verix.inputs.rules import Rule

_WORDS = 2


@dataclass(frozen=True)
class Rows:
    """The rows of an archive as the network takes them, and the description of their columns."""

    x: np.ndarray
    inputs: Inputs

    def ruled(self, columns: list[str]) -> Inputs:
        """Return the description with a rule: the pair of columns has the values that rows have."""
        names = list(self.inputs.names)
        one, other = (names.index(name) for name in columns)
        rules = []
        for value in np.unique(self.x[:, one]):
            seen = np.unique(self.x[self.x[:, one] == value, other])
            first = self._is(one, [value])
            rules.append(first.implies(self._is(other, seen.tolist())))
        return self.inputs.where(*rules)

    def _is(self, index: int, values: list[float]) -> Rule:
        feature = self.inputs.features[index]
        told = [feature.values[int(v)] if feature.values else int(v) for v in values]
        return self.inputs[feature.name].isin(told)


def read_rows(archive: Path) -> Rows:
    """Return the rows of ``archive``, ranges from their columns."""
    with np.load(archive, allow_pickle=False) as held:
        x, names = held["X"], held["feature_names"].tolist()
        words = json.loads(str(held["categories"]))
    features = []
    for name, column in zip(names, x.T, strict=True):
        if name not in words:
            features.append(integer(name, int(column.min()), int(column.max())))
        elif len(words[name]) == _WORDS:
            features.append(binary(name, words[name]))
        else:
            features.append(category(name, words[name]))
    return Rows(x.astype(np.float32), Inputs(features))


def ball(inputs: Inputs, *, hull: bool) -> dict[str, Any]:
    """Return the arguments that ask about the whole domain, or about its hull."""
    if not hull:
        return {"epsilon": np.inf, "inputs": inputs}
    widest = float(np.max(inputs.upper - inputs.lower))
    return {"epsilon": widest, "domain": (inputs.lower, inputs.upper)}


def main() -> int:
    """Print a line for each network and setting; return the exit code."""
    options = parser(__doc__)
    options.add_argument("archive", type=Path)
    options.add_argument("models", type=Path, nargs="+")
    options.add_argument("--rows", type=int, default=20)
    options.add_argument("--rule", nargs=2, default=None, metavar="COLUMN")
    options.add_argument("--time-limit", type=float, default=10.0, help="for each explanation")
    options.add_argument("--minimum-limit", type=float, default=5.0, help="for each minimum")
    arguments = parsed(options)
    rows = read_rows(arguments.archive)
    table = Table(
        "network | domain | size | undecided | median seconds | most seconds | minimum | proven | "
        "smaller on | median seconds",
        words=2,
    )
    failing = sum(_measured(table, rows, model, arguments) for model in arguments.models)
    print(f"\n{failing} counterfactuals fail in replay")
    if arguments.write:
        write(arguments.write, [table], solver_versions(["phase"]))
    return 1 if failing else 0


def _measured(table: Table, rows: Rows, model: Path, arguments: argparse.Namespace) -> int:
    """Add a line for each setting of ``model``; return the number of failing counterfactuals."""
    network = milp_verix.load_network(model)
    chosen = np.random.default_rng(0).choice(len(rows.x), arguments.rows, replace=False)
    settings = {"hull": rows.inputs, "whole": rows.inputs}
    if arguments.rule is not None:
        settings["whole, rules"] = rows.ruled(arguments.rule)
    failing, hull = 0, []
    for name, inputs in settings.items():
        asked = ball(inputs, hull=name == "hull")
        local = [
            milp_verix.explain(network, rows.x[row], **asked, time_limit=arguments.time_limit)
            for row in chosen
        ]
        least = [
            milp_verix.minimum(network, rows.x[row], **asked, time_limit=arguments.minimum_limit)
            for row in chosen
        ]
        failing += sum(len(one.replay(network)) for one in (*local, *least))
        hull = hull or least
        pairs = zip(least, hull, strict=True)
        table.add(
            model.stem,
            name,
            f"{mean(one.size for one in local):.2f}",
            sum(len(one.unknown) for one in local),
            *_seconds(local),
            f"{mean(one.size for one in least):.2f}",
            sum(one.proven for one in least),
            "–" if least is hull else sum(one.size < other.size for one, other in pairs),
            _seconds(least)[0],
        )
    return failing


def _seconds(found: list[Explanation]) -> tuple[str, str]:
    """Return the median and the largest number of seconds."""
    seconds = [one.statistics.seconds for one in found]
    return f"{median(seconds):.2f}", f"{max(seconds):.2f}"


if __name__ == "__main__":
    raise SystemExit(main())
