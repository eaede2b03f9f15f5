"""Costs, and features that must or must not be explained: the cheapest set is brute force's."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import (
    Answer,
    Explanation,
    InputError,
    MinimumProgress,
    SolverError,
    Verdict,
    minimum,
)
from milp_verix.base.arguments import costs_of
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.objective import make_objective
from milp_verix.searches import budget_bound
from milp_verix.searches.minimum.minimum_search import Explainer
from tests.support.brute_force_cases import case
from tests.support.command_line import run_here
from tests.support.counterfactual_checks import assert_sound
from tests.support.digits_example import IMAGES, MODEL, images, network
from tests.support.exhaustive_explanations import cheapest
from tests.support.interrupts import interrupt
from tests.support.searches import begin_with_everything


@pytest.mark.parametrize(
    ("seed", "way"),
    [
        *((seed, {"master": "tree"}) for seed in range(120, 170)),
        *((seed, {"master": "program"}) for seed in range(120, 135)),
        *((seed, {"method": "hitting_sets"}) for seed in range(120, 160)),
    ],
)
def test_the_cheapest_is_that_of_brute_force(
    seed: int, way: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = case(seed)
    if "method" in way:
        monkeypatch.setattr(Explainer, "first", begin_with_everything)
    net, count = problem.network(tmp_path), len(problem.groups)
    rng = np.random.default_rng([seed, 3])
    costs = rng.integers(0, 6, count).astype(float)
    if seed % 2:
        costs += rng.random(count).round(3)
    drawn = rng.permutation(count).tolist()
    must, must_not = set(drawn[: seed % 3 // 2]), set(drawn[2 : 2 + seed % 5 // 3])
    seen: list[MinimumProgress] = []
    options: dict[str, Any] = {
        **problem.options,
        "progress": seen.append,
        "costs": costs,
        "must": sorted(must),
        "must_not": sorted(must_not),
        **way,
    }
    least = cheapest(problem, costs.tolist(), must, must_not)
    if least is None:
        with pytest.raises(InputError, match="no explanation leaves out all of must_not"):
            minimum(net, problem.x, **options)
        return
    found = minimum(net, problem.x, **options)
    assert found.proven
    assert found.cost == pytest.approx(least, abs=1e-5)
    assert found.lower_bound is not None
    assert found.lower_bound <= least + 1e-9
    assert all(state.lower_bound <= least + 1e-9 <= state.size + 1e-6 for state in seen)
    assert must <= set(found.explanation)
    assert not must_not & set(found.explanation)
    # what is asked for and could be left out is the only thing that is not decided
    assert set(found.unknown) <= must
    assert problem.brute.holds(found.irrelevant)
    assert_sound(found, net, problem.x)
    again = Explanation.from_json(found.to_json())
    assert (again.costs, again.cost, again.lower_bound) == (
        found.costs,
        found.cost,
        found.lower_bound,
    )


@pytest.mark.slow
def test_wishes_come_both_ways() -> None:
    found = []
    for seed in range(120, 170):
        problem = case(seed)
        drawn = np.random.default_rng(seed).permutation(len(problem.groups)).tolist()
        costs = [1.0] * len(drawn)
        found.append(cheapest(problem, costs, set(), set(drawn[:1])))
    assert None in found
    assert any(least is not None and least > 1 for least in found)


@pytest.mark.slow
def test_a_free_feature_costs_nothing_to_explain() -> None:
    costs = np.ones(64)
    costs[::2] = 0.0
    found = minimum(network(), images()[15], epsilon=0.1, costs=costs)
    plain = minimum(network(), images()[15], epsilon=0.1)
    assert found.proven
    assert found.cost == sum(costs[list(found.explanation)]) <= plain.size
    assert found.minimal


@pytest.mark.parametrize(
    ("bound", "least"),
    [(3.0, 3), (3 - 1e-9, 3), (3 + 1e-9, 3), (3 + 1e-5, 4), (2.5, 3), (-0.5, 0), (np.inf, np.inf)],
)
def test_bounds_on_whole_costs_are_rounded_up_but_not_beyond_rounding(
    bound: float, least: float
) -> None:
    assert make_objective(2, [1.0, 2.0], (), ()).attainable(bound) == least
    assert make_objective(2, [1.0, 0.5], (), ()).attainable(bound) == max(bound, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1e-90, 0.1, 3.0, 2.0**40, 1e90])
@pytest.mark.parametrize("way", [{}, {"method": "hitting_sets"}, {"master": "program"}])
def test_costs_of_any_magnitude(unit: float, way: dict[str, str], tmp_path: Path) -> None:
    problem = case(121)
    net, count = problem.network(tmp_path), len(problem.groups)
    for plain in (np.arange(1.0, count + 1), np.linspace(1.0, 2.0, count) ** 0.5, np.ones(count)):
        costs, seen = plain * unit, []
        given: dict[str, Any] = {**problem.options, "costs": costs, "progress": seen.append, **way}
        found = minimum(net, problem.x, **given)
        least = cheapest(problem, plain.tolist(), set(), set())
        assert least is not None
        assert found.proven
        assert found.cost == pytest.approx(least * unit, rel=1e-6, abs=0)
        assert found.cost == math.fsum(costs[list(found.explanation)])
        assert found.lower_bound is not None
        assert found.lower_bound <= least * unit * (1 + 1e-12)
        assert all(state.lower_bound <= least * unit * (1 + 1e-9) for state in seen)
        again = minimum(net, problem.x, **given, resume=found)
        assert (again.cost, again.lower_bound) == (found.cost, found.lower_bound)


def test_whole_costs_far_apart_are_added_up_exactly(tmp_path: Path) -> None:
    problem = case(121)
    net, count = problem.network(tmp_path), len(problem.groups)
    costs = np.ones(count)
    costs[0] = 9e8
    for method in ("scenarios", "hitting_sets"):
        found = minimum(net, problem.x, **problem.options, costs=costs, method=method)
        assert found.proven
        assert found.cost == found.lower_bound == cheapest(problem, costs.tolist(), set(), set())


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([1.0, 1.0, 1e16], "costs from 1 to 1e\\+16 are too far apart .* 1,000,000 times"),
        ([1.0, 0.5, 1e7], "costs from 0.5 to 1e\\+07 are too far apart"),
        ([1e308] * 3, "costs must be between 1e-100 and 1e\\+100, got 1e\\+308"),
        ([1.0, 1.0, 5e-324], "costs must be between 1e-100 and 1e\\+100, got 4.94066e-324 to 1"),
    ],
)
@pytest.mark.parametrize("positive", [True, False])
def test_costs_that_cannot_be_added_up_exactly_are_refused(
    costs: list[float], message: str, positive: bool
) -> None:
    with pytest.raises(InputError, match=message):
        costs_of(costs, 3, positive=positive)


def test_the_search_for_a_budget_ends_when_time_is_up() -> None:
    tried: list[int] = []

    def value(number: int) -> float:
        tried.append(number)
        return 1e-9 * (10**9 - number)

    assert budget_bound._largest(value, -1, 10**9 - 1, 1.0) == 10**9 - 1
    assert len(tried) < 100
    tried.clear()
    assert budget_bound._largest(value, -1, 10**9 - 1, 1.0, late=lambda: len(tried) >= 2) <= 10**9
    assert len(tried) == 2


def test_features_that_must_be_explained_and_cost_everything_need_no_budget(
    tmp_path: Path,
) -> None:
    problem = case(121)
    count = len(problem.groups)
    costs = np.zeros(count)
    costs[0] = 0.3
    found = minimum(problem.network(tmp_path), problem.x, **problem.options, costs=costs, must=[0])
    assert found.proven
    assert found.cost == found.lower_bound == 0.3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"costs": [1.0] * 63}, "costs must be a number for each of 64 features, got 63"),
        ({"costs": [-1.0] * 64}, "feature 0 costs -1.0"),
        ({"costs": [float("nan")] * 64}, "finite and not negative"),
        ({"costs": ["a"] * 64}, "costs must be a number for each feature"),
        ({"must": [64]}, "must: feature 64 is out of range"),
        ({"must_not": [3, 3]}, "must_not lists a feature twice"),
        ({"must": [3], "must_not": [3]}, "feature 3 is in must and in must_not"),
        ({"must_not": range(64)}, "no explanation leaves out all of must_not"),
        ({"gap": 1.0}, "gap is a share of the cost"),
        ({"gap": "x"}, "gap must be a number"),
        ({"master": "slave"}, "unknown master 'slave'; choose one of auto, tree, program"),
        ({"method": "m"}, "unknown method 'm'; choose one of scenarios, hitting_sets"),
        ({"method": "hitting_sets", "master": "tree"}, "master 'tree' solves scenarios: leave it"),
    ],
)
def test_bad_wishes(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        minimum(network(), images()[15], epsilon=0.1, **options)


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.05, 0.5])
def test_a_gap_ends_the_search_early(gap: float) -> None:
    found = minimum(network(), images()[17], epsilon=0.2, gap=gap)
    least = minimum(network(), images()[17], epsilon=0.2)
    assert found.lower_bound is not None
    assert found.lower_bound <= least.size <= found.size
    assert found.gap is not None
    assert found.gap <= gap * found.size
    assert least.proven


@pytest.mark.slow
def test_wishes_on_the_command_line(tmp_path: Path) -> None:
    costs, out = tmp_path / "costs.npy", tmp_path / "out.json"
    np.save(costs, np.arange(64.0))
    done = run_here(
        "minimum",
        MODEL,
        f"{IMAGES}:images[15]",
        *("--epsilon", 0.1, "--costs", costs, "--must", "1,2", "--must-not", "63"),
        *("--gap", 0.02, "--json", out),
    )
    found = Explanation.from_json(out)
    assert done.returncode == (0 if found.minimal else 3)
    assert {1, 2} <= set(found.explanation)
    assert 63 not in found.explanation
    assert f"cost {found.cost:g}" in done.stdout
    hitting = run_here(
        "minimum",
        MODEL,
        f"{IMAGES}:images[15]",
        *("--epsilon", 0.1, "--must-not", "63", "--gap", 0.9, "--method", "hitting_sets"),
    )
    assert (hitting.returncode, "yes, proven" in hitting.stdout) == (0, False)
    bad = run_here("minimum", MODEL, f"{IMAGES}:images[15]", "--epsilon", 0.1, "--must", "1;2")
    assert (bad.returncode, "there is no feature '1;2'" in bad.stderr) == (2, True)


def test_features_are_given_by_names_too(tmp_path: Path) -> None:
    problem = case(0)
    net, names = problem.network(tmp_path), [f"f{i}" for i in range(len(problem.groups))]
    options = {**problem.options, "feature_names": names}
    by_name = minimum(net, problem.x, must=["f1", 2], **options)
    assert by_name.must == (1, 2)
    assert by_name.explanation == minimum(net, problem.x, must=[1, 2], **options).explanation
    for given in ({"must": "f9"}, {"must_not": ["f9"]}):
        with pytest.raises(InputError, match="there is no feature 'f9'"):
            minimum(net, problem.x, **given, **options)


def test_an_interrupt_before_must_not_is_proven_claims_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Oracle, "check", interrupt)
    with pytest.raises(KeyboardInterrupt):
        minimum(network(), images()[15], epsilon=0.1, must_not=[0])


def test_must_not_that_is_not_decided_is_no_explanation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Oracle, "check", lambda *_: Verdict(Answer.UNKNOWN, reason="too hard"))
    with pytest.raises(SolverError, match="could not be decided: too hard"):
        minimum(network(), images()[15], epsilon=0.1, must_not=[0])


@pytest.mark.slow
@pytest.mark.parametrize("step", ["_free", "_require"])
def test_an_interrupt_among_the_last_counterfactuals_leaves_features_unknown(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Explainer, "first", begin_with_everything)
    least = minimum(network(), images()[15], epsilon=0.1, must=[0])

    monkeypatch.setattr(Explainer, step, interrupt)
    found = minimum(network(), images()[15], epsilon=0.1, must=[0])
    assert found.statistics.stopped == "interrupted"
    assert (found.size, found.lower_bound) == (least.size, least.lower_bound)
    assert 0 in found.unknown
    assert_sound(found, network(), images()[15])
