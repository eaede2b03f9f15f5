"""Explain images in balls of several norms, and say what stays undecided.

    python benchmarks/norms.py MODEL IMAGES --indices 0:20 --balls l2:0.3,l1:2 --time-limit 40

Exits with 1 where a counterfactual fails in onnxruntime.
"""

from statistics import median

from arguments import IMAGES, names, numbers, parsed, parser, read_images, solver_versions
from tables import Table, write

import milp_verix

_DEFAULT = "linf:0.05,l2:0.3,l2:0.6,l2:1.0,l1:2,l1:5"


def main() -> int:
    """Print a line for each ball; return the exit code."""
    options = parser(__doc__)
    options.add_argument("model")
    options.add_argument("images", help=IMAGES)
    options.add_argument("--indices", type=numbers, default="0:20", help="0:20 or 3,5,7")
    options.add_argument("--balls", type=names, default=_DEFAULT, help="NORM:EPSILON, with commas")
    options.add_argument("--solver", default="auto")
    options.add_argument("--time-limit", type=float, default=None)
    arguments = parsed(options)

    network = milp_verix.load_network(arguments.model)
    table = Table(
        "norm | ε | images | median size | undecided features | images with these "
        "| median seconds | most seconds"
    )
    failing = 0
    for norm, epsilon in (ball.split(":") for ball in arguments.balls):
        found = [
            milp_verix.explain(
                network,
                image,
                epsilon=float(epsilon),
                norm=norm,
                solver=arguments.solver,
                time_limit=arguments.time_limit,
            )
            for _, image in read_images(network, arguments)
        ]
        failing += sum(len(one.replay(network)) for one in found)
        undecided = [len(one.unknown) for one in found]
        seconds = [one.statistics.seconds for one in found]
        table.add(
            *(norm, epsilon, len(found), f"{median(one.size for one in found):g}"),
            *(sum(undecided), sum(count > 0 for count in undecided)),
            *(f"{median(seconds):.2f}", f"{max(seconds):.2f}"),
        )
    print(f"\n{failing} counterfactuals fail in replay")
    if arguments.write:
        write(arguments.write, [table], solver_versions([arguments.solver]))
    return 1 if failing else 0


if __name__ == "__main__":
    raise SystemExit(main())
