r"""Measure how the time of an explanation grows with features and ReLUs: a table and a plot.

With ``--minimum`` the explanation is the smallest there is; ``proven`` counts those proven to be.

    python benchmarks/growth.py digits=examples/digits.onnx,examples/digits.npz:images,0.1 \
        mnist=mnist-10x2.onnx,mnist_test.npz:images,0.05 --count 10 --plot growth.png

Each argument is NAME=MODEL,IMAGES,EPSILON or NAME=MODEL,IMAGES,EPSILON,pixels. The first COUNT
images are explained, by default options; networks take turns. The table has medians over the images
whose explanation is not empty.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from arguments import parsed, parser, read_image, solver_versions
from matplotlib import pyplot as plt
from matplotlib.ticker import ScalarFormatter
from tables import Table, write

import milp_verix
from milp_verix import Explanation, OnnxNetwork


@dataclass(frozen=True)
class Case:
    """A network, its images, and what to explain of them."""

    name: str
    network: OnnxNetwork
    images: str
    epsilon: float
    features: str | None

    def explain(self, index: int, seconds: float, *, smallest: bool) -> Explanation:
        """Explain image number ``index``, by a traversal or by the smallest set there is."""
        x = read_image(self.network, f"{self.images}[{index}]").reshape(-1)
        options = {"epsilon": self.epsilon, "features": self.features, "time_limit": seconds}
        explain = milp_verix.minimum if smallest else milp_verix.explain
        return explain(self.network, x, **options)


def case(text: str) -> Case:
    """Read a case from the command line."""
    name, rest = text.split("=", 1)
    model, images, epsilon, *features = rest.split(",")
    network = milp_verix.load_network(model)
    return Case(name, network, images, float(epsilon), features[0] if features else None)


@dataclass(frozen=True)
class Measured:
    """A network's place in the plot, and its row in the table."""

    name: str
    inputs: int
    relus: int
    seconds: float
    cells: tuple[object, ...]


def measured(one: Case, found: Sequence[Explanation]) -> Measured:
    """Return the medians over explanations of one network."""
    seconds = [explanation.statistics.seconds for explanation in found]
    relus = one.network.ir.relu_count
    cells = (
        *(one.name, len(found[0].groups), relus, len(found)),
        f"{median(explanation.size for explanation in found):g}",
        sum(explanation.proven for explanation in found),
        sum(len(explanation.unknown) for explanation in found),
        f"{median(explanation.statistics.solves for explanation in found):g}",
        *(f"{median(seconds):.2f}", f"{max(seconds):.2f}"),
    )
    return Measured(one.name, one.network.input_size, relus, median(seconds), cells)


def main() -> None:
    """Explain, print, draw."""
    options = parser(__doc__)
    options.add_argument("cases", nargs="+", type=case)
    options.add_argument("--count", type=int, default=10)
    options.add_argument("--minimum", action="store_true", help="prove the smallest explanation")
    options.add_argument("--plot")
    options.add_argument("--time-limit", type=float, default=60.0)
    arguments = parsed(options)
    found: dict[str, list[Explanation]] = {one.name: [] for one in arguments.cases}
    for index in range(arguments.count):
        for one in arguments.cases:
            explanation = one.explain(index, arguments.time_limit, smallest=arguments.minimum)
            assert explanation.replay(one.network) == ()
            if explanation.size:
                found[one.name].append(explanation)
    rows = [measured(one, found[one.name]) for one in arguments.cases if found[one.name]]
    table = Table(
        "network | features | ReLUs | images | size | proven minimum | unknown | solves "
        "| seconds | slowest"
    )
    for row in rows:
        table.add(*row.cells)
    if arguments.plot:
        plot(rows, arguments.plot)
    if arguments.write:
        write(arguments.write, [table], solver_versions(["auto"]))


def plot(rows: Sequence[Measured], path: str) -> None:
    """Draw seconds against inputs and ReLUs, a mark for each network."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), sharey=True, layout="constrained")
    for row in rows:
        for axis, value in zip(axes, (row.inputs, row.relus), strict=True):
            axis.plot(value, row.seconds, "o", color="C0")
            axis.annotate(row.name, (value, row.seconds), textcoords="offset points", xytext=(5, 4))
    axes[0].set(xlabel="inputs", ylabel="seconds for an explanation", yscale="log")
    axes[1].set(xlabel="ReLUs")
    for axis in axes:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(ScalarFormatter())
        axis.margins(x=0.3, y=0.15)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
