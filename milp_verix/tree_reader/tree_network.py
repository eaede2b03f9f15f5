"""Trees as a loaded model: the ensemble for proofs, the library itself for predictions."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from milp_verix.errors import ModelError, refusing
from milp_verix.loaded_model import LoadedModel, TieRule
from milp_verix.tree_reader.guard import require_equal
from milp_verix.tree_reader.read_trees import Link, ReadTrees, Runner
from verix_encodings.arrays import FloatArray
from verix_encodings.kinds.tree_ensemble import TreeEnsemble
from verix_encodings.network.network import Network


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
        """The trees."""
        node = self.ir.nodes[-1]
        assert isinstance(node, TreeEnsemble)
        return node

    @property
    def runtime(self) -> dict[str, str]:
        """The library and its version."""
        name, _, version = self.library.rpartition(" ")
        return {name: version} if name else {}

    @property
    def tie_rule(self) -> TieRule:
        """The library's rule for ties."""
        return TieRule(self.upper_at_tie, self.step)

    @property
    def classifies(self) -> bool:
        """True if the library says that the scores are those of classes."""
        return self.facts.regressor is None

    def evaluate(self, x: ArrayLike) -> NDArray[np.floating]:
        """Run the library's own prediction at ``x`` and return its outputs, shape (m,)."""
        return np.asarray(self.outputs(self.as_input(x).astype(np.float64))[0])

    def scores(self, x: ArrayLike) -> NDArray[np.floating]:
        """Return the sums of the trees, those of the library unless it has a link of them."""
        if self.link == "identity":
            return self.evaluate(x) * self.divisor
        return self.ir.evaluate(self.as_input(x))

    def outputs(self, rows: FloatArray) -> NDArray[np.floating]:
        """Run the library at ``rows``, shape (n, d); return its outputs, shape (n, m).

        Raises ``ModelError`` where the library fails.
        """
        told = f"{self.library} cannot run {self.path or self.name}"
        with refusing(told, Exception, kind=ModelError):  # each library has its own exceptions
            return self.runner.outputs(rows)

    def __repr__(self) -> str:
        trees = self.ensemble
        return (
            f"TreeNetwork({self.name!r}: {self.input_size} inputs -> {self.output_size} scores, "
            f"{trees.tree_count} trees with {int(np.count_nonzero(trees.feature < 0))} leaves, "
            f"{self.library})"
        )


def tree_network(read: ReadTrees) -> TreeNetwork:
    """Return the loaded model of what a reader told, compared with its library.

    Raises ``ModelError`` for trees that do not fit together, or that are not the library's.
    """
    with refusing(f"the trees of {read.library} cannot be read", ValueError, kind=ModelError):
        before = () if read.before is None else read.before.ir.nodes
        node = TreeEnsemble.of(len(before), read.trees, read.base, read.rounding, read.blur)
        network = Network((1, read.inputs), (*before, node))
    content = _content_hash(read, node)
    loaded = TreeNetwork(
        path=read.path,
        sha256=read.sha256 or content,
        content_sha256=content,
        ir=network,
        input_shape=network.input_shape,
        dtype=np.dtype(np.float64),
        softmax_stripped=read.link == "softmax",
        sigmoid_stripped=read.link == "sigmoid",
        runner=read.runner,
        link=read.link,
        divisor=read.divisor,
        upper_at_tie=read.upper_at_tie,
        step=0.0 if node.error.any() else exact_step(node),
        facts=read.facts,
        library=read.library,
        columns=read.columns,
        unread=read.unread,
        words=read.words,
    )
    require_equal(loaded, node, read.runner, read.points)
    return loaded


def exact_step(node: TreeEnsemble) -> float:
    """Return the largest power of two that all leaves are multiples of, with exact float64 sums.

    0 where sums may be rounded.
    """
    numbers = np.concatenate([node.value_of.reshape(-1), node.base])
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
        hashed.update(np.ascontiguousarray(part).tobytes())
    return hashed.hexdigest()
