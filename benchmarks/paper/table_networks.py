"""The table of the networks: what they are, and how well they do."""

from benchmarks.paper import quoted
from benchmarks.paper.architectures import ARCHITECTURES, Conv, Layer, Pool, counts
from benchmarks.paper.workplace import Workplace
from benchmarks.tables import Table


def networks_table(place: Workplace) -> list[Table]:
    """Return a row for each network with accuracy, or mean absolute error, and the paper's."""
    table = Table(
        "network | layers | ReLUs / maxima | paper's count | accuracy or MAE | paper's", quiet=True
    )
    for name in place.scale.networks:
        architecture = ARCHITECTURES[name]
        score = place.score(name)
        unit = "pixels" if architecture.data == "digits" else "m"
        told = f"{score:.3f} {unit}" if architecture.outputs == 1 else f"{100 * score:.2f} %"
        relus, maxima = counts(architecture.layers, place.data_of(name).shape)
        trained = f"; ascent, radius {architecture.radius:g}" if architecture.radius else ""
        layers = " ".join(map(_told, architecture.layers))
        paper = quoted.COUNTS.get(name, "–"), quoted.SCORES.get(name, "–")
        table.add(name, layers + trained, f"{relus} / {maxima}", paper[0], told, paper[1])
    notes = {data.note for data in map(place.data_of, place.scale.networks) if data.note}
    return [table, *sorted(notes)]


def _told(layer: Layer) -> str:
    if isinstance(layer, Pool):
        return "pool"
    if isinstance(layer, Conv):
        return f"{layer.side}×{layer.side}×{layer.kernels}{'' if layer.active else ' (linear)'}"
    return str(layer.width)
