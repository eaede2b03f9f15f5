"""Explanations by VeriX's orders, Anchors and LIME, and what becomes of each.

An explanation is tried on images made of its own pixels and, everywhere else, of another image of
the data set; once whole, and once no farther than ε from the input, where a sound explanation must
survive. Then :func:`milp_verix.audit` judges it: proven, refuted by a counterexample, or undecided.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import milp_verix
from benchmarks.paper.rivals import FINE, Mask, Predict, anchors_mask, lime_mask
from milp_verix import OnnxNetwork
from milp_verix.base.files import write_atomically
from milp_verix.base.image_shape import image_layout

Images = NDArray[np.float32]
COUNTS = (10, 100, 500, 1000)
"""Numbers of overlaid images, as in the paper."""

OURS = ("sensitivity", "random")
METHODS = (*OURS, "anchors", "anchors-fine", "lime", "lime-fine")
_EXPLAIN_SECONDS, _AUDIT_SECONDS = 120.0, 60.0
_ROUNDING = 1e-7
"""Overlays stay inside the ball by more than float32 rounds numbers up to 1."""


@dataclass(frozen=True)
class Run:
    """One explanation of one image, and what became of it.

    ``whole`` and ``within`` count the overlaid images that keep the class before the first that
    does not. ``answer`` is that of the audit; ``certified`` is the size of its sound set, ``open``
    counts features of that which are not decided. ``pixels`` are those of the image.
    """

    network: str
    image: int
    epsilon: float
    method: str
    pixels: int
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
    methods: Sequence[str] = METHODS,
) -> Iterator[Run]:
    """Yield a run for each image and method, from the journal in ``folder`` or computed now.

    ``images`` and ``others``, shape (N, height, width, channels), hold values in [0, 1]; the first
    1000 of ``others`` are overlaid, in turns if there are fewer.
    """
    folder.mkdir(parents=True, exist_ok=True)
    journal = folder / "rivals.jsonl"
    others = np.resize(others, (COUNTS[-1], *others.shape[1:]))
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
    near = np.clip(others, image - radius, image + radius)
    whole = survived(network, image, mask, others)
    within = survived(network, image, mask, near)
    ready = time.process_time()
    found = milp_verix.audit(
        network,
        _input(network, image),
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
        mask.size,
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
            _input(network, image),
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
        answers = [network.evaluate(_input(network, image)) for image in images]
        scores = np.array(answers, dtype=np.float64)
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    return predict


def survived(network: OnnxNetwork, image: Images, mask: Mask, others: Images) -> int:
    """Return how many of ``others``, outside ``mask``, keep the class until the first does not."""
    label = int(np.argmax(network.evaluate(_input(network, image))))
    for count, other in enumerate(others):
        mixed = np.where(mask[..., None], image, other).astype(np.float32)
        if int(np.argmax(network.evaluate(_input(network, mixed)))) != label:
            return count
    return len(others)


def _input(network: OnnxNetwork, image: Images) -> Images:
    """Return an image (height, width, channels) with its axes in the order of the network."""
    layout = image_layout(network.input_shape)
    return np.moveaxis(image, -1, 0) if layout is not None and layout[2] == 0 else image
