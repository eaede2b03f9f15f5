"""Ours, cold solves, and VeriX's loop on Marabou, on the same images one after the other.

    pip install '.[peers]'
    python benchmarks/peers.py MODEL IMAGES --epsilon 0.05 --count 20 --out runs.jsonl --plot p.png

IMAGES is a .npz file with KEY after a colon; bytes are scaled to [0, 1]. Taken are the first COUNT
images, of all or of --indices, whose prediction does not survive the whole ball. Each run is
appended to the file --out, and what stands there is not run again: a benchmark that was cut short
goes on where it stopped. Methods are explained by ``--help``. At last comes a table of medians,
with ratios to VeriX image by image.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from cold_loop import cold_loop
from matplotlib import pyplot as plt
from verix_marabou import Found, verix

import milp_verix
from milp_verix.cli.inputs import scale_bytes
from milp_verix.problem.problem import Problem, make_problem
from milp_verix.traversal.order import make_order

METHODS = {
    "verix": "VeriX's loop on Marabou in its order, sensitivity with reversal",
    "cold": "cold HiGHS programs with default parameters, order influence",
    "default": "ours, as it is",
    "adaptive": "ours, order adaptive",
    "sensitivity": "ours, in VeriX's order",
    "bound": "ours, in the order of VeriX+",
    "highs": "ours, by HiGHS's own branch and bound",
    "cbc": "ours, by CBC",
    "gurobi": "ours, by Gurobi",
}
_OPTIONS: dict[str, dict[str, str]] = {
    "default": {},
    **{order: {"order": order} for order in ("adaptive", "sensitivity", "bound")},
    **{solver: {"solver": solver} for solver in ("highs", "cbc", "gurobi")},
}


def run(method: str, model: str, problem: Problem, options: dict[str, Any]) -> Found:
    """Explain one prediction by one method."""
    if method == "verix":
        return verix(model, problem, make_order(problem, "sensitivity").permutation)
    if method == "cold":
        return cold_loop(problem, make_order(problem, "influence").permutation)
    x = problem.x.reshape(problem.network.input_shape)
    found = milp_verix.explain(problem.network, x, **options, **_OPTIONS[method])
    failing, statistics = found.replay(problem.network), found.statistics
    return Found(
        found.size, len(found.unknown), len(failing), statistics.solves, statistics.seconds
    )


def vulnerable(
    images: Sequence[Any], indices: Sequence[int], prepare: Callable[[Any], Problem], count: int
) -> Iterator[tuple[int, Problem]]:
    """Yield the first images, with their numbers, that the whole ball does not leave alone."""
    for index in indices:
        problem = prepare(images[index])
        x = problem.x.reshape(problem.network.input_shape)
        free, ball = range(problem.features.count), problem.ball
        groups = [group.tolist() for group in problem.features.groups]
        verdict = milp_verix.check(
            problem.network, x, free, epsilon=ball.epsilon, norm=ball.norm, features=groups
        )
        if verdict.violated:
            yield index, problem
            count -= 1
        if not count:
            return


def summary(runs: dict[tuple[int, str], Found], methods: Sequence[str]) -> Iterator[str]:
    """Yield the rows of the table of medians."""
    yield "| method | images | size | seconds | solves | unknown | spurious | times faster | size |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for method in methods:
        mine = {index: found for (index, name), found in runs.items() if name == method}
        if not mine:
            continue
        pairs = [(runs[i, "verix"], found) for i, found in mine.items() if (i, "verix") in runs]
        faster = median(a.seconds / b.seconds for a, b in pairs) if pairs else None
        smaller = median(b.size / a.size for a, b in pairs if a.size) if pairs else None
        yield (
            f"| {method} | {len(mine)} | {median(f.size for f in mine.values()):g} "
            f"| {median(f.seconds for f in mine.values()):.2f} "
            f"| {median(f.solves for f in mine.values()):g} "
            f"| {sum(f.unknown for f in mine.values())} "
            f"| {sum(f.spurious for f in mine.values())} "
            f"| {'–' if faster is None else f'{faster:.0f}'} "
            f"| {'–' if smaller is None else f'{smaller:.2f}'} |"
        )


def plot(runs: dict[tuple[int, str], Found], methods: Sequence[str], path: str) -> None:
    """Draw seconds against size, a mark for each run."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for method in methods:
        mine = [found for (_, name), found in runs.items() if name == method]
        axes.scatter([f.size for f in mine], [f.seconds for f in mine], s=14, label=method)
    axes.set(xlabel="features in the explanation", ylabel="seconds", yscale="log")
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(
        description=str(__doc__).splitlines()[0],
        epilog="; ".join(f"{name}: {text}" for name, text in METHODS.items()),
    )
    parser.add_argument("model")
    parser.add_argument("images")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--features", default=None)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--indices", help="numbers of images, with commas between; default: all")
    parser.add_argument("--methods", default="verix,cold,default,adaptive,sensitivity,bound,highs")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--plot")
    arguments = parser.parse_args()
    methods = arguments.methods.split(",")
    network = milp_verix.load_network(arguments.model)
    options = {"epsilon": arguments.epsilon, "features": arguments.features}

    def prepare(image: Any) -> Problem:
        x = scale_bytes(np.asarray(image), (0.0, 1.0), network.dtype).reshape(-1)
        return make_problem(network, x, **options)

    file, _, key = arguments.images.rpartition(":")
    images = np.load(file)[key]
    runs: dict[tuple[int, str], Found] = {}
    if arguments.out.exists():
        for line in arguments.out.read_text().splitlines():
            data = json.loads(line)
            run_of = data.pop("image"), data.pop("method")
            runs[run_of] = Found(**data)
    given = arguments.indices
    indices = range(len(images)) if given is None else [int(i) for i in given.split(",")]
    for index, problem in vulnerable(images, indices, prepare, arguments.count):
        for method in methods:
            if (index, method) in runs:
                continue
            found = runs[index, method] = run(method, arguments.model, problem, options)
            with arguments.out.open("a") as file:
                file.write(json.dumps({"image": index, "method": method, **vars(found)}) + "\n")
            print(f"image {index}, {method}: {found}", flush=True)
    print("\n".join(summary(runs, methods)))
    if arguments.plot:
        plot(runs, methods, arguments.plot)


if __name__ == "__main__":
    main()
