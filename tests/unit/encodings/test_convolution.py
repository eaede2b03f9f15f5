"""Matrices of convolutions that are not stored do what the stored ones do."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from verix_encodings.arrays import compact, count_of_entries, dense, stored, times_sizes
from verix_encodings.bounds.interval import Interval
from verix_encodings.bounds.norm_ball import NormBall
from verix_encodings.bounds.rows import Patch, product
from verix_encodings.convolution import Convolution

# groups, kernels of each, entries of a window, windows, size of the input
SIZES = [(1, 3, 4, 5, 9), (2, 1, 3, 7, 11), (3, 2, 5, 1, 8), (1, 1, 1, 6, 6)]


def convolution(size: tuple[int, ...], seed: int = 0) -> Convolution:
    """Return whole numbers at places of which none occurs twice in a window."""
    (groups, channels, entries, windows, width), rng = size, np.random.default_rng(seed)
    kernels = rng.integers(-3, 4, (groups, channels, entries)).astype(np.float64)
    places = np.empty((groups, entries, windows), dtype=np.int32)
    for group in range(groups):
        for window in range(windows):
            read = rng.permutation(width + 2)[:entries]
            places[group, :, window] = np.minimum(read, width)
    return Convolution(kernels, places, width)


def by_hand(matrix: Convolution) -> np.ndarray:
    """Return the matrix entry by entry, as the formula says it."""
    (groups, channels, entries), windows = matrix.kernels.shape, matrix.places.shape[2]
    result = np.zeros((groups, channels, windows, matrix.width))
    for g, m, k, p in np.ndindex(groups, channels, entries, windows):
        if matrix.places[g, k, p] < matrix.width:
            result[g, m, p, matrix.places[g, k, p]] += matrix.kernels[g, m, k]
    return result.reshape(-1, matrix.width)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("at_once", [1, 7, 1 << 22])
def test_products_are_those_of_the_formula(
    size: tuple[int, ...], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verix_encodings.convolution._AT_ONCE", at_once)
    matrix, rng = convolution(size), np.random.default_rng(1)
    full = by_hand(matrix)
    rows, width = full.shape
    assert matrix.shape == full.shape
    assert np.array_equal(dense(matrix), full)
    assert np.array_equal(dense(-matrix), -full)
    assert count_of_entries(matrix) >= np.count_nonzero(full)
    # whole numbers: sums have no rounding, in whatever order
    for right in (rng.integers(-9, 9, width), rng.integers(-9, 9, (width, 3))):
        assert np.array_equal(matrix @ (right / 2), full @ (right / 2))
        assert np.array_equal(times_sizes(matrix, right / 2)[0], abs(full) @ (right / 2))
        assert np.array_equal((right / 2).T @ matrix.T, (right / 2).T @ full.T)
    for left in (rng.integers(-9, 9, rows), rng.integers(-9, 9, (3, rows))):
        assert np.array_equal((left / 2) @ matrix, (left / 2) @ full)
        assert np.array_equal(matrix.T @ (left / 2).T, full.T @ (left / 2).T)
    assert np.array_equal(abs(matrix).sum(axis=1), abs(full).sum(axis=1))


@pytest.mark.parametrize("size", SIZES)
def test_rows_and_columns_are_picked_as_from_an_array(size: tuple[int, ...]) -> None:
    matrix, rng = convolution(size), np.random.default_rng(2)
    full = by_hand(matrix)
    rows, columns = rng.integers(0, full.shape[0], 6), rng.permutation(full.shape[1])[:4]
    assert np.array_equal(matrix[rows].toarray(), full[rows])
    assert np.array_equal(matrix[rows][:, columns].toarray(), full[rows][:, columns])
    assert np.array_equal(matrix[rows, columns[:1]].toarray(), full[rows][:, columns[:1]])
    assert np.array_equal(dense(matrix[:, columns]), full[:, columns])
    marked = rng.random(full.shape[0]) < 0.5
    assert np.array_equal(matrix[marked].toarray(), full[marked])
    assert np.array_equal(matrix[1:3, :].toarray(), full[1:3])
    read = [np.flatnonzero(row) for row in full]
    least = [int(one[0]) for one in read if one.size]
    found = matrix.row_starts[[one.size > 0 for one in read]]
    assert all(start <= first for start, first in zip(found.tolist(), least, strict=True))


@pytest.mark.parametrize("size", SIZES)
def test_coefficients_in_any_form_are_replaced_alike(size: tuple[int, ...]) -> None:
    matrix, rng = convolution(size), np.random.default_rng(3)
    full = by_hand(matrix)
    left = rng.integers(-2, 3, (4, full.shape[0])) * (rng.random((4, full.shape[0])) < 0.4)
    met = np.flatnonzero(left.any(axis=0))
    patch = Patch(left[:, met].astype(np.float64), met, full.shape[0])
    for given in (left.astype(np.float64), sp.csr_array(left.astype(np.float64)), patch):
        found = product(given, matrix)
        found = found.toarray() if isinstance(found, Patch) else found
        assert np.array_equal(found, left @ full)


def test_bounds_over_boxes_and_balls_hold_at_points_in_them() -> None:
    matrix, rng = convolution(SIZES[0]), np.random.default_rng(4)
    full, box = by_hand(matrix), Interval(-np.ones(9), 2 * np.ones(9))
    for region in (box, *(NormBall(box, np.zeros(9), 1.5, norm) for norm in (1, 2))):
        lower, upper = region.extremes(matrix)
        same = region.extremes(compact(full))
        # over a ball in a box, the smaller of two bounds
        assert np.all(lower <= same[0] + 1e-12)
        assert np.all(upper >= same[1] - 1e-12)
        if region is box:
            assert np.allclose(upper, same[1], atol=1e-12)
        points = region.farthest(rng.normal(size=(9, 20)))
        assert np.all(full @ points <= upper[:, None] + 1e-12)
        assert np.all(full @ points >= lower[:, None] - 1e-12)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_dual_norms_bound_what_rows_gain_in_a_unit_ball(
    size: tuple[int, ...], scale: float
) -> None:
    matrix = convolution(size)
    matrix = replace(matrix, kernels=matrix.kernels * scale)
    free = np.random.default_rng(5).random(matrix.width) < 0.7
    rows = by_hand(matrix) / scale * free
    largest, length = abs(rows).max(axis=1), np.sqrt((rows**2).sum(axis=1))
    assert np.array_equal(matrix.dual_norms(1, free) / scale, largest)
    found = matrix.dual_norms(2, free) / scale
    assert np.all(found >= length)
    assert np.allclose(found, length, rtol=1e-12, atol=1e-100)


def test_it_stays_as_it_is_where_others_are_compacted() -> None:
    matrix = convolution(SIZES[1])
    assert compact(matrix) is matrix
    assert all(a <= b for a, b in pairwise(stored(matrix[[0]]).indices))
