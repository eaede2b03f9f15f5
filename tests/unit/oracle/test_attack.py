"""Attacks find counterfactuals that are real, and never one of a feature that can be freed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from milp_verix import Problem, load_network
from milp_verix.oracle.attacks import attacked, frank_wolfe
from tests.support.brute_force_cases import case
from tests.support.counterfactual_checks import assert_changes, assert_in_ball
from tests.support.digits_example import images, network
from verix_encodings.network import batch_outputs


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("index", [0, 3, 11, 16])
def test_witnesses_are_in_the_ball_of_their_feature(index: int, norm: str) -> None:
    epsilon = {"linf": 0.15, "l1": 1.5, "l2": 0.6}[norm]
    x = images()[index]
    problem = Problem(network(), x, epsilon=epsilon, norm=norm)
    irrelevant = [*range(40)]
    starts = np.tile(problem.x.astype(np.float64), (problem.margins.output_size, 1))
    found = dict(attacked(problem, problem.margins, starts, irrelevant, [*range(40, 64)]))
    ends = np.zeros(64), np.ones(64)
    for feature, verdict in found.items():
        assert verdict.witness is not None
        assert verdict.prediction is not None
        assert_changes(network(), x, verdict.witness, verdict.prediction, None)
        if norm == "linf":
            free = [*irrelevant, feature]
            assert_in_ball(x.reshape(-1), verdict.witness, free, epsilon, *ends)
        moved = np.flatnonzero(verdict.witness.reshape(-1) != problem.x)
        assert {*moved.tolist()} <= {*irrelevant, feature}


def test_attacks_find_counterfactuals_at_all() -> None:
    problem = Problem(network(), images()[16], epsilon=0.15)
    starts = np.tile(problem.x.astype(np.float64), (problem.margins.output_size, 1))
    found = dict(attacked(problem, problem.margins, starts, [*range(40)], [*range(40, 64)]))
    assert found


@pytest.mark.parametrize("seed", range(0, 120, 4))
def test_no_feature_is_needed_that_brute_force_frees(seed: int, tmp_path: Path) -> None:
    given = case(seed)
    problem = Problem(given.network(tmp_path), given.x, **given.options)
    count = problem.features.count
    irrelevant: list[int] = []
    for feature in range(count):
        if given.brute.holds([*irrelevant, feature]):
            irrelevant.append(feature)
    others = [feature for feature in range(count) if feature not in irrelevant]
    starts = np.tile(problem.x.astype(np.float64), (problem.margins.output_size, 1))
    for feature, verdict in attacked(problem, problem.margins, starts, irrelevant, others):
        assert verdict.violated
        assert not given.brute.holds([*irrelevant, feature])
    freed = [*attacked(problem, problem.margins, starts, irrelevant[:-1], irrelevant[-1:])]
    assert freed == []


@pytest.mark.parametrize("index", [0, 3, 16])
def test_batches_find_what_one_batch_finds(index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(network(), images()[index], epsilon=0.15)
    starts = np.tile(problem.x.astype(np.float64), (problem.margins.output_size, 1))
    arguments = problem, problem.margins, starts, [*range(40)], [*range(40, 64)]
    at_once = dict(attacked(*arguments))
    monkeypatch.setattr("milp_verix.oracle.attacks._MOST_VALUES", 1)
    assert len(dict(attacked(*arguments))) >= 0.9 * len(at_once)


def test_features_are_not_attacked_where_all_of_them_together_are_safe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = Problem(network(), images()[16], epsilon=0.001)
    starts = np.tile(problem.x.astype(np.float64), (problem.margins.output_size, 1))
    climbs = 0

    def counting(*arguments: Any, **options: Any) -> Any:
        nonlocal climbs
        climbs += 1
        return frank_wolfe(*arguments, **options)

    monkeypatch.setattr("milp_verix.oracle.attacks.frank_wolfe", counting)
    monkeypatch.setattr("milp_verix.oracle.attacks._MOST_VALUES", 1)
    found = attacked(problem, problem.margins, starts, [*range(40)], [*range(40, 64)])
    assert [*found] == []
    assert climbs == 1


def test_an_attack_ends_with_its_time() -> None:
    problem = Problem(network(), images()[16], epsilon=0.15)
    starts = np.tile(problem.x.astype(np.float64), (problem.margins.output_size, 1))
    nothing = attacked(
        problem, problem.margins, starts, [*range(40)], [*range(40, 64)], late=lambda: True
    )
    assert [*nothing] == []


def test_many_trees_are_run_in_parts_between_which_time_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    trees = GradientBoostingClassifier(n_estimators=40, max_depth=2).fit(x, x[:, 0] > x[:, 1])
    margins = load_network(trees).ir
    points = rng.normal(size=(3, 12))
    everything = batch_outputs(margins, points)
    assert np.isfinite(everything).all()
    monkeypatch.setattr("verix_encodings.network._MOST_VALUES", 4 * (40 + sum(margins.sizes)))
    looks = iter([False, True])
    found = batch_outputs(margins, points, lambda: next(looks))
    np.testing.assert_array_equal(found[:, :4], everything[:, :4])
    assert (found[:, 4:] == -np.inf).all()
