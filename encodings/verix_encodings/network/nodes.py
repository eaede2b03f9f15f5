"""The nodes of a network: affine maps and activations.

A node refers to the values that it reads by their numbers, see :mod:`verix_encodings.network`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from verix_encodings.arrays import (
    FloatArray,
    IntArray,
    Matrix,
    compact,
    frozen,
    frozen_indices,
    relative_error,
)
from verix_encodings.network.smooth_functions import SmoothFunction


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
    """``a_i = max_{j ∈ J_i} z_j`` of the value ``source``: max-pooling, and other maxima.

    The groups ``J_i`` stand one after the other in ``indices``, group ``i`` from ``starts[i]`` on;
    none is empty, and they may overlap.
    """

    source: int
    indices: IntArray
    starts: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "indices", frozen_indices(self.indices))
        object.__setattr__(self, "starts", frozen_indices(self.starts))
        ends = np.append(self.starts, self.indices.size)
        if self.indices.ndim != 1 or self.starts.ndim != 1 or ends[0] != 0:
            raise ValueError("the groups of a maximum are a vector of indices that starts at 0")
        if np.any(np.diff(ends) < 1):
            raise ValueError("a maximum needs groups of one or more indices")

    @property
    def sources(self) -> tuple[int, ...]:
        """Indices of the values that the node reads."""
        return (self.source,)

    @property
    def groups(self) -> IntArray:
        """The number of the group of each entry of ``indices``."""
        return np.repeat(
            np.arange(self.starts.size), np.diff(self.starts, append=self.indices.size)
        )

    def reduce(self, entries: FloatArray) -> FloatArray:
        """Return the greatest of the ``entries`` of each group, one for each of ``indices``."""
        if not entries.size:
            return entries
        greatest: FloatArray = np.maximum.reduceat(entries, self.starts)
        return greatest


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
            result += matrix @ values[source]
        return result
    z = values[node.source]
    if isinstance(node, Max):
        return node.reduce(z[node.indices])
    return node.function.evaluate(z) if isinstance(node, Smooth) else np.maximum(z, 0.0)


def shifted(node: Node, more: int) -> Node:
    """Return the node with ``more`` added to the numbers of the values that it reads."""
    if isinstance(node, Affine):
        return replace(node, terms=tuple((source + more, matrix) for source, matrix in node.terms))
    return replace(node, source=node.source + more)
