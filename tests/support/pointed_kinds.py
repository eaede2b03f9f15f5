"""Nodes of each kind that is split at points, of four entries: makers from numbers of values."""

from collections.abc import Callable

import numpy as np

from verix_encodings import COS, EXP, SQUARE, Curve, Node, Norm, Product, Softmax, Step

PAIRS = np.array([[0, 1], [2, 3], [1, 1], [3, 0]])
OTHERS = np.array([[1, 2], [2, 0], [1, 3], [0, 0]])

POINTED: dict[str, Callable[[int, int], Node]] = {
    "square": lambda value, _: Curve(value, SQUARE),
    "exp": lambda value, _: Curve(value, EXP),
    "cos": lambda value, _: Curve(value, COS),
    "product": lambda value, before: Product(value, before, PAIRS, OTHERS),
    "products of one value": lambda value, _: Product(value, value, PAIRS, OTHERS),
    "norm": lambda value, _: Norm(
        value, np.array([[2, 0], [1, 3], [0, 1], [3, 0]]), np.full(4, 0.5), np.full(4, 1e-3)
    ),
    "softmax": lambda value, _: Softmax(value, np.array([[2, 0], [1, 3]])),
    "above": lambda value, _: Step(value, "above"),
    "reached": lambda value, _: Step(value, "reached"),
    "floor": lambda value, _: Step(value, "floor"),
    "round": lambda value, _: Step(value, "round"),
}
"""By name: a maker from the number of the value read, and that of the value before it."""
