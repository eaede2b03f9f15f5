"""Prove minimum explanations of many images: sizes, bounds, seconds, and how far orders are off.

    python benchmarks/minimum.py MODEL IMAGES --indices 0:100 --epsilon 0.05 --time-limit 60
    python benchmarks/minimum.py digits --hidden 16 16,16 --indices 0:50 --epsilon 0.1 0.2

    python benchmarks/minimum.py MODEL IMAGES --indices 0:100 --epsilon 0.05 --without all

``digits`` trains networks on scikit-learn's digits, one for each of ``--hidden``, and takes the
test images (``pip install 'milp-verix[sklearn]'``). Solvers take turns on each image; ``--orders``
adds the sizes of local explanations. ``--without`` switches techniques of the search off, one
run for each, after a run with all of them: an ablation. With ``--work`` the limit and the seconds
are those of the clock of work, so that another machine, or a busy one, gives the same table. Exits
with 1 where proofs contradict each other.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import mean, median
from typing import Any

import onnx
from arguments import add_images, names, parsed, parser, read_images, solver_versions
from numpy.typing import NDArray
from tables import ROOT, Table, write

import milp_verix
from milp_verix import Explanation, OnnxNetwork
from milp_verix.base.clock import Deadline, elapsed_work
from milp_verix.searches.minimum.search_limits import TECHNIQUES, SearchLimits
from verix_encodings.work import worked

Images = Sequence[tuple[int, NDArray[Any]]]


@dataclass(frozen=True)
class Searched:
    """An image, its minimum by each solver, and the sizes of local explanations by each order."""

    image: int
    minima: dict[str, Explanation]
    local: dict[str, int]

    @property
    def contradicts(self) -> bool:
        """True if a solver found fewer features than another proved necessary."""
        highest = max(found.lower_bound or 0 for found in self.minima.values())
        return any(found.size < highest for found in self.minima.values())


def digits(hidden: str, indices: Sequence[int]) -> tuple[OnnxNetwork, Images]:
    """Train a network with layers of these sizes; return it with the test images."""
    sys.path.insert(0, str(ROOT / "examples"))
    import train_digits
    from sklearn.neural_network import MLPClassifier

    split = train_digits.load_split()
    sizes = tuple(int(size) for size in hidden.split(","))
    classifier = MLPClassifier(sizes, alpha=0.5, max_iter=1000, random_state=0)
    classifier.fit(split.train_images, split.train_labels)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.onnx"
        onnx.save(train_digits.to_onnx(classifier), path)
        network = milp_verix.load_network(path)
    return network, [(index, split.test_images[index]) for index in indices]


def cases(arguments: argparse.Namespace) -> Iterator[tuple[str, OnnxNetwork, Images]]:
    """Yield networks with their names and images."""
    if arguments.model == "digits":
        for hidden in arguments.hidden:
            yield f"digits, {hidden} ReLUs", *digits(hidden, arguments.indices)
    else:
        network = milp_verix.load_network(arguments.model)
        yield Path(arguments.model).stem, network, list(read_images(network, arguments))


def main() -> int:
    """Run the comparison; return the exit code."""
    options = parser(__doc__)
    add_images(options, several=True)
    options.add_argument("--hidden", nargs="+", default=["16,16"], help="layers of digits' network")
    options.add_argument("--solvers", type=names, default="auto")
    options.add_argument("--master", default="auto")
    options.add_argument("--orders", type=names, default="", help="orders of local explanations")
    options.add_argument("--time-limit", type=float, default=60.0)
    options.add_argument("--work", action="store_true", help="seconds of the clock of work")
    options.add_argument(
        "--without",
        nargs="+",
        default=[],
        choices=[*TECHNIQUES, "all"],
        metavar="NAME",
        help=f"techniques to switch off one by one, or all: {', '.join(TECHNIQUES)}",
    )
    arguments = parsed(options)

    summary = Table(
        "network | ε | solver | without | images | robust | median size | largest | proven "
        "| median seconds | most | total | ratio | nodes | proven in 10 s | largest gap",
        words=4,
        quiet=True,
    )
    each: list[object] = []
    contradictions = 0
    switches = TECHNIQUES if "all" in arguments.without else arguments.without
    usual: dict[object, float] = {}
    for name, network, images in cases(arguments):
        for epsilon, without in product(arguments.epsilon, ["", *switches]):
            print(f"{name}, ε = {epsilon:g}, without {without or 'nothing'}\n")
            limits = SearchLimits(without=frozenset(filter(None, [without])))
            runs, by_image = search(network, images, epsilon, arguments, limits)
            for solver in arguments.solvers:
                minima = [run.minima[solver] for run in runs]
                total = sum(found.statistics.seconds for found in minima)
                ratio = total / usual.setdefault((name, epsilon, solver), total)
                cells = summed(minima, ratio)
                summary.add(name, f"{epsilon:g}", solver, without or "–", *cells)
            contradictions += sum(run.contradicts for run in runs)
            if without:
                continue
            if arguments.orders:
                each += [excess(runs, arguments.orders), by_image]
            elif arguments.model != "digits" and not switches:
                each.append(grid(runs))
    print(f"\n{summary}\n\ncontradictions: {contradictions}")
    if arguments.write:
        write(arguments.write, [summary], solver_versions(arguments.solvers), each)
    return 1 if contradictions else 0


def search(
    network: OnnxNetwork,
    images: Images,
    epsilon: float,
    arguments: argparse.Namespace,
    limits: SearchLimits,
) -> tuple[list[Searched], Table]:
    """Prove the minimum of each image by each solver; return what was found, and its table."""
    head = ["image", "solver", "size", "lower bound", "proven", "seconds", *arguments.orders]
    table = Table(" | ".join(head), words=2)
    common: dict[str, Any] = {"epsilon": epsilon, "features": arguments.features}
    runs = []
    for index, x in images:
        local = {
            order: milp_verix.explain(network, x, order=order, **common).size
            for order in arguments.orders
        }
        minima = {}
        for solver in arguments.solvers:
            limit, began = arguments.time_limit, worked()
            found = milp_verix.minimum(
                network,
                x,
                solver=solver,
                master=arguments.master,
                time_limit=Deadline(planned=limit).within(limit) if arguments.work else limit,
                limits=limits,
                **common,
            )
            if arguments.work:
                spent = replace(found.statistics, seconds=elapsed_work(began))
                found = replace(found, statistics=spent)
            minima[solver] = found
            proven = "yes" if found.proven else "no"
            seconds = f"{found.statistics.seconds:.2f}"
            table.add(
                index, solver, found.size, found.lower_bound, proven, seconds, *local.values()
            )
        runs.append(Searched(index, minima, local))
    return runs, table


def summed(minima: Sequence[Explanation], ratio: float) -> tuple[object, ...]:
    """Return the cells of a summary: how many are proven, how soon, and how open others are.

    ``ratio`` is the total of seconds over that with all techniques.
    """
    seconds = [found.statistics.seconds for found in minima]
    efforts = [found.statistics.search for found in minima]
    soon = sum(found.proven and found.statistics.seconds <= 10 for found in minima)
    gaps = [100 * (found.gap or 0) / found.size for found in minima if not found.proven]
    return (
        *(len(minima), sum(not found.size for found in minima)),
        f"{median(found.size for found in minima):g}",
        max(found.size for found in minima),
        sum(found.proven for found in minima),
        *(f"{median(seconds):.2f}", f"{max(seconds):.2f}", f"{sum(seconds):.0f}", f"{ratio:.2f}"),
        sum(effort.nodes for effort in efforts if effort is not None),
        soon,
        f"{max(gaps, default=0.0):.1f} %",
    )


def excess(runs: Sequence[Searched], orders: Sequence[str]) -> Table:
    """Return sizes of local explanations as multiples of the minima that are proven."""
    table = Table("order | images | median | mean | worst | minima", quiet=True)
    for order in orders:
        ratios = [
            run.local[order] / found.size
            for run in runs
            for found in list(run.minima.values())[:1]
            if found.proven and found.size
        ]
        if ratios:
            told = [f"{value:.2f}" for value in (median(ratios), mean(ratios), max(ratios))]
            table.add(order, len(ratios), *told, sum(ratio == 1 for ratio in ratios))
    return table


def grid(runs: Sequence[Searched], columns: int = 8) -> Table:
    """Return the minima of images that are not robust, by the first solver; open ones are bold."""
    cells = []
    for run in runs:
        found = next(iter(run.minima.values()))
        if found.proven and found.size:
            cells.append(f"{run.image}: {found.size}")
        elif found.size:
            cells.append(f"**{run.image}: {found.lower_bound:g} to {found.size}**")
    table = Table(" | ".join([""] * columns), words=columns, quiet=True)
    for start in range(0, len(cells), columns):
        row = cells[start : start + columns]
        table.add(*row, *[""] * (columns - len(row)))
    return table


if __name__ == "__main__":
    raise SystemExit(main())
