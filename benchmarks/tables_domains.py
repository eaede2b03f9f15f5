"""Explain rows of a table over whole domains: whole numbers and words against their hulls.

    python benchmarks/tables_domains.py adult.npz adult-AC-1.onnx --rows 100 --journal runs.jsonl

The archive holds ``X``, ``feature_names`` and ``categories`` (JSON: the words behind each code).
Every feature may take each value in its range. "Hull" lets whole numbers and codes take all real
numbers between; "rules" excludes, too, each pair of codes of the two columns named by ``--rule``
that no row has. Each setting explains the same rows, drawn with a seed, in the order "influence",
and finds their minimum. Local explanations may grow as the domain shrinks: a feature that can be
freed now may take the place of several that came later. Minima cannot.

``size`` is the mean of local explanations, undecided features included; ``minimum`` that of the
smallest ones found, ``proven`` how many of these are, and ``smaller on`` counts the rows where one
is smaller than over the hull. ``fewer`` is the mean of what minima lose against the hull, in
features. Each row is appended to the journal with all its settings, and rows in it are not
repeated: a run that was cut short goes on from there.
Exits with 1 where a counterfactual fails in onnxruntime.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, TypeAlias

import numpy as np
from arguments import parsed, parser, solver_versions
from suite import read
from tables import Table, write

import milp_verix
from milp_verix import Inputs, OnnxNetwork, binary, category, integer
from milp_verix.inputs.rules import Rule

_WORDS = 2


Key: TypeAlias = tuple[str, str, int, tuple[float, float]]
"""Network, domain, row, and the limits of its explanation and its minimum in seconds."""


@dataclass(frozen=True)
class Run:
    """One row over one domain: its explanation by the traversal, and its minimum."""

    network: str
    domain: str
    row: int
    limits: Sequence[float]
    size: int
    undecided: int
    seconds: float
    minimum: int
    proven: bool
    minimum_seconds: float
    failing: int

    @property
    def key(self) -> Key:
        """The question that this run answers."""
        one, other = self.limits
        return self.network, self.domain, self.row, (one, other)


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
    options.add_argument("--journal", type=Path, required=True, help="JSON lines, one for each run")
    options.add_argument("--rows", type=int, default=20)
    options.add_argument("--rule", nargs=2, default=None, metavar="COLUMN")
    options.add_argument("--time-limit", type=float, default=10.0, help="for each explanation")
    options.add_argument("--minimum-limit", type=float, default=5.0, help="for each minimum")
    arguments = parsed(options)
    rows = read_rows(arguments.archive)
    table = Table(
        "network | domain | rows | size | undecided | median seconds | most seconds | minimum | "
        "proven | smaller on | fewer | median seconds | most seconds",
        words=2,
    )
    failing = 0
    for model in arguments.models:
        runs = measured(rows, model, arguments)
        failing += sum(run.failing for run in runs)
        _tabulate(table, runs)
    print(f"\n{failing} counterfactuals fail in replay")
    if arguments.write:
        write(arguments.write, [table], solver_versions(["phase"]))
    return 1 if failing else 0


def measured(rows: Rows, model: Path, arguments: argparse.Namespace) -> list[Run]:
    """Explain rows in all settings unless the journal has them; return the runs asked for."""
    network = milp_verix.load_network(model)
    settings = {"hull": rows.inputs, "whole": rows.inputs}
    if arguments.rule is not None:
        settings["whole, rules"] = rows.ruled(arguments.rule)
    limits = (arguments.time_limit, arguments.minimum_limit)
    known = {run.key: run for run in (Run(**told) for told in read(arguments.journal))}
    runs = []
    for row in np.random.default_rng(0).permutation(len(rows.x))[: arguments.rows].tolist():
        for name, inputs in settings.items():
            key = (model.stem, name, row, limits)
            if key not in known:
                known[key] = _explained(
                    network, rows.x[row], ball(inputs, hull=name == "hull"), key
                )
                with arguments.journal.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(known[key])) + "\n")
            runs.append(known[key])
    return runs


def _explained(network: OnnxNetwork, x: np.ndarray, asked: dict[str, Any], key: Key) -> Run:
    """Return the explanation and the minimum of one row as a run."""
    local = milp_verix.explain(network, x, **asked, time_limit=key[3][0])
    least = milp_verix.minimum(network, x, **asked, time_limit=key[3][1])
    return Run(
        *key,
        size=local.size,
        undecided=len(local.unknown),
        seconds=local.statistics.seconds,
        minimum=least.size,
        proven=least.proven,
        minimum_seconds=least.statistics.seconds,
        failing=len(local.replay(network)) + len(least.replay(network)),
    )


def _tabulate(table: Table, runs: list[Run]) -> None:
    """Add a line for each setting."""
    hull = [run for run in runs if run.domain == "hull"]
    for domain in dict.fromkeys(run.domain for run in runs):
        found = [run for run in runs if run.domain == domain]
        lost = [other.minimum - run.minimum for run, other in zip(found, hull, strict=True)]
        table.add(
            found[0].network,
            domain,
            len(found),
            f"{mean(run.size for run in found):.2f}",
            sum(run.undecided for run in found),
            *_seconds([run.seconds for run in found]),
            f"{mean(run.minimum for run in found):.2f}",
            sum(run.proven for run in found),
            "–" if found == hull else sum(one > 0 for one in lost),
            "–" if found == hull else f"{mean(lost):.2f}",
            *_seconds([run.minimum_seconds for run in found]),
        )


def _seconds(seconds: list[float]) -> tuple[str, str]:
    """Return the median and the largest number of seconds."""
    return f"{median(seconds):.2f}", f"{max(seconds):.2f}"


if __name__ == "__main__":
    raise SystemExit(main())
