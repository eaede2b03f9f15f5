"""Distributions as small vector pictures, drawn by ourselves: bars, an axis, the median."""

import math
from collections.abc import Sequence

import numpy as np

from milp_verix.reporting.pages.markup import Html, element
from milp_verix.reporting.words.wording import counted, number

_WIDTH, _HEIGHT, _LEFT, _BELOW, _ABOVE = 300, 104, 8, 20, 10
_MOST_BINS = 24


def histogram(
    done: Sequence[float],
    undecided: Sequence[float],
    what: str,
    limits: tuple[float, float],
    *,
    logarithmic: bool = False,
    whole: bool = False,
) -> Html:
    """Return the distribution of values, those of ``undecided`` tasks on top in their colour.

    ``what`` names the values and their unit, ``limits`` are the ends of the axis, so that several
    distributions compare. A ``logarithmic`` axis takes values above zero; ``whole`` ones get no
    bin narrower than 1.
    """
    low, high = limits
    every = np.array([*done, *undecided], dtype=np.float64)
    edges = _edges(low, high, logarithmic=logarithmic, whole=whole)

    def across(value: float) -> float:
        part = _part(value, edges[0], edges[-1], logarithmic=logarithmic)
        return _LEFT + (_WIDTH - 2 * _LEFT) * part

    firm, _ = np.histogram(np.clip(done, low, high), edges)
    loose, _ = np.histogram(np.clip(undecided, low, high), edges)
    scale = (_HEIGHT - _ABOVE - _BELOW) / max(int((firm + loose).max(initial=0)), 1)
    step = (_WIDTH - 2 * _LEFT) / (len(edges) - 1)
    floor = _HEIGHT - _BELOW
    bars = []
    for place, (one, other) in enumerate(zip(firm.tolist(), loose.tolist(), strict=True)):
        told = f"{number(edges[place], 3)} to {number(edges[place + 1], 3)}: {one + other}"
        for count, base, kind in ((one, 0, "done"), (other, one, "undecided")):
            if count:
                bars.append(
                    element(
                        "rect",
                        element("title", told),
                        x=f"{_LEFT + place * step + 0.5:.2f}",
                        y=f"{floor - (base + count) * scale:.2f}",
                        width=f"{max(step - 1, 0.5):.2f}",
                        height=f"{count * scale:.2f}",
                        class_=kind,
                    )
                )
    middle = float(np.median(every))
    at, centre = across(middle), math.sqrt(low * high) if logarithmic else (low + high) / 2
    ticks = [low, high] if whole and high - low < 2 else [low, centre, high]
    told = (
        f"{what} of {counted(len(every), 'task')}: median {number(middle, 3)}, "
        f"from {number(float(every.min()), 3)} to {number(float(every.max()), 3)}"
    )
    return element(
        "svg",
        *bars,
        element("path", d=f"M{_LEFT} {floor}H{_WIDTH - _LEFT}", class_="axis"),
        element("path", d=f"M{at:.2f} {_ABOVE - 6}V{floor + 4}", class_="median"),
        *(
            element(
                "text",
                f"{round(value)}" if whole else number(value, 2),
                x=f"{across(value):.2f}",
                y=_HEIGHT - 5,
                text_anchor="start" if value == low else "end" if value == high else "middle",
            )
            for value in dict.fromkeys(ticks)
        ),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=told,
        class_="histogram",
    )


def _edges(low: float, high: float, *, logarithmic: bool, whole: bool) -> list[float]:
    if logarithmic:
        return [float(edge) for edge in np.geomspace(low, high, _MOST_BINS + 1)]
    if whole:
        step = max(1, math.ceil((high - low + 1) / _MOST_BINS))
        count = max(1, math.ceil((high - low + 1) / step))
        return [low - 0.5 + step * place for place in range(count + 1)]
    return [float(edge) for edge in np.linspace(low, high, _MOST_BINS + 1)]


def _part(value: float, low: float, high: float, *, logarithmic: bool) -> float:
    """Return the place of ``value`` between ``low`` and ``high``, from 0 to 1."""
    if logarithmic:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.5
