"""Outline the feature that a counterfactual freed."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from verix_encodings.arrays import BoolArray

MARK = "#e0218a"
"""Far from the colours of statuses, and rare in images."""
_RIM = "white"


def mark(axes: Axes, mask: BoolArray) -> None:
    """Outline the cells in ``mask`` of the picture in ``axes``, with a rim that sets it off."""
    sides = outline(mask)
    for colour, width in ((_RIM, 2.8), (MARK, 1.4)):
        axes.add_collection(
            LineCollection(sides, colors=colour, linewidths=width, capstyle="round", zorder=4)
        )


def outline(mask: BoolArray) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return the sides of the pixels in ``mask`` that face pixels outside it, as (x, y) pairs.

    Pixel (row, column) is the unit square around (x, y) = (column, row).
    """
    padded = np.pad(mask, 1)
    rows, columns = np.nonzero(padded[1:, 1:-1] != padded[:-1, 1:-1])
    sides = [
        ((column - 0.5, row - 0.5), (column + 0.5, row - 0.5))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
    rows, columns = np.nonzero(padded[1:-1, 1:] != padded[1:-1, :-1])
    sides += [
        ((column - 0.5, row - 0.5), (column - 0.5, row + 0.5))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
    return sides
