"""Certificates about trees: their file, cases of inputs for each margin, and points.

The file is a text in JSON with exact numbers, and nothing else; ``verix_checker/trees.py`` says
what is in it. The thresholds are those of the normal form that all libraries are read in, so the
file is about the model as it runs, and not about an export.

A case is a box of cells (:mod:`verix_encodings.kinds.leaf_boxes`), in which the sum of each tree's
highest leaf bounds the margin in float64. A box whose bound is too high is split where two of these
leaves do not meet, at the threshold that lowers the bound most on both sides (Achterberg, Koch &
Martin, *Branching rules revisited*, 2005: the product of both gains).
"""

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.certificates.certificate import (
    Certificate,
    ball_of,
    bits_of,
    claim_data,
    exact,
    question_bits,
)
from milp_verix.certificates.phase_leaves import NoProofError, Tree, require_time
from milp_verix.certificates.whole_proof import Proof
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.trees.behind_table import with_missing
from milp_verix.models.trees.tree_network import TreeNetwork
from milp_verix.results.explanation import Explanation
from verix_checker.forms import Form
from verix_checker.trees import TreeClaim
from verix_encodings.arrays import BoolArray, FloatArray, IntArray, Matrix, relative_error
from verix_encodings.kinds.leaf_boxes import Cells, LeafBoxes, cells_of
from verix_encodings.kinds.tree import entries_of, numbers_in
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
    scores: list[dict[str, Any]] = [{} for _ in range(trees.feature.size)]
    for at, k, value in zip(*(part.tolist() for part in entries_of(trees.value_of)), strict=True):
        scores[at] |= {str(k): exact(value)} if value else {}
    data = {
        "inputs": network.input_size,
        "base": list(map(exact, trees.base.tolist())),
        "rounding": list(map(exact, trees.error.tolist())),
        "ties": tied,
        "trees": [_nodes(trees, root, scores) for root in trees.roots.tolist()],
    }
    return json.dumps(data, separators=(",", ":")).encode()


def _nodes(trees: TreeEnsemble, root: int, scores: list[dict[str, Any]]) -> list[Any]:
    """Return the nodes of a tree, each before its children; ``scores`` are those of leaves."""
    nodes: list[Any] = []
    places, open_ = count(1), [(root, 0)]
    while open_:
        at, place = open_.pop()
        while trees.feature[at] >= 0 and np.isinf(trees.threshold[at]):
            at = int((trees.left if trees.threshold[at] > 0 else trees.right)[at])
        nodes += [None] * (place + 1 - len(nodes))
        if trees.feature[at] < 0:
            nodes[place] = scores[at]
            continue
        left, right = next(places), next(places)
        nodes[place] = [int(trees.feature[at]), exact(float(trees.threshold[at])), left, right]
        open_ += [(int(trees.right[at]), right), (int(trees.left[at]), left)]
    return nodes


_MOST_SPLITS = 48
"""Thresholds that are tried in a box, those of the trees with the widest spread first."""
_DEEPEST = 200


def cases_of(claim: TreeClaim, trees: TreeEnsemble, deadline: Deadline) -> list[Tree]:
    """Return a tree of cases for each margin of ``claim``; ``NoProofError`` where there is none."""
    integral = np.zeros(claim.net.size, dtype=bool)
    integral[[v - 1 for v in claim.ball.whole]] = True
    cells = cells_of(trees, claim.net.size, integral)
    ends = (np.array([end / claim.one for end in side[1:]]) for side in (claim.low, claim.high))
    boxes = cells.reached(*ends)
    scores = trees.value_of[boxes.leaf]  # the ensemble of cells may have other values
    found = []
    for margin in claim.margins:
        values, cut = _weighed(claim, margin, scores, boxes.tree)
        found.append(_Cases(claim, cells, boxes, integral, values, cut, deadline).tree())
    return found


def _weighed(
    claim: TreeClaim, margin: Form, scores: Matrix, tree: IntArray
) -> tuple[FloatArray, float]:
    """Return what leaves with ``scores``, (N, m), add to a margin, and what it may add up to."""
    net = claim.net
    factors = np.zeros(len(net.base))
    for v, k in margin.items():
        if v:
            factors[v - net.first] = k / net.one
    values = scores @ factors
    base = sum(Fraction(k * net.base[v - net.first]) for v, k in margin.items() if v)
    const = Fraction(margin.get(0, 0) - claim.limit, net.one) + base / net.one**2
    starts = _starts(tree)
    largest = np.maximum.reduceat(np.abs(values), starts) if starts.size else np.zeros(0)
    # sums of whole numbers are exact in float64
    whole = np.all(values == np.round(values)) and np.abs(values).sum() < 2.0**52
    spare = 0.0 if whole else relative_error(largest.size + 4) * float(largest.sum())
    cut = float(-const)
    return values, (cut if Fraction(cut) <= -const else float(np.nextafter(cut, -np.inf))) - spare


@dataclass(frozen=True, slots=True, eq=False)
class _Box:
    """A case: the leaves it meets, its ends in cells, (F,), and exactly as the checker has them."""

    alive: IntArray
    low: IntArray
    high: IntArray
    ends: tuple[list[Any], list[Any]]
    depth: int = 0


@dataclass(slots=True, eq=False)
class _Cases:
    """The search for cases of one margin, whose leaves add ``values``, (N,), up to ``cut``."""

    claim: TreeClaim
    cells: Cells
    boxes: LeafBoxes
    integral: BoolArray
    values: FloatArray
    cut: float
    deadline: Deadline

    def tree(self) -> Tree:
        """Return the tree of cases."""
        every = np.arange(self.values.size)
        low, high = self.boxes.low.astype(np.intp), self.boxes.high.astype(np.intp)
        root: Tree = {}
        open_ = [(_Box(every, low, high, (self.claim.low, self.claim.high)), root)]
        while open_:
            require_time(self.deadline)
            box, node = open_.pop()
            starts = _starts(self.boxes.tree[box.alive])
            if starts.size < _starts(self.boxes.tree).size or self.claim.empty([1], *box.ends):
                continue
            tops = np.maximum.reduceat(self.values[box.alive], starts)
            if tops.sum() <= self.cut:
                continue
            if box.depth > _DEEPEST:
                raise NoProofError("the tree of cases is too deep")
            open_ += self._split(box, starts, tops, node)
        return root

    def _split(
        self, box: _Box, starts: IntArray, tops: FloatArray, node: Tree
    ) -> list[tuple[_Box, Tree]]:
        """Split a box; write the split to ``node``, and return the cases that are left."""
        place, cell = self._best(box, starts, tops)
        f = int(self.boxes.features[place])
        at = float(self.cells.of_feature(f)[cell])
        split = {"input": f, "at": exact(at + 0.5 if self.integral[f] else at)}
        node |= split
        found = []
        for side, _, sign, ends in self.claim.halves(split, *box.ends):
            low, high = box.low.copy(), box.high.copy()
            if sign < 0:
                high[place] = cell
            else:
                low[place] = cell + 1
            node[side] = {}
            if ends is None:
                continue
            self._follow(box.ends, ends, low, high)
            lo, hi = self.boxes.lo[box.alive], self.boxes.hi[box.alive]
            met = ((lo <= high) & (hi >= low)).all(axis=1)
            found.append((_Box(box.alive[met], low, high, ends, box.depth + 1), node[side]))
        return found

    def _follow(self, before: Any, after: Any, low: IntArray, high: IntArray) -> None:
        """Move ends of cells as far as rules and whole numbers moved the exact ones."""
        for place, f in enumerate(self.boxes.features.tolist()):
            thresholds = self.cells.of_feature(f)
            for end, was, cells, inner in zip(after, before, (low, high), (max, min), strict=True):
                if end[1 + f] != was[1 + f]:
                    cell = int(np.searchsorted(thresholds, end[1 + f] / self.claim.one, "left"))
                    cells[place] = inner(cells[place], cell)

    def _best(self, box: _Box, starts: IntArray, tops: FloatArray) -> tuple[int, int]:
        """Return the feature, by its place, and the cell behind which a box is best split."""
        alive, boxes = box.alive, self.boxes
        values, lo, hi = self.values[alive], boxes.lo[alive], boxes.hi[alive]
        sizes = np.diff(starts, append=alive.size)
        first = np.flatnonzero(values == np.repeat(tops, sizes))
        first = first[_starts(boxes.tree[alive[first]])]
        spread = tops - np.minimum.reduceat(values, starts)
        best_lo, best_hi = lo[first], hi[first]
        low, high = best_lo.max(axis=0), best_hi.min(axis=0)  # they meet where low <= high
        apart = bool((low > high).any())
        if not (apart or self.claim.ball.norm or self.claim.ball.rules):
            raise NoProofError("a point of the ball has another prediction, or one too near")
        pairs: dict[tuple[int, int], float] = {}
        for tree in np.argsort(-spread, kind="stable").tolist():
            below = best_hi[tree] < (low if apart else box.high)
            above = best_lo[tree] > (high if apart else box.low)
            for place in np.flatnonzero(below).tolist():
                pairs.setdefault((place, int(best_hi[tree, place])), spread[tree])
            for place in np.flatnonzero(above).tolist():
                pairs.setdefault((place, int(best_lo[tree, place]) - 1), spread[tree])
            if len(pairs) >= _MOST_SPLITS:
                break
        if not pairs:
            raise NoProofError("a point of the ball has another prediction, or one too near")
        bound, most = float(tops.sum()), (-1.0, (0, 0))
        need = bound - self.cut
        for place, cell in pairs:
            gains = 1.0
            for met in (lo[:, place] <= cell, hi[:, place] > cell):
                side = np.maximum.reduceat(np.where(met, values, -np.inf), starts).sum()
                gains *= 1e-6 + min(bound - float(side), need) / need
            most = max(most, (gains, (place, cell)))
        return most[1]


def _starts(tree: IntArray) -> IntArray:
    """Return the place of the first leaf of each tree, given the ascending trees of leaves."""
    return np.flatnonzero(np.diff(tree, prepend=-1))


def proof_of_trees(explanation: Explanation, network: LoadedModel, deadline: Deadline) -> Proof:
    """Return the proof of an explanation of trees, with their file; or ``NoProofError``."""
    explanation.refuse_other(network)
    described = explanation.inputs
    read = with_missing(network, described.missing if described is not None else {})
    assert isinstance(read, TreeNetwork)
    model = trees_file(read)
    question = _claim(explanation, read, model)
    try:
        claim = TreeClaim(model, question)
    except ValueError as error:
        raise NoProofError(f"the checker does not read the claim: {error}") from error

    def keeper(free: frozenset[int]) -> list[Tree]:
        other = TreeClaim(model, {**question, "irrelevant": sorted(free)})
        return cases_of(other, read.ensemble, deadline)

    cases = cases_of(claim, read.ensemble, deadline)
    points = _points(explanation, claim)
    unproven = tuple(i for i in sorted(explanation.explanation) if str(i) not in points)
    data = {"claim": {**question, "minimal": not unproven}, "trees": cases, "points": points}
    found = Certificate(data, None, tuple(map(int, points)), unproven, model=model)
    return Proof(found, lambda: claim, keeper)


def _claim(explanation: Explanation, network: TreeNetwork, model: bytes) -> dict[str, Any]:
    claim = claim_data(explanation, "")
    del claim["output"]
    trees = network.ensemble
    inner = trees.feature >= 0
    numbers = (trees.threshold[inner], numbers_in(trees.value_of), trees.base, trees.error)
    bits = max(question_bits(explanation), *map(bits_of, numbers))
    found = {"sha256": hashlib.sha256(model).hexdigest(), "source": explanation.model.sha256}
    return {**claim, **found, "bits": bits + 1}  # whole numbers are split at halves


def _points(explanation: Explanation, claim: TreeClaim) -> dict[str, Any]:
    """Return the counterfactuals that change the prediction whatever the rounding."""
    ball, points = ball_of(explanation), {}
    for feature, found in sorted(explanation.counterfactuals.items()):
        given = found.input.ravel()
        moved = np.flatnonzero(given != ball.centre).tolist()
        point = [claim.one, *map(claim.net.number, given.tolist())]
        free = claim.variables({*claim.irrelevant, feature})
        if claim.ball.holds(point, free) and claim.changed(point):
            points[str(feature)] = {str(place): exact(float(given[place])) for place in moved}
    return points
