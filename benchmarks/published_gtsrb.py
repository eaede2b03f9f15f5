"""Explain the traffic signs for which VeriX+ and FAME published sizes, and compare.

    python benchmarks/published_gtsrb.py ../shared --journal runs.jsonl --write published-gtsrb
    python benchmarks/published_gtsrb.py ../shared --journal runs.jsonl --every 4 --methods default

The folder has ``models/NETWORK.onnx``, ``data/gtsrb10.npz`` and ``data/published_gtsrb.csv``. Each
run is appended to the journal, and runs in it are not repeated: a comparison that was cut short
goes on from there. Exits with 1 where a counterfactual fails in onnxruntime, or where a size, ours
or published, is below a minimum that was proven.
"""

import csv
import datetime as dt
import json
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import tables
from arguments import names, parsed, parser, solver_versions
from numpy.typing import NDArray
from suite import read

import milp_verix
from milp_verix import Explanation, OnnxNetwork

QUESTION: dict[str, Any] = {"epsilon": 0.01, "features": "pixels", "image_shape": (32, 32, 3)}
PUBLISHED_ORDER = {"gtsrb-10x2": "bound", "fame-gtsrb-cnn": "bound_crown"}
"""The order of VeriX+ for each network: its bounds depend on the kind of the network."""

METHODS = {
    "default": "ours, as it is",
    "adaptive": "ours, order adaptive",
    "margin": "ours, order margin",
    "bound": "ours, order bound",
    "bound_crown": "ours, order bound_crown",
    "reproduced": "VeriX+ again: its order, checks by bounds alone, binary traversal",
    "minimum": "ours, the minimum",
}
ABOUT = (
    "Sizes and seconds of VeriX+ and sizes of FAME are those published with FAME "
    "(github.com/ducoffeM/FAME), seconds on its authors' machine. ε = 0.01; a feature is a pixel "
    "with its three channels. 40/2/20 means: smaller on 40 images, equal on 2, larger on 20. "
    "*VeriX+ again* asks for the published sizes once more, in VeriX+'s order for the kind of "
    "network and with checks by CROWN's bounds alone."
)


@dataclass(frozen=True)
class Published:
    """An image of a network with the sizes of VeriX+ and FAME, and the seconds of VeriX+."""

    network: str
    image: int
    verix_plus: int
    seconds: float
    fame: int | None


@dataclass(frozen=True)
class Run:
    """An explanation by one method; ``lower_bound`` is that of a search for the minimum."""

    network: str
    image: int
    method: str
    limit: float
    size: int
    unknown: int
    failing: int
    lower_bound: float | None
    seconds: float
    commit: str
    date: str


def published(path: Path) -> Iterator[Published]:
    """Yield the rows of the published file."""
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            yield Published(
                row["network"],
                int(row["test_image"]),
                int(row["verix_plus_size"]),
                float(row["verix_plus_seconds"]),
                int(row["fame_size"]) if row["fame_size"] else None,
            )


def explained(
    network: OnnxNetwork, name: str, image: NDArray[Any], method: str, limit: float
) -> Explanation:
    """Explain an image of the network ``name`` by one method."""
    asked = {**QUESTION, "time_limit": limit}
    if method == "minimum":
        return milp_verix.minimum(network, image, **asked)
    if method == "reproduced":
        asked |= {"exactness": "bounds", "traversal": "binary", "order": PUBLISHED_ORDER[name]}
    elif method != "default":
        asked["order"] = method
    return milp_verix.explain(network, image, **asked)


def measure(
    folder: Path, chosen: Sequence[Published], methods: Sequence[str], limit: float, journal: Path
) -> None:
    """Run what the journal lacks, and append it."""
    done = {(r.network, r.image, r.method) for r in found_in(chosen, methods, limit, journal)}
    with np.load(folder / "data" / "gtsrb10.npz") as data:
        images = data["test_images"]
    networks = {
        name: milp_verix.load_network(folder / "models" / f"{name}.onnx")
        for name in dict.fromkeys(row.network for row in chosen)
    }
    commit, today = tables.commit(), dt.datetime.now(tz=dt.UTC).date().isoformat()
    for key in [(row.network, row.image, method) for row in chosen for method in methods]:
        if key in done:
            continue
        name, index, method = key
        network, image = networks[name], images[index] / np.float32(255)
        found = explained(network, name, image, method, limit)
        sizes = found.size, len(found.unknown), len(found.replay(network)), found.lower_bound
        run = Run(*key, limit, *sizes, found.statistics.seconds, commit, today)
        with journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(run)) + "\n")
        print(f"{name}, image {index}, {method}: {run.size}, {run.seconds:.2f} s", flush=True)


def found_in(
    chosen: Sequence[Published], methods: Sequence[str], limit: float, journal: Path
) -> list[Run]:
    """Return the runs of the journal that were asked for."""
    runs = {(r.network, r.image, r.method, r.limit): r for r in (Run(**d) for d in read(journal))}
    asked = [(row.network, row.image, method, limit) for row in chosen for method in methods]
    return [runs[key] for key in asked if key in runs]


def contradictions(chosen: Sequence[Published], runs: Sequence[Run]) -> list[str]:
    """Return what must not be: counterfactuals that fail, and sizes below a proven bound."""
    least = {(r.network, r.image): r.lower_bound for r in runs if r.lower_bound is not None}
    sizes = [(r.network, r.image, r.method, r.size) for r in runs]
    sizes += [(r.network, r.image, "VeriX+", r.verix_plus) for r in chosen]
    sizes += [(r.network, r.image, "FAME", r.fame) for r in chosen if r.fame is not None]
    told = [
        f"{network}, image {image}: {method} has {size} features, fewer than is proven"
        for network, image, method, size in sizes
        if size < least.get((network, image), 0)
    ]
    return told + [
        f"{r.network}, image {r.image}, {r.method}: {r.failing} counterfactuals fail"
        for r in runs
        if r.failing
    ]


def compared(sizes: Iterable[tuple[int, int | None]]) -> str:
    """Return how many sizes are smaller than, equal to and larger than those beside them."""
    pairs = [(ours, other) for ours, other in sizes if other is not None]
    tests: tuple[Callable[[int, int], bool], ...] = (int.__lt__, int.__eq__, int.__gt__)
    return "/".join(str(sum(test(*pair) for pair in pairs)) for test in tests)


def summary(chosen: Sequence[Published], runs: Sequence[Run]) -> tables.Table:
    """Return the sizes of each method on each network beside those published."""
    table = tables.Table(
        "network | method | images | median size | mean size | against VeriX+ | against FAME "
        "| undecided | proven minima | median seconds | slowest",
        words=2,
    )
    for name in dict.fromkeys(row.network for row in chosen):
        rows = {row.image: row for row in chosen if row.network == name}
        seconds = [row.seconds for row in rows.values()]
        table.add(
            *(name, "VeriX+, published", *_sizes([row.verix_plus for row in rows.values()])),
            *("–", compared((row.verix_plus, row.fame) for row in rows.values()), "–", "–"),
            *(f"{median(seconds):.2f}", f"{max(seconds):.2f}"),
        )
        fame = [(row.fame, row.verix_plus) for row in rows.values() if row.fame is not None]
        sizes = _sizes([size for size, _ in fame])
        table.add(name, "FAME, published", *sizes, compared(fame), *"–" * 5)
        for method in dict.fromkeys(run.method for run in runs if run.network == name):
            mine = [run for run in runs if (run.network, run.method) == (name, method)]
            seconds = [run.seconds for run in mine]
            table.add(
                *(name, METHODS[method], *_sizes([run.size for run in mine])),
                compared((run.size, rows[run.image].verix_plus) for run in mine),
                compared((run.size, rows[run.image].fame) for run in mine),
                sum(run.unknown for run in mine),
                sum(run.size == run.lower_bound for run in mine) if method == "minimum" else "–",
                *(f"{median(seconds):.2f}", f"{max(seconds):.2f}"),
            )
    return table


def _sizes(sizes: Sequence[int]) -> tuple[int, str, str]:
    return len(sizes), f"{median(sizes):g}", f"{mean(sizes):.1f}"


def main() -> int:
    """Run what is missing, and print the table; return the exit code."""
    options = parser(__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--journal", type=Path, required=True, help="JSON lines, one for each run")
    options.add_argument("--networks", type=names, default=",".join(PUBLISHED_ORDER))
    options.add_argument("--every", type=int, default=1, help="take every Nth image (%(default)s)")
    options.add_argument(
        "--methods",
        type=names,
        default=",".join(METHODS),
        help="; ".join(f"{name}: {text}" for name, text in METHODS.items()),
    )
    options.add_argument("--limit", type=float, default=20.0, help="seconds (%(default)g)")
    options.add_argument("--tables", action="store_true", help="print the table, and run nothing")
    arguments = parsed(options)
    rows = list(published(arguments.folder / "data" / "published_gtsrb.csv"))
    chosen = [
        row
        for name in arguments.networks
        for row in [row for row in rows if row.network == name][:: arguments.every]
    ]
    asked = chosen, arguments.methods, arguments.limit
    if not arguments.tables:
        measure(arguments.folder, *asked, arguments.journal)
    runs = found_in(*asked, arguments.journal)
    table = summary(chosen, runs)
    wrong = contradictions(chosen, runs)
    print("", *wrong, f"contradictions: {len(wrong)}", sep="\n")
    if arguments.write:
        measured = tables.Measurement(
            commit=", ".join(dict.fromkeys(run.commit for run in runs)),
            date=max(run.date for run in runs),
            machine=tables.machine(),
            versions=", ".join([f"Python {platform.python_version()}", *solver_versions(["auto"])]),
            command=tables.command(sys.argv),
        )
        about = f"Limit {arguments.limit:g} s. {ABOUT}"
        if arguments.cpu_clock:
            about += " Our seconds are CPU time."
        if arguments.every > 1:
            about += f" Every {arguments.every}th image was run."
        tables.put(arguments.write, [measured, about, table])
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
