"""The reach of a ball, against many of its points."""

import numpy as np
import pytest

from verix_checker.claim_inputs import Ball


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_the_reach_of_a_ball_is_above_all_its_points_and_close(norm: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, one = 6, 2**30
    ball = object.__new__(Ball)
    whole = [one, *(int(v) for v in rng.integers(0, one, size))]
    ball.x, ball.norm, ball.epsilon, ball.size = whole, norm, one // 2, size
    ball.blocks, ball.hot = [], set()
    rooms = rng.integers(1, one, (2, size)).tolist()
    low = [one, *(v - room for v, room in zip(whole[1:], rooms[0], strict=True))]
    high = [one, *(v + room for v, room in zip(whole[1:], rooms[1], strict=True))]
    form = {v: int(k) for v, k in enumerate(rng.integers(-one, one, size + 1))}
    bound = ball.reach(form, low, high)
    best = -np.inf
    for _ in range(4000):
        move = rng.normal(size=size) * rng.random(size) ** 3
        move *= 0.5 * one / np.linalg.norm(move, norm)
        point = np.clip(np.array(whole[1:]) + move, low[1:], high[1:])
        best = max(best, sum(form[v + 1] * point[v] for v in range(size)) + form[0] * one)
    assert best <= bound
    # over the box alone the bound is far wider
    box = sum(k * (high[v] if k > 0 else low[v]) for v, k in form.items())
    assert bound - best < 0.3 * (box - best)
