"""VeriX's orders, Anchors and LIME on the same images: size, time, and who keeps the prediction.

    python -m benchmarks.paper.table_rivals ../shared --out runs --write rivals

The folder has ``models/mnist-10x2.onnx``, ``models/gtsrb-10x2.onnx`` and, in ``data``,
``mnist_test.npz`` and ``gtsrb10.npz``. Each run is a line of ``runs/rivals.jsonl``, and runs in it
are not repeated: a table that was cut short goes on from there.
"""

import argparse
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import mean

import numpy as np
from numpy.typing import NDArray

import milp_verix
from benchmarks import tables
from benchmarks.paper.rival_runs import COUNTS, METHODS, OURS, Images, Run, run_rivals
from benchmarks.paper.workplace import Workplace

NAMES = {
    "sensitivity": "ours, order sensitivity",
    "random": "ours, order random",
    "anchors": "Anchors",
    "anchors-fine": "Anchors, kernel 1, other images",
    "lime": "LIME",
    "lime-fine": "LIME, kernel 1",
}
QUOTED = {
    ("mnist-10x2", 0.05, "sensitivity"): "180.6, 174.77 s",
    ("mnist-10x2", 0.05, "random"): "294.2, 157.47 s",
    ("mnist-10x2", 0.05, "anchors"): "494.9, 13.46 s",
}
"""Mean size and time in the paper's comparison with Anchors, on its own images and machine."""

ABOUT = (
    "Sizes are pixels, seconds processor time of an explanation; means over the images. *All "
    "pixels*: the share of explanations that are the whole image, sound by themselves. *Whole*: "
    "the share of explanations that keep the class on 10/100/500/1000 images made of their pixels "
    "and, elsewhere, of another image; *within ε*: the same, no farther from the input than ε.",
    "*Proven*, *refuted*, *open* are shares by the audit, *too large* is the mean number of pixels "
    "that proven explanations can do without, *missing* that of pixels that the audit adds to "
    "refuted ones until they are proven. *Paper* quotes VeriX's (its own images and machine).",
    "Anchors and LIME are the authors' packages with their defaults, which find one to four "
    "superpixels in such small images. Rows *kernel 1* have a finer segmentation, and Anchors "
    "hides superpixels behind other images there.",
)


def rivals_table(place: Workplace) -> list[object]:
    """Return the table for the networks whose checks are complete, and a text that explains it.

    Rivals that are not installed are left out, and the text says so.
    """
    packages = {"anchors": "anchor", "lime": "lime"}
    methods = [name for name in METHODS if find_spec(packages.get(name.split("-")[0], "numpy"))]
    runs: list[Run] = []
    for question in place.scale.complete:
        data = place.data_of(question.network)
        images = data.test.images.transpose(0, 2, 3, 1)
        explained, left = images[: question.images], images[question.images :]
        others = left if data.train is None else data.train.images.transpose(0, 2, 3, 1)
        runs += run_rivals(
            place.network(question.network),
            explained,
            others,
            question.epsilon,
            place.out / "journals",
            name=question.network,
            methods=methods,
        )
    missing = "" if len(methods) == len(METHODS) else " Not installed here: `.[rivals]`."
    return ["\n\n".join(ABOUT) + missing, table(runs, quiet=True)]


def table(runs: Iterable[Run], *, quiet: bool = False) -> tables.Table:
    """Return a row for each network and method."""
    made = tables.Table(
        "network | ε | explanation | images | size | all pixels | seconds | whole | within ε | "
        "proven | refuted | open | too large | missing | paper",
        words=3,
        quiet=quiet,
    )
    grouped: dict[tuple[str, float, str], list[Run]] = {}
    for run in runs:
        grouped.setdefault((run.network, run.epsilon, run.method), []).append(run)
    for (network, epsilon, method), group in grouped.items():
        quoted = QUOTED.get((network, epsilon, method), "–")
        made.add(network, f"{epsilon:g}", NAMES[method], *_cells(group), quoted)
    return made


def _cells(runs: list[Run]) -> list[str]:
    proven = [run for run in runs if run.answer == "holds"]
    refuted = [run for run in runs if run.answer == "violated"]
    tried = [run for run in proven if run.method not in OURS]
    completed = [run.certified - run.size for run in refuted if run.method not in OURS]
    return [
        str(len(runs)),
        f"{mean(run.size for run in runs):.1f}",
        _percent(sum(run.size == run.pixels for run in runs), len(runs)),
        f"{mean(run.seconds for run in runs):.2f}",
        _shares([run.whole for run in runs]),
        _shares([run.within for run in runs]),
        _percent(len(proven), len(runs)),
        _percent(len(refuted), len(runs)),
        _percent(len(runs) - len(proven) - len(refuted), len(runs)),
        f"{mean(run.size - run.certified for run in tried):.1f}" if tried else "–",
        f"{mean(completed):.1f}" if completed else "–",
    ]


def _shares(counts: list[int]) -> str:
    shares = [_percent(sum(count >= most for count in counts), len(counts)) for most in COUNTS]
    return "/".join(share.removesuffix(" %") for share in shares) + " %"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"


def cases(shared: Path) -> Iterator[tuple[str, tuple[float, ...], Images, Images]]:
    """Yield network, radii (that of the paper first), images to explain, images to overlay."""
    with np.load(shared / "data" / "mnist_test.npz") as data:
        digits = data["images"][..., None]
    yield "mnist-10x2", (0.05, 0.1), _scaled(digits[:1000]), _scaled(digits[1000:2000])
    with np.load(shared / "data" / "gtsrb10.npz") as data:
        signs, others = data["test_images"], data["train_images"]
    chosen = np.random.default_rng(0).permutation(len(others))[: COUNTS[-1]]
    yield "gtsrb-10x2", (0.005, 0.02), _scaled(signs), _scaled(others[chosen])


def _scaled(images: NDArray[np.uint8]) -> Images:
    return images.astype(np.float32) / np.float32(255)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="VeriX's orders, Anchors and LIME, side by side.")
    parser.add_argument("shared", type=Path, help="the folder of networks and images")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the journal")
    parser.add_argument("--images", type=int, default=50, help="images of each network")
    parser.add_argument("--beyond", action="store_true", help="a larger radius, too")
    parser.add_argument("--methods", default=",".join(METHODS), help="separated by commas")
    tables.add_write(parser)
    given = parser.parse_args()
    found: list[Run] = []
    for name, radii, images, others in cases(given.shared):
        network = milp_verix.load_network(given.shared / "models" / f"{name}.onnx")
        for epsilon in radii if given.beyond else radii[:1]:
            runs = run_rivals(
                network,
                images[: given.images],
                others,
                epsilon,
                given.out,
                name=name,
                methods=given.methods.split(","),
            )
            for run in runs:
                print(run.network, epsilon, run.image, run.method, run.answer, flush=True)
                found.append(run)
    made = table(found)
    if given.write:
        versions = [f"{package} {version(package)}" for package in ("lime", "anchor-exp")]
        tables.write(given.write, [*ABOUT, made], versions)


if __name__ == "__main__":
    main()
