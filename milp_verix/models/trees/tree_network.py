"""Trees as a loaded model: the ensemble for proofs, the library itself for predictions.

Comparison of trees as they were read with the library that runs them, before a word is said.

The points are where readings go wrong: each lies exactly on a threshold or just beyond it (the
greatest float64 that goes left, and the next one), in one coordinate of an input that the
trees tell apart; the others lie at thresholds, too. A score may differ by the rounding that the
reader has declared, and by ours; a class may not differ where scores decide it.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from milp_verix.base.errors import ModelError, refusing
from milp_verix.base.number_text import counted
from milp_verix.models.loaded_model import LoadedModel, TieRule
from milp_verix.models.trees.readers import Link, ReadTrees, Runner, one_row_each, ranks_of
from verix_encodings.arrays import FloatArray, IntArray, Matrix, relative_error
from verix_encodings.kinds.tree import numbers_in
from verix_encodings.kinds.tree_ensemble import TreeEnsemble
from verix_encodings.network import Network


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class TreeNetwork(LoadedModel):
    """Trees that can be reasoned about (``ir``) and run by their own library (:meth:`evaluate`).

    ``ir`` has the trees as its last node, and mostly as its only one: scores in real arithmetic, of
    which the library computes within the node's ``error``. ``runner`` is the library's model; its
    outputs are ``link(s / divisor)``; a single score of zero is class 1 if ``upper_at_tie``. Scores
    are exact multiples of ``step``, which is 0 where sums are rounded. ``plain`` are the trees
    without missing values, where some numbers stand for these.
    """

    runner: Runner
    link: Link
    divisor: float
    upper_at_tie: bool
    step: float
    library: str
    words: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    plain: "TreeNetwork | None" = None

    @property
    def ensemble(self) -> TreeEnsemble:
        node = self.ir.nodes[-1]
        assert isinstance(node, TreeEnsemble)
        return node

    @property
    def runtime(self) -> dict[str, str]:
        name, _, version = self.library.rpartition(" ")
        return {name: version} if name else {}

    @property
    def tie_rule(self) -> TieRule:
        return TieRule(self.upper_at_tie, self.step)

    @property
    def classifies(self) -> bool:
        """True if the library says that the scores are those of classes."""
        return self.facts.regressor is None

    def outputs_at(self, x: ArrayLike) -> NDArray[np.floating]:
        return np.asarray(self.outputs(self.as_input(x).astype(np.float64))[0])

    def scores_at(self, x: ArrayLike) -> NDArray[np.floating]:
        """Return the sums of the trees as the library computes them."""
        if self.link == "identity":
            return self.outputs_at(x) * self.divisor
        return np.asarray(self._run(self.runner.sums, self.as_input(x).astype(np.float64))[0])

    def outputs(self, rows: FloatArray) -> NDArray[np.floating]:
        """Run the library at ``rows``, (n, d); return (n, m). ``ModelError`` where it fails."""
        return self._run(self.runner.outputs, rows)

    def _run(
        self, way: Callable[[FloatArray], NDArray[np.floating]], rows: FloatArray
    ) -> NDArray[np.floating]:
        text = f"{self.library} cannot run {self.path or self.name}"
        with refusing(text, Exception, kind=ModelError):  # each library has its own exceptions
            return one_row_each(way(rows), rows.shape[0])

    def __repr__(self) -> str:
        trees = self.ensemble
        return (
            f"TreeNetwork({self.name!r}: {counted(self.input_size, 'input')} -> "
            f"{counted(self.output_size, 'score')}, "
            f"{counted(trees.tree_count, 'tree')} with "
            f"{int(np.count_nonzero(trees.feature < 0))} leaves, {self.library})"
        )


_THRESHOLDS = 128
_RANDOM = 64
_SPREAD = 1.0
_BLOCK = 2**17


def tree_network(read: ReadTrees) -> TreeNetwork:
    """Return the model of what a reader found; ``ModelError`` unless trees are the library's."""
    with refusing(f"the trees of {read.library} cannot be read", ValueError, kind=ModelError):
        before = () if read.before is None else read.before.ir.nodes
        node = TreeEnsemble.of(len(before), read.trees, read.base, read.rounding, read.blur)
        network = Network((1, read.inputs), (*before, node))
    content = _content_hash(read, node)
    names = ("path", "runner", "link", "divisor", "upper_at_tie", "facts", "library")
    loaded = TreeNetwork(
        **{name: getattr(read, name) for name in (*names, "columns", "unread", "words")},
        sha256=read.sha256 or content,
        content_sha256=content,
        ir=network,
        input_shape=network.input_shape,
        dtype=np.dtype(np.float64),
        softmax_stripped=read.link == "softmax",
        sigmoid_stripped=read.link == "sigmoid",
        step=0.0 if node.error.any() else exact_step(node),
    )
    require_equal(loaded, read.points)
    return loaded


def exact_step(node: TreeEnsemble) -> float:
    """Return the largest power of two that divides all leaves; 0 where sums may be rounded."""
    numbers = np.concatenate([numbers_in(node.value_of), node.base])
    numbers = numbers[numbers != 0]
    if not numbers.size:
        return 1.0
    mantissa, exponent = np.frexp(numbers)
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    trailing = np.log2((whole & -whole).astype(np.float64)).astype(np.int64)
    step = float(2.0 ** np.min(exponent - 53 + trailing))
    return step if node.magnitude.sum() < step * 2.0**52 else 0.0


def _content_hash(read: ReadTrees, node: TreeEnsemble) -> str:
    """Return a SHA-256 of the trees and of the rule that leads from scores to a prediction."""
    rule = (read.inputs, read.link, read.divisor, read.upper_at_tie, read.facts, read.columns)
    hashed = hashlib.sha256(repr(rule).encode())
    if read.before is not None:
        hashed.update(read.before.content_sha256.encode())
    parts = (node.roots, node.feature, node.threshold, node.left, node.right, node.value_of)
    for part in (*parts, node.base, node.error):
        for block in _blocks(part):
            hashed.update(block.reshape(-1).data)
    return hashed.hexdigest()


def _blocks(part: Matrix) -> Iterator[NDArray[Any]]:
    """Yield ``part`` as dense arrays of the same bits; the rows of a sparse one some at a time."""
    if isinstance(part, np.ndarray):
        yield np.ascontiguousarray(part)
        return
    # as numbers, entries would lose the sign of -0.0
    bits = sp.csr_array((part.data.view(np.int64), part.indices, part.indptr), shape=part.shape)
    step = max(1, _BLOCK // part.shape[1])
    for start in range(0, part.shape[0], step):
        yield bits[start : start + step].toarray()


def require_equal(model: TreeNetwork, points: FloatArray | None = None) -> None:
    """Compare trees with the library at ``points``, or thresholds; ``ModelError`` if apart."""
    node = model.ensemble
    rows = threshold_points(node, model.ir.input_size) if points is None else points
    values = [rows.T]
    for one in model.ir.nodes:
        values.append(one.value(values))
    scores = values[-1].T
    outputs = model.outputs(rows)
    expected = linked(scores / model.divisor, model)
    if outputs.shape != expected.shape:
        raise _differs(
            model, f"the library gives {outputs.shape[1]} outputs, the trees {expected.shape[1]}"
        )
    off = node.error + relative_error(node.tree_count + 4) * node.magnitude
    # a link changes no faster than its argument; float32 holds outputs to 6e-8 of their size
    precision = float(np.finfo(outputs.dtype).eps)
    allowed = off / model.divisor * (1 + 1e-9) + 2 * precision * (1 + np.abs(expected))
    if model.link == "largest":
        outputs = ranks_of(outputs)
    if model.link == "softmax":
        allowed = allowed + off.sum() / model.divisor
    wrong = np.argwhere(~(np.abs(outputs - expected) <= allowed))
    if wrong.size:
        row, score = wrong[0].tolist()
        raise _differs(
            model,
            f"output {score} is {expected[row, score]:.9g} by the trees and "
            f"{outputs[row, score]:.9g} by {model.library}; rounding explains a difference of "
            f"{np.broadcast_to(allowed, expected.shape)[row, score]:.2g}",
        )
    theirs = model.runner.classes(rows)
    if theirs is None:
        return
    ours, sure = classes_of(
        scores, off, upper_at_tie=model.upper_at_tie, exact=not node.error.any()
    )
    apart = np.flatnonzero(sure & (ours != theirs))
    if apart.size:
        row = int(apart[0])
        raise _differs(model, f"the class is {ours[row]} by the trees and {theirs[row]} by predict")


def classes_of(
    scores: FloatArray, off: FloatArray, *, upper_at_tie: bool, exact: bool
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return the class of each row of ``scores``, and whether errors of ``off`` leave it alone."""
    if scores.shape[1] == 1:
        score = scores[:, 0]
        upper = score >= 0 if upper_at_tie else score > 0
        return upper.astype(np.intp), (np.abs(score) > off[0]) | exact
    best = np.argmax(scores, axis=1)
    rows = np.arange(best.size)
    lead = scores[rows, best][:, None] - scores
    near = lead <= off[best][:, None] + off
    near[rows, best] = False
    return best, ~near.any(axis=1) | exact


def linked(scores: FloatArray, model: TreeNetwork) -> FloatArray:
    """Return the outputs that the library makes of ``scores``, shape (n, m), in float64."""
    with np.errstate(over="ignore"):
        if model.link == "sigmoid":
            return np.asarray(1.0 / (1.0 + np.exp(-scores)))
        if model.link == "softmax":
            raised = np.exp(scores - scores.max(axis=1, keepdims=True))
            return np.asarray(raised / raised.sum(axis=1, keepdims=True))
    return scores


def threshold_points(node: TreeEnsemble, width: int) -> FloatArray:
    """Return points at and just beyond thresholds, and points between them, shape (n, width)."""
    generator = np.random.default_rng(0)
    inner = np.flatnonzero(node.feature >= 0)
    finite = inner[np.isfinite(node.threshold[inner])]
    if not finite.size:
        return generator.normal(size=(_RANDOM, width))
    chosen = generator.choice(finite, size=min(_THRESHOLDS, finite.size), replace=False)
    count = 2 * chosen.size + _RANDOM
    rows = np.zeros((count, width))
    by_feature = finite[np.argsort(node.feature[finite], kind="stable")]
    ends = np.searchsorted(node.feature[by_feature], np.arange(width + 1))
    for f in range(width):
        own = by_feature[ends[f] : ends[f + 1]]
        if own.size:
            picked = node.threshold[generator.choice(own, size=count)]
            sides = generator.integers(0, 2, size=count).astype(bool)
            rows[:, f] = np.where(sides, picked, np.nextafter(picked, np.inf))
        else:
            rows[:, f] = _SPREAD * generator.normal(size=count)
    places = np.arange(chosen.size)
    rows[places, node.feature[chosen]] = node.threshold[chosen]
    beyond = np.nextafter(node.threshold[chosen], np.inf)
    rows[chosen.size + places, node.feature[chosen]] = beyond
    return rows


def _differs(model: TreeNetwork, where: str) -> ModelError:
    return ModelError(
        f"{model.name} is not read as {model.library} runs it: {where}. Nothing can be proven "
        "about it; please report this model as an error of milp-verix"
    )
