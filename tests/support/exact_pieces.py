"""Claims about small dense networks, decided in fractions by listing all patterns of phases.

Two free coordinates make the region a rectangle. Each neuron cuts every polygon where it is zero;
on each part all values are affine, so that margins are greatest at corners.
"""

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from tests.support.random_networks import Layer

Point: TypeAlias = tuple[Fraction, Fraction]
Plane: TypeAlias = tuple[Fraction, Fraction, Fraction]
"""The affine function ``a + b s + c t`` of the free coordinates ``s`` and ``t``."""


def holds(layers: Sequence[Layer], claim: Mapping[str, Any]) -> bool:
    """Return whether all inputs of the claim, of two free coordinates at most, keep the class."""
    x = [Fraction(entry) for entry in claim["input"]]
    free = sorted(i for feature in set(claim["irrelevant"]) for i in claim["features"][feature])
    assert len(free) <= 2
    assert claim["norm"] == "linf"
    epsilon = Fraction(claim["epsilon"])
    lower, upper = _ends(claim)
    assert all(low <= entry <= high for low, entry, high in zip(lower, x, upper, strict=True))
    ends = [(max(x[i] - epsilon, lower[i]), min(x[i] + epsilon, upper[i])) for i in free]
    ends += [(Fraction(0), Fraction(0))] * (2 - len(free))
    (a, b), (c, d) = ends
    ways: list[Plane] = [(value, Fraction(0), Fraction(0)) for value in x]
    for place, i in enumerate(free):
        ways[i] = (Fraction(0), Fraction(place == 0), Fraction(place == 1))
    own = claim["class"]
    for corners, outputs in _pieces([((a, c), (b, c), (b, d), (a, d))], ways, layers):
        for rival, corner in itertools.product(range(len(outputs)), corners):
            if rival != own and _at(outputs[rival], corner) >= _at(outputs[own], corner):
                return False
    return True


def shows(
    layers: Sequence[Layer],
    claim: Mapping[str, Any],
    feature: int,
    moved: Mapping[str, Any],
    starts: Sequence[Sequence[Any]] = (),
) -> bool:
    """Return whether a point of the ball shows that a feature is needed."""
    x = [Fraction(entry) for entry in claim["input"]]
    named = dict(enumerate(starts[moved["start"]])) if "start" in moved else {}
    named |= {int(place): value for place, value in moved.items() if place != "start"}
    point = list(x)
    for place, value in named.items():
        point[place] = _coordinate(claim, place, value)
    groups = claim["features"]
    free = {i for one in {*claim["irrelevant"], feature} for i in groups[one]}
    near = all(abs(a - b) <= Fraction(claim["epsilon"]) for a, b in zip(point, x, strict=True))
    fixed = all(a == b or i in free for i, (a, b) in enumerate(zip(point, x, strict=True)))
    lower, upper = _ends(claim)
    inside = all(low <= a <= high for low, a, high in zip(lower, point, upper, strict=True))
    found, own = scores(layers, point), claim["class"]
    return near and fixed and inside and max(found) > found[own]


def _coordinate(claim: Mapping[str, Any], place: int, value: Any) -> Fraction:
    """Return a number, or an end of the box, or the input, for a sign."""
    x, epsilon = Fraction(claim["input"][place]), Fraction(claim["epsilon"])
    lower, upper = _ends(claim)
    if value == "-":
        return max(x - epsilon, lower[place])
    if value == "+":
        return min(x + epsilon, upper[place])
    return x if value == "." else Fraction(value)


def _ends(claim: Mapping[str, Any]) -> list[list[Fraction]]:
    size, far = len(claim["input"]), Fraction(10) ** 9
    result = []
    for sign, end in zip((-1, 1), claim["domain"], strict=True):
        ends = end if isinstance(end, list) else [end] * size
        result.append([sign * far if one is None else Fraction(one) for one in ends])
    return result


def scores(layers: Sequence[Layer], x: Sequence[Fraction]) -> list[Fraction]:
    """Return the exact scores at ``x``."""
    planes: list[Plane] = [(value, Fraction(0), Fraction(0)) for value in x]
    zero = (Fraction(0), Fraction(0))
    ((_, outputs),) = _pieces([(zero,)], planes, layers)
    return [_at(plane, zero) for plane in outputs]


def _pieces(
    polygons: list[tuple[Point, ...]], ways: list[Plane], layers: Sequence[Layer]
) -> list[tuple[tuple[Point, ...], list[Plane]]]:
    parts = [(polygon, ways) for polygon in polygons]
    for number, (matrix, bias) in enumerate(layers):
        found = []
        for corners, values in parts:
            z = [_combined(row, values, shift) for row, shift in zip(matrix, bias, strict=True)]
            last = number == len(layers) - 1
            found += [(corners, z)] if last else _cut(corners, z)
        parts = found
    return parts


def _cut(corners: tuple[Point, ...], z: list[Plane]) -> list[tuple[tuple[Point, ...], list[Plane]]]:
    parts: list[tuple[tuple[Point, ...], list[Plane]]] = [(corners, [])]
    none = (Fraction(0),) * 3
    for plane in z:
        minus = (-plane[0], -plane[1], -plane[2])
        halves = [
            (_clipped(known, side), [*values, value])
            for known, values in parts
            for side, value in ((plane, plane), (minus, none))
        ]
        parts = [(known, values) for known, values in halves if known]
    return parts


def _clipped(corners: tuple[Point, ...], plane: Plane) -> tuple[Point, ...]:
    """Return the part of a convex polygon where ``plane`` is at least zero."""
    result: list[Point] = []
    for one, other in zip(corners, (*corners[1:], corners[0]), strict=True):
        here, there = _at(plane, one), _at(plane, other)
        if here >= 0:
            result.append(one)
        if here * there < 0:
            t = here / (here - there)
            result.append((one[0] + t * (other[0] - one[0]), one[1] + t * (other[1] - one[1])))
    return tuple(dict.fromkeys(result))


def _combined(row: Any, values: list[Plane], shift: float) -> Plane:
    terms = [(Fraction(float(w)), plane) for w, plane in zip(row, values, strict=True)]
    first, second, third = (sum((w * p[k] for w, p in terms), Fraction(0)) for k in range(3))
    return first + Fraction(float(shift)), second, third


def _at(plane: Plane, point: Point) -> Fraction:
    return plane[0] + plane[1] * point[0] + plane[2] * point[1]
