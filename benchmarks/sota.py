r"""Explain large convolutional networks by bounds alone: seconds, memory, and what decided.

    python benchmarks/gtsrb_sota.py gtsrb10.npz gtsrb-sota.onnx
    python benchmarks/sota.py mnist-sota.onnx,mnist_test.npz:images[0] \
        gtsrb-sota.onnx,gtsrb10.npz:test_images[0],pixels --epsilon 0.01 0.03 0.05

Each argument is MODEL,IMAGE or MODEL,IMAGE,pixels. Each explanation has a process of its own, and a
limit of time for each network. Memory is the largest resident set of the process, with the
libraries and the model in it.
"""

import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path

from arguments import parsed, parser, read_image
from tables import Table, write

import milp_verix

HEAD = (
    "network | bounds | ε | limit | ReLUs | features | seconds | peak MB | size | by bounds "
    "| by attacks | undecided"
)


def explained(
    case: str, bounds: str, epsilon: float, limit: float, cpu_clock: bool
) -> tuple[object, ...]:
    """Explain one image in this process; return a row of the table."""
    if cpu_clock:
        import time

        time.monotonic = time.process_time
    model, image, *features = case.split(",")
    network = milp_verix.load_network(model)
    found = milp_verix.explain(
        network,
        read_image(network, image),
        epsilon=epsilon,
        features=features[0] if features else None,
        exactness="bounds",
        bounds=bounds,
        time_limit=limit,
    )
    # kilobytes, but bytes on macOS
    unit = 2**20 if sys.platform == "darwin" else 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    decided = len(found.irrelevant), len(found.counterfactuals), len(found.unknown)
    counts = network.ir.relu_count, len(found.permutation)
    seconds = f"{found.statistics.seconds:.1f}"
    asked = Path(model).stem, bounds, epsilon, f"{limit:g}"
    return (*asked, *counts, seconds, f"{peak:.0f}", found.size, *decided)


def main() -> None:
    """Measure and print a table."""
    made = parser(__doc__)
    made.add_argument("cases", nargs="+", metavar="CASE")
    made.add_argument("--epsilon", type=float, nargs="+", default=[0.01, 0.03, 0.05])
    made.add_argument("--limits", type=float, nargs="+", default=[60.0], help="one for each case")
    made.add_argument("--bounds", nargs="+", default=["auto"], help="stages, the deepest allowed")
    arguments = parsed(made)
    limits = arguments.limits * (len(arguments.cases) if len(arguments.limits) == 1 else 1)
    table = Table(HEAD)
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
        for case, limit in zip(arguments.cases, limits, strict=True):
            for epsilon, bounds in product(arguments.epsilon, arguments.bounds):
                asked = case, bounds, epsilon, limit, arguments.cpu_clock
                table.add(*processes.submit(explained, *asked).result())
    if arguments.write:
        write(arguments.write, [table])


if __name__ == "__main__":
    main()
