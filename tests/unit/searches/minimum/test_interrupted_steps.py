"""The bound of a tree is valid after every step, and wherever Ctrl-C comes in one."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from milp_verix import Problem
from milp_verix.base.clock import NO_LIMIT
from milp_verix.base.tolerances import Tolerances
from milp_verix.searches.minimum import branch_and_cut as module
from milp_verix.searches.minimum.branch_and_cut import BranchAndCut, Relaxation, branch_and_cut
from milp_verix.searches.minimum.minimum_search import MinimumSearch
from milp_verix.solvers.warm_lp import WarmLp
from tests.support.exhaustive_explanations import wide_case, wide_truth
from tests.support.interrupts import interrupting
from tests.support.searches import opened, without

_SEEDS = range(2)
_NEAR = 1e-9
_LIMITS = {
    "eager": without(
        "proposals",
        most_sets=3,
    ),
    "phases": without("proposals", "enumeration"),
}


def _least(seed: int) -> int:
    return min(map(len, wide_truth(seed)[0]))


@contextmanager
def _tree(seed: int, limits: str, folder: Path) -> Iterator[tuple[MinimumSearch, BranchAndCut]]:
    """Open a tree that knows no explanation but all features."""
    problem = wide_case(seed)
    posed = Problem(problem.network(folder), problem.x, **problem.options)
    with opened(posed, limits=_LIMITS[limits]) as search:
        tree = branch_and_cut(search, WarmLp(1, Tolerances()))
        assert tree is not None
        yield search, tree
        tree.close()


def _proven(search: MinimumSearch, tree: BranchAndCut) -> float:
    """Return the lower bound on every explanation that the tree proves."""
    return min(tree.bound, search.incumbent.cost)


@pytest.mark.parametrize("limits", _LIMITS)
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_valid_after_every_step(seed: int, limits: str, tmp_path: Path) -> None:
    with _tree(seed, limits, tmp_path) as (search, tree):
        steps = 0
        while not tree.done:
            assert _proven(search, tree) <= _least(seed) + _NEAR
            tree.step(NO_LIMIT)
            steps += 1
        assert _proven(search, tree) == search.incumbent.cost == _least(seed)
        assert steps > 3


def _interrupted(search: MinimumSearch, tree: BranchAndCut) -> bool:
    """Take steps until an interrupt or the end; return whether it was an interrupt."""
    with suppress(KeyboardInterrupt):
        while not tree.done:
            tree.step(NO_LIMIT)
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("limits", _LIMITS)
@pytest.mark.parametrize("seed", _SEEDS)
def test_no_line_of_a_step_is_too_early_for_an_interrupt(
    seed: int, limits: str, tmp_path: Path
) -> None:
    lines = 0

    def tracing(at: int) -> Callable[[FrameType, str, Any], Any]:
        """Return a trace function that interrupts the tree's own line number ``at`` that runs."""

        def in_tree(_frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal lines
            lines += event == "line"
            if lines == at:
                lines += 1
                raise KeyboardInterrupt
            return in_tree

        def enter(frame: FrameType, _event: str, _argument: Any) -> Any:
            return in_tree if frame.f_code.co_filename == module.__file__ else None

        return enter

    def run(at: int) -> bool:
        nonlocal lines
        lines = 0
        with _tree(seed, limits, tmp_path) as (search, tree):
            before = sys.gettrace()
            sys.settrace(tracing(at))
            try:
                stopped = _interrupted(search, tree)
            finally:
                sys.settrace(before)
            assert _proven(search, tree) <= _least(seed) + _NEAR
            assert search.incumbent.cost >= _least(seed)
            if not stopped:
                assert _proven(search, tree) == _least(seed)
            return stopped

    assert not run(-1)
    total = lines
    assert total > 100
    points = np.unique(np.geomspace(1, total, 20).astype(int)).tolist()
    assert all(run(at) for at in points)


@dataclass
class Interrupting:
    """A method that is interrupted in its call number ``at``, before it begins or at its end."""

    original: Callable[..., Any]
    after: bool
    at: int = 0
    calls: int = 0

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.calls += 1
        if self.calls == self.at and not self.after:
            raise KeyboardInterrupt
        result = self.original(*arguments, **options)
        if self.calls == self.at:
            raise KeyboardInterrupt
        return result


@pytest.mark.nightly
@pytest.mark.parametrize("method", ["solve", "_take"])
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_of_a_relaxation_leaves_a_valid_bound(
    after: bool, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupting, interrupts = Interrupting(getattr(Relaxation, method), after), 0

    def called(*arguments: Any, **options: Any) -> Any:
        return interrupting(*arguments, **options)

    monkeypatch.setattr(Relaxation, method, called)
    for seed in range(6):
        interrupting.at = interrupting.calls = 0
        with _tree(seed, "eager", tmp_path) as (search, tree):
            first = interrupting.calls
            assert not _interrupted(search, tree)
        calls = range(first + 1, interrupting.calls + 1)
        for at in calls[:: max(len(calls) // 3, 1)]:
            interrupting.at, interrupting.calls = at, 0
            with _tree(seed, "eager", tmp_path) as (search, tree):
                assert _interrupted(search, tree)
                assert _proven(search, tree) <= _least(seed) + _NEAR
                interrupts += 1
    assert interrupts >= 3


def test_a_search_that_is_interrupted_ends_with_a_sound_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Relaxation, "solve", interrupting(6, Relaxation.solve))
    problem = wide_case(0)
    net = problem.network(tmp_path)
    posed = Problem(net, problem.x, **problem.options)
    with opened(posed, limits=_LIMITS["eager"]) as search:
        with pytest.raises(KeyboardInterrupt):
            search.raise_bound()
        search.stopped = "interrupted"
        found = search.result()
    assert found.lower_bound is not None
    assert 0 < found.lower_bound <= _least(0) <= found.cost
    assert problem.brute.holds(found.irrelevant)
    assert found.replay(net) == ()
