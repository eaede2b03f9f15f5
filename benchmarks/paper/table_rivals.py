"""VeriX's orders, Anchors and LIME on the same images: size, time, and who keeps the prediction.

    python -m benchmarks.paper.table_rivals ../shared --out runs --images 50 --write paper-rivals

The folder has ``models/mnist-10x2.onnx``, ``models/gtsrb-10x2.onnx`` and, in ``data``,
``mnist_test.npz`` and ``gtsrb10.npz``. Each run is a line of ``runs/rivals.jsonl``, and runs in it
are not repeated: a table that was cut short goes on from there.

An explanation is tried on images made of its own pixels and, everywhere else, of another image of
the data set; once whole, and once no farther than ε from the input, where a sound explanation must
survive. Then :func:`milp_verix.audit` judges it: proven, refuted by a counterexample, or undecided.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

import milp_verix
from benchmarks import tables
from benchmarks.paper.rivals import FINE, Mask, Predict, anchors_mask, lime_mask
from milp_verix import OnnxNetwork
from milp_verix.atomic_write import write_atomically

Images = NDArray[np.float32]
COUNTS = (10, 100, 500, 1000)
"""Numbers of overlaid images, as in the paper."""
_EXPLAIN_SECONDS, _AUDIT_SECONDS = 120.0, 60.0
_ROUNDING = 1e-7
"""Overlays stay inside the ball by more than float32 rounds numbers up to 1."""

METHODS = {
    "sensitivity": "ours, order sensitivity",
    "random": "ours, order random",
    "anchors": "Anchors",
    "anchors-fine": "Anchors, kernel 1, other images",
    "lime": "LIME",
    "lime-fine": "LIME, kernel 1",
}
OURS = ("sensitivity", "random")
QUOTED = {
    ("mnist-10x2", 0.05, "sensitivity"): "180.6, 174.77 s",
    ("mnist-10x2", 0.05, "random"): "294.2, 157.47 s",
    ("mnist-10x2", 0.05, "anchors"): "494.9, 13.46 s",
}
"""Mean size and time in Table 1 of the paper, on its own network, images and machine."""

ABOUT = (
    "Sizes are pixels, seconds processor time of an explanation; means over the images. *Whole*: "
    "the share of explanations that keep the class on 10/100/500/1000 images made of their pixels "
    "and, elsewhere, of another image; *within ε*: the same, no farther from the input than ε. "
    "*Proven*, *refuted*, *open* are shares by the audit, *too large* is the mean number of pixels "
    "that proven explanations can do without, *missing* that of pixels that the audit adds to "
    "refuted ones until they are proven. *Paper* quotes VeriX's (another network and machine). "
    "Anchors and LIME are the authors' packages with their defaults; these find one to four "
    "superpixels in such small images, so that rows *kernel 1* have a finer segmentation, and "
    "Anchors hides superpixels behind other images there."
)


@dataclass(frozen=True)
class Run:
    """One explanation of one image, and what became of it.

    ``whole`` and ``within`` count the overlaid images that keep the class before the first that
    does not. ``answer`` is that of the audit; ``certified`` is the size of its sound set, ``open``
    counts features of that which are not decided.
    """

    network: str
    image: int
    epsilon: float
    method: str
    features: list[int]
    seconds: float
    whole: int
    within: int
    answer: str
    certified: int
    open: int
    audit_seconds: float

    @property
    def size(self) -> int:
        """Number of pixels in the explanation."""
        return len(self.features)


def run_rivals(
    network: OnnxNetwork,
    images: Images,
    others: Images,
    epsilon: float,
    folder: Path,
    *,
    name: str,
    methods: Sequence[str] = tuple(METHODS),
) -> Iterator[Run]:
    """Yield a run for each image and method, from the journal in ``folder`` or computed now.

    ``images`` and ``others``, shape (N, height, width, channels), hold values in [0, 1]; of
    ``others``, the images that are overlaid, at least 1000.
    """
    folder.mkdir(parents=True, exist_ok=True)
    journal = folder / "rivals.jsonl"
    known = {_key(run): run for run in read(journal)}
    for index, image in enumerate(images):
        for method in methods:
            run = known.get((name, index, epsilon, method))
            if run is None:
                run = _run(network, image, others, epsilon, (name, index, method))
                with journal.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(asdict(run)) + "\n")
            yield run


def read(journal: Path) -> list[Run]:
    """Return the runs in a journal; a line that a dying process left unfinished is cut off."""
    if not journal.exists():
        return []
    text = journal.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        write_atomically(journal, whole)
    return [Run(**json.loads(line)) for line in whole.splitlines()]


def _key(run: Run) -> tuple[str, int, float, str]:
    return run.network, run.image, run.epsilon, run.method


def _run(
    network: OnnxNetwork,
    image: Images,
    others: Images,
    epsilon: float,
    names: tuple[str, int, str],
) -> Run:
    name, index, method = names
    started = time.process_time()
    features = _explained(network, image, others, epsilon, method, seed=index)
    explained = time.process_time()
    mask = np.zeros(image.shape[:2], dtype=bool)
    mask.reshape(-1)[features] = True
    radius = epsilon - _ROUNDING
    near = np.clip(others[: COUNTS[-1]], image - radius, image + radius)
    whole = survived(network, image, mask, others[: COUNTS[-1]])
    within = survived(network, image, mask, near)
    ready = time.process_time()
    found = milp_verix.audit(
        network,
        image,
        mask,
        epsilon=epsilon,
        features="pixels",
        sound_only=method in OURS,
        time_limit=_AUDIT_SECONDS,
    )
    seconds = explained - started, time.process_time() - ready
    return Run(
        name,
        index,
        epsilon,
        method,
        features,
        round(seconds[0], 2),
        whole,
        within,
        found.answer.value,
        len(found.sound_set),
        len(found.unknown),
        round(seconds[1], 2),
    )


def _explained(
    network: OnnxNetwork, image: Images, others: Images, epsilon: float, method: str, *, seed: int
) -> list[int]:
    """Return the pixels of an explanation by their numbers, row by row."""
    if method in OURS:
        explanation = milp_verix.explain(
            network,
            image,
            epsilon=epsilon,
            features="pixels",
            order=method,
            seed=seed,
            time_limit=_EXPLAIN_SECONDS,
        )
        return list(explanation.explanation)
    rivals: dict[str, Callable[..., Mask]] = {
        "anchors": anchors_mask,
        "anchors-fine": partial(anchors_mask, kernel=FINE, others=others),
        "lime": lime_mask,
        "lime-fine": partial(lime_mask, kernel=FINE),
    }
    mask = rivals[method](probabilities(network), image, seed=seed)
    return [int(pixel) for pixel in np.flatnonzero(mask)]


def probabilities(network: OnnxNetwork) -> Predict:
    """Return the softmax of the network's scores, for images as LIME and Anchors give them."""

    def predict(images: NDArray[Any]) -> NDArray[Any]:
        scores = np.array([network.evaluate(image) for image in images], dtype=np.float64)
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    return predict


def survived(network: OnnxNetwork, image: Images, mask: Mask, others: Images) -> int:
    """Return how many of ``others``, outside ``mask``, keep the class until the first does not."""
    label = int(np.argmax(network.evaluate(image)))
    for count, other in enumerate(others):
        mixed = np.where(mask[..., None], image, other).astype(np.float32)
        if int(np.argmax(network.evaluate(mixed))) != label:
            return count
    return len(others)


def table(runs: Iterable[Run], *, quiet: bool = False) -> tables.Table:
    """Return a row for each network and method."""
    made = tables.Table(
        "network | ε | explanation | images | size | seconds | whole | within ε | "
        "proven | refuted | open | too large | missing | paper",
        words=3,
        quiet=quiet,
    )
    grouped: dict[tuple[str, float, str], list[Run]] = {}
    for run in runs:
        grouped.setdefault((run.network, run.epsilon, run.method), []).append(run)
    for (network, epsilon, method), group in grouped.items():
        quoted = QUOTED.get((network, epsilon, method), "–")
        made.add(network, f"{epsilon:g}", METHODS[method], *_cells(group), quoted)
    return made


def _cells(runs: list[Run]) -> list[str]:
    proven = [run for run in runs if run.answer == "holds"]
    refuted = [run for run in runs if run.answer == "violated"]
    tried = [run for run in proven if run.method not in OURS]
    completed = [run.certified - run.size for run in refuted if run.method not in OURS]
    return [
        str(len(runs)),
        f"{mean(run.size for run in runs):.1f}",
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
    parser.add_argument("--methods", default=",".join(METHODS), help="separated by commas")
    tables.add_write(parser)
    given = parser.parse_args()
    found: list[Run] = []
    for name, radii, images, others in cases(given.shared):
        network = milp_verix.load_network(given.shared / "models" / f"{name}.onnx")
        for epsilon in radii:
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
        tables.write(given.write, [ABOUT, made], versions)


if __name__ == "__main__":
    main()
