"""The network under construction; nonlinear operators append nodes to it."""

from collections.abc import Callable
from math import prod

import numpy as np

from milp_verix.onnx_reader.symbol import Shape, Symbol, exact_value, rearrange, value_symbol
from verix_encodings import Affine, Network, Node, Relu, Smooth
from verix_encodings.arrays import IntArray
from verix_encodings.bounds.smooth_functions import SmoothFunction
from verix_encodings.network.maxima import pairwise_maxima


class Builder:
    """Collects the nodes of a :class:`Network` in topological order."""

    def __init__(self, input_shape: Shape) -> None:
        """Begin a network without nodes; its input is value number 0."""
        self.input = value_symbol(0, input_shape)
        self._nodes: list[Node] = []
        self._affine: list[tuple[Symbol, int]] = []

    def value(self, x: Symbol) -> int:
        """Return the index of a value equal to ``x`` (flat), appending an affine node if needed."""
        value = exact_value(x)
        if value is None:
            value = self.append(_affine(x))
            self._affine.append((x, value))
        return value

    def known(self, x: Symbol) -> int | None:
        """Return the index of the value that equals ``x``; None if ``x`` was folded away."""
        for known, value in self._affine:
            # a tensor that is only seen in another shape goes on with the very same terms
            if known.terms is x.terms and known.bias is x.bias:
                return value
        return exact_value(x)

    def relu(self, x: Symbol) -> Symbol:
        """Append ``max(x, 0)`` and return it, in the shape of ``x``."""
        return self.elementwise(x, Relu)

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
            return rearrange(x, lambda _: columns[..., 0])
        starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))[:-1]])
        source, number = self.value(x), len(self._nodes) + 1
        self._nodes += pairwise_maxima(number, source, x.size, flat[there], starts)
        return value_symbol(len(self._nodes), shape)

    def smooth(self, x: Symbol, function: SmoothFunction) -> Symbol:
        """Append ``function(x)``, elementwise, and return it, in the shape of ``x``."""
        return self.elementwise(x, lambda source: Smooth(source, function))

    def elementwise(self, x: Symbol, kind: Callable[[int], Node]) -> Symbol:
        """Append a node that works entry by entry on ``x``; return it, in the shape of ``x``.

        ``kind`` makes the node from the number of the value that it reads.
        """
        return value_symbol(self.append(kind(self.value(x))), x.shape)

    def network(self, output: Symbol) -> Network:
        """Return the network that computes ``output``: its last node is affine, always."""
        self._affine.append((output, len(self._nodes) + 1))
        return Network(self.input.shape, (*self._nodes, _affine(output)))

    def append(self, node: Node) -> int:
        """Append ``node``, which reads earlier values; return the number of its value."""
        self._nodes.append(node)
        return len(self._nodes)


def _affine(x: Symbol) -> Affine:
    rounding = (*(x.rounding[value] for value in x.terms), x.bias_rounding)
    return Affine(tuple(x.terms.items()), x.bias, rounding)
