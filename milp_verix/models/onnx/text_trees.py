"""Trees behind a vectorizer of text, as trees of how often some words stand in a message.

Without a norm, the number ``z = idf c`` of a word depends on its own count alone: its conditions
are asked at each whole number, and stand between these. Behind a norm, the trees read the ``z`` of
all words, which a network computes; :class:`.PipelineRunner` runs the pipeline itself on messages.
A word that is not in the message has ``z = 0``, which XGBoost takes for a missing value where the
matrix is sparse. The least ``z`` of a word that is there is known, and a condition below it is put
halfway: no bound is so wide that it mistakes one for the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.models.onnx.onnx_network import load_network
from milp_verix.models.onnx.text_model import COMPARED, TextPipeline, weighed_model
from milp_verix.models.trees.behind_table import PipelineRunner, Steps, goes_left
from milp_verix.models.trees.branching import Branching, Sides, Words, as_thresholds, plain_sides
from milp_verix.models.trees.readers import reader_of
from milp_verix.models.trees.tree_network import TreeNetwork, tree_network
from verix_encodings.arrays import FloatArray, IntArray

_BLUR = 1e-11
"""The distance between numbers ``z`` of scikit-learn and ours, of messages of 10,000 words."""
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of counts of ``words``."""

    words: tuple[str, ...]

    def table(self, rows: FloatArray) -> list[str]:
        """Return a message for each row, in which each word stands as often as the row says."""
        counts = np.asarray(rows).astype(np.intp)
        return [" ".join(np.repeat(self.words, row)) for row in counts]


def text_trees(parts: TextPipeline, words: Sequence[str], most: IntArray) -> TreeNetwork:
    """Return the trees at the end of a text pipeline, of the counts of ``words``.

    Each of these stands ``most`` times at most. The trees are compared with the pipeline for
    messages of some of the words. Raises as the reader of the trees does, and ``ModelError`` where
    scores differ.
    """
    reader = reader_of(parts.estimator)
    assert reader is not None
    inner = reader(parts.estimator)
    vocabulary = parts.vectorizer.vocabulary_
    if inner.inputs != len(vocabulary):
        raise InputError(f"the trees take {inner.inputs} numbers, not the {len(vocabulary)} words")
    before = Steps(tuple(step for _, step in parts.pipeline.steps[:-1]))
    numbers = before([words[0]])
    if numbers.dtype.itemsize < 8 and (parts.norm or np.any(parts.idf != 1.0)):
        raise InputError("the pipeline weighs its words in float32: fit it with dtype=np.float64")
    missing = inner.sparse_zeros_missing and hasattr(numbers, "toarray")
    place = {vocabulary[word]: number for number, word in enumerate(words)}
    idf = parts.idf[[vocabulary[word] for word in words]]
    pulled = _Pulled(place, idf, most, parts.norm, missing)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, most + 1, (COMPARED, most.size)).astype(np.float64)
    rows[0], rows[1] = most, 0
    normed = parts.norm is not None
    read = replace(
        inner,
        trees=tuple(as_thresholds(pulled.tree(tree)) for tree in inner.stored),
        stored=(),
        inputs=len(words),
        runner=PipelineRunner(Messages(tuple(words)), before, inner.runner, parts.pipeline),
        columns=tuple(words),
        words={},
        points=rows,
        before=load_network(weighed_model(parts, words)) if normed else None,
        blur=_BLUR if normed else 0.0,
    )
    return tree_network(read)


@dataclass(frozen=True, slots=True, eq=False)
class _Pulled:
    """Conditions on the ``z`` of words as conditions on counts, or on those ``z`` that can be.

    ``place`` is the number of a word by its column of the vectorizer.
    """

    place: dict[int, int]
    idf: FloatArray
    most: IntArray
    norm: str | None
    missing: bool

    def tree(self, tree: Branching) -> Branching:
        """Return the tree with these conditions."""
        feature = np.array(tree.feature)
        sides: dict[int, Sides | Words] = {}
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            number = self.place.get(int(tree.feature[node]))
            feature[node] = 0 if number is None else number
            sides[node] = self._sides(tree, node, number)
        return replace(tree, feature=feature, sides=sides)

    def _sides(self, tree: Branching, node: int, number: int | None) -> Sides:
        old, threshold = tree.sides.get(node), float(tree.threshold[node])
        assert not isinstance(old, Words)
        counts = np.arange(1 if number is None else self.most[number] + 1)
        z = counts * (1.0 if number is None else self.idf[number])
        left = goes_left(z, threshold, old)
        if self.missing:
            left = np.append(tree.missing_left[node], left[1:])
        if number is None or self.norm is None:
            return Sides(counts[:-1] + 0.5, left)
        others = self.idf * self.most
        others[number] = self.idf[number]
        least = others[number] / np.linalg.norm(others, ord={"l1": 1, "l2": 2}[self.norm])
        there = old or plain_sides(threshold)
        first = int(np.searchsorted(there.ends, least * (1 - _CLOSE)))
        ends = np.concatenate([[least / 2], there.ends[first:]])
        return Sides(ends, np.concatenate([left[:1], there.left[first:]]))
