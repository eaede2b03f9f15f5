"""Prove minimum explanations of many images: sizes, bounds, seconds, and how far orders are off.

    python benchmarks/minimum.py MODEL IMAGES --indices 0:100 --epsilon 0.05 --time-limit 60
    python benchmarks/minimum.py digits --hidden 16,16 --indices 0:50 --epsilon 0.1

IMAGES is a .npz file with KEY after a colon; bytes are scaled to [0, 1]. ``digits`` trains a
network on scikit-learn's digits and takes its test images (``pip install 'milp-verix[train]'``).
Solvers take turns on each image; ``--orders`` adds the sizes of local explanations. With
``--cpu-clock`` all limits and seconds are the CPU time of this process: for machines that others
use, too. The last lines count what is proven. Exits with 1 where proofs contradict each other.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

import milp_verix
from milp_verix.cli.inputs import read_input, scale_bytes

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def digits(hidden: str) -> tuple[milp_verix.OnnxNetwork, NDArray[Any]]:
    """Train a network with layers of these sizes; return it with the test images."""
    sys.path.insert(0, str(EXAMPLES))
    import train_digits
    from sklearn.neural_network import MLPClassifier

    split = train_digits.load_split()
    sizes = tuple(int(size) for size in hidden.split(","))
    classifier = MLPClassifier(sizes, alpha=0.5, max_iter=1000, random_state=0)
    classifier.fit(split.train_images, split.train_labels)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.onnx"
        onnx.save(train_digits.to_onnx(classifier), path)
        return milp_verix.load_network(path), split.test_images


def images(
    arguments: argparse.Namespace,
) -> tuple[milp_verix.OnnxNetwork, Iterator[tuple[int, NDArray[Any]]]]:
    """Return the network, and the images with their numbers."""
    if ":" in arguments.indices:
        indices = range(*(int(end) for end in arguments.indices.split(":")))
    else:
        indices = [int(index) for index in arguments.indices.split(",")]
    if arguments.model == "digits":
        network, given = digits(arguments.hidden)
        return network, ((index, given[index]) for index in indices)
    network = milp_verix.load_network(arguments.model)

    def stored() -> Iterator[tuple[int, NDArray[Any]]]:
        for index in indices:
            image = read_input(f"{arguments.images}[{index}]", network.input_shape)
            yield index, scale_bytes(image, (0.0, 1.0), network.dtype)

    return network, stored()


def main() -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("images", nargs="?")
    parser.add_argument("--indices", default="0:10", help="as 0:10, or with commas between")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--features", default=None)
    parser.add_argument("--hidden", default="16,16", help="layers of the network on digits")
    parser.add_argument("--solvers", default="auto")
    parser.add_argument("--master", default="auto")
    parser.add_argument("--orders", default="", help="orders of local explanations, with commas")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--cpu-clock", action="store_true")
    arguments = parser.parse_args()
    if arguments.cpu_clock:
        time.monotonic = time.process_time

    network, given = images(arguments)
    solvers = arguments.solvers.split(",")
    orders = [order for order in arguments.orders.split(",") if order]
    common = {"epsilon": arguments.epsilon, "features": arguments.features}
    found: dict[str, list[milp_verix.Explanation]] = {solver: [] for solver in solvers}
    excess: dict[str, list[float]] = {order: [] for order in orders}
    contradictions = 0
    print(f"| image | solver | size | lower bound | proven | seconds |{' local |' * len(orders)}")
    print(f"|---|---|---|---|---|---|{'---|' * len(orders)}")
    for index, x in given:
        local = [milp_verix.explain(network, x, order=order, **common).size for order in orders]
        for solver in solvers:
            result = milp_verix.minimum(
                network,
                x,
                solver=solver,
                master=arguments.master,
                time_limit=arguments.time_limit,
                **common,
            )
            found[solver].append(result)
            row = [index, solver, result.size, result.lower_bound]
            row += ["yes" if result.proven else "no", f"{result.statistics.seconds:.2f}", *local]
            print("|", " | ".join(map(str, row)), "|", flush=True)
        latest = [found[solver][-1] for solver in solvers]
        highest = max(result.lower_bound or 0 for result in latest)
        contradictions += any(result.size < highest for result in latest)
        if latest[0].proven and latest[0].size:
            for order, size in zip(orders, local, strict=True):
                excess[order].append(size / latest[0].size)
    for solver, results in found.items():
        proven = sum(result.proven for result in results)
        seconds = [result.statistics.seconds for result in results]
        gaps = [100 * (r.gap or 0) / r.size for r in results if not r.proven]
        print(
            f"{solver}: {proven} of {len(results)} proven, median {median(seconds):.2f} s, most "
            f"{max(seconds):.2f} s, largest gap {max(gaps, default=0.0):.1f} %"
        )
    for order, ratios in excess.items():
        if ratios:
            print(f"{order}: {np.median(ratios):.2f} times the minimum, at most {max(ratios):.2f}")
    print(f"contradictions: {contradictions}")
    return 1 if contradictions else 0


if __name__ == "__main__":
    raise SystemExit(main())
