"""Distributions as bars: a share of the height for each bin, an axis, the median."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.number_text import nearest
from milp_verix.views.words.wording import counted

_MOST_BINS = 24


class Bin(NamedTuple):
    """A bar: its range and count in words, and the heights of its two parts in percent."""

    told: str
    done: float
    undecided: float


class Histogram(NamedTuple):
    """A distribution in words and as bars; ``median`` and ticks stand at percents of the axis."""

    told: str
    bins: Sequence[Bin]
    median: float
    ticks: Sequence[tuple[str, float]]


def histogram(
    done: Sequence[float],
    undecided: Sequence[float],
    what: str,
    limits: tuple[float, float],
    *,
    logarithmic: bool = False,
) -> Histogram:
    """Return the distribution of values, those of ``undecided`` tasks on top in their colour.

    ``what`` names the values and their unit, ``limits`` are the ends of the axis, so that several
    distributions compare. Values on a ``logarithmic`` axis are above zero, others are whole.
    """
    low, high = limits
    every = np.array([*done, *undecided], dtype=np.float64)
    edges = _edges(low, high, logarithmic=logarithmic)
    scale = np.log if logarithmic else np.asarray

    def across(value: float) -> float:
        return float(np.interp(scale(value), scale(edges[[0, -1]]), [0, 100]))

    firm, _ = np.histogram(np.clip(done, low, high), edges)
    loose, _ = np.histogram(np.clip(undecided, low, high), edges)
    unit = 100 / max(int((firm + loose).max(initial=0)), 1)
    bins = [
        Bin(f"{nearest(start, 3)} to {nearest(end, 3)}: {one + other}", one * unit, other * unit)
        for start, end, one, other in zip(edges[:-1], edges[1:], firm, loose, strict=True)
    ]
    middle = float(np.median(every))
    centre = math.sqrt(low * high) if logarithmic else round((low + high) / 2)
    ticks = [low, high] if not logarithmic and high - low < 2 else [low, centre, high]
    told = (
        f"{what} of {counted(len(every), 'task')}: median {nearest(middle, 3)}, "
        f"from {nearest(float(every.min()), 3)} to {nearest(float(every.max()), 3)}"
    )
    named = [
        (nearest(value, 2) if logarithmic else str(round(value)), across(value)) for value in ticks
    ]
    return Histogram(told, bins, across(middle), list(dict.fromkeys(named)))


def _edges(low: float, high: float, *, logarithmic: bool) -> NDArray[np.float64]:
    if logarithmic:
        return np.geomspace(low, high, _MOST_BINS + 1).astype(np.float64)
    step = max(1, math.ceil((high - low + 1) / _MOST_BINS))
    count = max(1, math.ceil((high - low + 1) / step))
    return low - 0.5 + step * np.arange(count + 1, dtype=np.float64)
