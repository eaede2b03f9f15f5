"""The network under construction; nonlinear operators append nodes to it.

A score of −∞, which exporters write for what attention may not see, is a number that no network
has, as a symbol holds finite ones. Operators that move elements or add to them carry it on, a
softmax leaves the score out, and any other operator refuses it.
"""

from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np

import verix_encodings as ve
from milp_verix.models.onnx.symbol import COMPUTED, UNDERFLOW, Constant, Shape, Symbol, Tail, Tensor
from verix_encodings import Affine, Network, Node, Relu, Step
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.curves import LOG, SQRT, SQUARE, SmoothFunction
from verix_encodings.convolution import Convolution

MASKED = -(2.0**1000)
"""A score of −∞: half of it is still beyond all numbers of models that do not overflow."""

MOVING = {"Concat", "Expand", "Flatten", "Gather", "Reshape", "Slice", "Split", "Squeeze"}
MOVING |= {"Cast", "Dropout", "Identity", "Transpose", "Unsqueeze"}

GIVEN = frozenset(MOVING | {"Add", "Attention", "Where"})
"""Operators that take constants of −∞."""

READERS = frozenset(MOVING | {"Add", "Softmax", "Where"})
"""Operators that take scores of −∞, to carry them on or to leave them out."""


def masked(x: Symbol) -> BoolArray:
    """Return which elements are −∞, in one dimension."""
    return x.bias < MASKED / 2


def with_masks(x: Tensor | None) -> Tensor | None:
    """Return a constant with finite numbers in place of −∞; other tensors as they are."""
    if isinstance(x, np.ndarray) and x.dtype.kind == "f" and np.isneginf(x).any():
        return np.where(np.isneginf(x), MASKED, x.astype(np.float64))
    return x


# relative errors that bounds of a norm allow for in its weights
_NORM_ROUNDING = 2.0**-48


class Builder:
    """Collects the nodes of a :class:`Network` in topological order."""

    def __init__(self, input_shape: Shape) -> None:
        """Begin a network without nodes; its input is value number 0."""
        self.input = Symbol.of_value(0, input_shape)
        self._nodes: list[Node] = []
        self._affine: dict[object, int] = {}
        self._arguments: dict[object, tuple[SmoothFunction, Symbol]] = {}
        # by number, the tensor, its entries and the weights of a norm
        self.norms: dict[int, tuple[Symbol, IntArray, FloatArray]] = {}
        self.truths: set[object] = set()
        self._number: dict[int, int] | None = None

    def value(self, x: Symbol) -> int:
        """Return the index of a value equal to ``x`` (flat), appending an affine node if needed."""
        value = x.exact_value
        if value is None and (value := self._affine.get(x.token)) is None:
            value = self._affine[x.token] = self.append(_affine(x))
        return value

    def known(self, token: object, value: int | None) -> int | None:
        """Return the index of a symbol's value in the network; None if it was folded away.

        ``token`` is the symbol's, ``value`` its ``exact_value``. The symbol itself
        may be gone: those of large networks do not fit into memory together.
        """
        value = self._affine.get(token, value)
        return value if self._number is None or value is None else self._number.get(value)

    def convolution(
        self, x: Symbol, kernels: Constant, places: IntArray, bias: Constant, shape: Shape
    ) -> Symbol:
        """Append ``C x + bias`` without storing ``C``; return it, in ``shape``.

        ``C`` has the ``kernels`` (G, M, K) at the ``places`` (G, K, P) of ``x``, negative where
        they are padding (:class:`~verix_encodings.convolution.Convolution`); ``bias`` is (G M,).
        """
        read = np.where(places < 0, x.size, places).astype(np.int32)
        matrix = Convolution(kernels.astype(np.float64), read, x.size)
        shifts = np.repeat(bias.astype(np.float64), matrix.shape[0] // bias.size)
        rounding = COMPUTED * abs(matrix).sum(axis=1) + UNDERFLOW, COMPUTED * np.abs(shifts)
        node = Affine(((self.value(x), matrix),), shifts, rounding)
        return Symbol.of_value(self.append(node), shape)

    def relu(self, x: Symbol) -> Symbol:
        """Append ``max(x, 0)`` and return it, in the shape of ``x``."""
        return self.elementwise(x, Relu)

    def absolute(self, x: Symbol) -> Symbol:
        """Append ``|x| = 2 relu(x) − x``, which is known not to be negative, and return it."""
        value = Symbol.of_value(self.value(x), x.shape)
        map_ = _affine(self.relu(value) * 2.0 - value)
        return self.elementwise(value, lambda _: replace(map_, least=0.0))

    def maximum(self, x: Symbol, columns: IntArray) -> Symbol:
        """Append the maxima of elements of ``x``; return them, in the shape of ``columns[..., 0]``.

        ``columns`` holds flat indices into ``x``, or -1 for an element that is not there (padding).
        Raises ``ValueError`` for a maximum of nothing.
        """
        shape, flat = columns.shape[:-1], columns.reshape(prod(columns.shape[:-1]), -1)
        there = flat >= 0
        if not there.any(axis=1).all():
            raise ValueError("it takes the maximum of nothing")
        if flat.shape[1] == 1:
            return x.rearrange(lambda _: columns[..., 0])
        starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))[:-1]])
        source, number = self.value(x), len(self._nodes) + 1
        self._nodes += ve.pairwise_maxima(number, source, x.size, flat[there], starts)
        return Symbol.of_value(len(self._nodes), shape)

    def smooth(self, x: Symbol, function: SmoothFunction) -> Symbol:
        """Append ``function(x)``, elementwise, and return it, in the shape of ``x``."""
        kind = ve.Smooth if function.sizes is None else ve.Curve
        result = self.elementwise(x, lambda source: kind(source, function))
        self._arguments[len(self._nodes)] = self._arguments[result.token] = function, x
        return result

    def is_whole(self, x: Symbol) -> bool:
        """Return whether all elements of ``x`` are whole numbers: sums of steps."""
        steps = all(value and isinstance(self._nodes[value - 1], Step) for value in x.terms)
        parts = (x.bias, *(matrix.data for matrix in x.terms.values()))
        return steps and all(np.array_equal(part, np.round(part)) for part in parts)

    def truth(self, x: Symbol) -> Symbol:
        """Mark ``x`` as a tensor of truth values."""
        self.truths.add(x.token)
        return x

    def argument(self, value: object) -> tuple[SmoothFunction, Symbol] | None:
        """Return a function and its argument, by its value's number or token; None for others."""
        return self._arguments.get(value)

    def step(self, x: Symbol, form: str) -> Symbol:
        """Append a function in steps of ``x``; return it, in the shape of ``x``."""
        return self.elementwise(x, lambda source: Step(source, form))

    def product(
        self,
        x: Symbol,
        y: Symbol,
        first: IntArray,
        second: IntArray,
        limit: FloatArray | None = None,
    ) -> Symbol:
        """Append sums of products of elements; return them, in the shape of ``first[..., 0]``.

        ``first`` and ``second``, of one shape, hold flat indices into ``x`` and ``y``; the last
        axis is summed over. ``limit``, if given, is at least the absolute values of the sums.
        """
        shape = first.shape[:-1]
        p, q = (indices.reshape(prod(shape), -1) for indices in (first, second))
        known = np.zeros(0) if limit is None else np.broadcast_to(limit, shape).reshape(-1)
        node = ve.Product(self.value(x), self.value(y), p, q, known)
        return Symbol.of_value(self.append(node), shape)

    def softmax(self, x: Symbol, axes: tuple[int, ...]) -> Symbol:
        """Append the softmax of ``x`` over ``axes`` together; return it, in the shape of ``x``."""
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        moved = x.indices.transpose(*kept, *axes)
        groups = moved.reshape(-1, prod(x.shape[axis] for axis in axes))
        hidden, back = masked(x)[groups], np.argsort([*kept, *axes])
        if hidden.any():
            return self._masked_softmax(
                x, groups, hidden, lambda index: index.reshape(moved.shape).transpose(back)
            )
        result = Symbol.of_value(self.append(ve.Softmax(self.value(x), groups)), moved.shape)
        return result.rearrange(lambda index: index.transpose(back))

    def _masked_softmax(
        self, x: Symbol, groups: IntArray, hidden: BoolArray, shaped: Callable[[IntArray], IntArray]
    ) -> Symbol:
        """Return the softmax of groups in which ``hidden`` scores are −∞: it is zero there.

        Both have shape (groups, width). Groups with as many scores left are one node; ``shaped``
        gives the result its shape. Raises ``ValueError`` where no score is left.
        """
        seen = ~hidden
        widths = seen.sum(axis=1)
        if not widths.all():
            raise ValueError("a mask hides all scores of a softmax, which is no number then")
        left = x.rearrange(lambda index: index.reshape(-1)[groups[seen]])
        place = np.cumsum(seen).reshape(seen.shape) - 1
        chosen = np.where(seen & (widths == 1)[:, None], 1, 0)
        parts, size = [Symbol.of(np.array([0.0, 1.0]))], 2
        for width in np.unique(widths[widths > 1]).tolist():
            own = seen & (widths == width)[:, None]
            node = ve.Softmax(self.value(left), place[own].reshape(-1, width))
            chosen[own] = size + np.arange(node.entries.size)
            parts.append(Symbol.of_value(self.append(node), (node.entries.size,)))
            size += node.entries.size
        return Symbol.join(parts, lambda indices: shaped(np.concatenate(indices)[chosen]))

    def elementwise(self, x: Symbol, kind: Callable[[int], Node]) -> Symbol:
        """Append the node that ``kind`` makes of the number of ``x``, in the shape of ``x``."""
        return Symbol.of_value(self.append(kind(self.value(x))), x.shape)

    def root(self, x: Symbol) -> Symbol:
        """Return ``√x``: a norm, where ``x`` is a multiple of a sum of squares, plus more."""
        norm = self._norm(x)
        if norm is None:
            return self.smooth(x, SQRT)
        argument, entries, weight = norm
        node = ve.Norm(self.value(argument), entries, weight, x.bias)
        result = Symbol.of_value(self.append(node), x.shape)
        self.norms[len(self._nodes)] = argument, entries, weight
        return result

    def _norm(self, x: Symbol) -> tuple[Symbol, IntArray, FloatArray] | None:
        if len(x.terms) != 1 or np.any(x.bias < 0):
            return None
        ((value, matrix),) = x.terms.items()
        sizes = np.asarray(abs(matrix).sum(axis=1))
        rounded = x.rounding[value] > _NORM_ROUNDING * sizes
        if np.any(rounded) or np.any(x.bias_rounding > _NORM_ROUNDING * x.bias + 2.0**-800):
            return None
        squared = self.argument(value)
        if squared is None or squared[0] is not SQUARE or not x.size:
            return None
        width, left = divmod(matrix.nnz, x.size)
        starts = np.arange(x.size + 1) * width
        if left or not width or not np.array_equal(matrix.indptr, starts):
            return None
        weights = matrix.data.reshape(x.size, width)
        if np.any(weights <= 0) or np.any(weights != weights[:, :1]):
            return None
        return squared[1], matrix.indices.reshape(x.size, width), weights[:, 0]

    def normalised(self, x: Symbol, tail: Tail) -> Symbol:
        """Return the Softmax or LogSoftmax ``tail`` of ``x`` as nodes."""
        result = self.softmax(replace(x, tail=None), tail.axes or tuple(range(x.ndim)))
        return self.smooth(result, LOG) if tail.operator == "LogSoftmax" else result

    def network(self, output: Symbol) -> Network:
        """Return the network that computes ``output``: its last node is affine, always.

        Nodes that the output does not depend on, such as parts of a function that was recognised,
        are left out.
        """
        self._affine.setdefault(output.token, len(self._nodes) + 1)
        nodes = [*self._nodes, _affine(output)]
        needed = {len(nodes)}
        for value in range(len(nodes), 0, -1):
            if value in needed:
                needed.update(nodes[value - 1].sources)
        kept = sorted({0, *needed})
        self._number = {value: number for number, value in enumerate(kept)}
        if len(kept) <= len(nodes):
            nodes = [nodes[value - 1].renumbered(self._number.__getitem__) for value in kept[1:]]
        return Network(self.input.shape, tuple(nodes))

    def append(self, node: Node) -> int:
        """Append ``node``, which reads earlier values; return the number of its value."""
        self._nodes.append(node)
        return len(self._nodes)


def _affine(x: Symbol) -> Affine:
    rounding = (*(x.rounding[value] for value in x.terms), x.bias_rounding)
    return Affine(tuple(x.terms.items()), x.bias, rounding)
