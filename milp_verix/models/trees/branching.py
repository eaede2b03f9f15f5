"""Trees as libraries store them, and as trees of thresholds alone.

A node of a library may decide by a set of categories, or treat a number in the middle of others as
missing. Along one coordinate each such decision is constant between some ends::

    x ≤ e_1: side s_0,  e_1 < x ≤ e_2: side s_1,  …,  e_k < x: side s_k

A tree of thresholds decides the same by binary search between the ends. A decision by the words of
a one-hot block asks for one word after the other. The branches that go to one side each get their
own copy of what follows; on the way the interval of each coordinate is known, so that copies keep
no decision that is taken already.

Thresholds are in the normal form ``x <= θ'`` of float64. Let ``f`` be the greatest float32 that
goes to the left (the greatest one ``≤ θ``, or ``< θ``). A float64 ``x`` is rounded to the nearest
float32, and a midpoint to the neighbour whose last bit is zero. So ``θ'`` is the midpoint of ``f``
and the float32 behind it if the last bit of ``f`` is zero, else the float64 before that midpoint.
Midpoints are exact in float64.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from milp_verix.base.errors import UnsupportedOperatorError
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, dense
from verix_encodings.kinds.tree import Tree


def last_left(threshold: ArrayLike, *, strict: bool = False) -> FloatArray:
    """Return the greatest float64 ``x`` with ``float32(x) <= threshold``; ``<`` if ``strict``.

    ``threshold`` holds float32 or float64 numbers, compared exactly. Infinite ones stay so.
    """
    exact = np.asarray(threshold, dtype=np.float64)
    with np.errstate(over="ignore"):
        f = exact.astype(np.float32)
    beyond = f.astype(np.float64) >= exact if strict else f.astype(np.float64) > exact
    f = np.where(beyond, np.nextafter(f, np.float32(-np.inf)), f)
    with np.errstate(over="ignore"):
        following = np.nextafter(f, np.float32(np.inf)).astype(np.float64)
    # beyond the largest float32, rounding goes on as if there were another one
    largest = float(np.finfo(np.float32).max)
    following = np.where(f == np.float32(largest), 2.0**128, following)
    low = f.astype(np.float64)
    low = np.where(np.isneginf(low), -(2.0**128), low)
    middle = low / 2 + following / 2
    even = (f.view(np.uint32) & 1) == 0
    result = np.where(even, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isinf(exact), exact, result)


_MOST_NODES = 200_000
"""Nodes of one tree of thresholds; a tree that would grow beyond is refused."""


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """A decision along one coordinate: ``left[i]`` for ``ends[i-1] < x <= ends[i]``.

    ``ends`` is ascending, shape (k,); ``left``, shape (k + 1,), is True where the node goes left.
    """

    ends: FloatArray
    left: BoolArray

    @staticmethod
    def of_members(members: NDArray[Any], left: BoolArray, otherwise: bool) -> "Sides":
        """Return the sides of ascending ``members`` of their type, each its own, and of others."""
        before = np.nextafter(members, members.dtype.type(-np.inf))
        ends = np.stack([before, members], axis=1).reshape(-1).astype(np.float64)
        inside = np.stack([np.full(left.size, otherwise), left], axis=1).reshape(-1)
        kept = np.concatenate([[True], np.diff(ends) > 0])
        return Sides(ends[kept], np.concatenate([inside[kept], [otherwise]]))

    def beyond(self, end: float, left: bool) -> "Sides":
        """Return the sides up to ``end``; larger numbers go left if ``left``."""
        below = self.ends[self.ends < end]
        return Sides(np.append(below, end), np.append(self.left[: below.size + 1], left))

    def goes_left(self, z: FloatArray, missing_left: bool = False) -> BoolArray:
        """Return whether each ``z`` goes left; ``missing_left`` for NaN."""
        known = self.left[np.searchsorted(self.ends, z, side="left")]
        return np.where(np.isnan(z), missing_left, known)


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """A decision along a one-hot block that begins at ``start``: ``left[v]`` for the word ``v``."""

    start: int
    left: BoolArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Branching(Tree):
    """One tree: ``x[feature] <= threshold`` goes left, but for nodes in ``sides``.

    All arrays have an entry for each node, ``value`` a row for ``scores``. ``missing_left`` says
    where a missing value goes.
    """

    missing_left: BoolArray
    sides: Mapping[int, Sides | Words] = field(default_factory=dict)

    def decision(self, node: int) -> Sides:
        """Return the sides of a node that decides along one coordinate."""
        found = self.sides.get(node)
        assert not isinstance(found, Words)
        return found or Sides(np.array([self.threshold[node]]), np.array([True, False]))

    def with_missing(self, last: Mapping[int, float]) -> "Branching":
        """Return the tree in which numbers beyond ``last``, by coordinate, go as missing values."""
        sides = dict(self.sides)
        for node in np.flatnonzero(np.isin(self.feature, list(last))).tolist():
            end, left = last[int(self.feature[node])], bool(self.missing_left[node])
            if node in sides or left or self.threshold[node] >= end:
                sides[node] = self.decision(node).beyond(end, left)
        return replace(self, sides=sides)

    def as_thresholds(self) -> Tree:
        """Return the tree with thresholds alone; equal to it wherever no value is missing.

        Raises ``UnsupportedOperatorError`` where it would have more than 200,000 nodes.
        """
        return _Unfolded(self).result() if self.sides else self


_Known: TypeAlias = Mapping[int, tuple[float, float]]
_HALF = 0.5


class _Unfolded:
    """Nodes of the tree of thresholds, appended parents first."""

    def __init__(self, tree: Branching) -> None:
        self._tree = tree
        self._origin: list[int] = []
        self._threshold: list[float] = []
        self._feature: list[int] = []
        self._children: list[int] = []  # the left and the right one of each node
        self._todo: list[tuple[int, _Known, int]] = [(0, {}, -1)]
        while self._todo:
            self._build(*self._todo.pop())

    def result(self) -> Tree:
        """Return the tree."""
        left, right = np.array(self._children).reshape(-1, 2).T
        feature, threshold = np.array(self._feature), np.array(self._threshold)
        value = self._tree.value[np.array(self._origin)]
        return Tree(feature, threshold, left, right, value, self._tree.scores)

    def _build(self, node: int, known: _Known, child: int) -> None:
        """Append what ``node`` becomes where each coordinate is in its interval ``(low, high]``.

        It is entry ``child`` of the children, none if that is negative.
        """
        tree, feature = self._tree, int(self._tree.feature[node])
        if feature < 0:
            self._append(node, 0.0, -1, child)
            return
        if isinstance(words := tree.sides.get(node), Words):
            self._by_words(node, words, known, child)
            return
        sides = tree.decision(node)
        low, high = known.get(feature, (-np.inf, np.inf))
        # a chain of equalities comes here for each pair of its nodes: NumPy's calls cost too much
        first, last = bisect_right(sides.ends, low), bisect_left(sides.ends, high)
        if first == last:
            self._todo.append((self._next(node, bool(sides.left[first])), known, child))
            return
        here = sides.left[first : last + 1]
        jumps = first + np.flatnonzero(here[1:] != here[:-1])
        if jumps.size:
            self._split(node, feature, float(sides.ends[jumps[jumps.size // 2]]), known, child)
        else:
            self._todo.append((self._next(node, bool(here[0])), known, child))

    def _by_words(self, node: int, words: Words, known: _Known, child: int) -> None:
        """Append the choice between words that are still possible, one word after the other."""
        coordinates = words.start + np.arange(words.left.size)
        ends = [known.get(int(place), (-np.inf, np.inf)) for place in coordinates]
        chosen = np.array([low >= _HALF for low, _ in ends])
        open_ = chosen if chosen.any() else np.array([high > _HALF for _, high in ends])
        left = words.left[open_]
        if left.all() or not left.any():
            side = bool(left[0]) if left.size else False
            self._todo.append((self._next(node, side), known, child))
            return
        rarer = left.sum() * 2 <= left.size
        place = int(coordinates[open_][np.argmax(left == rarer)])
        self._split(node, place, _HALF, known, child)

    def _split(self, node: int, feature: int, end: float, known: _Known, child: int) -> None:
        """Append ``x[feature] <= end``, and what ``node`` becomes on each side."""
        low, high = known.get(feature, (-np.inf, np.inf))
        place = self._append(node, end, feature, child)
        self._todo.append((node, {**known, feature: (end, high)}, 2 * place + 1))
        self._todo.append((node, {**known, feature: (low, end)}, 2 * place))

    def _next(self, node: int, left: bool) -> int:
        return int((self._tree.left if left else self._tree.right)[node])

    def _append(self, node: int, threshold: float, feature: int, child: int) -> int:
        if len(self._origin) == _MOST_NODES:
            raise UnsupportedOperatorError(
                f"a tree's decisions by sets of categories, or on missing values, need more than "
                f"{_MOST_NODES} thresholds: encode the categories of many words otherwise, let "
                "fewer columns be missing, or grow the trees less"
            )
        self._origin.append(node)
        self._threshold.append(threshold)
        self._feature.append(feature)
        self._children += [-1, -1]
        place = len(self._origin) - 1
        if child >= 0:
            self._children[child] = place
        return place


def reached(left: IntArray, right: IntArray, sizes: IntArray, first: int = 0) -> IntArray:
    """Return the nodes below the roots of trees, the roots first; a negative child is none.

    Trees of ``sizes`` nodes stand one after the other; a child's number counts from its root.

    Raises ``ValueError``, which names the tree, ``first`` on, unless each node has one parent.
    """
    starts, tree = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
    level, found, seen = starts, [starts], np.zeros(len(left), dtype=bool)
    seen[starts] = True
    while level.size:
        level = level[left[level] >= 0]
        child, of = np.concatenate([left[level], right[level]]), tree[np.tile(level, 2)]
        outside = of[(child < 0) | (child >= sizes[of])]
        if outside.size:
            raise ValueError(f"tree {first + outside[0]} has a child that is no node")
        level = np.sort(child + starts[of])
        again = tree[level[seen[level] | (np.diff(level, prepend=-1) == 0)]]
        if again.size:
            raise ValueError(f"tree {first + again[0]} has a node with two parents")
        seen[level] = True
        found.append(level)
    return np.concatenate(found)


_UNIT = 2.0**-24


def single_precision(operations: int) -> float:
    """Return γ_n of float32: Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1."""
    return operations * _UNIT / (1.0 - operations * _UNIT) * (1.0 + 1e-9)


def largest_values(trees: Sequence[Tree], scores: int) -> FloatArray:
    """Return the sum over trees of the largest magnitude of a leaf's value, shape (scores,)."""
    each = [np.abs(numbers).max(axis=0) for numbers in (dense(tree.value) for tree in trees)]
    if scores == 1:  # rounded in pairs
        return np.asarray(np.sum([*each, np.zeros(1)], axis=0))
    total = np.zeros(scores)
    for tree, largest in zip(trees, each, strict=True):
        total[tree.scores] += largest
    return total
