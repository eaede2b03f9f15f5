"""The nodes of a network: affine maps and activations.

A node refers to the values that it reads by their numbers, see :mod:`verix_encodings.network`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import (
    FloatArray,
    IntArray,
    Matrix,
    compact,
    frozen,
    frozen_indices,
    relative_error,
)
from verix_encodings.bounds.smooth_functions import SmoothFunction
from verix_encodings.work import spend_entries, spend_product


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """``z = Σ_k M_k v_{s_k} + b``: an affine map of one or several earlier values.

    ``terms`` holds the pairs ``(s_k, M_k)`` with ``M_k`` of shape (size of z, size of v_{s_k});
    ``bias`` is ``b``, shape (size of z,). No terms at all is a constant.

    Coefficients that were computed, not stored, are rounded. ``rounding`` holds a vector ``r_k``
    for each term and ``e`` last, all of the shape of ``b``: row ``i`` of the true map is within
    ``Σ_k r_k,i max|v_{s_k}| + e_i`` of the one here. It is empty where nothing was rounded.
    """

    terms: tuple[tuple[int, Matrix], ...]
    bias: FloatArray
    rounding: tuple[FloatArray, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", tuple((s, compact(m)) for s, m in self.terms))
        object.__setattr__(self, "bias", frozen(self.bias))
        object.__setattr__(self, "rounding", tuple(frozen(r) for r in self.rounding))
        if self.rounding and len(self.rounding) != len(self.terms) + 1:
            raise ValueError("an affine map has one rounding for each term and one for its bias")
        if any(r.shape != self.bias.shape for r in self.rounding):
            raise ValueError(f"the rounding of an affine map has the shape {self.bias.shape}")
        if self.bias.ndim != 1:
            raise ValueError(f"an affine bias has shape (size,), not {self.bias.shape}")
        for source, matrix in self.terms:
            if matrix.shape[0] != self.bias.size:
                raise ValueError(
                    f"the matrix on value {source} has {matrix.shape[0]} rows, "
                    f"the bias {self.bias.size} entries"
                )

    @property
    def sources(self) -> tuple[int, ...]:
        """Indices of the values that the node reads."""
        return tuple(source for source, _ in self.terms)

    @property
    def roundings(self) -> tuple[FloatArray, ...]:
        """The vectors of ``rounding``, zeros if nothing was rounded."""
        return self.rounding or (np.zeros(self.bias.size),) * (len(self.terms) + 1)

    def deviation(self, reach: Callable[[int], FloatArray]) -> FloatArray:
        """Bound how far the true map is from this one, row by row; shape (size of z,).

        ``reach(k)`` is at least ``|v_k|``, entry by entry.
        """
        if not self.rounding:
            return np.zeros(self.bias.size)
        total = self.rounding[-1].copy()
        for source, r in zip(self.sources, self.rounding, strict=False):
            total += r * np.max(reach(source), initial=0.0)
        return total * (1 + relative_error(len(self.rounding)))


@dataclass(frozen=True, slots=True, eq=False)
class Difference(Affine):
    """``d_i = z_q − z_p`` for entries ``p = first[i]``, ``q = second[i]`` of one value ``z``.

    An affine map, with bounds that are exact up to one rounding: zero stays zero, so that entries
    whose ranges touch are ordered.
    """

    first: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    second: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    @classmethod
    def of(cls, entries: int, size: int, first: IntArray, second: IntArray) -> "Difference":
        """Return the differences of pairs of entries of the value ``entries``, of ``size``."""
        signs = np.repeat([1.0, -1.0], first.size)
        rows, columns = np.tile(np.arange(first.size), 2), np.concatenate([second, first])
        # entries of a pair with itself add up to zero
        matrix = sp.csr_array((signs, (rows, columns)), shape=(first.size, size))
        pairs = frozen_indices(first), frozen_indices(second)
        return cls(((entries, matrix),), np.zeros(first.size), (), *pairs)


@dataclass(frozen=True, slots=True)
class Relu:
    """``a = max(z, 0)``, elementwise, of the value ``source``."""

    source: int

    @property
    def sources(self) -> tuple[int, ...]:
        """Indices of the values that the node reads."""
        return (self.source,)


@dataclass(frozen=True, slots=True, eq=False)
class Max:
    """``a_i = max(z_p, z_q)`` for entries ``p = first[i]``, ``q = second[i]`` of one value ``z``.

    ``entries`` is the number of ``z``; ``source`` that of their :class:`Difference` ``d``. Then
    ``a = z_p + max(d, 0)``: the sign of ``d`` is the phase, for bounds and programs. Maxima of more
    entries are made of pairs, see :mod:`verix_encodings.network.maxima`.
    """

    source: int
    entries: int
    first: IntArray
    second: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", frozen_indices(self.first))
        object.__setattr__(self, "second", frozen_indices(self.second))
        if self.first.ndim != 1 or self.first.shape != self.second.shape:
            raise ValueError("a maximum of pairs has two vectors of indices, equally long")

    @property
    def sources(self) -> tuple[int, ...]:
        """Indices of the values that the node reads."""
        return self.source, self.entries

    def compares(self, node: "Node") -> bool:
        """Return whether ``node`` is the difference of these pairs."""
        return (
            isinstance(node, Difference)
            and node.sources == (self.entries,)
            and np.array_equal(node.first, self.first)
            and np.array_equal(node.second, self.second)
        )

    def greatest(self, z: FloatArray) -> FloatArray:
        """Return the greater entry of each pair in ``z``, a vector or the rows of a matrix."""
        result: FloatArray = np.maximum(z[self.first], z[self.second])
        return result


@dataclass(frozen=True, slots=True)
class Smooth:
    """``a = σ(z)``, elementwise, of the value ``source``, for a smooth ``σ``."""

    source: int
    function: SmoothFunction

    @property
    def sources(self) -> tuple[int, ...]:
        """Indices of the values that the node reads."""
        return (self.source,)


Node: TypeAlias = Affine | Relu | Max | Smooth


def value_of(node: Node, values: Sequence[FloatArray]) -> FloatArray:
    """Evaluate ``node``, given all ``values`` before it, in float64."""
    if isinstance(node, Affine):
        result = node.bias.copy()
        for source, matrix in node.terms:
            spend_product(matrix)
            result += matrix @ values[source]
        return result
    spend_entries(values[node.source].size)
    if isinstance(node, Max):
        return node.greatest(values[node.entries])
    z = values[node.source]
    return node.function.evaluate(z) if isinstance(node, Smooth) else np.maximum(z, 0.0)


def shifted(node: Node, more: int) -> Node:
    """Return the node with ``more`` added to the numbers of the values that it reads."""
    if isinstance(node, Affine):
        return replace(node, terms=tuple((source + more, matrix) for source, matrix in node.terms))
    if isinstance(node, Max):
        return replace(node, source=node.source + more, entries=node.entries + more)
    return replace(node, source=node.source + more)
