"""Ours, cold solves, and VeriX's loop on Marabou, on the same images one after the other.

    pip install '.[peers]'
    python benchmarks/peers.py MODEL IMAGES --epsilon 0.05 --count 20 --out runs.jsonl --plot p.png

Taken are the first COUNT images of --indices whose prediction does not survive the whole ball. Each
run is appended to the file --out, and runs in that file are not repeated: a benchmark that was cut
short goes on from there. At last comes a table of medians, with ratios to VeriX image by image.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

from arguments import add_images, names, parsed, parser, read_images, solver_versions
from cold_loop import cold_loop
from matplotlib import pyplot as plt
from numpy.typing import NDArray
from tables import Table, write
from verix_marabou import Found, verix

import milp_verix
from milp_verix import Problem
from milp_verix.base.clock import NO_LIMIT
from milp_verix.searches.order import resolve_order

METHODS = {
    "verix": "VeriX's loop on Marabou in its order, sensitivity with reversal",
    "cold": "cold HiGHS programs with default parameters, order influence",
    "default": "ours, as it is",
    "adaptive": "ours, order adaptive",
    "sensitivity": "ours, in VeriX's order",
    "bound": "ours, in the order of VeriX+ for dense networks",
    "margin": "ours, order margin",
    "highs": "ours, by HiGHS's own branch and bound",
    "cbc": "ours, by CBC",
    "gurobi": "ours, by Gurobi",
}
_OPTIONS: dict[str, dict[str, str]] = {
    "default": {},
    **{order: {"order": order} for order in ("adaptive", "sensitivity", "bound", "margin")},
    **{solver: {"solver": solver} for solver in ("highs", "cbc", "gurobi")},
}


def run(method: str, model: str, problem: Problem, options: dict[str, Any]) -> Found:
    """Explain one prediction by one method."""
    if method == "verix":
        return verix(
            model, problem, resolve_order(problem, "sensitivity")(NO_LIMIT, None).permutation
        )
    if method == "cold":
        return cold_loop(problem, resolve_order(problem, "influence")(NO_LIMIT, None).permutation)
    x = problem.x.reshape(problem.network.input_shape)
    found = milp_verix.explain(problem.network, x, **options, **_OPTIONS[method])
    failing, statistics = found.replay(problem.network), found.statistics
    return Found(
        found.size, len(found.unknown), len(failing), statistics.solves, statistics.seconds
    )


def vulnerable(
    images: Iterable[tuple[int, NDArray[Any]]],
    network: milp_verix.OnnxNetwork,
    options: dict[str, Any],
    count: int,
) -> Iterator[tuple[int, Problem]]:
    """Yield the first images, with their numbers, that the whole ball does not leave alone."""
    for index, image in images:
        problem = Problem(network, image.reshape(-1), **options)
        free = range(problem.features.count)
        if milp_verix.check(network, image, free, **options).violated:
            yield index, problem
            count -= 1
        if not count:
            return


def summary(runs: dict[tuple[int, str], Found], methods: Sequence[str]) -> Table:
    """Return the table of medians; the ratios in its last columns are to VeriX."""
    table = Table(
        "method | images | size | seconds | solves | unknown | spurious | slowest | times faster "
        "| times the size"
    )
    for method in methods:
        mine = {index: found for (index, name), found in runs.items() if name == method}
        if not mine:
            continue
        pairs = [(runs[i, "verix"], found) for i, found in mine.items() if (i, "verix") in runs]
        faster = median(a.seconds / b.seconds for a, b in pairs) if pairs else None
        smaller = median(b.size / a.size for a, b in pairs if a.size) if pairs else None
        seconds = [found.seconds for found in mine.values()]
        table.add(
            *(method, len(mine), f"{median(f.size for f in mine.values()):g}"),
            *(f"{median(seconds):.2f}", f"{median(f.solves for f in mine.values()):g}"),
            sum(f.unknown for f in mine.values()),
            sum(f.spurious for f in mine.values()),
            f"{max(seconds):.2f}",
            "–" if faster is None else f"{faster:.0f}",
            "–" if smaller is None else f"{smaller:.2f}",
        )
    return table


def by_image(runs: dict[tuple[int, str], Found], methods: Sequence[str]) -> Table:
    """Return the table of all runs, image by image."""
    table = Table(
        "image | method | size | unknown | spurious | solves | seconds | times faster",
        words=2,
        quiet=True,
    )
    for index in dict.fromkeys(index for index, _ in runs):
        verix_seconds = runs[index, "verix"].seconds if (index, "verix") in runs else None
        for method in methods:
            if (index, method) in runs:
                found = runs[index, method]
                faster = "–" if verix_seconds is None else f"{verix_seconds / found.seconds:.0f}"
                table.add(
                    *(index, method, found.size, found.unknown, found.spurious, found.solves),
                    *(f"{found.seconds:.2f}", faster),
                )
    return table


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
    options = parser(__doc__)
    add_images(options, indices="0:20")
    options.add_argument("--count", type=int, default=20)
    options.add_argument(
        "--methods",
        type=names,
        default="verix,cold,default,adaptive,sensitivity,bound,highs",
        help="; ".join(f"{name}: {text}" for name, text in METHODS.items()),
    )
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--plot")
    arguments = parsed(options)
    methods = arguments.methods
    network = milp_verix.load_network(arguments.model)
    asked = {"epsilon": arguments.epsilon, "features": arguments.features}

    runs: dict[tuple[int, str], Found] = {}
    if arguments.out.exists():
        for line in arguments.out.read_text().splitlines():
            data = json.loads(line)
            run_of = data.pop("image"), data.pop("method")
            runs[run_of] = Found(**data)
    images = read_images(network, arguments)
    for index, problem in vulnerable(images, network, asked, arguments.count):
        for method in methods:
            if (index, method) in runs:
                continue
            found = runs[index, method] = run(method, arguments.model, problem, asked)
            with arguments.out.open("a") as file:
                file.write(json.dumps({"image": index, "method": method, **vars(found)}) + "\n")
            print(f"image {index}, {method}: {found}", flush=True)
    medians = summary(runs, methods)
    if arguments.plot:
        plot(runs, methods, arguments.plot)
    if arguments.write:
        solvers = solver_versions(_OPTIONS.get(name, {}).get("solver", "auto") for name in methods)
        marabou = [f"maraboupy {metadata.version('maraboupy')}"] if "verix" in methods else []
        write(arguments.write, [medians], solvers + marabou, [by_image(runs, methods)])


if __name__ == "__main__":
    main()
