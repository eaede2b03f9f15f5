"""Checks get slices of the work: hard ones are postponed, attacked, and asked about again."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from milp_verix import explain
from milp_verix.base.clock import NO_CHECK_LIMIT, Deadline, Limit, deadline_in
from milp_verix.oracle.verdict import TIME_LIMIT, Answer, Verdict
from milp_verix.searches.runner import stopping
from milp_verix.searches.strategies import STRATEGIES, Traversal, Walk, traverse
from tests.support.clocks import planned, slice_of, slice_seconds
from tests.support.counterfactual_checks import assert_sound
from tests.support.digits_example import images, network
from tests.support.numbered_features import NumberedFeatures


@dataclass
class _Oracle:
    """Decides a set once its slice is as long as its hardest feature wants; 3 alone is needed."""

    wants: dict[int, float]
    needed: frozenset[int] = frozenset({3})
    attackable: frozenset[int] = frozenset()
    problem: NumberedFeatures = field(default_factory=NumberedFeatures)
    proven: bool = False
    works: bool = False
    many_open: bool = False
    exactness: str = "exact"
    slices: list[float] = field(default_factory=list)
    attacks: list[list[int]] = field(default_factory=list)

    def check(self, free: Any, deadline: Deadline) -> Verdict:
        seconds = slice_seconds(deadline)
        self.slices.append(seconds)
        if max(self.wants.get(f, 0.0) for f in free.tolist()) > seconds:
            if self.works:
                deadline.use_up()
            return Verdict(Answer.UNKNOWN, reason=TIME_LIMIT)
        if self.needed & {*free.tolist()}:
            return Verdict(Answer.VIOLATED, witness=np.zeros(1), prediction=1)
        return Verdict(Answer.HOLDS, bound=-1.0)

    def check_by_bounds(self, free: Any, deadline: Deadline) -> Verdict:
        return Verdict(Answer.UNKNOWN, reason="bounds alone do not decide it")

    def flipped(self, *_: Any) -> dict[int, Verdict]:
        return {}

    def forecast(self, *_: Any) -> None:
        return None

    def shortest_violated(
        self, irrelevant: Any, block: Sequence[int], verdict: Verdict, _: Any
    ) -> tuple[int, Verdict]:
        return next(n for n, f in enumerate(block, 1) if f in self.needed), verdict

    def attacked(
        self, irrelevant: Any, features: Sequence[int], deadline: Deadline
    ) -> dict[int, Verdict]:
        self.attacks.append([*features])
        found = Verdict(Answer.VIOLATED, witness=np.zeros(1), prediction=1)
        return {f: found for f in features if f in self.attackable}


def _walked(
    oracle: Any, traversal: str, *, limit: float = 1000.0, each: float = np.inf
) -> Traversal:
    state = Traversal(tuple(range(8)))
    walk = Walk(oracle, state, planned(limit), Limit(work=each))
    with stopping(state):
        traverse(walk, STRATEGIES[traversal])
    return state


@pytest.mark.parametrize("traversal", STRATEGIES)
def test_a_hard_feature_does_not_take_what_the_others_need(traversal: str) -> None:
    oracle = _Oracle({2: 300.0})
    state = _walked(oracle, traversal)
    assert sorted(state.irrelevant) == [0, 1, 2, 4, 5, 6, 7]
    assert [*state.violated] == [3]
    assert not state.undecided
    assert not state.postponed
    # blocks have ten seconds, a feature a quarter of the thousand, the next an eighth, then twice
    assert {*oracle.slices} <= {10.0, 250.0, 125.0, 500.0}
    assert oracle.slices.count(500.0) == 1
    # it comes last
    assert state.irrelevant[-1] == 2


@pytest.mark.parametrize("traversal", STRATEGIES)
def test_what_fits_into_a_slice_is_decided_in_the_order(traversal: str) -> None:
    oracle = _Oracle({2: 200.0})
    state = _walked(oracle, traversal)
    assert state.irrelevant == [0, 1, 2, 4, 5, 6, 7]
    assert not state.tried


@pytest.mark.parametrize("traversal", STRATEGIES)
def test_slices_shrink_while_one_feature_after_the_other_runs_out_of_them(traversal: str) -> None:
    oracle = _Oracle(dict.fromkeys((0, 1, 4, 5, 6, 7), 600.0))
    state = _walked(oracle, traversal)
    assert sorted(state.irrelevant) == [0, 1, 2, 4, 5, 6, 7]
    # 2 and 3 are decided after two that are not, and the slices begin anew
    assert oracle.slices.count(125.0) >= 2


@pytest.mark.parametrize("traversal", STRATEGIES)
def test_a_feature_is_given_up_at_the_limit_of_one_check(traversal: str) -> None:
    oracle = _Oracle({2: 70.0}, works=True)
    state = _walked(oracle, traversal, each=50.0)
    assert state.undecided == {2: TIME_LIMIT}
    assert max(oracle.slices) == pytest.approx(50.0)


@pytest.mark.parametrize("traversal", STRATEGIES)
def test_postponed_features_are_attacked(traversal: str) -> None:
    oracle = _Oracle({2: 300.0, 5: 300.0}, attackable=frozenset({5}))
    state = _walked(oracle, traversal)
    assert sorted(state.violated) == [3, 5]
    assert sorted(state.irrelevant) == [0, 1, 2, 4, 6, 7]
    assert oracle.attacks


def test_without_a_limit_a_feature_has_all_the_time_and_a_block_ten_seconds() -> None:
    oracle = _Oracle({2: 1e9})
    state = _walked(oracle, "galloping", limit=np.inf)
    assert {*oracle.slices} == {10.0, np.inf}
    assert state.irrelevant == [0, 1, 2, 4, 5, 6, 7]


def test_postponed_features_are_open_at_any_moment() -> None:
    state = Traversal((0, 1, 2), irrelevant=[0], postponed=[1])
    assert state.remaining == (1, 2)
    copied = state.copy()
    state.postponed.clear()
    assert copied.postponed == [1]
    assert replace(state).remaining == (1, 2)
    assert Counter(state.order) == Counter({0: 1, 1: 1, 2: 1})


@pytest.mark.nightly
def test_explanations_by_bounds_have_counterfactuals() -> None:
    found = []
    for x in images():
        explanation = explain(network(), x, epsilon=0.2, exactness="bounds")
        assert_sound(explanation, network(), x)
        assert explanation.statistics.solves == 0
        found += explanation.counterfactuals
    assert found


@dataclass
class _Clock:
    """A wall clock that checks move on."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class _Slow(_Oracle):
    """Uses up the slice of each check."""

    clock: _Clock = field(default_factory=_Clock)
    attacked_at: list[float] = field(default_factory=list)

    def check(self, free: Any, deadline: Deadline) -> Verdict:
        self.clock.now += min(slice_seconds(deadline), deadline.seconds)
        return _Oracle.check(self, free, slice_of(0.0))

    def attacked(
        self, irrelevant: Any, features: Sequence[int], deadline: Deadline
    ) -> dict[int, Verdict]:
        self.attacked_at.append(self.clock.now)
        found = super().attacked(irrelevant, features, deadline)
        return found if self.clock.now > 899.0 else {}


@pytest.mark.parametrize("traversal", STRATEGIES)
def test_the_last_tenth_of_the_time_is_for_an_attack_on_all_features_left(
    traversal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle = _Slow(dict.fromkeys((1, 2, 4, 5, 6, 7), 1e9), attackable=frozenset({3, 5, 6}))
    monkeypatch.setattr("milp_verix.base.clock.time", oracle.clock)
    state = Traversal(tuple(range(8)), irrelevant=[0])
    walk = Walk(oracle, state, deadline_in(1000.0), NO_CHECK_LIMIT)  # type: ignore[arg-type]
    with stopping(state):
        traverse(walk, STRATEGIES[traversal])
    assert state.stopped == TIME_LIMIT
    assert 900.0 in [pytest.approx(moment) for moment in oracle.attacked_at]
    # the features that the attack leaves have the seconds left
    assert oracle.clock.now == pytest.approx(1000.0)
    assert sorted(state.violated) == [3, 5, 6]
    assert {*oracle.attacks[oracle.attacked_at.index(900.0)]} >= {1, 2, 4, 5, 6, 7}
