"""Find the smallest contrastive explanation of some images, and say how far each is proven.

    python benchmarks/contrastive.py MODEL IMAGES --indices 0,1,2 --epsilon 0.05 --time-limit 20

Exits with 1 where a counterfactual fails in onnxruntime.
"""

from statistics import median

from arguments import add_images, asked, parsed, parser, read_images, solver_versions
from tables import Table, write

import milp_verix


def main() -> int:
    """Print a line for each image; return the exit code."""
    options = parser(__doc__)
    add_images(options)
    options.add_argument("--solver", default="auto")
    options.add_argument("--time-limit", type=float, default=None)
    arguments = parsed(options)

    network = milp_verix.load_network(arguments.model)
    table = Table("image | size | lower bound | proven | seconds")
    results = []
    given = asked(arguments, "epsilon", "features", "solver", "time_limit")
    for index, image in read_images(network, arguments):
        found = milp_verix.contrastive(network, image, **given)
        results.append(found)
        size = "robust" if found.robust else found.size
        least = "–" if found.lower_bound is None else f"{found.lower_bound:g}"
        proven = "yes" if found.proven else "no"
        table.add(index, size, least, proven, f"{found.statistics.seconds:.2f}")
    proven_ones = sum(found.proven for found in results)
    failing = sum(found.contrast is not None and not found.replay(network) for found in results)
    seconds = f"{median(found.statistics.seconds for found in results):.2f}"
    print(
        f"\nproven: {proven_ones} of {len(results)}, median {seconds} s, {failing} fail in replay"
    )
    if arguments.write:
        write(arguments.write, [table], solver_versions([arguments.solver]))
    return 1 if failing else 0


if __name__ == "__main__":
    raise SystemExit(main())
