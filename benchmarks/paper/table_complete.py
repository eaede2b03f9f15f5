"""The table of complete against incomplete checks, with VeriX's order and minima beside them."""

from benchmarks.paper.methods import COMPLETE, HEAD, minimum, ours
from benchmarks.paper.workplace import Workplace
from benchmarks.tables import Table


def complete_table(place: Workplace) -> list[Table]:
    """Return a row for each network and kind of check."""
    table = Table(f"network | ε | {HEAD}", words=3, quiet=True)
    for question in place.scale.complete:
        named = question.network, f"{question.epsilon:g}"
        for method, options in COMPLETE.items():
            table.add(*named, *ours(place, question, method, **options).cells())
        table.add(*named, *minimum(place, question).cells())
    return [table]
