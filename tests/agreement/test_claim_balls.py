"""The inputs of a claim, as the checker takes them, against a list of all of these."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from verix_checker.claim_inputs import Ball

ONE = 2**40
SIZE = 6
BLOCK = [3, 4, 5]


class Numbers:
    """The part of a network that a ball needs: the unit of its numbers."""

    one, size = ONE, SIZE

    @staticmethod
    def number(given: Any) -> int:
        """Return a number in units."""
        return int(Fraction(given) * ONE)


def drawn(seed: int) -> dict[str, Any]:
    """Return a claim on three whole numbers and a one-hot block, with rules."""
    rng = np.random.default_rng(seed)
    x = [*(int(n) for n in rng.integers(0, 5, 3)), *np.eye(3, dtype=int)[rng.integers(3)].tolist()]
    radii = [int(r) if r < 4 else None for r in rng.integers(1, 5, 3)]
    claim = {
        "input": x,
        "epsilon": [*radii, None, None, None],
        "norm": "linf",
        "domain": [[0] * 6, [4, 4, 4, 1, 1, 1]],
        "whole": list(range(SIZE)),
        "blocks": [BLOCK],
        "rules": [],
    }
    while len(claim["rules"]) < 2:
        rule = [row(rng) for _ in range(rng.integers(1, 3))]
        if any(keeps(one, x) for one in rule):
            claim["rules"].append(rule)
    return claim


def row(rng: np.random.Generator) -> dict[str, Any]:
    """Return a row of a rule."""
    chosen = rng.choice(SIZE, rng.integers(1, 4), replace=False)
    factors = {str(i): str(Fraction(int(rng.integers(-4, 5)), 2)) for i in chosen}
    return {
        "factors": factors,
        "limit": int(rng.integers(-2, 5)),
        "strict": bool(rng.random() < 0.3),
    }


def keeps(one: dict[str, Any], x: Any) -> bool:
    """Return whether an input satisfies a row."""
    total = sum(Fraction(k) * int(x[int(i)]) for i, k in one["factors"].items())
    return total < one["limit"] if one["strict"] else total <= one["limit"]


def inputs_of(claim: dict[str, Any], free: set[int]) -> Iterator[tuple[int, ...]]:
    """Yield all inputs of a claim, by its definition."""
    x = claim["input"]
    for point in product(range(5), range(5), range(5), (0, 1), (0, 1), (0, 1)):
        near = all(
            r is None or abs(a - b) <= r for a, b, r in zip(point, x, claim["epsilon"], strict=True)
        )
        fixed = all(a == b or i in free for i, (a, b) in enumerate(zip(point, x, strict=True)))
        rules = all(any(keeps(one, point) for one in rule) for rule in claim["rules"])
        if near and fixed and rules and sum(point[i] for i in BLOCK) == 1:
            yield point


def scaled(point: Any) -> list[int]:
    """Return a point as the variables of the checker."""
    return [ONE, *(int(n) * ONE for n in point)]


@pytest.mark.parametrize("seed", range(12))
def test_inputs_are_those_of_the_definition_and_none_is_cut_off(seed: int) -> None:
    claim, rng = drawn(seed), np.random.default_rng(seed)
    ball = Ball(Numbers, claim)
    free = {int(i) for i in rng.choice(3, 2, replace=False)} | set(BLOCK)
    variables = {1 + i for i in free}
    inside = set(inputs_of(claim, free))
    for point in product(range(-1, 6), range(5), range(5), (0, 1), (0, 1), (0, 1)):
        assert ball.holds(scaled(point), variables) == (point in inside)
    assert not ball.holds([ONE, *(n * ONE + 1 for n in claim["input"])], variables)
    ends = ball.cut(*ball.ends(variables))
    assert ends is not None
    for point in map(scaled, inside):
        assert all(a <= n <= b for a, n, b in zip(ends[0], point, ends[1], strict=True))
    for _ in range(40):
        low, high = ([*end] for end in ends)
        v, at = int(rng.integers(1, 4)), int(rng.integers(0, 5)) * ONE + ONE // 2
        (low if rng.random() < 0.5 else high)[v] = at
        left = [
            point
            for point in map(scaled, inside)
            if all(a <= n <= b for a, n, b in zip(low, point, high, strict=True))
        ]
        found = ball.cut(low, high)
        form = {i: int(k) for i, k in enumerate(rng.integers(-ONE, ONE, 1 + SIZE))}
        for point in left:
            assert found is not None
            assert all(a <= n <= b for a, n, b in zip(found[0], point, found[1], strict=True))
            assert sum(k * point[i] for i, k in form.items()) <= ball.reach(form, *found)


def test_the_reach_of_a_block_is_its_largest_factor() -> None:
    claim = {**drawn(0), "rules": []}
    ball = Ball(Numbers, claim)
    ends = ball.ends({4, 5, 6})
    form = {4: -3 * ONE, 5: 2 * ONE, 6: 1 * ONE}
    assert ball.reach(form, *ends) == 2 * ONE * ONE
    assert ball.reach({v: -k for v, k in form.items()}, *ends) == 3 * ONE * ONE


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"blocks": [[3, 4, 5], [5, 2]]}, "overlap"),
        ({"blocks": [[3, 3, 4]]}, "overlap"),
        ({"whole": [6]}, "about no input"),
        ({"whole": [-1]}, "about no input"),
        ({"rules": [[{"factors": {"-1": 1}, "limit": 1}]]}, "names nothing"),
        ({"rules": [[{"factors": {"01": 1}, "limit": 1}]]}, "names nothing"),
        ({"rules": [[{"factors": {"6": 1}, "limit": 1}]]}, "about no input"),
        ({"whole": []}, "a one-hot block of other than whole numbers"),
        ({"norm": "l1"}, "radii of coordinates"),
        ({"epsilon": [1, 1]}, "sizes"),
        ({"domain": [[0] * 5, 1]}, "sizes"),
    ],
)
def test_sets_that_make_no_sense_are_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Ball(Numbers, {**drawn(0), **change})


def test_an_input_without_ends_is_refused() -> None:
    ball = Ball(Numbers, {**drawn(0), "domain": [None, 4], "epsilon": [None] * 6})
    with pytest.raises(ValueError, match="without end"):
        ball.ends({1})
