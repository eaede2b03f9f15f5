"""The values of a network in a solution, beside those that the network's own runtime returns."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from milp_verix.loaded_model import LoadedModel
from verix_encodings import Interval
from verix_encodings.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedCheck:
    """A solution of a model, replayed.

    Attributes:
        inputs: the network's input in the solution, shape (d,).
        outputs: the network's outputs in the solution, shape (m,).
        replayed: the outputs that onnxruntime returns at ``inputs``, rounded to the network's own
            type; without a final Softmax or Sigmoid, as everywhere.
        exact: the outputs at ``inputs`` as they are, in float64.
        outside: how far ``inputs`` lie outside the box that the network was embedded over.
        moved: how far ``inputs`` were moved, within a solver's tolerance, off thresholds of trees,
            to the side where the outputs are those of the solution; 0 for other networks.
    """

    inputs: FloatArray
    outputs: FloatArray
    replayed: NDArray[np.floating]
    exact: FloatArray
    outside: float
    moved: float = 0.0

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
        told = (
            f"outputs differ from the runtime's by {self.difference:.2g} at most, and by "
            f"{self.solver_difference:.2g} from the network in float64"
        )
        if self.outside:
            told += f"; the input lies outside the embedded box by {self.outside:.2g}"
        if self.moved:
            told += f"; the input was moved by {self.moved:.2g}, off thresholds of trees"
        return told


_STEP = 2e-6
"""Twice the feasibility tolerance that solvers have by default."""


def replayed(
    network: LoadedModel, box: Interval, inputs: FloatArray, outputs: FloatArray
) -> EmbeddedCheck:
    """Run ``network`` at ``inputs``, and compare with ``outputs``."""
    network.require_unchanged()
    beyond = np.maximum(box.lower - inputs, inputs - box.upper)
    point = _off_thresholds(network, box, inputs, outputs) if network.ir.stepped else inputs
    return EmbeddedCheck(
        point,
        outputs,
        network.scores(point),
        network.ir.evaluate(point),
        float(np.max(beyond, initial=0.0)),
        float(np.max(np.abs(point - inputs), initial=0.0)),
    )


def _off_thresholds(
    network: LoadedModel, box: Interval, inputs: FloatArray, outputs: FloatArray
) -> FloatArray:
    """Return a point beside ``inputs`` with outputs as close as one coordinate at a time can get.

    The cells between thresholds are closed in a program: at a threshold a solution may have the
    outputs of either side, and the model has those of one. One threshold may matter beyond another
    alone, so the coordinates are gone through until nothing gains.
    """
    step = _STEP * np.maximum(1.0, np.maximum(np.abs(inputs), box.upper - box.lower))
    point, least, before = inputs, _farthest(outputs, network.ir.evaluate(inputs)), np.inf
    while least < 0.99 * before:
        before = least
        for i, far in product(range(inputs.size), (-1, 1)):
            other = point.copy()
            other[i] = np.clip(inputs[i] + far * step[i], box.lower[i], box.upper[i])
            if (found := _farthest(outputs, network.ir.evaluate(other))) < 0.99 * least:
                point, least = other, found
    return point


def _farthest(ours: FloatArray, theirs: NDArray[np.floating]) -> float:
    with np.errstate(invalid="ignore"):
        return float(np.max(np.abs(ours - theirs), initial=0.0))
