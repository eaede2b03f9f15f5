"""Methods that the tables compare, as rows of numbers: ours by the journal, VeriX's by Marabou."""

import json
import re
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from statistics import mean, median
from typing import Any

from benchmarks.paper.scales import Question
from benchmarks.paper.workplace import Workplace

COMPLETE: dict[str, dict[str, Any]] = {
    "complete": {},
    "complete, VeriX's order": {"order": "sensitivity"},
    "linear relaxations": {"exactness": "relaxation"},
    "bounds alone": {"exactness": "bounds"},
}
"""Arguments of ``explain``, by the name of the method."""


@dataclass(frozen=True, slots=True)
class Row:
    """A method on some images: means over them, medians where it says so.

    ``proven`` counts minimal explanations, for ``minimum`` proven minima.
    """

    method: str
    images: int
    size: float
    median_size: float
    undecided: float
    proven: int
    check_seconds: float | None
    seconds: float
    median_seconds: float

    def cells(self) -> tuple[object, ...]:
        """Return the cells of a table with the columns ``HEAD``."""
        check = "–" if self.check_seconds is None else f"{self.check_seconds:.4f}"
        sizes = f"{self.size:.1f}", f"{self.median_size:g}", f"{self.undecided:.1f}"
        proven = f"{self.proven}/{self.images}"
        return (
            *(self.method, self.images, *sizes, proven, check),
            *(f"{self.seconds:.2f}", f"{self.median_seconds:.2f}"),
        )


HEAD = (
    "method | images | mean size | median size | undecided | minimal or minimum "
    "| seconds a check | mean seconds | median seconds"
)


def ours(place: Workplace, question: Question, method: str, **options: Any) -> Row:
    """Return the row of a method of ours; ``options`` are those of its function."""
    task = options.get("task", "explain")
    name = re.sub("[^a-z0-9.]+", "-", f"{question.network}-{question.epsilon:g}-{method.lower()}")
    table = place.study(name, question, **options)
    found = place.explanations(table)
    effort = [one.statistics for one in found]
    checks = sum(each.checks for each in effort)
    proven = [one.proven if task == "minimum" else one.minimal for one in found]
    return Row(
        method,
        len(found),
        mean(one.size for one in found),
        median(one.size for one in found),
        mean(len(one.unknown) for one in found),
        sum(proven),
        sum(each.check_seconds for each in effort) / checks if checks else None,
        mean(table["seconds"]),
        median(table["seconds"]),
    )


def minimum(place: Workplace, question: Question) -> Row:
    """Return the row of ``milp_verix.minimum`` within the scale's limit."""
    limit = place.scale.minimum_limit
    return ours(place, question, f"minimum {limit:g} s", task="minimum", time_limit=limit)


def verix(place: Workplace, question: Question) -> Row | str | None:
    """Return the row of VeriX's loop on Marabou; a word where it is not installed.

    None where the scale does not ask for it. Each image is a line in ``journals/marabou.jsonl``.
    """
    method = "VeriX on Marabou"
    if question.network not in place.scale.beside_verix:
        return None
    if find_spec("maraboupy") is None:
        return f"{method}: not installed"
    journal = place.out / "journals" / "marabou.jsonl"
    found = []
    for index in range(place.scale.verix):
        key = [question.network, question.epsilon, index]
        lines = journal.read_text().splitlines() if journal.exists() else []
        known = [one["found"] for one in map(json.loads, lines) if one["key"] == key]
        if not known:
            known = [_verix_once(place, question, index)]
            with journal.open("a") as file:
                file.write(json.dumps({"key": key, "found": known[0]}) + "\n")
        found.append(known[0])
    return Row(
        f"{method}, {sum(one['spurious'] for one in found)} counterfactuals spurious",
        len(found),
        mean(one["size"] for one in found),
        median(one["size"] for one in found),
        mean(one["unknown"] for one in found),
        sum(not one["unknown"] for one in found),
        sum(one["seconds"] for one in found) / sum(one["solves"] for one in found),
        mean(one["seconds"] for one in found),
        median(one["seconds"] for one in found),
    )


def _verix_once(place: Workplace, question: Question, index: int) -> dict[str, Any]:
    from milp_verix.problem.problem import make_problem
    from milp_verix.traversal.order import make_order

    loop = import_module("benchmarks.verix_marabou").verix
    x = place.data_of(question.network).test.images[index].reshape(-1)
    features = question.options["features"]
    network = place.network(question.network)
    problem = make_problem(network, x, epsilon=question.epsilon, features=features)
    model = str(place.out / "networks" / f"{question.network}.onnx")
    return asdict(loop(model, problem, make_order(problem, "sensitivity").permutation))
