"""Sizes of explanations as a signal: of wrong predictions, and of inputs of another distribution.

Positive scores are those of wrongly predicted or strange inputs, negative ones those of inputs
predicted right; every score is to be higher for the former. The baselines are those that need no
explanation: the maximum softmax (Hendrycks and Gimpel, ICLR 2017) and the margin of the logits.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.auroc import auroc
from benchmarks.paper.methods import ours
from benchmarks.paper.scales import Question
from benchmarks.paper.workplace import Workplace
from benchmarks.tables import Table

RIGHT = "predicted right"
SCORES = ("size", "1 − maximum softmax", "negative margin")


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Inputs of one kind: its name, and their scores by the name of the score, shape (N,)."""

    name: str
    scores: dict[str, NDArray[np.float64]]


def kinds_of(place: Workplace, question: Question) -> list[Kind]:
    """Explain inputs of each kind; those predicted right come first."""
    images = _images(place, question)
    stacked = np.concatenate(list(images.values()))
    name = f"{question.network}-{question.epsilon:g}-signal"
    table = place.study(name, question, images=stacked, indices=range(len(stacked)), results=False)
    scores = np.stack([table["size"].to_numpy(float), *_doubts(place, question.network, stacked)])
    ends = np.cumsum([len(part) for part in images.values()])
    parts = np.split(scores, ends[:-1], axis=1)
    return [
        Kind(kind, dict(zip(SCORES, part, strict=True)))
        for kind, part in zip(images, parts, strict=True)
    ]


def _images(place: Workplace, question: Question) -> dict[str, NDArray[np.float32]]:
    data, count = place.data_of(question.network), question.images
    images = data.test.images
    right = place.outputs(question.network, images).argmax(axis=1) == data.test.targets
    usual = images[right][:count]
    noise = np.random.default_rng(0).random(usual.shape, dtype=np.float32)
    found = {
        RIGHT: usual,
        "predicted wrong": images[~right][:count],
        "transposed": usual.transpose(0, 1, 3, 2).copy(),
        "inverted": 1 - usual,
        "uniform noise": noise,
    }
    if data.name == "gtsrb":
        digits = place.data("mnist").test.images[:count]
        framed = np.pad(digits, ((0, 0), (0, 0), (2, 2), (2, 2)))
        found["digits of MNIST"] = np.repeat(framed, 3, axis=1)
    return {kind: part for kind, part in found.items() if len(part)}


def _doubts(
    place: Workplace, network: str, images: NDArray[np.float32]
) -> list[NDArray[np.float64]]:
    logits = place.outputs(network, images).astype(np.float64)
    second, first = np.sort(logits, axis=1)[:, -2:].T
    shares = np.exp(logits - first[:, None])
    return [1 - 1 / shares.sum(axis=1), second - first]


def signal_table(place: Workplace) -> list[Table]:
    """Return the area under the curve of each score, for each kind of input."""
    head = " | ".join(f"AUROC of {score}" for score in SCORES)
    table = Table(
        f"network | against inputs predicted right | images | mean size | {head}",
        words=2,
        quiet=True,
    )
    for question in place.scale.signals:
        usual, *others = kinds_of(place, question)
        sizes = usual.scores[SCORES[0]]
        blank = ["–"] * len(SCORES)
        table.add(question.network, "themselves", len(sizes), f"{sizes.mean():.1f}", *blank)
        for kind in others:
            areas = [f"{auroc(kind.scores[s], usual.scores[s]):.3f}" for s in SCORES]
            sizes = kind.scores[SCORES[0]]
            table.add(question.network, kind.name, len(sizes), f"{sizes.mean():.1f}", *areas)
    return [table]


def adversarial_table(place: Workplace) -> list[Table]:
    """Return sizes of networks trained as usual and adversarially, on the same images."""
    table = Table("network | ε | accuracy | images | mean size | median size", words=2, quiet=True)
    for question, pair in zip(place.scale.signals, place.scale.adversarial, strict=True):
        for network in pair:
            asked = Question(network, question.epsilon, question.images)
            row = ours(place, asked, "complete")
            score = f"{100 * place.score(network):.2f} %"
            told = f"{row.size:.1f}", f"{row.median_size:g}"
            table.add(network, f"{asked.epsilon:g}", score, row.images, *told)
    return [table]
