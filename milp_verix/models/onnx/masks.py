"""Scores of −∞, which exporters write for what attention may not see: their softmax is 0.

A symbol holds finite numbers, so −∞ is written as a number that no network has. Operators that move
elements or add to them carry it on, a softmax leaves the score out, and any other operator refuses
it.
"""

import numpy as np

from milp_verix.models.onnx.symbol import Symbol, Tensor
from verix_encodings.arrays import BoolArray

MASKED = -(2.0**1000)
"""A score of −∞: half of it is still beyond all numbers of models that do not overflow."""

_MOVING = {"Concat", "Expand", "Flatten", "Gather", "Reshape", "Slice", "Split", "Squeeze"}
_MOVING |= {"Cast", "Dropout", "Identity", "Transpose", "Unsqueeze"}

GIVEN = frozenset(_MOVING | {"Add", "Attention", "Where"})
"""Operators that take constants of −∞."""

READERS = frozenset(_MOVING | {"Add", "Softmax", "Where"})
"""Operators that take scores of −∞, to carry them on or to leave them out."""


def masked(x: Symbol) -> BoolArray:
    """Return which elements are −∞, in one dimension."""
    return x.bias < MASKED / 2


def with_masks(x: Tensor | None) -> Tensor | None:
    """Return a constant with finite numbers in place of −∞; other tensors as they are."""
    if isinstance(x, np.ndarray) and x.dtype.kind == "f" and np.isneginf(x).any():
        return np.where(np.isneginf(x), MASKED, x.astype(np.float64))
    return x
