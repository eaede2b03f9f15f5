"""Trees as a file that the checker reads: a text in JSON with exact numbers, and nothing else.

``verix_checker/trees.py`` says what is in it. The thresholds are those of the normal form that all
libraries are read in, so the file is about the model as it runs, and not about an export.
"""

import json
from itertools import count
from typing import Any

import numpy as np

from milp_verix.certificates.claims import exact
from milp_verix.certificates.leaves import NoProofError
from milp_verix.models.trees.tree_network import TreeNetwork
from verix_encodings.kinds.tree_ensemble import TreeEnsemble

_MOST_LEAVES = 200_000


def trees_file(network: TreeNetwork) -> bytes:
    """Return the file of a model of trees; ``NoProofError`` if it is more than trees, or large."""
    trees = network.ensemble
    if len(network.ir.nodes) > 1 or trees.blur:
        raise NoProofError("the trees read numbers that a network computes, which have no proof")
    leaves = int(np.count_nonzero(trees.feature < 0))
    if leaves > _MOST_LEAVES:
        raise NoProofError(f"{leaves} leaves, and certificates take {_MOST_LEAVES} at most")
    tied = None
    if network.step and not trees.error.any():
        single = "upper" if network.upper_at_tie else "lower"
        tied = single if trees.base.size == 1 else "first"
    data = {
        "inputs": network.input_size,
        "base": list(map(exact, trees.base.tolist())),
        "rounding": list(map(exact, trees.error.tolist())),
        "ties": tied,
        "trees": [_nodes(trees, root) for root in trees.roots.tolist()],
    }
    return json.dumps(data, separators=(",", ":")).encode()


def _nodes(trees: TreeEnsemble, root: int) -> list[Any]:
    """Return the nodes of a tree, each before its children."""
    nodes: list[Any] = []
    places, open_ = count(1), [(root, 0)]
    while open_:
        at, place = open_.pop()
        while trees.feature[at] >= 0 and np.isinf(trees.threshold[at]):
            at = int((trees.left if trees.threshold[at] > 0 else trees.right)[at])
        nodes += [None] * (place + 1 - len(nodes))
        if trees.feature[at] < 0:
            values = enumerate(trees.value_of[at].tolist())
            nodes[place] = {str(k): exact(value) for k, value in values if value}
            continue
        left, right = next(places), next(places)
        nodes[place] = [int(trees.feature[at]), exact(float(trees.threshold[at])), left, right]
        open_ += [(int(trees.right[at]), right), (int(trees.left[at]), left)]
    return nodes
