"""The ladder: blocks with slices of work that double, where many neurons are undecided."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from milp_verix import Problem
from milp_verix.base.clock import NO_LIMIT, Deadline, Limit, OutOfTimeError
from milp_verix.oracle.ball_bounds import whole_ball
from milp_verix.oracle.verdict import TIME_LIMIT, Answer, Verdict
from milp_verix.searches.influence import boundary, total_influence
from milp_verix.searches.order import furthest, resolve_order
from milp_verix.searches.strategies import STRATEGIES, Traversal, Walk, traverse
from tests.support.clocks import WorkClock, planned, slice_seconds
from tests.support.digits_example import images, network
from tests.unit.searches.test_traversal import _Problem


@dataclass
class _Costly:
    """Decides a set of features for work that grows with it; some features are needed."""

    needed: frozenset[int] = frozenset()
    base: float = 0.01
    growth: float = 1.2
    many_open: bool = True
    problem: _Problem = field(default_factory=_Problem)
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
    assert min(parts[-3:]) > parts[0]


def _network(rng: np.random.Generator) -> Network:
    sizes = [6, 7, 7, 2]
    nodes: list[Any] = []
    for i, (before, after) in enumerate(pairwise(sizes)):
        value = 2 * i
        nodes.append(Affine(((value, rng.normal(size=(after, before))),), rng.normal(size=after)))
        if after != sizes[-1]:
            nodes.append(Elementwise.relu(value + 1))
    return Network(6, tuple(nodes))
