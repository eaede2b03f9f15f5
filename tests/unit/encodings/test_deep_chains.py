"""Trees and networks deeper than Python's own limit of calls within calls."""

import sys

import numpy as np

from verix_encodings import Network, crown
from verix_encodings.bounds.curves import SMOOTH_FUNCTIONS
from verix_encodings.kinds.elementwise import Smooth
from verix_encodings.kinds.tree import Tree
from verix_encodings.kinds.tree_ensemble import TreeEnsemble

DEEP = sys.getrecursionlimit() + 500


def test_a_tree_is_encoded_leaf_by_leaf() -> None:
    inner, leaf = np.arange(DEEP), np.arange(DEEP, 2 * DEEP)
    right = np.append(inner[1:], 2 * DEEP)
    none = np.full(DEEP + 1, -1)
    tree = Tree(
        np.append(np.zeros(DEEP, dtype=int), none),
        np.append(inner.astype(float), np.zeros(DEEP + 1)),
        np.append(leaf, none),
        np.append(right, none),
        np.append(np.zeros(DEEP), np.arange(DEEP + 1))[:, None],
    )
    node = TreeEnsemble.of(0, [tree], np.zeros(1))
    splits = node.splits(np.zeros(1), np.array([DEEP - 1.5]))
    np.testing.assert_array_equal(splits.threshold, np.arange(DEEP - 1))
    np.testing.assert_array_equal(np.asarray(splits.value)[:, 0], np.arange(DEEP))


def test_neurons_behind_a_chain_of_curves_are_put_in_blocks() -> None:
    tanh = SMOOTH_FUNCTIONS["tanh"]
    network = Network((4,), tuple(Smooth(place, tanh) for place in range(DEEP)))
    blocks = crown._blocks(network, DEEP, np.arange(4))
    np.testing.assert_array_equal(np.concatenate(blocks), np.arange(4))
