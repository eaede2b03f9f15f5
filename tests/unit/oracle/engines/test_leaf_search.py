"""The heaviest set of leaves that meet, compared with listing all sets."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from milp_verix.oracle.engines import leaf_search
from milp_verix.oracle.engines.leaf_search import Clique, LeafSearch
from verix_encodings.bounds.interval import Interval
from verix_encodings.interval_bounds import interval_bounds, leaf_bounds
from verix_encodings.kinds.leaf_boxes import Cells, LeafBoxes
from verix_encodings.kinds.tree import Tree
from verix_encodings.kinds.tree_ensemble import TreeEnsemble
from verix_encodings.network import Network

_SIZE = 3


def _random_tree(rng: np.random.Generator, depth: int) -> Tree:
    feature, threshold, left, right, value = [], [], [], [], []

    def grow(level: int) -> int:
        place = len(feature)
        for column, entry in zip(
            (feature, threshold, left, right, value),
            (-1, 0.0, place, place, float(rng.integers(-8, 9))),
            strict=True,
        ):
            column.append(entry)
        if level and rng.random() < 0.9:
            feature[place] = int(rng.integers(_SIZE))
            threshold[place] = float(rng.integers(0, 6))
            left[place] = grow(level - 1)
            right[place] = grow(level - 1)
        return place

    grow(depth)
    arrays = [np.array(part) for part in (feature, threshold, left, right)]
    return Tree(*arrays, np.array(value)[:, None])


def _ensemble(seed: int, trees: int = 4) -> TreeEnsemble:
    rng = np.random.default_rng(seed)
    return TreeEnsemble.of(0, [_random_tree(rng, 3) for _ in range(trees)], np.zeros(1))


def _points() -> np.ndarray:
    """Return a point of each cell of thresholds that are whole numbers."""
    return np.array(list(product(np.arange(-0.5, 6.0), repeat=_SIZE)))


@pytest.mark.parametrize("table", [True, False], ids=["table", "walk"])
@pytest.mark.parametrize("most", [1, 2**23], ids=["thresholds", "leaves"])
def test_the_largest_sum_is_found_and_proven(
    drawn_seed: int, most: int, table: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaf_search, "_MOST_MET", most)
    if not table:
        monkeypatch.setattr("verix_encodings.kinds.leaf_boxes._MOST_ENTRIES", -1)
    for seed in range(20 * drawn_seed, 20 * drawn_seed + 20):
        trees = _ensemble(seed)
        cells = Cells.of(trees, _SIZE)
        lower, upper = np.array([-0.5, 0.5, -0.5]), np.array([5.5, 4.5, 5.5])
        points = _points()
        points = points[((points >= lower) & (points <= upper)).all(axis=1)]
        best = float(trees.value([points.T]).max())
        boxes = cells.reached(lower, upper)
        values = trees.value_of[boxes.leaf, 0]

        def nothing(_: Clique) -> bool:
            raise AssertionError("no sum reaches the cut")

        above = LeafSearch(boxes, values, best + 0.5, nothing)
        assert above.run(lambda: False) is False
        assert above.closed + above.constant >= best
        found: list[Clique] = []
        reaching = LeafSearch(boxes, values, best - 0.5, _first_into(found))
        assert reaching.run(lambda: False) is True
        assert found[0].total == best
        _is_reached(trees, cells, boxes, found[0])


def _first_into(found: list[Clique]) -> Callable[[Clique], bool]:
    """Return a function that keeps a set of leaves in ``found`` and stops the search."""

    def take(clique: Clique) -> bool:
        found.append(clique)
        return True

    return take


def _is_reached(trees: TreeEnsemble, cells: Cells, boxes: LeafBoxes, clique: Clique) -> None:
    """Assert that an input in the cells of ``clique`` has its sum."""
    point = np.array([-0.5, 0.5, -0.5])
    for place, f in enumerate(boxes.features.tolist()):
        lo, hi = int(clique.lo[place]), int(clique.hi[place])
        least, most = cells.ends(f, lo, hi, whole=False)
        point[f] = np.clip(point[f], least[0], most[-1])
    assert float(trees.value([point])[0]) == clique.total


def test_bounds_by_leaves_hold(drawn_seed: int) -> None:
    for seed in range(10):
        trees = _ensemble(1000 + 10 * drawn_seed + seed)
        network, box = Network((_SIZE,), (trees,)), Interval([0.5] * _SIZE, [3.5, 0.5, 5.5])
        points = _points()
        points = points[((points >= box.lower) & (points <= box.upper)).all(axis=1)]
        values = trees.value([points.T])[0]
        bounds = [method(network, box)[-1] for method in (leaf_bounds, interval_bounds)]
        # paths that contradict themselves are no leaves
        assert bounds[0].upper[0] <= bounds[1].upper[0] + 1e-9
        for found in bounds:
            assert found.lower[0] <= values.min()
            assert found.upper[0] >= values.max()


def test_rounding_of_a_fold_is_counted() -> None:
    trees = TreeEnsemble.of(0, [_random_tree(np.random.default_rng(1), 2)], np.array([0.1]), 0.25)
    folded = Network((_SIZE,), (trees,)).then([[3.0], [-1.0 / 3.0]], [0.0, 0.5]).nodes[0]
    assert isinstance(folded, TreeEnsemble)
    assert np.all(folded.error >= [0.75, 0.25 / 3])
