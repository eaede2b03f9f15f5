"""The nearest counterfactual, and features that must not change, as brute force has them."""

import math
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from milp_verix import ContrastiveExplanation, InputError, continuous, contrastive, integer
from milp_verix.inputs.inputs import Inputs
from milp_verix.searches import contrast_kinds
from milp_verix.views.result_words import facts_of, outcome, title
from tests.support.brute_force_cases import Case, case
from tests.support.command_line import run_here
from tests.support.counterfactual_checks import assert_real
from tests.support.digits_example import IMAGES, MODEL, images, network
from tests.support.exhaustive_explanations import posed, truth
from tests.support.random_networks import as_layers, dense_network

SEEDS = range(16)


def scales_of(problem: Case) -> np.ndarray:
    """Return the radius, or the length of the domain where that is smaller."""
    return np.minimum(problem.epsilon, problem.brute.high - problem.brute.low)


def held_in(seed: int, count: int) -> list[int]:
    """Return no feature, one, or two."""
    return sorted(np.random.default_rng([seed, 5]).permutation(count)[: seed % 3].tolist())


@pytest.mark.parametrize("norm", ["linf", "l1"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_distance_is_that_of_brute_force(seed: int, norm: str, tmp_path: Path) -> None:
    problem, count = case(seed), len(case(seed).groups)
    held, rng = held_in(seed, count), np.random.default_rng([seed, 6])
    costs = None if seed % 2 else rng.uniform(0.5, 3.0, count)
    options = posed(problem, norm)
    given = {"costs": costs, "must_not": held, "minimise": "distance"}
    found = contrastive(problem.network(tmp_path), problem.x, **options, **given)
    prices = np.ones(count) if costs is None else costs
    of_coordinate = np.zeros(problem.x.size)
    for feature, group in enumerate(problem.groups):
        of_coordinate[group] = prices[feature]
    scales = np.minimum(options["epsilon"], problem.brute.high - problem.brute.low)
    weights = of_coordinate / scales
    radius = problem.brute.epsilon
    problem.brute.epsilon = options["epsilon"]
    try:
        budget = None if norm == "linf" else options["epsilon"]
        nearest = problem.brute.nearest(weights, held, budget)
    finally:
        problem.brute.epsilon = radius
    assert found.proven
    assert found.robust == math.isinf(nearest)
    if found.robust:
        return
    assert found.lower_bound is not None
    assert found.distance is not None
    assert found.lower_bound <= nearest * (1 + 1e-9)
    assert nearest * (1 - 1e-5) <= found.distance <= found.lower_bound * (1 + 1.1e-3)
    assert found.counterfactual is not None
    moved = np.abs(found.counterfactual.input.reshape(-1).astype(np.float64) - problem.x)
    assert found.distance == pytest.approx(weights @ moved)
    assert not moved[[i for f in held for i in problem.groups[f]]].any()
    assert_real(found, problem, problem.network(tmp_path))


def test_nearer_is_not_fewer() -> None:
    few = contrastive(network(), images()[15], epsilon=0.1)
    near = contrastive(network(), images()[15], epsilon=0.1, minimise="distance")
    assert near.proven
    assert near.distance is not None
    assert near.lower_bound is not None
    assert few.counterfactual is not None
    far = np.abs(few.counterfactual.input - few.input).sum() / 0.1
    assert near.distance < far
    assert few.distance is None


@pytest.mark.parametrize(
    ("norm", "seed"),
    [*(("linf", seed) for seed in (0, 1, 2, 4, 6, 8, 11, 13)), ("l1", 4), ("l2", 4)],
)
def test_held_features_are_left_out_of_the_smallest_set(
    norm: str, seed: int, tmp_path: Path
) -> None:
    problem, (_, contrasts) = case(seed), truth(seed, norm)
    held = held_in(seed + 1, len(problem.groups))
    left = [contrast for contrast in contrasts if not {*contrast} & {*held}]
    options = {**posed(problem, norm), "must_not": held}
    found = contrastive(problem.network(tmp_path), problem.x, **options)
    assert found.proven
    assert found.must_not == tuple(held)
    assert found.robust == (not left)
    if left:
        assert found.size == min(map(len, left))
        assert found.replay(problem.network(tmp_path))


def test_the_nearest_of_all_classes_is_that_of_one() -> None:
    options: dict[str, Any] = {"epsilon": 0.1, "minimise": "distance"}
    every = contrastive(network(), images()[15], **options)
    ones = [
        contrastive(network(), images()[15], against=rival, **options)
        for rival in range(10)
        if rival != every.prediction
    ]
    assert all(one.proven for one in ones)
    distances = [one.distance for one in ones if one.distance is not None]
    assert 0 < len(distances) < 9
    assert every.distance == pytest.approx(min(distances), rel=1.1e-3)


def test_l2_balls_are_cut_by_tangents(tmp_path: Path) -> None:
    # margin 2a + b - 1.65 over a² + b² ≤ 0.75²: a alone reaches 1.5
    net = dense_network(as_layers(([[2.0, 1.0], [0.0, 0.0]], [-1.65, 0.0])), tmp_path)
    domain = (-1.0, 1.0)
    options: dict[str, Any] = {"epsilon": 0.75, "norm": "l2", "domain": domain}
    found = contrastive(net, np.zeros(2), minimise="distance", **options)
    # with a = t: b = 1.65 - 2t, and a + b falls as t rises up to the circle
    t = (2 * 1.65 + math.sqrt(4 * 1.65**2 - 5 * (1.65**2 - 0.75**2))) / 5
    t = min(t, max(np.roots([5, -4 * 1.65, 1.65**2 - 0.75**2]).real))
    assert found.distance == pytest.approx((1.65 - t) / 0.75, rel=1e-3)
    assert found.proven


def test_whole_numbers_count_by_steps_and_categories_by_one(tmp_path: Path) -> None:
    from milp_verix import category

    # class 1 is reached by n = 3 of 4 steps, by u = 1.5 of 2, or by the third town
    weights = [[0.0] * 3, [1.0, 2.0, 1.5]]
    net = dense_network(
        as_layers((np.eye(3).tolist(), [0.0] * 3), (weights, [0.0, -2.9])), tmp_path
    )
    inputs = Inputs([integer("n", 0, 4), continuous("u", 0, 2), category("town", ["x", "y", "z"])])
    options: dict[str, Any] = {"epsilon": math.inf, "inputs": inputs, "minimise": "distance"}
    x = {"n": 0, "u": 0, "town": "x"}
    found = contrastive(net, x, **options)
    assert found.distance == pytest.approx(1.45 / 2, rel=1e-3)
    assert found.contrast == (1,)
    found = contrastive(net, x, must_not="u", **options)
    assert (found.distance, found.contrast) == (0.75, (0,))
    assert found.sentence() == (
        "With n: 0 → 3, the prediction becomes class 1. No such change is nearer by more than "
        "0.1 %, as long as u is 0."
    )
    found = contrastive(net, x, must_not=["u", 0], **options)
    assert (found.distance, found.contrast) == (1.0, (2,))
    found = contrastive(net, x, must_not=["u"], costs=[2.0, 1.0, 1.25], **options)
    assert (found.distance, found.contrast) == (1.25, (2,))
    found = contrastive(net, x, must_not=[0, 1, 2], **options)
    assert found.robust
    assert "that leaves n and u and town alone" in title(found)
    assert found.sentence().endswith("stays, as long as n is 0, u is 0 and town is x.")
    few = contrastive(net, x, epsilon=math.inf, inputs=inputs, must_not="u")
    assert few.sentence().endswith("No change of fewer features does that, as long as u is 0.")


def test_a_tie_is_nothing_to_show_and_keeps_the_bound_down(tmp_path: Path) -> None:
    # class 1 is level at n = 3 and ahead at n = 4
    net = dense_network(as_layers(([[0.0], [1.0]], [0.0, -3.0])), tmp_path)
    options: dict[str, Any] = {"epsilon": math.inf, "inputs": [integer("n", 0, 5)]}
    found = contrastive(net, [0.0], minimise="distance", **options)
    assert (found.distance, found.proven) == (0.8, False)
    assert found.lower_bound == pytest.approx(0.6)
    assert found.gap == pytest.approx(0.2)
    assert found.unknown_reason is not None
    assert outcome(found).endswith(
        "not proven to be the nearest; no counterfactual in the ball is nearer than 0.5999"
    )


def test_results_survive_json_and_tell_what_was_asked() -> None:
    held = [27, 28]
    for given in ({}, {"minimise": "distance"}):
        found = contrastive(network(), images()[15], epsilon=0.1, must_not=held, **given)
        again = ContrastiveExplanation.from_json(found.to_json())
        fields = ("contrast", "must_not", "scales", "distance", "cost", "lower_bound", "proven")
        for name in fields:
            assert getattr(again, name) == getattr(found, name)
        assert not {*held} & {*(found.contrast or ())}
        assert found.proven
        facts = dict(facts_of(found))
        assert facts["held"] == "(3,3), (3,4)"
        assert ("distance" in facts) == bool(given)
        assert "that leaves 2 given features alone" in outcome(found)
        assert found._repr_html_()


def test_a_record_of_a_change_that_must_not_be_is_refused() -> None:
    found = contrastive(network(), images()[15], epsilon=0.1)
    text = found.to_json().replace('"must_not": []', f'"must_not": {list(found.contrast or ())}')
    with pytest.raises(InputError, match="must not change"):
        ContrastiveExplanation.from_json(text)


def test_an_earlier_contrast_counts_where_it_is_one_and_its_bound_is_told() -> None:
    def ask(**given: Any) -> ContrastiveExplanation:
        return contrastive(network(), images()[4], epsilon=0.2, **given)

    few = ask()
    assert few.contrast is not None
    held = [few.contrast[0]]
    # a counterfactual that moves the held feature is none now, but the bound would be one
    kept = ask(must_not=held, resume=few, time_limit=1e-6)
    assert kept.contrast is None
    whole = ask(must_not=held)
    again = ask(must_not=held, resume=whole, time_limit=1e-6)
    assert again.contrast == whole.contrast
    assert (again.lower_bound or 0.0) < (whole.lower_bound or 0.0)
    for result in (kept, again):
        assert "lower bound by an earlier run" in result.notes[-1]
    # without the restriction a smaller set may exist, and a distance is no number of features
    for other in ({}, {"must_not": held, "minimise": "distance"}):
        late = ask(**other, resume=whole, time_limit=1e-6)
        assert late.contrast is not None
        assert not any("lower bound" in note for note in late.notes)


def test_the_bound_never_falls_and_ends_below_the_distance() -> None:
    seen = []
    found = contrastive(
        network(), images()[4], epsilon=0.2, minimise="distance", progress=seen.append
    )
    assert found.proven
    bounds = [state.lower_bound for state in seen]
    assert all(a <= b for a, b in pairwise(bounds))
    costs = [state.cost for state in seen if state.cost is not None]
    assert all(a >= b for a, b in pairwise(costs))
    late = contrastive(network(), images()[4], epsilon=0.2, minimise="distance", time_limit=1e-6)
    assert (late.robust, late.proven) == (False, False)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"must_not": [99]}, "must_not: feature 99 is out of range"),
        ({"must_not": ["sex"]}, "there is no feature 'sex'"),
        ({"minimise": "amount"}, "unknown minimise 'amount'; choose one of features, distance"),
    ],
)
def test_refusals(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        contrastive(network(), images()[0], epsilon=0.1, **given)


def test_the_command_line_asks_for_both(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    question = ("contrastive", MODEL, f"{IMAGES}:images[15]", "--epsilon", 0.1)
    done = run_here(*question, "--must-not", "27", "--minimise", "distance", "--json", out)
    assert done.returncode == 0
    told = " ".join(done.stdout.split())
    assert "no counterfactual in the ball that leaves 1 given feature alone is nearer" in told
    found = ContrastiveExplanation.from_json(out)
    assert (found.must_not, found.scales is None) == ((27,), False)
    assert run_here(*question, "--must-not", "a").returncode == 2
    assert run_here(*question, "--minimise", "a").returncode == 2


def test_no_rival_is_searched_once_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(200, 3))
    trees = RandomForestClassifier(4, max_depth=4, random_state=0).fit(x, np.arange(200) % 40)
    searched: list[int] = []
    first = contrast_kinds.cut_of

    def slow(*given: Any) -> Any:
        searched.append(given[2])
        time.sleep(0.5)
        return first(*given)

    monkeypatch.setattr(contrast_kinds, "cut_of", slow)
    asked = {"minimise": "distance", "time_limit": 0.7}
    found = contrastive(trees, x[0], epsilon=3.0, domain=(-5, 5), **asked)
    assert not found.proven
    assert len(searched) <= 2
