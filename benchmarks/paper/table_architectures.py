"""The tables of complete checks by architecture, and of the largest networks by bounds alone."""

from benchmarks.paper import quoted
from benchmarks.paper.architectures import ARCHITECTURES, counts
from benchmarks.paper.methods import HEAD, Row, beside, minimum, ours
from benchmarks.paper.workplace import Workplace
from benchmarks.tables import Table


def architectures_table(place: Workplace) -> list[Table]:
    """Return ours, our minimum, and VeriX on Marabou for each network; with the paper's seconds."""
    table = Table(f"network | ε | {HEAD} | paper: seconds", words=3, quiet=True)
    for question in place.scale.architectures:
        named = question.network, f"{question.epsilon:g}"
        rows = [
            ours(place, question, "complete"),
            minimum(place, question),
            *beside(place, question),
        ]
        paper = quoted.EXPLANATION_SECONDS.get(question.network, "–")
        for row in rows:
            cells = row.cells() if isinstance(row, Row) else (row, *["–"] * 8)
            table.add(*named, *cells, paper)
    return [table]


def largest_table(place: Workplace) -> list[Table]:
    """Return the largest networks, which bounds and attacks alone decide."""
    table = Table(f"network | ε | ReLUs / maxima | {HEAD}", words=4, quiet=True)
    for question in place.scale.largest:
        layers = ARCHITECTURES[question.network].layers
        relus, maxima = counts(layers, place.data_of(question.network).shape)
        row = ours(place, question, "bounds alone", exactness="bounds")
        named = question.network, f"{question.epsilon:g}", f"{relus} / {maxima}"
        table.add(*named, *row.cells())
    return [table]
