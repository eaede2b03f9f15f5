"""Sweeps over radii: nested sets, limits, interrupts, refusals, JSON."""

import pickle
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from milp_verix import EpsilonSweep, InputError, check, epsilon_sweep, explain
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import TIME_LIMIT
from tests.support import digits_example as digits
from tests.support.unsolvable_problems import HARD_OPTIONS, HARD_X, hard_network
from verix_encodings.work import UNITS_PER_SECOND, worked

RADII = (0.05, 0.2, 0.1)


def swept(**options: Any) -> EpsilonSweep:
    return epsilon_sweep(digits.network(), digits.images()[15], epsilons=RADII, **options)


def test_irrelevant_sets_grow_as_the_radius_shrinks() -> None:
    found = swept()
    assert found.epsilons == (0.2, 0.1, 0.05)
    sets = [set(level.irrelevant) for level in found.levels]
    assert sets[0] < sets[1] < sets[2]
    assert found.minimal
    assert all(level.replay(digits.network()) == () for level in found.levels)
    assert sum(found.added()) == len(sets[-1])
    for feature, level in enumerate(found.level_of()):
        inside = [feature in one for one in sets]
        assert inside == [level is not None and number >= level for number in range(3)]


def test_the_first_level_is_what_explain_finds() -> None:
    alone = explain(digits.network(), digits.images()[15], epsilon=0.2)
    assert swept().levels[0].explanation == alone.explanation


@pytest.mark.slow
def test_without_nesting_each_level_is_what_explain_finds() -> None:
    for level in swept(nested=False).levels:
        alone = explain(digits.network(), digits.images()[15], epsilon=level.epsilon)
        assert level.explanation == alone.explanation


def test_another_solver_proves_the_claim_of_each_level() -> None:
    for level in swept().levels:
        image, epsilon = digits.images()[15], level.epsilon
        claim = check(digits.network(), image, level.irrelevant, epsilon=epsilon, solver="highs")
        assert claim.holds


def test_features_freed_by_a_larger_radius_take_no_check() -> None:
    found = epsilon_sweep(digits.network(), digits.images()[0], epsilons=[0.02, 0.01])
    assert found.sizes == (0, 0)
    assert found.levels[1].statistics.checks == 0


def test_json_and_pickles_keep_every_bit() -> None:
    found = swept()
    for again in (EpsilonSweep.from_json(found.to_json()), pickle.loads(pickle.dumps(found))):
        assert again.to_json() == found.to_json()
        assert all(level.replay(digits.network()) == () for level in again.levels)
    with pytest.raises(InputError, match="not 'sweep'"):
        EpsilonSweep.from_json(digits.explained().to_json())
    with pytest.raises(InputError, match="descend"):
        EpsilonSweep.from_json(found.to_json().replace('"epsilon": 0.05', '"epsilon": 0.3'))


def test_ctrl_c_returns_all_radii(monkeypatch: pytest.MonkeyPatch) -> None:
    check = Oracle.check

    def interrupted(self: Oracle, *given: Any, **named: Any) -> Any:
        if self.problem.ball.epsilon == 0.1:
            raise KeyboardInterrupt
        return check(self, *given, **named)

    monkeypatch.setattr(Oracle, "check", interrupted)
    found = swept()
    assert found.stopped == "interrupted"
    assert found.levels[0].minimal
    assert found.levels[0].statistics.stopped is None
    assert not found.levels[1].minimal
    assert found.levels[2].irrelevant == found.levels[1].irrelevant
    assert set(found.levels[2].unknown_reasons.values()) == {"interrupted"}
    assert all(level.replay(digits.network()) == () for level in found.levels)


def test_each_radius_has_its_share_of_the_seconds_on_a_slow_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a second of work takes twenty here
    began = worked()

    def monotonic() -> float:
        return 20 * (worked() - began) / UNITS_PER_SECOND

    monkeypatch.setattr("milp_verix.base.clock.time", SimpleNamespace(monotonic=monotonic))
    ends: dict[float, float] = {}

    def note(snapshot: Callable[[], EpsilonSweep]) -> None:
        ends[snapshot().levels[-1].epsilon] = monotonic()

    found = epsilon_sweep(
        hard_network(tmp_path),
        HARD_X,
        epsilons=[0.3, 0.28, 0.26, 0.24],
        time_limit=40.0,
        snapshots=note,
        **{name: value for name, value in HARD_OPTIONS.items() if name != "epsilon"},
    )
    assert [level.statistics.stopped for level in found.levels[:2]] == [TIME_LIMIT] * 2
    assert len(ends) == 4
    for place, end in enumerate(ends.values()):
        assert end < 12.0 * (place + 1)
    assert all(level.statistics.checks for level in found.levels)
    for larger, smaller in pairwise(found.levels):
        assert {*larger.irrelevant} <= {*smaller.irrelevant}


def test_a_time_limit_returns_all_radii() -> None:
    found = swept(time_limit=1e-6)
    assert len(found.levels) == 3
    assert found.stopped == "time limit"
    assert not found.minimal


def test_snapshots_hold_the_radii_so_far() -> None:
    taken = []
    found = swept(snapshots=lambda now: taken.append(now()))
    assert {len(one.levels) for one in taken} == {1, 2, 3}
    assert taken[-1].levels[-1].irrelevant == found.levels[-1].irrelevant


@pytest.mark.parametrize("one", [0.1, "0.1", {"*": 0.1}, np.full((8, 8), 0.1), iter([0.1])])
def test_one_radius_is_a_sweep_over_it(one: Any) -> None:
    found = epsilon_sweep(digits.network(), digits.images()[15], epsilons=one, time_limit=1e-6)
    assert found.epsilons == (0.1,)


@pytest.mark.parametrize(
    ("epsilons", "message"),
    [
        ([], "one radius or more"),
        (["a"], "numbers"),
        ([0.1, 0.1], "twice"),
        ([0.1, -0.1], "not negative"),
        ([0.1, np.nan], "finite"),
        ([0.1, np.inf], "finite"),
    ],
)
def test_bad_radii_are_refused(epsilons: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        epsilon_sweep(digits.network(), digits.images()[15], epsilons=epsilons)
