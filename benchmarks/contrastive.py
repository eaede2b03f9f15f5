"""Find the smallest contrastive explanation of some images, and say how far each is proven.

    python benchmarks/contrastive.py MODEL IMAGES --indices 0,1,2 --epsilon 0.05 --time-limit 20

IMAGES is a .npz file with KEY after a colon; bytes are scaled to [0, 1]. Exits with 1 where a
counterfactual fails in onnxruntime.
"""

import argparse
from statistics import median

import milp_verix
from milp_verix.cli.inputs import read_input, scale_bytes


def main() -> int:
    """Print a line for each image; return the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("images")
    parser.add_argument("--indices", default="0", help="numbers of the images, with commas between")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--time-limit", type=float, default=None)
    arguments = parser.parse_args()

    network = milp_verix.load_network(arguments.model)
    print("| image | size | lower bound | proven | seconds |\n|---|---:|---:|---|---:|")
    results = []
    for index in arguments.indices.split(","):
        image = read_input(f"{arguments.images}[{index}]", network.input_shape)
        found = milp_verix.contrastive(
            network,
            scale_bytes(image, (0.0, 1.0), network.dtype),
            epsilon=arguments.epsilon,
            solver=arguments.solver,
            time_limit=arguments.time_limit,
        )
        results.append(found)
        size = "robust" if found.robust else found.size
        least = "–" if found.lower_bound is None else f"{found.lower_bound:g}"
        proven = "yes" if found.proven else "no"
        seconds = f"{found.statistics.seconds:.2f}"
        print(f"| {index} | {size} | {least} | {proven} | {seconds} |", flush=True)
    proven_ones = sum(found.proven for found in results)
    failing = sum(found.contrast is not None and not found.replay(network) for found in results)
    seconds = f"{median(found.statistics.seconds for found in results):.2f}"
    print(
        f"\nproven: {proven_ones} of {len(results)}, median {seconds} s, {failing} fail in replay"
    )
    return 1 if failing else 0


if __name__ == "__main__":
    raise SystemExit(main())
