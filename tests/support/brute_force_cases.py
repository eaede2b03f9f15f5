"""Hundreds of tiny problems, drawn from their seeds, each with the oracle of brute force."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.models.onnx.onnx_network import OnnxNetwork
from tests.support.brute_force import BruteForce
from tests.support.onnx_models import DOUBLE, FLOAT
from tests.support.random_networks import Layer, dense_network, random_layers
from verix_encodings import BoundMethod, arrays, crown_bounds, interval_bounds


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A problem as plain numbers; ``brute`` answers it, ``options`` pose it to the toolkit."""

    seed: int
    layers: tuple[Layer, ...]
    elem: int
    x: NDArray[Any]
    epsilon: float
    domain: tuple[float | NDArray[np.float64], float | NDArray[np.float64]]
    groups: list[list[int]]
    delta: float | None
    brute: BruteForce

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments that pose the problem."""
        grouped = len(self.groups) < self.x.size
        return {
            "epsilon": self.epsilon,
            "domain": self.domain,
            "delta": self.delta,
            "features": self.groups if grouped else None,
        }

    @property
    def bounds(self) -> BoundMethod:
        """The bounds to use: with interval arithmetic more is left to the solver."""
        return interval_bounds if self.seed % 2 else crown_bounds

    def network(self, folder: Path) -> OnnxNetwork:
        """Return the network, through an ONNX file in ``folder`` where it is not loaded yet."""
        key = (self, arrays._SMALL)
        if key not in _LOADED:
            # a file of its own: the network is read again from it, by onnxruntime
            own = folder / f"case-{len(_LOADED)}"
            own.mkdir(exist_ok=True)
            _LOADED[key] = dense_network(self.layers, own, self.elem)
        return _LOADED[key]

    def subsets(self, count: int) -> list[list[int]]:
        """Return the set of all features and ``count`` random sets."""
        rng = np.random.default_rng([self.seed, 1])
        features = np.arange(len(self.groups))
        drawn = [features[rng.random(features.size) < 0.6].tolist() for _ in range(count)]
        return [features.tolist(), *drawn]


_LOADED: dict[tuple[Case, int], OnnxNetwork] = {}
"""The networks of cases, by how their matrices are stored (``matrix_storage``)."""


@cache
def case(seed: int) -> Case:
    """Return the problem of ``seed``: both types, both questions, several shapes and domains."""
    rng = np.random.default_rng(seed)
    elem = DOUBLE if seed % 4 == 3 else FLOAT
    size = int(rng.integers(3, 6))
    hidden = [(4,), (5,), (6,), (3, 3), (4, 2)][rng.integers(5)]
    regression = seed % 3 == 2
    outputs = int(rng.integers(1, 4)) if regression else int(rng.integers(2, 5))
    layers = random_layers(rng, (size, *hidden, outputs), elem)
    # in the cube, some coordinates at an end of it
    x = np.clip(rng.uniform(-0.2, 1.2, size), 0, 1)
    x = x.astype(np.float32 if elem == FLOAT else np.float64)
    low, high = np.zeros(size), np.ones(size)
    domain: tuple[Any, Any] = (0.0, 1.0)
    if seed % 5 == 4:
        # the user's own domain: an array of ends that cut deeper, one side without an end
        high = np.maximum(rng.uniform(0.5, 1.0, size), x.astype(np.float64))
        low = np.where(rng.random(size) < 0.5, -np.inf, 0.0)
        domain = (low[None], high[None])
    groups = [[i] for i in range(size)]
    if seed % 7 == 6:
        order = rng.permutation(size).tolist()
        groups = [sorted(order[:2]), *([i] for i in order[2:])]
    epsilon = float(rng.uniform(0.2, 0.8))
    brute = BruteForce(layers, x.astype(np.float64), epsilon, groups, low, high)
    at_x, shifts = brute.evaluate(brute.x), _shifts(brute)
    delta = None
    if regression:
        delta = 0.01 + float(np.max(np.abs(shifts)) * rng.uniform(0.4, 1.2))
    else:
        # rivals as far behind as the ball can about make up for: the checks come out both ways
        label = int(rng.integers(outputs))
        gains = np.max(shifts - shifts[:, [label]], axis=0)
        scores = -rng.uniform(0.4, 1.4, outputs) * gains - 0.01 * (gains >= 0)
        scores[label] = 0.0
        matrix, bias = layers[-1]
        moved = bias + (scores - at_x)
        # a double holds a float32 exactly
        layers = (*layers[:-1], (matrix, moved.astype(np.float32).astype(np.float64)))
    brute = BruteForce(layers, brute.x, epsilon, groups, low, high, delta)
    return Case(seed, layers, elem, x, epsilon, domain, groups, delta, brute)


def _shifts(brute: BruteForce) -> NDArray[np.float64]:
    """Return how far each corner of the ball moves each output, shape (corners, outputs)."""
    ends = zip(
        np.maximum(brute.x - brute.epsilon, brute.low),
        np.minimum(brute.x + brute.epsilon, brute.high),
        strict=True,
    )
    corners = [brute.evaluate(np.array(corner)) for corner in product(*ends)]
    return np.array(corners) - brute.evaluate(brute.x)


def permutation(seed: int, count: int) -> Sequence[int]:
    """Return a custom order of ``count`` features."""
    return np.random.default_rng([seed, 2]).permutation(count).tolist()
