"""The values of a network in a solution, beside those that the network's own runtime returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.comparable import Compared
from milp_verix.base.errors import listed
from milp_verix.base.number_text import up
from milp_verix.models.loaded_model import LoadedModel
from verix_encodings import Interval
from verix_encodings.arrays import FloatArray
from verix_encodings.kinds.tree_ensemble import TreeEnsemble


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedCheck(Compared):
    """A solution of a model, replayed.

    Attributes:
        inputs: the network's input in the solution, shape (d,).
        outputs: the network's outputs in the solution, shape (m,).
        replayed: the outputs that the network's runtime returns at ``inputs``, rounded to its own
            type; without a final Softmax or Sigmoid, as everywhere.
        exact: the outputs at ``inputs`` as they are, in float64.
        outside: how far ``inputs`` lie outside the box that the network was embedded over.
        tolerance: how close to a threshold of a tree an input counts as on it.
        near: the names of these inputs.
        beside: the least difference to the network in float64 that was found where these are moved
            across thresholds, by the tolerance at most; None for networks without trees.
        moved: how far ``inputs`` were moved so; 0 unless that was asked for.
    """

    inputs: FloatArray
    outputs: FloatArray
    replayed: NDArray[np.floating]
    exact: FloatArray
    outside: float
    moved: float = 0.0
    tolerance: float = 0.0
    near: tuple[str, ...] = ()
    beside: float | None = None

    @property
    def difference(self) -> float:
        """The largest difference between the solution's outputs and the runtime's."""
        return _farthest(self.outputs, self.replayed)

    @property
    def solver_difference(self) -> float:
        """The largest difference between the solution's outputs and the network's in float64.

        It is the solver's part; the runtime's rounding to its own type is left out.
        """
        return _farthest(self.outputs, self.exact)

    def __str__(self) -> str:
        text = (
            f"outputs differ from the runtime's by {up(self.difference, 2)} at most, and by "
            f"{up(self.solver_difference, 2)} from the network in float64"
        )
        if self.outside:
            text += f"; the input lies outside the embedded box by {up(self.outside, 2)}"
        if self.moved:
            text += f"; inputs were moved by up to {up(self.moved)}, across thresholds of trees"
        elif self.near:
            text += f"; within {self.tolerance!r} of thresholds of trees: {listed(self.near, 5)}"
        if self.beside is not None and self.beside < self.solver_difference:
            text += (
                f"; check(repair=True, tolerance={self.tolerance!r}) moves inputs across, to a "
                f"difference of {up(self.beside, 2)}"
            )
        elif self.beside is not None and self.beside > self.tolerance:
            text += "; no closer outputs were found so near, a larger tolerance looks farther"
        return text


_TOGETHER = ((0, np.inf), (1, np.inf), (2, 100), (3, 24))
"""Numbers of moves that are tried together, and how many moves there may be then."""


def replayed(
    network: LoadedModel,
    box: Interval,
    inputs: FloatArray,
    outputs: FloatArray,
    *,
    repair: bool,
    tolerance: float,
    names: Sequence[str],
) -> EmbeddedCheck:
    """Run ``network`` at ``inputs``, called ``names``, and compare with ``outputs``.

    With ``repair`` each input is moved by ``tolerance`` at most, and not out of ``box``.
    """
    network.require_unchanged()
    beyond = np.maximum(box.lower - inputs, inputs - box.upper)
    near = _near(network, box, inputs, tolerance) if network.ir.stepped else {}
    other = _across(network, near, inputs, outputs)
    point = other if repair else inputs
    return EmbeddedCheck(
        point,
        outputs,
        network.scores_at(point),
        network.ir.evaluate(point),
        float(np.max(beyond, initial=0.0)),
        float(np.max(np.abs(point - inputs), initial=0.0)),
        tolerance,
        tuple(names[i] for i in near),
        _farthest(outputs, network.ir.evaluate(other)) if network.ir.stepped else None,
    )


def _near(
    network: LoadedModel, box: Interval, inputs: FloatArray, tolerance: float
) -> dict[int, list[float]]:
    """Return coordinates at thresholds, with values beside these in ``tolerance`` and ``box``."""
    trees, found = network.ir.nodes[-1], {}
    assert isinstance(trees, TreeEnsemble)
    for i, x in enumerate(inputs.tolist()):
        thresholds = np.unique(trees.threshold[trees.feature == i])
        thresholds = thresholds[np.abs(thresholds - x) <= tolerance]
        low = max(x - tolerance, min(box.lower[i], x))
        high = min(x + tolerance, max(box.upper[i], x))
        cells = zip([low, *np.nextafter(thresholds, np.inf)], [*thresholds, high], strict=True)
        middles = [float(start / 2 + end / 2) for start, end in cells if start <= end]
        if thresholds.size:
            found[i] = [x, *(value for value in middles if abs(value - x) <= tolerance)]
    return found


def _across(
    network: LoadedModel, near: dict[int, list[float]], inputs: FloatArray, outputs: FloatArray
) -> FloatArray:
    """Return a point with values of ``near`` whose outputs are as close as was found.

    The cells between thresholds are closed in a program: at a threshold a solution may have the
    outputs of either side, and the model has those of one. One threshold may matter beyond another
    alone, so up to three are crossed at a time, until nothing gains.
    """
    point, least, before = inputs, _farthest(outputs, network.ir.evaluate(inputs)), np.inf
    while near and least < 0.99 * before:
        before = least
        moves = [(i, x) for i, values in near.items() for x in values if x != point[i]]
        steps = [
            step
            for size, most in _TOGETHER
            for step in combinations(moves if len(moves) <= most else (), size)
        ]
        others = np.repeat(point[None], len(steps), axis=0)
        for other, step in zip(others, steps, strict=True):
            for i, x in step:
                other[i] = x
        apart = np.abs(network.ir.nodes[-1].value([others.T]).T - outputs).max(axis=1)
        if apart.min() < 0.99 * least:
            point, least = others[np.argmin(apart)], float(apart.min())
    return point


def _farthest(ours: FloatArray, theirs: NDArray[np.floating]) -> float:
    with np.errstate(invalid="ignore"):
        return float(np.max(np.abs(ours - theirs), initial=0.0))
