r"""How the time of an explanation grows with features and ReLUs: a table and a plot.

With ``--minimum`` the explanation is the smallest there is; ``proven`` counts those proven to be.

    python benchmarks/growth.py digits=examples/digits.onnx,examples/digits.npz:images,0.1 \
        mnist=mnist-10x2.onnx,mnist_test.npz:images,0.05 --count 10 --plot growth.png

Each argument is NAME=MODEL,IMAGES,EPSILON or NAME=MODEL,IMAGES,EPSILON,pixels; bytes are scaled to
[0, 1]. The first COUNT images are explained, by default options; networks take turns. In the table
are medians over those images whose explanation is not empty.
"""

import argparse
from dataclasses import dataclass
from statistics import median

from matplotlib import pyplot as plt
from matplotlib.ticker import ScalarFormatter

import milp_verix
from milp_verix import Explanation, OnnxNetwork
from milp_verix.cli.inputs import read_input, scale_bytes


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
        image = read_input(f"{self.images}[{index}]", self.network.input_shape)
        x = scale_bytes(image, (0.0, 1.0), self.network.dtype).reshape(-1)
        options = {"epsilon": self.epsilon, "features": self.features, "time_limit": seconds}
        explain = milp_verix.minimum if smallest else milp_verix.explain
        return explain(self.network, x, **options)


def case(text: str) -> Case:
    """Read a case from the command line."""
    name, rest = text.split("=", 1)
    model, images, epsilon, *features = rest.split(",")
    network = milp_verix.load_network(model)
    return Case(name, network, images, float(epsilon), features[0] if features else None)


def main() -> None:
    """Explain, print, draw."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("cases", nargs="+", type=case)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--minimum", action="store_true", help="prove the smallest explanation")
    parser.add_argument("--plot")
    arguments = parser.parse_args()
    found: dict[str, list[Explanation]] = {one.name: [] for one in arguments.cases}
    for index in range(arguments.count):
        for one in arguments.cases:
            explanation = one.explain(index, arguments.time_limit, smallest=arguments.minimum)
            assert explanation.replay(one.network) == ()
            if explanation.size:
                found[one.name].append(explanation)
    print(
        "| network | features | ReLUs | images | size | proven minimum | unknown | solves "
        "| seconds | slowest |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), sharey=True, layout="constrained")
    for one in arguments.cases:
        mine = found[one.name]
        if not mine:
            continue
        features, relus = len(mine[0].groups), one.network.ir.relu_count
        seconds = median(e.statistics.seconds for e in mine)
        print(
            f"| {one.name} | {features} | {relus} | {len(mine)} | {median(e.size for e in mine):g} "
            f"| {sum(e.proven for e in mine)} | {sum(len(e.unknown) for e in mine)} "
            f"| {median(e.statistics.solves for e in mine):g} | {seconds:.2f} "
            f"| {max(e.statistics.seconds for e in mine):.2f} |"
        )
        for axis, value in zip(axes, (one.network.input_size, relus), strict=True):
            axis.plot(value, seconds, "o", color="C0")
            axis.annotate(one.name, (value, seconds), textcoords="offset points", xytext=(5, 4))
    axes[0].set(xlabel="inputs", ylabel="seconds for an explanation", yscale="log")
    axes[1].set(xlabel="ReLUs")
    for axis in axes:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(ScalarFormatter())
        axis.margins(x=0.3, y=0.15)
    if arguments.plot:
        figure.savefig(arguments.plot, dpi=150)


if __name__ == "__main__":
    main()
