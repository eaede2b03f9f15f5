"""The sets that satisfy several rows at once are those of enumeration, whatever the multipliers.

The rows are whole numbers times a scale: which sets satisfy them is decided without rounding.
"""

from collections.abc import Callable
from itertools import product
from typing import TypeAlias

import numpy as np
import pytest
from scipy.optimize import linprog

from milp_verix.global_search.enumeration.frontier import Frontier
from milp_verix.global_search.relaxation import surviving_sets
from milp_verix.global_search.relaxation.surviving_sets import _MultiplierLp, surviving
from milp_verix.solvers import SolveStatus
from milp_verix.solvers.interrupt import Interrupt
from milp_verix.solvers.phase.warm_lp import LpResult, WarmLp
from milp_verix.tolerances import Tolerances
from verix_encodings.arrays import FloatArray, IntArray

Set: TypeAlias = tuple[bool, ...]

_SEEDS = 60
_GARBAGE = np.array([0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-320, 1e-9, 1e9, 1e308, -1e308])
_NO_NUMBERS = np.array([np.nan, np.inf, -np.inf])


def _lp() -> WarmLp:
    return WarmLp(1, Tolerances())


def _rows(rng: np.random.Generator, features: int) -> tuple[IntArray, IntArray]:
    """Return ``G`` and ``h`` in whole numbers: ties, zero rows and rows that rule out little."""
    rows = int(rng.integers(1, 7))
    matrix = rng.integers(-9, 10, (rows, features)) * (rng.random((rows, features)) < 0.8)
    # costs of one sign
    matrix[0] = rng.integers(0, 4, features) if rng.random() < 0.5 else 1
    matrix[1:][rng.random(rows - 1) < 0.1] = 0
    some = (rng.random(features) < 0.5).astype(np.intp)
    # by all of them for some set, by few just so
    constant = -(matrix @ some) - rng.integers(0, 8, rows) * (rng.random(rows) < 0.7)
    constant += rng.integers(0, 9, rows) * (rng.random(rows) < 0.1)
    return matrix, constant


def _scaled(
    rng: np.random.Generator, matrix: IntArray, constant: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the rows times scales that float64 does not have, and rows that say nothing."""
    scales = rng.choice([1.0, 0.1, 1 / 3, 1e7 / 3, 7e-9], constant.size)
    size = matrix.shape[1]
    empty = np.concatenate([np.zeros((1, size)), rng.normal(size=(1, size))])
    return (
        np.concatenate([matrix * scales[:, None], empty]),
        np.concatenate([constant * scales, [-np.inf, -np.inf]]),
    )


def _satisfying(matrix: IntArray, constant: IntArray, more: float = 0.0) -> set[Set]:
    """Return the sets that satisfy all rows, up to ``more``, by enumeration."""
    sets = product((False, True), repeat=matrix.shape[1])
    return {
        taken for taken in sets if np.all(matrix @ np.array(taken, dtype=int) + constant <= more)
    }


def _found(
    matrix: FloatArray, constant: FloatArray, most: int = 10**6, lp: Callable[[], WarmLp] = _lp
) -> set[Set]:
    sets = surviving(matrix, constant, most, lp)
    assert sets is not None
    found = {tuple(row) for row in sets.rows().tolist()}
    assert len(found) == len(sets), "a set comes twice"
    return found


def _eager(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """Ask for multipliers from few beginnings on."""
    monkeypatch.setattr(surviving_sets, "_WORTH", int(rng.integers(0, 6)))
    monkeypatch.setattr(surviving_sets, "_EVERY", int(rng.integers(1, 4)))
    monkeypatch.setattr(surviving_sets, "_SAMPLES", int(rng.integers(1, 5)))


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("seed", range(_SEEDS))
def test_sets_are_those_of_enumeration(
    seed: int, eager: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    if eager:
        _eager(monkeypatch, rng)
    matrix, constant = _rows(rng, int(rng.integers(0, 10)))
    # a row of whole numbers that is violated is so by one at least
    assert _found(*_scaled(rng, matrix, constant)) == _satisfying(matrix, constant)


def test_the_drawn_rows_leave_few_sets_and_have_ties() -> None:
    sizes, ties = [], 0
    for seed in range(_SEEDS):
        rng = np.random.default_rng(seed)
        matrix, constant = _rows(rng, 8)
        sizes.append(len(_satisfying(matrix, constant)))
        ties += len(_satisfying(matrix, constant)) - len(_satisfying(matrix, constant, -0.5))
    assert sum(0 < size < 128 for size in sizes) > 30
    assert 0 in sizes
    assert ties > 200


@pytest.mark.parametrize("seed", range(_SEEDS))
def test_fractions_are_decided_up_to_rounding(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    _eager(monkeypatch, rng)
    size = int(rng.integers(1, 10))
    matrix = rng.normal(size=(4, size)) * 10.0 ** rng.integers(-6, 7, (4, 1))
    matrix[0] = rng.random(size)
    constant = -(matrix @ (rng.random(size) < 0.5)) - rng.random(4) * np.abs(matrix).mean(axis=1)
    found = _found(matrix, constant)
    for taken in product((False, True), repeat=size):
        values = matrix @ np.array(taken, dtype=float) + constant
        if np.all(values <= 0):
            assert taken in found
        if taken in found:
            assert np.all(values <= 1e-6 * np.abs(matrix).sum(axis=1))


def _garbage(rng: np.random.Generator, size: int, *, numbers: bool) -> FloatArray:
    drawn = np.concatenate([_GARBAGE, rng.normal(size=5), _NO_NUMBERS[: 0 if numbers else None]])
    return rng.choice(drawn, size)


@pytest.mark.parametrize("kind", ["numbers", "any", "none"])
def test_no_multipliers_lose_a_set(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def solved(self: WarmLp, _cutoff: float, _deadline: float, _: Interrupt) -> LpResult:
        nonlocal asked
        asked += 1
        garbage = _garbage(rng, self._highs.getNumRow(), numbers=kind == "numbers")
        multipliers = None if kind == "none" else garbage
        return LpResult(SolveStatus.OPTIMAL, None, multipliers, 0, "garbage")

    monkeypatch.setattr(WarmLp, "solve", solved)
    for seed in range(40):
        rng = np.random.default_rng([seed, 1])
        _eager(monkeypatch, rng)
        matrix, constant = _rows(rng, 8)
        # a row that is as good as violated, and one that comes twice
        matrix = np.concatenate([matrix, np.zeros((1, 8), dtype=np.intp), matrix[:1]])
        constant = np.append(constant, [0, constant[0]])
        with np.errstate(all="ignore"):
            assert _found(*_scaled(rng, matrix, constant)) == _satisfying(matrix, constant), seed
    assert asked > 300


def test_products_that_underflow_lose_no_set(monkeypatch: pytest.MonkeyPatch) -> None:
    multipliers = -np.array([1.0, 5e-324])

    def solved(*_: object) -> LpResult:
        return LpResult(SolveStatus.OPTIMAL, None, multipliers, 0, "tiny")

    monkeypatch.setattr(WarmLp, "solve", solved)
    monkeypatch.setattr(surviving_sets, "_WORTH", 0)
    matrix = np.array([[0.0, 0.0, 0.0], [-1.0, -0.4, -0.4]])
    # 1.75 - 1 - 0.4 - 0.4 < 0, but rounded to whole numbers these are 2 - 1 - 0 - 0
    assert _found(matrix, np.array([0.0, 1.75])) == {(True, True, True)}


@pytest.mark.parametrize("scale", [1e99, 1e101, 1e300, 1e308, 1.7e308])
@pytest.mark.parametrize("seed", range(10))
def test_huge_rows_lose_no_set(seed: int, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng([seed, 2])
    _eager(monkeypatch, rng)
    matrix, constant = _rows(rng, 7)
    sizes = np.maximum(np.abs(matrix).sum(axis=1) + np.abs(constant), 1)
    # each is a number yet, their sum is none
    found = _found(matrix * (scale / sizes)[:, None], constant * (scale / sizes))
    assert found >= _satisfying(matrix, constant)


@pytest.mark.parametrize("scale", [1e-310, 5e-324])
@pytest.mark.parametrize("seed", range(10))
def test_tiny_rows_lose_no_set(seed: int, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng([seed, 2])
    _eager(monkeypatch, rng)
    matrix, constant = _rows(rng, 7)
    scales = np.where(np.arange(constant.size) % 2, 1.0, scale)
    with np.errstate(all="ignore"):
        found = _found(matrix * scales[:, None], constant * scales)
    assert found >= _satisfying(matrix, constant)


@pytest.mark.parametrize("worth", [0, 10**6])
def test_without_rows_or_features(worth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surviving_sets, "_WORTH", worth)
    every = set(product((False, True), repeat=5))
    for matrix, constant in (
        (np.zeros((0, 5)), np.zeros(0)),
        (np.ones((2, 5)), np.full(2, -np.inf)),
        (np.zeros((2, 5)), np.array([0.0, -1.0])),
    ):
        assert _found(matrix, constant) == every
        assert _found(matrix, constant, 32) == every
        assert surviving(matrix, constant, 31, _lp) is None
    assert _found(np.zeros((1, 5)), np.ones(1)) == set()
    assert _found(np.zeros((0, 0)), np.zeros(0)) == {()}
    assert _found(np.zeros((2, 0)), np.array([0.0, -1.0])) == {()}
    assert _found(np.zeros((2, 0)), np.array([0.0, 1.0])) == set()


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_there_are_no_more_beginnings_than_allowed(
    seed: int, eager: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng([seed, 3])
    if eager:
        _eager(monkeypatch, rng)
    matrix, constant = _scaled(rng, *_rows(rng, 8))
    choose, ways = Frontier.choose, []

    def counted(self: Frontier, *sides: object) -> None:
        choose(self, *sides)  # type: ignore[arg-type]
        ways.append(self.ways)

    monkeypatch.setattr(Frontier, "choose", counted)
    found = _found(matrix, constant)
    widest = max(ways)
    assert _found(matrix, constant, widest) == found
    if widest:
        ways.clear()
        assert surviving(matrix, constant, widest - 1, _lp) is None
        assert ways[-1] == widest
        assert max(ways[:-1], default=0) < widest


def _contradicting(features: int) -> tuple[FloatArray, FloatArray]:
    """Return two rows that no set satisfies, though each and their sum leave many beginnings."""
    weights = np.random.default_rng(4).uniform(0.5, 1.5, features)
    half = weights.sum() / 2
    return np.array([weights, -3.0 * weights]), np.array([-half, 3.0 * (half + 0.01)])


def _least(matrix: FloatArray, constant: FloatArray) -> float:
    """Return the least ``t`` with ``G A + h ≤ t`` for some shares."""
    rows, features = matrix.shape
    result = linprog(
        np.append(np.zeros(features), 1.0),
        A_ub=np.column_stack([matrix, -np.ones(rows)]),
        b_ub=-constant,
        bounds=[*[(0.0, 1.0)] * features, (None, None)],
    )
    assert result.status == 0
    return float(result.fun)


def test_a_beginning_that_no_shares_save_is_ruled_out_once_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at, account = _MultiplierLp.at, Frontier.account
    asked: list[FloatArray] = []
    saved, lost = 0, 0

    def noted(self: _MultiplierLp, beginning: FloatArray) -> FloatArray:
        asked.append(beginning)
        return at(self, beginning)

    def checked(self: Frontier, left: FloatArray) -> None:
        nonlocal saved, lost
        account(self, left)
        ways = {tuple(way) for way in self.chosen(np.arange(self.ways)).T.tolist()}
        first, rest = order[: self.features], order[self.features :]
        for beginning in asked:
            least = _least(matrix[:, rest], constant + matrix[:, first] @ beginning)
            if abs(least) > 1e-6:
                assert (tuple(beginning) in ways) == (least < 0)
            saved += least < -1e-6
            lost += least > 1e-6
        asked.clear()

    monkeypatch.setattr(_MultiplierLp, "at", noted)
    monkeypatch.setattr(Frontier, "account", checked)
    monkeypatch.setattr(surviving_sets, "_WORTH", 0)
    monkeypatch.setattr(surviving_sets, "_EVERY", 1)
    for seed in range(25):
        rng = np.random.default_rng([seed, 6])
        matrix = rng.normal(size=(4, 8)) * 10.0 ** rng.integers(-2, 3, (4, 1))
        constant = -matrix @ (rng.random(8) < 0.5) + 0.05 * np.abs(matrix).sum(axis=1)
        order = np.argsort(-np.abs(matrix.sum(axis=0)))
        _found(matrix, constant)
    assert saved > 50
    assert lost > 20


def test_multipliers_rule_out_what_no_row_does(monkeypatch: pytest.MonkeyPatch) -> None:
    at, asked = _MultiplierLp.at, 0

    def counted(self: _MultiplierLp, beginning: FloatArray) -> FloatArray:
        nonlocal asked
        asked += 1
        return at(self, beginning)

    monkeypatch.setattr(_MultiplierLp, "at", counted)
    monkeypatch.setattr(surviving_sets, "_WORTH", 10)
    matrix, constant = _contradicting(14)
    assert _found(matrix, constant, 50) == set()
    # what rules out the first rules out all
    assert asked == 1
    monkeypatch.setattr(surviving_sets, "_WORTH", 10**6)
    assert surviving(matrix, constant, 500, _lp) is None
    assert _found(matrix, constant) == set()


def test_multipliers_of_some_beginnings_rule_out_others(monkeypatch: pytest.MonkeyPatch) -> None:
    choose, fewer = Frontier.choose, 0
    ways: list[int] = []

    def counted(self: Frontier, *sides: object) -> None:
        choose(self, *sides)  # type: ignore[arg-type]
        ways.append(self.ways)

    monkeypatch.setattr(Frontier, "choose", counted)
    for seed in range(10):
        rng = np.random.default_rng([seed, 5])
        matrix = rng.normal(size=(5, 12))
        constant = -matrix @ (rng.random(12) < 0.5)
        counts = []
        for worth in (3, 10**6):
            monkeypatch.setattr(surviving_sets, "_WORTH", worth)
            ways.clear()
            _found(matrix, constant)
            counts.append(sum(ways))
        assert counts[0] <= counts[1]
        fewer += counts[0] < 0.8 * counts[1]
    assert fewer >= 4


def test_the_linear_program_is_made_only_where_it_is_used_and_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[str] = []
    close = WarmLp.close

    def closed(self: WarmLp) -> None:
        events.append("closed")
        close(self)

    def made() -> WarmLp:
        events.append("made")
        return _lp()

    monkeypatch.setattr(WarmLp, "close", closed)
    matrix, constant = _contradicting(8)
    _found(matrix, constant, lp=made)
    assert events == []
    monkeypatch.setattr(surviving_sets, "_WORTH", 4)
    _found(matrix, constant, lp=made)
    assert events == ["made", "closed"]
    # where there are too many, too
    assert surviving(np.zeros((1, 8)), np.zeros(1), 100, made) is None
    assert events == ["made", "closed"] * 2
