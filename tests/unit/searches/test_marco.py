"""Enumerations are those of brute force over all subsets, and each kind hits the other."""

import importlib
import json
import pickle
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix import (
    Enumeration,
    InputError,
    enumerate_explanations,
    minimum,
)
from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.subset_oracle import SubsetOracle
from milp_verix.oracle.verdict import INTERRUPTED, Answer, Verdict
from milp_verix.searches import set_search
from milp_verix.solvers import SOLVERS
from tests.support.brute_force_cases import case
from tests.support.command_line import run_here
from tests.support.counterfactual_checks import assert_sound
from tests.support.digits_example import IMAGES, MODEL, images, network
from tests.support.exhaustive_explanations import (
    CASES,
    SEEDS,
    Sets,
    hitting_sets,
    posed,
    truth,
    wide_case,
    wide_truth,
)
from tests.support.fake_session import FakeSolver
from tests.support.installed_solvers import SLOW
from tests.support.interrupts import interrupt
from tests.support.random_networks import as_layers, dense_network

minimum_module = importlib.import_module("milp_verix.searches.minimum.smallest")
master_module = importlib.import_module("milp_verix.searches.minimum.smallest")


def as_sets(listed: Iterable[Iterable[int]]) -> Sets:
    given = list(listed)
    made = frozenset(map(frozenset, given))
    assert len(made) == len(given)
    return made


@pytest.mark.parametrize(("norm", "seed"), CASES)
def test_enumerations_are_those_of_brute_force(norm: str, seed: int, tmp_path: Path) -> None:
    problem, (explanations, contrasts) = case(seed), truth(seed, norm)
    net, count = problem.network(tmp_path), len(problem.groups)
    found = enumerate_explanations(net, problem.x, **posed(problem, norm))
    assert found.complete
    assert (found.unknown_reason, found.statistics.stopped) == (None, None)
    assert as_sets(found.abductive) == explanations
    assert as_sets(found.contrastive) == contrasts
    assert found.replay(net) == ()
    # duality, which nothing above rests on
    assert hitting_sets(map(frozenset, found.contrastive), count) == explanations
    assert hitting_sets(map(frozenset, found.abductive), count) == contrasts
    assert found.minimum is not None
    assert len(found.minimum) == min(map(len, explanations))
    assert set(found.necessary) == frozenset.intersection(*explanations)


@pytest.mark.nightly
def test_there_is_something_to_find() -> None:
    families = [truth(seed) for seed in SEEDS]
    assert sum(len(explanations) > 1 for explanations, _ in families) > 20
    assert sum(len(contrasts) > 2 for _, contrasts in families) > 10
    wide = [wide_truth(seed) for seed in range(3)]
    assert sum(len(explanations) > 4 for explanations, _ in wide) > 1


@pytest.mark.parametrize("seed", range(3))
def test_eight_features(seed: int, tmp_path: Path) -> None:
    problem = wide_case(seed)
    explanations, contrasts = wide_truth(seed)
    net = problem.network(tmp_path)
    found = enumerate_explanations(net, problem.x, **problem.options)
    assert found.complete
    assert as_sets(found.abductive) == explanations
    assert as_sets(found.contrastive) == contrasts
    smallest = minimum(net, problem.x, method="hitting_sets", **problem.options)
    assert (smallest.proven, smallest.size) == (True, min(map(len, explanations)))


@pytest.mark.slow
@pytest.mark.parametrize(("norm", "seed"), CASES[::2])
def test_hitting_sets_find_the_minimum(norm: str, seed: int, tmp_path: Path) -> None:
    problem, (explanations, _) = case(seed), truth(seed, norm)
    net, options = problem.network(tmp_path), posed(problem, norm)
    found = minimum(net, problem.x, method="hitting_sets", **options)
    assert found.proven
    assert found.size == min(map(len, explanations))
    assert any(explanation <= set(found.explanation) for explanation in explanations)
    assert found.replay(net) == ()
    if norm == "linf":
        assert_sound(found, net, problem.x)
    other = minimum(net, problem.x, **options)
    assert (other.proven, other.size) == (True, found.size)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_agree(solver: str, tmp_path: Path) -> None:
    if reason := SOLVERS[solver].unavailable():
        pytest.skip(reason)
    for seed in range(1 if solver in SLOW else 3):
        problem, (explanations, contrasts) = case(seed), truth(seed)
        options = {**problem.options, "solver": solver}
        found = enumerate_explanations(problem.network(tmp_path), problem.x, **options)
        assert found.complete
        assert as_sets(found.abductive) == explanations
        assert as_sets(found.contrastive) == contrasts


@pytest.mark.parametrize("seed", SEEDS)
def test_a_set_that_is_unknown_is_on_neither_side(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, (explanations, contrasts) = case(seed), truth(seed)
    net, rng = problem.network(tmp_path), np.random.default_rng(seed)
    asked: list[bool] = []

    class Doubtful(Oracle):
        def check(self, free: np.ndarray, deadline: Deadline = NO_LIMIT) -> Verdict:
            asked.append(rng.random() < 0.3)
            if asked[-1]:
                return Verdict(Answer.UNKNOWN, reason="doubt")
            return super().check(free, deadline)

    monkeypatch.setattr(set_search, "Oracle", Doubtful)
    monkeypatch.setattr(minimum_module, "Oracle", Doubtful)
    found = enumerate_explanations(net, problem.x, **problem.options)
    assert as_sets(found.abductive) <= explanations
    assert as_sets(found.contrastive) <= contrasts
    listed = as_sets(found.abductive)
    assert all(len(one) >= found.lower_bound for one in explanations - listed)
    if found.complete:
        assert (listed, as_sets(found.contrastive)) == (explanations, contrasts)
    if not any(asked):
        assert found.complete
    smallest = minimum(net, problem.x, method="hitting_sets", **problem.options)
    assert smallest.lower_bound is not None
    assert smallest.lower_bound <= min(map(len, explanations)) <= smallest.size
    assert problem.brute.holds(smallest.irrelevant)


def test_a_contrast_inside_which_checks_are_unknown_is_not_listed_as_minimal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # x₀ + x₁ + 2 x₂ − 1 within 0.4 of the origin: two features at least must change
    check = Oracle.check

    def doubtful(oracle: Oracle, free: NDArray[np.intp], deadline: Deadline = NO_LIMIT) -> Verdict:
        verdict = check(oracle, free, deadline)
        return verdict if verdict.violated else Verdict(Answer.UNKNOWN, reason="in doubt")

    monkeypatch.setattr(Oracle, "check", doubtful)
    layers = as_layers(([[1, 1, 2]], [0]), ([[0], [1]], [1, 0]))
    found = enumerate_explanations(dense_network(layers, tmp_path), np.zeros(3), epsilon=0.4)
    assert (found.contrastive, found.abductive) == ({}, ())
    assert not found.complete
    assert found.unknown_reason


def test_a_broken_solver_completes_nothing(
    broken_solver: FakeSolver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_search, "LISTED", 0)
    problem = case(1)
    net = problem.network(tmp_path)
    found = enumerate_explanations(net, problem.x, **problem.options)
    assert (found.complete, found.lower_bound) == (False, 0)
    smallest = minimum(net, problem.x, method="hitting_sets", **problem.options)
    assert smallest.lower_bound == 0
    assert len(broken_solver.opened) == 2


@pytest.mark.slow
def test_limits_and_interrupts_leave_what_was_found() -> None:
    found = enumerate_explanations(network(), images()[15], epsilon=0.1, limit=25)
    assert len(found.abductive) + len(found.contrastive) == 25
    assert (found.complete, found.statistics.stopped) == (False, "limit")
    assert found.abductive
    assert found.replay(network()) == ()
    least = minimum(network(), images()[15], epsilon=0.1).size
    assert found.lower_bound <= least <= len(found.abductive[0])

    broken = enumerate_explanations(network(), images()[15], epsilon=0.1, progress=interrupt)
    assert broken.statistics.stopped == "interrupted"
    assert len(broken.abductive) + len(broken.contrastive) > 0
    late = enumerate_explanations(network(), images()[15], epsilon=0.1, time_limit=0.5)
    assert (late.complete, late.statistics.stopped) == (False, "time limit")


def test_an_interrupt_inside_a_check_ends_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[int] = []

    class Interrupted(SubsetOracle):
        def check(self, free: frozenset[int]) -> Verdict:
            checks.append(len(free))
            if len(checks) == 2:
                raise KeyboardInterrupt
            return super().check(free)

    monkeypatch.setattr(master_module, "SubsetOracle", Interrupted)
    problem, (explanations, _) = wide_case(0), wide_truth(0)
    found = minimum(problem.network(tmp_path), problem.x, method="hitting_sets", **problem.options)
    assert (len(checks), found.statistics.stopped) == (2, INTERRUPTED)
    assert found.lower_bound is not None
    assert found.lower_bound <= min(map(len, explanations)) <= found.size
    assert problem.brute.holds(found.irrelevant)


def test_nothing_changes_a_robust_prediction() -> None:
    found = enumerate_explanations(network(), images()[0], epsilon=0.001)
    assert (found.abductive, dict(found.contrastive), found.complete) == (((),), {}, True)
    assert (found.minimum, found.necessary) == ((), ())


def test_json_and_pickles_hold_everything(tmp_path: Path) -> None:
    problem = case(8)
    found = enumerate_explanations(problem.network(tmp_path), problem.x, **problem.options)
    again = Enumeration.from_json(found.to_json(tmp_path / "out.json"))
    assert again.to_json() == found.to_json()
    assert pickle.loads(pickle.dumps(found)).abductive == found.abductive
    data = {**json.loads(found.to_json()), "abductive": [[]]}
    with pytest.raises(InputError, match="not an enumeration"):
        Enumeration.from_json(json.dumps({**data, "kind": "other"}))


def test_the_command_line_lists_both_kinds(tmp_path: Path) -> None:
    out, seven = tmp_path / "out.json", f"{IMAGES}:images[15]"
    done = run_here("enumerate", MODEL, seven, "--epsilon", 0.1, "--limit", 12, "--json", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert "no: limit" in done.stdout
    found = Enumeration.from_json(out)
    assert len(found.abductive) + len(found.contrastive) == 12
    hasty = run_here("enumerate", MODEL, seven, "--epsilon", 0.1, "--time-limit", 0.1)
    assert hasty.returncode == 3
    whole = run_here("enumerate", MODEL, seven, "--epsilon", 0.0001)
    assert whole.returncode == 0
    assert "the empty set" in whole.stdout


@pytest.mark.parametrize("seed", range(6))
def test_a_solver_proposes_what_a_list_of_sets_does(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = case(seed)
    net, found, cheapest = problem.network(tmp_path), [], []
    costs = {0: 3, 1: 2, "*": 1}
    for most in (20, 0):
        monkeypatch.setattr(set_search, "LISTED", most)
        found.append(enumerate_explanations(net, problem.x, **problem.options))
        asked = {**problem.options, "method": "hitting_sets", "costs": costs}
        cheapest.append(minimum(net, problem.x, **asked))
    assert all(one.proven for one in cheapest)
    assert cheapest[0].cost == cheapest[1].cost
    first, second = ((one.abductive, {*one.contrastive}, one.lower_bound) for one in found)
    assert first == second
    assert all(one.complete for one in found)
