"""Trees that split inputs, made by hand, against the exact maximum of a small network.

Over x in [0, 1]², max(x₀ + x₁ − 1, 0) + max(x₀ − x₁, 0) is at most 1, at (1, 0) and (1, 1), and
bounds over the whole square prove 3/2 alone. So a rival with that score stays below a constant
score if the constant is above 1.
"""

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.certificates import checked
from tests.support.random_networks import as_layers, dense_network

LEAF: dict[str, Any] = {"slopes": {}, "multipliers": {}}


def question(constant: float, folder: Path) -> tuple[bytes, dict[str, Any]]:
    """Return a file, and the claim that its class 0, with a constant score, is kept."""
    layers = as_layers(
        ([[1, 1], [1, -1]], [-1, 0]),
        ([[0, 0], [1, 1]], [constant, 0]),
    )
    network = dense_network(layers, folder)
    assert network.path is not None
    model = network.path.read_bytes()
    claim = {
        "sha256": hashlib.sha256(model).hexdigest(),
        "output": network.output_name,
        "input": ["1/2", "1/2"],
        "epsilon": "1/2",
        "norm": "linf",
        "domain": [0, 1],
        "features": [[0], [1]],
        "irrelevant": [0, 1],
        "class": 0,
        "minimal": True,
        "bits": 64,
    }
    return model, claim


def proves(model: bytes, claim: dict[str, Any], tree: Any) -> bool:
    """Return whether the checker accepts a tree."""
    return checked(model, json.dumps({"claim": claim, "trees": [tree], "points": {}}))


def grid(depth: int, ends: tuple[tuple[Fraction, Fraction], ...], axis: int = 0) -> Any:
    """Return a tree that halves the inputs in turn."""
    if depth == 0:
        return LEAF
    low, high = ends[axis]
    at = (low + high) / 2
    below = tuple((low, at) if one == axis else end for one, end in enumerate(ends))
    above = tuple((at, high) if one == axis else end for one, end in enumerate(ends))
    return {
        "input": axis,
        "at": str(at),
        "below": grid(depth - 1, below, 1 - axis),
        "above": grid(depth - 1, above, 1 - axis),
    }


SQUARE = ((Fraction(0), Fraction(1)),) * 2


def test_splits_of_inputs_prove_what_the_whole_square_does_not(tmp_path: Path) -> None:
    model, claim = question(1.25, tmp_path)
    assert not proves(model, claim, LEAF)
    depth = next(depth for depth in range(9) if proves(model, claim, grid(depth, SQUARE)))
    assert depth > 1
    tree = grid(depth, SQUARE)
    # each half alone, in both places, leaves a part of the square out
    assert not proves(model, claim, {**tree, "below": LEAF, "above": LEAF})
    assert not proves(model, claim, {**tree, "input": 2})
    assert not proves(model, claim, {**tree, "input": -1})
    assert not proves(model, claim, {key: tree[key] for key in ("input", "at", "below")})


@pytest.mark.parametrize("seed", range(20))
def test_no_tree_of_inputs_and_signs_proves_a_false_claim(seed: int, tmp_path: Path) -> None:
    model, claim = question(0.9375, tmp_path)
    rng = np.random.default_rng(seed)

    def drawn(depth: int) -> Any:
        if depth == 0:
            return LEAF
        below, above = drawn(depth - 1), drawn(depth - 1)
        if rng.random() < 0.3:
            return {"neuron": int(rng.integers(2)), "below": below, "above": above}
        at = str(Fraction(int(rng.integers(-8, 41)), 32))
        return {"input": int(rng.integers(2)), "at": at, "below": below, "above": above}

    assert not proves(model, claim, drawn(7))
