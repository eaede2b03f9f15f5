"""The ladder: blocks with slices of work that double, where many neurons are undecided."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from milp_verix import Problem, explain
from milp_verix.base.clock import NO_LIMIT, Deadline, Limit, OutOfTimeError
from milp_verix.oracle.ball_bounds import whole_ball
from milp_verix.oracle.verdict import TIME_LIMIT, Answer, Verdict
from milp_verix.searches.order import RANKINGS, boundary, furthest, resolve_order, total_influence
from milp_verix.searches.strategies import STRATEGIES, Traversal, Walk, traverse
from tests.support.clocks import WorkClock, planned, slice_seconds
from tests.support.counterfactual_checks import assert_sound
from tests.support.digits_example import images, network
from tests.support.numbered_features import NumberedFeatures
from tests.support.random_networks import Layer, dense_network, random_layers
from verix_encodings import Interval
from verix_encodings.arrays import FloatArray


@dataclass
class _Costly:
    """Decides a set of features for work that grows with it; some features are needed."""

    needed: frozenset[int] = frozenset()
    base: float = 0.01
    growth: float = 1.2
    many_open: bool = True
    problem: NumberedFeatures = field(default_factory=NumberedFeatures)
    proven: bool = False
    exactness: str = "exact"
    asked: list[tuple[tuple[int, ...], float, Answer]] = field(default_factory=list)
    clock: WorkClock = field(default_factory=WorkClock)

    def cost(self, count: int) -> float:
        return float(self.base * self.growth**count)

    def check(self, free: Any, deadline: Deadline) -> Verdict:
        members, part = tuple(free.tolist()), slice_seconds(deadline)
        price = self.cost(len(members))
        if price > part:
            deadline.use_up()
            found = Verdict(Answer.UNKNOWN, reason=TIME_LIMIT)
        else:
            self.clock.now += price
            found = Verdict(Answer.HOLDS, bound=-1.0)
            if self.needed & {*members}:
                found = Verdict(Answer.VIOLATED, witness=np.zeros(1), prediction=1)
        self.asked.append((members, part, found.answer))
        return found

    def check_by_bounds(self, free: Any, deadline: Deadline) -> Verdict:
        return Verdict(Answer.UNKNOWN, reason="bounds alone do not decide it")

    def flipped(self, *_: Any) -> dict[int, Verdict]:
        return {}

    def attacked(self, *_: Any) -> dict[int, Verdict]:
        return {}

    def shortest_violated(
        self, irrelevant: Any, block: Any, verdict: Verdict, _: Any
    ) -> tuple[int, Verdict]:
        return next(n for n, f in enumerate(block, 1) if f in self.needed), verdict


def _walked(oracle: Any, order: Any, limit: float, traversal: str = "galloping") -> Traversal:
    state = Traversal(tuple(order))
    walk = Walk(oracle, state, planned(limit), Limit())
    traverse(walk, STRATEGIES[traversal])
    return state


@pytest.mark.parametrize("seed", range(20))
def test_it_finds_what_one_check_for_each_feature_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(14).tolist()
    needed = frozenset(rng.permutation(14)[: rng.integers(0, 14)].tolist())
    by_ladder = _walked(_Costly(needed), order, 1e4)
    one_by_one = _walked(_Costly(needed), order, 1e4, "sequential")
    assert {*by_ladder.irrelevant} == {*one_by_one.irrelevant}
    assert {*by_ladder.violated} == {*one_by_one.violated} == needed
    assert not by_ladder.undecided


@pytest.mark.parametrize("growth", [1.1, 1.3, 1.6])
def test_its_work_is_a_few_times_that_of_the_largest_set(growth: float) -> None:
    oracle = _Costly(growth=growth)
    state = _walked(oracle, range(40), 1e9)
    assert not state.remaining
    assert oracle.clock.now < 10 * oracle.cost(40)


def test_no_block_is_asked_about_twice_in_one_slice_and_slices_never_begin_anew() -> None:
    oracle = _Costly(needed=frozenset({5, 11}), growth=1.6)
    state = Traversal(tuple(range(40)))
    walk = Walk(oracle, state, planned(200.0).within(400.0), Limit())
    with pytest.raises(OutOfTimeError):
        traverse(walk, STRATEGIES["galloping"])
    late = [(members, part) for members, part, found in oracle.asked if found is Answer.UNKNOWN]
    for number, (members, part) in enumerate(late):
        longer = [other for other, before in late[:number] if other == members and before >= part]
        assert not longer or len(members) - len(state.irrelevant) <= 1
    parts = [part for _, part, _ in oracle.asked]
    assert max(parts) > 50 * parts[0]
    rising = parts[: parts.index(max(parts)) + 1]
    assert rising == pytest.approx(sorted(rising))


Lines: TypeAlias = list[tuple[FloatArray, FloatArray]]
"""The slopes above and below the ReLUs of each layer."""


def _above(row: FloatArray, layers: Sequence[Layer], found: Any, x: Any, r: Any) -> float:
    """Bound ``row`` of the last layer from above, by the lines and intercepts ``found``."""
    c, constant = row @ layers[-1][0], row @ layers[-1][1]
    for (matrix, bias), (high, low, intercept) in zip(layers[-2::-1], found[::-1], strict=True):
        constant += np.maximum(c, 0) @ intercept
        c = np.maximum(c, 0) * high + np.minimum(c, 0) * low
        constant, c = constant + c @ bias, c @ matrix
    return float(c @ x + np.abs(c) @ r + constant)


def _bounds(
    layers: Sequence[Layer], x: Any, r: Any, held: Lines | None = None
) -> tuple[list[Interval], Lines]:
    """Return CROWN's bounds before each ReLU and on the outputs; slopes may be ``held``."""
    found, intervals, slopes = list[Any](), list[Interval](), list[Any]()
    for depth in range(1, len(layers) + 1):
        part, every = layers[:depth], np.eye(len(layers[depth - 1][1]))
        upper = np.array([_above(row, part, found, x, r) for row in every])
        lower = -np.array([_above(-row, part, found, x, r) for row in every])
        intervals.append(Interval(lower, upper))
        open_, span = (lower < 0) & (upper > 0), np.maximum(upper - lower, 1e-9)
        high = np.where(open_, upper / span, lower >= 0)
        low = np.where(open_, upper > -lower, lower >= 0).astype(float)
        high, low = (high, low) if held is None else held[depth - 1]
        found.append((high, low, np.where(open_, -upper * lower / span, 0.0)))
        slopes.append((high, low))
    return intervals, slopes


@pytest.mark.parametrize("seed", range(6))
def test_total_influence_is_the_slope_of_bounds_by_each_radius(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    layers = random_layers(rng, [5, 8, 7, 6, 2])
    model, radius = dense_network(layers, tmp_path), 0.3
    x = rng.uniform(0.4, 0.6, 5).astype(np.float32)
    problem: Any = Problem(model, x.reshape(1, 5), epsilon=radius)
    label = problem.question.label
    row = layers[-1][0][[1 - label]] - layers[-1][0][[label]]
    bias = layers[-1][1][[1 - label]] - layers[-1][1][[label]]
    layers = (*layers[:-1], (row, bias))
    centre, r = x.astype(float), np.full(5, radius)
    intervals, held = _bounds(layers, centre, r)
    values = [Interval(centre - r, centre + r)]
    for interval in intervals:
        after = Interval(np.maximum(interval.lower, 0), np.maximum(interval.upper, 0))
        values += [interval, after]
    assert len(problem.margins.nodes) == len(values) - 2
    found = total_influence(problem, problem.margins, tuple(values[:-1]))
    distance = -float(problem.margins.evaluate(centre)[0])
    step = 1e-6
    for i in range(5):
        there = r + step * (np.arange(5) == i)
        more = _bounds(layers, centre, there, held)[0][-1].upper - intervals[-1].upper
        assert found[i] * distance == pytest.approx(float(more[0]) / step * radius, rel=1e-3)


def test_the_order_that_goes_furthest_is_taken() -> None:
    problem: Any = Problem(network(), images()[0], epsilon=0.1)
    whole = whole_ball(problem)
    ascending = resolve_order(problem, "influence")(NO_LIMIT, whole)
    first = replace(ascending, name="custom", permutation=ascending.permutation[::-1])
    most, bounds = boundary(problem, NO_LIMIT, whole, first.permutation)
    assert 0 < most < problem.features.count
    assert bounds[-1].upper.max() >= 0
    chosen = furthest(problem, NO_LIMIT, whole, first)
    reached, _ = boundary(problem, NO_LIMIT, whole, chosen.permutation)
    assert reached > most
    assert chosen.name in RANKINGS
    assert furthest(problem, NO_LIMIT, whole, chosen) is chosen
    late = Deadline(at=0.0)
    assert furthest(problem, late, whole, first) is first


@pytest.mark.parametrize("index", [0, 1, 2])
def test_the_order_that_is_told_is_the_one_walked(
    index: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("milp_verix.oracle.oracle.MOST_OPEN", 0)
    x = images()[index]
    found = explain(network(), x, epsilon=0.1)
    assert_sound(found, network(), x)
    given = found.permutation[::-1] if index == 2 else found.permutation
    walked = explain(network(), x, epsilon=0.1, order=given)
    one_by_one = explain(network(), x, epsilon=0.1, order=given, traversal="sequential")
    assert walked.permutation == tuple(given)
    assert walked.explanation == one_by_one.explanation
    assert (walked.explanation == found.explanation) or index == 2
    assert not found.unknown
