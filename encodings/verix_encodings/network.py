"""The network as data: a directed acyclic graph of affine maps and activations.

Value ``v_0`` is the input; value ``v_{k+1}`` is the result of node ``k``; the last value is the
output. A node refers to values by index and only to earlier ones, so the order of the nodes is
a topological order and every algorithm on a network is a loop over its nodes.

Many inputs at once are the columns of a matrix, shape (d, N): plain float64, for searches; no proof
rests on it.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from verix_encodings.arrays import (
    FloatArray,
    IntArray,
    Matrix,
    frozen,
    picked,
    placed,
    relative_error,
    stored,
)
from verix_encodings.bounds.interval import Interval, Late, never
from verix_encodings.kinds.affine import Affine
from verix_encodings.kinds.node import Node
from verix_encodings.work import spend_entries


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A feed-forward network ``f: R^d -> R^m`` in real arithmetic.

    ``input_shape`` is the shape a user's input has (its product is ``d``); all values are flat.
    ``nodes`` are in topological order; ``sizes[k]`` is the size of value ``v_k``. Raises
    ``ValueError`` where a node refers to a later value or the sizes do not fit.
    """

    input_shape: tuple[int, ...]
    nodes: tuple[Node, ...]
    sizes: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        sizes = [prod(self.input_shape)]
        for index, node in enumerate(self.nodes):
            for source in node.sources:
                if not 0 <= source <= index:
                    raise ValueError(f"node {index} reads value {source}, which comes later")
            try:
                sizes.append(node.size(sizes, self.nodes))
            except ValueError as error:
                raise ValueError(f"node {index} {error}") from error
        object.__setattr__(self, "sizes", tuple(sizes))

    @property
    def input_size(self) -> int:
        """Number of input coordinates ``d``."""
        return self.sizes[0]

    @property
    def output_size(self) -> int:
        """Number of outputs ``m``."""
        return self.sizes[-1]

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of neurons of each kind that the network has, such as ReLUs and maxima."""
        found: Counter[str] = Counter()
        for node, size in zip(self.nodes, self.sizes[1:], strict=True):
            if node.plural:
                found[node.plural] += size
        return dict(found)

    @property
    def relu_count(self) -> int:
        """Number of ReLU neurons."""
        return self.counts.get("ReLUs", 0)

    @property
    def enclosed(self) -> frozenset[str]:
        """Names of the functions in the network that a program encloses but does not compute."""
        return frozenset(node.name for node in self.nodes if not node.exact)

    @property
    def stepped(self) -> bool:
        """True if the network is constant between jumps at thresholds of its inputs."""
        return bool(self.nodes) and all(node.stepped for node in self.nodes)

    @property
    def exact(self) -> bool:
        """True if a program can compute the network exactly."""
        return not self.enclosed

    def values(self, x: ArrayLike) -> list[FloatArray]:
        """Evaluate every value of the graph at ``x`` (any shape of ``d`` entries), in float64."""
        flat = np.asarray(x, dtype=np.float64).reshape(-1)
        if flat.size != self.input_size:
            raise ValueError(f"expected {self.input_size} input values, got {flat.size}")
        return batch_values(self, flat)

    def evaluate(self, x: ArrayLike) -> FloatArray:
        """Return ``f(x)``, shape (m,), in float64."""
        return self.values(x)[-1]

    def up_to(self, value: int) -> "Network":
        """Return the network that ends with the value numbered ``value``, at least 1."""
        if not 1 <= value <= len(self.nodes):
            raise ValueError(f"there is no value {value}: a network ends with one of its nodes")
        return Network(self.input_shape, self.nodes[:value])

    def then(
        self, matrix: ArrayLike | Matrix, bias: ArrayLike, error: ArrayLike = 0.0
    ) -> "Network":
        """Return the network ``x ↦ W f(x) + c``, folded into the last node if that is affine.

        ``matrix`` is ``W``, shape (k, m); ``bias`` is ``c``, shape (k,), with errors of ``error``.
        """
        weight = sp.csr_array(matrix) if sp.issparse(matrix) else frozen(matrix)
        shift = frozen(bias)
        off = np.broadcast_to(np.asarray(error, dtype=np.float64), shift.shape)
        last = self.nodes[-1] if self.nodes else None
        joined = None if last is None else last.followed(weight, shift, off)
        if joined is not None:
            return Network(self.input_shape, (*self.nodes[:-1], joined))
        if not isinstance(last, Affine):
            none = np.zeros(shift.size)
            appended = Affine(((len(self.nodes), weight),), shift, (none, off))
            return Network(self.input_shape, (*self.nodes, appended))
        products = [weight @ inner for _, inner in last.terms]
        sizes = [np.asarray(abs(inner).sum(axis=1)) for _, inner in last.terms]
        gamma, way = relative_error(last.bias.size), abs(weight)
        rounding = [
            way @ (r + gamma * size)
            for r, size in zip(last.roundings, [*sizes, np.abs(last.bias)], strict=True)
        ]
        rounding[-1] = rounding[-1] + gamma * np.abs(shift) + off
        terms = tuple(zip(last.sources, products, strict=True))
        folded = Affine(terms, weight @ last.bias + shift, tuple(rounding))
        return Network(self.input_shape, (*self.nodes[:-1], folded))

    def after(self, matrix: Matrix, bias: FloatArray, within: Interval | None = None) -> "Network":
        """Return the network ``u ↦ f(M u + c)``, folded into the nodes that read the input.

        ``matrix`` is ``M``, shape (d, k); ``bias`` is ``c``, shape (d,). If an activation reads the
        input itself, an affine node is put before the others instead. If all ``M u + c`` that count
        are ``within`` a box, what is folded is no lower than there: its rounding hides no sign.
        """
        if not self.affine_first:
            later = (node.renumbered(lambda k: k + 1) for node in self.nodes)
            least = -np.inf if within is None else within.lower
            first = Affine(((0, matrix),), bias, least=least)
            return Network((matrix.shape[1],), (first, *later))
        size = np.asarray(abs(matrix).sum(axis=1))
        found = self._reading(
            matrix.shape[1],
            lambda inner: _product(inner, matrix),
            bias,
            gain=float(np.max(size, initial=0.0)),
            lost=lambda inner: relative_error(matrix.shape[0]) * (abs(inner) @ size),
        )
        if within is None:
            return found
        nodes = [
            replace(new, least=np.maximum(old.least, old.interval(within, [within])[0]))
            if isinstance(new, Affine) and isinstance(old, Affine) and old.sources == (0,)
            else new
            for new, old in zip(found.nodes, self.nodes, strict=True)
        ]
        return Network(found.input_shape, tuple(nodes))

    def among(self, free: IntArray, rest: FloatArray) -> "Network":
        """Return ``u ↦ f(v)``: ``v`` is ``u`` at the places ``free``, and ``rest`` elsewhere.

        ``rest`` has shape (d,), and is zero at the places ``free``. Folded as in :meth:`after`.
        """
        if not self.affine_first:
            shape = self.input_size, free.size
            return self.after(placed(1.0, free, np.arange(free.size), shape), rest)
        return self._reading(
            free.size,
            lambda inner: picked(inner, free),
            rest,
            gain=1.0,
            lost=lambda inner: np.zeros(inner.shape[0]),
        )

    @property
    def affine_first(self) -> bool:
        """True if affine maps alone read the input."""
        return all(isinstance(node, Affine) for node in self.nodes if 0 in node.sources)

    def _reading(
        self,
        size: int,
        product: Callable[[Matrix], Matrix],
        bias: FloatArray,
        *,
        gain: float,
        lost: Callable[[Matrix], FloatArray],
    ) -> "Network":
        """Return the network of ``size`` inputs, with ``product(W)`` for each ``W`` on the input.

        ``bias`` is the input at ``u = 0``; ``gain`` bounds ``max|M u| / max|u|``, and ``lost`` the
        summed rounding in each row of a product.
        """

        def folded(node: Affine) -> Affine:
            if 0 not in node.sources:
                return node
            known = node.roundings
            shift, error = node.bias.copy(), known[-1].copy()
            terms, rounding = [], []
            for (source, inner), r in zip(node.terms, known, strict=False):
                if source != 0:
                    terms.append((source, inner))
                    rounding.append(r)
                    continue
                shift += inner @ bias
                reach = abs(inner) @ np.abs(bias) + np.abs(node.bias)
                error += r * np.max(np.abs(bias), initial=0.0) + relative_error(bias.size) * reach
                terms.append((source, product(inner)))
                rounding.append(r * gain + lost(inner))
            return Affine(tuple(terms), shift, (*rounding, error), least=node.least)

        nodes = [folded(node) if isinstance(node, Affine) else node for node in self.nodes]
        return Network((size,), tuple(nodes))

    def behind_first(self) -> "Network | None":
        """Return ``g`` with ``f(x) = g(v_1)``; None if a later node reads the input itself."""
        if not self.nodes or any(0 in node.sources for node in self.nodes[1:]):
            return None
        later = (node.renumbered(lambda k: k - 1) for node in self.nodes[1:])
        return Network((self.sizes[1],), tuple(later))


def _product(inner: Matrix, matrix: Matrix) -> Matrix:
    """Return ``inner @ matrix``; of a sparse ``matrix`` only the stored entries are multiplied."""
    if isinstance(inner, np.ndarray) and not isinstance(matrix, np.ndarray):
        by_column = matrix.tocsc()
        held = np.flatnonzero(np.diff(by_column.indptr))
        result = np.zeros((inner.shape[0], matrix.shape[1]))
        if held.size:
            read = inner[:, by_column.indices] * by_column.data
            result[:, held] = np.add.reduceat(read, by_column.indptr[held], axis=1)
        return result
    return stored(inner) @ matrix


_MOST_VALUES = 4_000_000
"""Values of a network that are held at once, 32 MB."""


def batch_values(network: Network, inputs: FloatArray) -> list[FloatArray]:
    """Return every value of the graph at the columns of ``inputs``; each shape (size, N)."""
    values = [inputs]
    for node in network.nodes:
        values.append(node.value(values))
    return values


def batch_outputs(network: Network, inputs: FloatArray, late: Late = never) -> FloatArray:
    """Return the outputs at the columns of ``inputs``, shape (m, N).

    They are minus infinity at the columns that are not reached before ``late()``.
    """
    found = np.full((network.output_size, inputs.shape[1]), -np.inf)
    for part in _parts(network, inputs):
        if late():
            break
        found[:, part] = batch_values(network, inputs[:, part])[-1]
    return found


def batch_slopes(
    network: Network, inputs: FloatArray, outputs: IntArray, late: Late = never
) -> FloatArray:
    """Return the gradient of output ``outputs[n]`` at column ``n`` of ``inputs``; shape (d, N).

    It is zero at the columns that are not reached before ``late()``.
    """
    found = np.zeros(inputs.shape)
    for part in _parts(network, inputs):
        if late():
            break
        there = batch_values(network, inputs[:, part])
        found[:, part] = batch_gradients(network, there, outputs[part])
    return found


def _parts(network: Network, inputs: FloatArray) -> list[slice]:
    held = sum(network.sizes) + sum(node.inside for node in network.nodes)
    size = max(_MOST_VALUES // held, 1)
    return [slice(first, first + size) for first in range(0, inputs.shape[1], size)]


def batch_gradients(
    network: Network, values: Sequence[FloatArray], outputs: IntArray
) -> FloatArray:
    """Return the gradient of output ``outputs[n]`` at ``n``, (d, N), from :func:`batch_values`."""
    slopes = [np.zeros_like(value) for value in values]
    slopes[-1][outputs, np.arange(outputs.size)] = 1.0
    for node, slope in zip(network.nodes[::-1], slopes[:0:-1], strict=True):
        spend_entries(slope.size)
        node.add_gradients(slopes, slope, values)
    return slopes[0]
