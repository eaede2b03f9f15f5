"""Shares at a local minimum survive what is known, and cost what they must; descents find sets."""

import time

import numpy as np
import pytest
from scipy.optimize import linprog

from milp_verix.global_search import separation as scenario_choice
from milp_verix.global_search.heuristics import continuous_descent as module
from milp_verix.global_search.heuristics.continuous_descent import local_minimum
from milp_verix.global_search.heuristics.incumbent import Incumbent
from milp_verix.global_search.heuristics.linearised_margins import largest_margin, minimised
from milp_verix.global_search.pricing.adversary import Adversary
from milp_verix.global_search.pricing.exact_pricing import WorstCase
from milp_verix.global_search.pricing.perturbation_set import Perturbations, perturbations_of
from milp_verix.global_search.separation import Separator
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.objective import make_objective
from milp_verix.problem.problem import make_problem
from tests.support.digits_example import images, network
from verix_encodings import Affine, Network, Relu
from verix_encodings.arrays import FloatArray, dense

_COUNT = 12
_NEAR = 1e-5


def _adversary(p: Perturbations) -> Adversary:
    return Adversary(p, WorstCase(p))


def _linear(rng: np.random.Generator) -> Perturbations:
    """Return three linear margins that are above zero at worst, and below it at the centre."""
    slopes = rng.normal(size=(3, _COUNT))
    lower, upper = -rng.random(_COUNT), rng.random(_COUNT)
    most = np.maximum(slopes * lower, slopes * upper).sum(axis=1)
    margins = Network((_COUNT,), (Affine(((0, slopes),), -rng.uniform(0.2, 0.8, 3) * most),))
    numbers = np.arange(_COUNT)
    return Perturbations(margins, np.zeros(_COUNT), lower, upper, "linf", 1.0, numbers)


@pytest.mark.parametrize("seed", range(20))
def test_of_linear_margins_it_is_the_minimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng([seed, 83])
    p = _linear(rng)
    costs = rng.integers(1, 4, _COUNT).astype(float)
    objective = make_objective(_COUNT, costs, must=[2], must_not=[])
    node = p.margins.nodes[0]
    assert isinstance(node, Affine)
    slopes = dense(node.terms[0][1])
    # what each feature adds at worst, unless it is fixed
    parts = np.maximum(slopes * p.lower, slopes * p.upper)
    bounds = [(1 if f == 2 else 0, 1) for f in range(_COUNT)]
    exact = linprog(costs, A_ub=-parts, b_ub=-(parts.sum(axis=1) + node.bias), bounds=bounds)
    assert exact.status == 0
    adversary = _adversary(p)
    adversary.learn(np.zeros(_COUNT), np.inf)
    monkeypatch.setattr(module, "_LITTLE", 0.0)
    selection = local_minimum(
        p,
        objective,
        np.ones(_COUNT),
        lambda: adversary.newest,
        lambda selection: adversary.learn(selection, np.inf),
    )
    assert selection is not None
    assert selection[2] == 1
    assert costs @ selection == pytest.approx(exact.fun, abs=_NEAR)


@pytest.mark.parametrize("index", [1, 15, 16, 17])
def test_nothing_known_hurts_a_local_minimum_much(index: int) -> None:
    problem = make_problem(network(), images()[index], epsilon=0.2)
    p, objective = perturbations_of(problem), make_objective(64, None, must=[3], must_not=[])
    with Oracle(problem, "phase") as oracle:
        incumbent = Incumbent(oracle, p, objective, 60.0)
        incumbent.explain(np.inf)
    adversary, harms = incumbent.adversary, []

    def attack(selection: FloatArray) -> float:
        # it survives what was known until then
        assert largest_margin(p, adversary.newest, selection) <= _NEAR
        harms.append(adversary.learn(selection, np.inf))
        return harms[-1]

    start = incumbent.chosen.astype(np.float64)
    selection = local_minimum(p, objective, start, lambda: adversary.newest, attack)
    assert selection is not None
    assert np.all((selection >= objective.least) & (selection <= objective.most))
    assert selection.sum() <= incumbent.cost
    assert harms[-1] <= 0.02 * max(harms)


def test_steps_get_past_where_margins_bend(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(network(), images()[12], epsilon=0.2)
    p, objective = perturbations_of(problem), make_objective(64, None, must=[], must_not=[])

    def reached(kinks: int) -> tuple[float, float]:
        """Return the cost of the first explanation, and of the local minimum near it."""
        monkeypatch.setattr(module, "_KINKS", kinks)
        with Oracle(problem, "phase") as oracle:
            incumbent = Incumbent(oracle, p, objective, 60.0)
            incumbent.explain(np.inf)
        adversary, survived = incumbent.adversary, incumbent.adversary.newest

        def attack(selection: FloatArray) -> float:
            nonlocal survived
            survived = adversary.newest
            return adversary.learn(selection, np.inf)

        start = incumbent.chosen.astype(np.float64)
        selection = local_minimum(p, objective, start, lambda: adversary.newest, attack)
        assert selection is not None
        assert largest_margin(p, survived, selection) <= _NEAR
        return float(start.sum()), float(selection.sum())

    first, stopped = reached(kinks=0)
    assert stopped == first
    assert reached(kinks=10)[1] < first - 0.1


def test_there_is_none_where_no_shares_survive() -> None:
    p = perturbations_of(make_problem(network(), images()[15], epsilon=0.2))
    adversary = _adversary(p)
    adversary.learn(np.zeros(64), np.inf)
    objective = make_objective(64, None, must=[], must_not=range(64))
    assert local_minimum(p, objective, np.ones(64), lambda: adversary.newest, lambda _: 0.0) is None


def test_descents_find_cheaper_explanations() -> None:
    cheaper = 0
    for index in range(20):
        problem = make_problem(network(), images()[index], epsilon=0.2)
        objective = make_objective(64, None, must=[], must_not=[])
        with Oracle(problem, "phase") as oracle, Oracle(problem, "highs", reuse=False) as other:
            p = perturbations_of(problem)
            incumbent = Incumbent(oracle, p, objective, 60.0)
            incumbent.explain(np.inf)
            before = incumbent.cost
            incumbent.descend(np.inf)
            assert incumbent.cost <= before
            if incumbent.cost < before:
                cheaper += 1
                assert other.check(p.free(incumbent.chosen)).holds
    assert cheaper >= 3


def test_a_search_begins_with_what_a_local_minimum_rests_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = 0
    for index in range(8):
        problem = make_problem(network(), images()[index], epsilon=0.2)
        with Oracle(problem, "phase") as oracle:
            p = perturbations_of(problem)
            incumbent = Incumbent(oracle, p, make_objective(64, None, must=[], must_not=[]), 60.0)
            separator = Separator(p, incumbent, np.inf)
            assert separator.deciding() == []
            incumbent.explain(np.inf)
            incumbent.descend(np.inf)
        deciding = incumbent.deciding
        known = {delta.tobytes() for delta in incumbent.adversary.pool.T}
        assert {delta.tobytes() for delta in deciding.T} <= known
        if not deciding.shape[1]:
            continue
        # just as many as there are, of neurons that may all have both signs
        count = deciding.shape[1]
        for most, share, some in (
            (count, 1.0, True),
            (count - 1, 1.0, False),
            (count, -1.0, False),
        ):
            monkeypatch.setattr(scenario_choice, "_MOST_FIRST", most)
            monkeypatch.setattr(scenario_choice, "_MOST_UNSTABLE", share)
            scenarios = separator.deciding()
            assert bool(scenarios) == some
            for scenario, delta in zip(scenarios, deciding.T if some else [], strict=True):
                assert np.array_equal(scenario.delta, delta)
        begun += 1
        _assert_share_decides(separator, monkeypatch)
    assert begun >= 2


def _assert_share_decides(separator: Separator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenario_choice, "_MOST_UNSTABLE", 1.0)
    signs = [
        (scenario.bounds[node.source].lower < 0) & (scenario.bounds[node.source].upper > 0)
        for scenario in separator.deciding()
        for node in scenario.network.nodes
        if isinstance(node, Relu)
    ]
    share = float(np.mean(np.concatenate(signs)))
    for limit in (share - 0.05, share + 0.05):
        monkeypatch.setattr(scenario_choice, "_MOST_UNSTABLE", limit)
        assert bool(separator.deciding()) == (limit > share)


def test_proposals_that_fail_get_less_time(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(network(), images()[1], epsilon=0.2)
    with Oracle(problem, "phase") as oracle:
        p = perturbations_of(problem)
        incumbent = Incumbent(oracle, p, make_objective(64, None, must=[], must_not=[]), 60.0)
        separator = Separator(p, incumbent, np.inf)
    asked: list[int] = []
    monkeypatch.setattr(incumbent, "improve", lambda *_: asked.append(incumbent.failures))
    separator._started = time.monotonic() - 100.0
    incumbent.seconds = 10.0
    for incumbent.failures in (0, 20, 50, 200):
        separator.try_heuristics(np.zeros(64), 0.0)
    assert asked == [0, 20]


def test_what_shares_just_survive_is_near_zero() -> None:
    p = _linear(np.random.default_rng(97))
    adversary = _adversary(p)
    adversary.know(np.random.default_rng(98).uniform(p.lower[:, None], p.upper[:, None], (12, 9)))
    # as far as the first is survived
    ends, middle = [0.0, 1.0], 0.5
    for _ in range(60):
        middle = sum(ends) / 2.0
        harmed = largest_margin(p, adversary.pool, np.full(12, middle)) > 0
        ends = [middle, ends[1]] if harmed else [ends[0], middle]
    selection = np.full(12, ends[1])
    found = adversary.just_survived(selection)
    margins = np.max(p.reached(p.weight(selection), adversary.pool), axis=0)
    assert np.array_equal(found, adversary.pool[:, np.abs(margins) < 1e-4])
    assert 0 < found.shape[1] < 9


def test_a_descent_without_time_changes_nothing() -> None:
    problem = make_problem(network(), images()[15], epsilon=0.2)
    with Oracle(problem, "phase") as oracle:
        p = perturbations_of(problem)
        incumbent = Incumbent(oracle, p, make_objective(64, None, must=[], must_not=[]), 60.0)
        incumbent.explain(np.inf)
        chosen, known = incumbent.chosen.copy(), incumbent.adversary.pool.shape
        incumbent.descend(-np.inf)
        assert np.array_equal(incumbent.chosen, chosen)
        assert incumbent.adversary.pool.shape == known


@pytest.mark.parametrize("seed", range(10))
def test_rows_that_come_when_violated_change_no_minimum(seed: int) -> None:
    rng = np.random.default_rng([seed, 89])
    cost = rng.normal(size=8)
    rows = rng.normal(size=(60, 8)), rng.random(60)
    always = np.ones((1, 8)), np.array([3.0])
    bounds = np.full(8, -1.0), np.full(8, 1.0)
    found = minimised(cost, rows, bounds, always)
    exact = linprog(
        cost,
        A_ub=np.vstack([rows[0], always[0]]),
        b_ub=np.append(rows[1], always[1]),
        bounds=np.column_stack(bounds),
    )
    assert found.fun == pytest.approx(exact.fun, abs=_NEAR)
    assert np.max(rows[0] @ found.x - rows[1]) <= _NEAR
    assert found.x.sum() <= 3.0 + _NEAR
