"""A tree model of another library as it was read: trees, and the library's own prediction."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from verix_encodings.arrays import FloatArray
from verix_encodings.kinds.tree_ensemble import Tree

DOUBLE, SINGLE = 2.0**-53, 2.0**-24
"""Relative errors of one operation in float64 and in float32."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The scores ``base + Σ leaf values`` of a library's model.

    A classifier has a score for each class, or one score that is above zero for the second of two
    classes; a regressor has its values. ``rounding``, shape (m,), bounds by how much the library's
    own scores, and the place where its prediction turns, differ from the scores in real
    arithmetic. ``run`` takes rows, shape (n, d), in float64, and returns the library's own scores,
    shape (n, m); ``decide`` returns the numbers of the classes that its ``predict`` chooses, None
    for a regressor.

    ``class_names`` are empty if the classes are 0, 1, …; ``columns`` is None where the model does
    not tell names. ``categories`` are the words of columns that hold codes of words, by their
    places. ``missing_left`` has, for each tree, where a missing value goes.
    """

    trees: tuple[Tree, ...]
    base: FloatArray
    rounding: FloatArray
    run: Callable[[FloatArray], FloatArray]
    decide: Callable[[FloatArray], Any] | None
    size: int
    class_names: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    regressor: str | None = None
    notes: tuple[str, ...] = ()
    library: str = ""


def sum_rounding(magnitude: FloatArray, terms: int, unit: float) -> FloatArray:
    """Bound the rounding of a sum of ``terms`` numbers in any order, ``Σ |term| <= magnitude``.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, equation 4.4, doubled.
    """
    return np.asarray(2.0 * terms * unit * magnitude)


def largest_values(trees: tuple[Tree, ...]) -> FloatArray:
    """Return the sum over trees of the largest magnitude of a leaf's value, shape (m,)."""
    return np.sum([np.abs(tree.value).max(axis=0) for tree in trees], axis=0)


def in_column(values: FloatArray, column: int, columns: int) -> FloatArray:
    """Return ``values``, shape (n,), as one column among zeros, shape (n, columns)."""
    placed = np.zeros((len(values), columns))
    placed[:, column] = values
    return placed


def words_of(classes: Any) -> tuple[str, ...]:
    """Return the names of classes; none if they are 0, 1, …."""
    words = [str(word) for word in np.asarray(classes).tolist()]
    return () if words == [str(number) for number in range(len(words))] else tuple(words)


@contextmanager
def quiet() -> Iterator[None]:
    """Drop a library's warning that an array has no names of columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
