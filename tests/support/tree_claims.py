"""Claims about small files of trees, decided by going through all cells between thresholds."""

import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

Margin = tuple[Fraction, Fraction, bool]
Cell = tuple[Fraction, Fraction, bool]
"""A number of a cell, its distance from the input, and whether only larger distances are reached.

The number stands for all of the cell: it is the one nearest to the input, or one beyond all that.
"""


def scores_at(model: dict[str, Any], point: list[Fraction]) -> list[Fraction]:
    """Return the exact scores of a file of trees at a point, walking from node to node."""
    scores = [Fraction(entry) for entry in model["base"]]
    for nodes in model["trees"]:
        node = nodes[0]
        while isinstance(node, list):
            coordinate, at, left, right = node
            node = nodes[left if point[coordinate] <= Fraction(at) else right]
        for k, weight in node.items():
            scores[int(k)] += Fraction(weight)
    return scores


def margins_at(model: dict[str, Any], claim: dict[str, Any], point: list[Fraction]) -> list[Margin]:
    """Return for each margin its value, the rounding that counts, and whether ties keep a class."""
    scores, off = scores_at(model, point), [Fraction(entry) for entry in model["rounding"]]
    if "class" not in claim:
        before, delta = scores_at(model, given(claim)), Fraction(claim["delta"])
        return [(abs(scores[k] - before[k]) - delta, 2 * off[k], True) for k in claim["outputs"]]
    chosen = claim["class"]
    if len(scores) == 1:
        kept = model["ties"] == ("upper" if chosen else "lower")
        return [(-scores[0] if chosen else scores[0], off[0], kept)]
    rivals = claim.get("against", [k for k in range(len(scores)) if k != chosen])
    tied = model["ties"] is not None
    return [(scores[k] - scores[chosen], off[k] + off[chosen], tied and chosen < k) for k in rivals]


def given(claim: dict[str, Any]) -> list[Fraction]:
    """Return the input of a claim."""
    return [Fraction(entry) for entry in claim["input"]]


def keeps(model: bytes, claim: dict[str, Any], free: set[int]) -> bool:
    """Return whether a prediction stays, beyond rounding, while the coordinates ``free`` move.

    Rules may be about whole numbers alone.
    """
    read = json.loads(model)
    return not any(
        value > -off or (value == -off and not kept)
        for point in points_of(read, claim, free)
        for value, off, kept in margins_at(read, claim, point)
    )


def points_of(
    model: dict[str, Any], claim: dict[str, Any], free: set[int]
) -> Iterator[list[Fraction]]:
    """Yield a point of each cell of the ball in which the coordinates ``free`` move."""
    x = given(claim)
    single = not isinstance(claim["epsilon"], list)
    epsilon = Fraction(claim["epsilon"]) if single else None
    power = {"linf": 0, "l1": 1, "l2": 2}[claim["norm"]]
    for cells in product(*(_cells(model, claim, v, x[v], v in free) for v in range(len(x)))):
        point = [number for number, _, _ in cells]
        far = sum(distance**power for _, distance, _ in cells) if power else 0
        most = epsilon**power if epsilon is not None and power else 0
        beyond = far == most and any(open_ for *_, open_ in cells)
        if far <= most and not (power and beyond) and is_ruled(claim, point):
            yield point


def _cells(
    model: dict[str, Any], claim: dict[str, Any], v: int, x: Fraction, moves: bool
) -> list[Cell]:
    if not moves:
        return [(x, Fraction(0), False)]
    radius = claim["epsilon"][v] if isinstance(claim["epsilon"], list) else claim["epsilon"]
    low, high = (end[v] if isinstance(end, list) else end for end in claim["domain"])
    lows = [Fraction(low)] if low is not None else []
    highs = [Fraction(high)] if high is not None else []
    if radius is not None:
        lows, highs = [*lows, x - Fraction(radius)], [*highs, x + Fraction(radius)]
    inner = (node for nodes in model["trees"] for node in nodes if isinstance(node, list))
    cuts = sorted({Fraction(node[1]) for node in inner if node[0] == v})
    # without an end, beyond all thresholds
    least, most = max(lows, default=min([x, *cuts]) - 1), min(highs, default=max([x, *cuts]) + 1)
    if v in claim.get("whole", ()):
        numbers = range(-((-least) // 1), most // 1 + 1)
        return [(Fraction(n), abs(n - x), False) for n in numbers]
    cuts = [cut for cut in cuts if least <= cut < most]
    starts = [(least, False), *((cut, True) for cut in cuts)]
    found = []
    for (below, open_), end in zip(starts, [*cuts, most], strict=True):
        nearest = min(max(x, below), end)
        outside = open_ and nearest == below
        number = (below + end) / 2 if outside else nearest
        found.append((number, abs(nearest - x), outside))
    return found


def is_ruled(claim: dict[str, Any], point: list[Fraction]) -> bool:
    """Return whether a point satisfies the rules and one-hot blocks of a claim."""
    if any(sum(point[i] for i in block) != 1 for block in claim.get("blocks", ())):
        return False
    return all(any(_satisfied(row, point) for row in rule) for rule in claim.get("rules", ()))


def _satisfied(row: dict[str, Any], point: list[Fraction]) -> bool:
    total = sum(Fraction(k) * point[int(i)] for i, k in row["factors"].items())
    limit = Fraction(row["limit"])
    return total < limit if row.get("strict") else total <= limit
