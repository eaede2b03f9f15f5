"""The area under the curve of a score that tells one kind of input from another."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def auroc(positive: ArrayLike, negative: ArrayLike) -> float:
    """Return the chance that a positive scores higher than a negative, ties counted half.

    This is the area under the curve of :func:`roc` (Mann and Whitney 1947). Scores have shapes
    (N,) and (M,). Raises ``ValueError`` where one of them is empty.
    """
    high, low = np.asarray(positive, float), np.asarray(negative, float)
    if not (high.size and low.size):
        raise ValueError("both kinds need a score")
    below, upto = (np.searchsorted(np.sort(low), high, side) for side in ("left", "right"))
    return float(np.mean(below + upto) / (2 * low.size))


def roc(positive: ArrayLike, negative: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return shares of false and of true alarms, from (0, 0) to (1, 1), a point for a threshold."""
    high, low = np.asarray(positive, float), np.asarray(negative, float)
    thresholds = np.unique(np.concatenate([high, low]))[::-1]
    true, false = (np.mean(scores >= thresholds[:, None], axis=1) for scores in (high, low))
    return np.concatenate([[0.0], false]), np.concatenate([[0.0], true])
