"""Methods that the tables compare, as rows of numbers: ours by the journal, VeriX's by Marabou."""

import json
import re
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from statistics import mean, median
from typing import Any

from benchmarks.paper.scales import Question
from benchmarks.paper.workplace import Workplace
from benchmarks.verix_marabou import Found, verix
from milp_verix import Problem
from milp_verix.base.clock import NO_LIMIT
from milp_verix.searches.order import resolve_order

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


def journal_of(question: Question, method: str) -> str:
    """Return the name of the journal of a method."""
    return re.sub("[^a-z0-9.]+", "-", f"{question.network}-{question.epsilon:g}-{method.lower()}")


def ours(place: Workplace, question: Question, method: str, **options: Any) -> Row:
    """Return the row of a method of ours; ``options`` are those of its function."""
    task = options.get("task", "explain")
    name = journal_of(question, method)
    table = place.study(name, question, failures=True, **options)
    failed = int((table["status"] == "failed").sum())
    table = table[table["status"] != "failed"]
    found = place.explanations(name, table)
    effort = [one.statistics for one in found]
    checks = sum(each.checks for each in effort)
    proven = [one.proven if task == "minimum" else one.minimal for one in found]
    return Row(
        f"{method}, {failed} failed" if failed else method,
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


def beside(place: Workplace, question: Question) -> list[Row | str]:
    """Return VeriX's loop on Marabou and ours on its images, where the scale asks for them.

    A word stands for it where Marabou is not installed. Each image is a line in the file
    ``journals/marabou.jsonl``.
    """
    if question.network not in place.scale.beside_verix:
        return []
    if find_spec("maraboupy") is None:
        return ["VeriX on Marabou: not installed"]
    found = [_verix(place, question, index) for index in range(place.scale.verix)]
    spurious = sum(one["spurious"] for one in found)
    theirs = Row(
        f"VeriX on Marabou, {spurious} counterfactuals spurious",
        len(found),
        mean(one["size"] for one in found),
        median(one["size"] for one in found),
        mean(one["unknown"] for one in found),
        sum(not one["unknown"] for one in found),
        sum(one["seconds"] for one in found) / sum(one["solves"] for one in found),
        mean(one["seconds"] for one in found),
        median(one["seconds"] for one in found),
    )
    same = replace(question, images=len(found))
    mine = replace(ours(place, same, "complete"), method="complete, images of VeriX")
    return [theirs, mine]


def _verix(place: Workplace, question: Question, index: int) -> dict[str, Any]:
    """Return the numbers of one run, from the journal if they are there."""
    journal = place.out / "journals" / "marabou.jsonl"
    network = place.network(question.network).content_sha256
    key = {"network": network, "epsilon": question.epsilon, "index": index}
    lines = journal.read_text().splitlines() if journal.exists() else []
    for record in map(json.loads, lines):
        if key.items() <= record.items():
            return record
    found = {**key, **asdict(_verix_now(place, question, index))}
    with journal.open("a") as file:
        file.write(json.dumps(found) + "\n")
    return found


def _verix_now(place: Workplace, question: Question, index: int) -> Found:
    x = place.data_of(question.network).test.images[index].reshape(-1)
    features = question.options["features"]
    network = place.network(question.network)
    problem = Problem(network, x, epsilon=question.epsilon, features=features)
    model = str(place.out / "networks" / f"{question.network}.onnx")
    return verix(model, problem, resolve_order(problem, "sensitivity")(NO_LIMIT, None).permutation)
