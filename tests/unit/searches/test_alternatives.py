"""Changes that differ in their features, and features that change one way, by listing points."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import ContrastiveExplanation, InputError, Inputs, continuous, integer
from tests.support.mixed_domains import MixedCase, Values, mixed_case
from tests.support.random_networks import as_layers, dense_network

Listed = list[tuple[float, Values, frozenset[int]]]


def _changes(case: MixedCase, measure: str) -> Listed:
    """Return each point that changes the prediction: its cost, itself, the features it changes."""
    every = range(len(case.features))
    points = case.points(every)
    found: Listed = []
    for point, margin in zip(points, case.margins(points).tolist(), strict=True):
        if margin > 0:
            moved = frozenset(i for i in every if point[i] != case.x[i])
            far = case.distance(point, [1.0] * len(every))
            found.append((far if measure == "distance" else float(len(moved)), point, moved))
    return found


def _asked(case: MixedCase, folder: Path, **more: Any) -> ContrastiveExplanation:
    options: dict[str, Any] = {"epsilon": case.epsilon, "inputs": case.inputs, **more}
    return milp_verix.contrastive(case.network(folder), case.point, **options)


@pytest.mark.parametrize("measure", ["features", "distance"])
@pytest.mark.parametrize("seed", range(500, 512))
def test_each_change_is_the_least_without_the_sets_before_it(
    seed: int, measure: str, tmp_path: Path
) -> None:
    case = mixed_case(seed, rules=bool(seed % 2))
    found = _asked(case, tmp_path, minimise=measure, count=4)
    left = _changes(case, measure)
    assert found.contrast is not None
    assert found.counterfactual is not None
    shown = [(found.contrast, found.counterfactual, found.lower_bound)]
    shown += [(one.contrast, one.counterfactual, one.lower_bound) for one in found.alternatives]
    for contrast, counterfactual, bound in shown:
        least = min(cost for cost, _, _ in left)
        assert found.cost_of(contrast, counterfactual) <= least * 1.0011 + 1e-9
        assert bound is not None
        assert bound <= least * (1 + 1e-6)
        left = [change for change in left if not {*contrast} <= change[2]]
    assert all(one.unknown_reason is None for one in found.alternatives)
    # fewer are shown where there are no others
    assert bool(left) == (len(shown) == 4) or not left
    told = any("every change" in note for note in found.notes)
    assert not told or not left
    assert found.replay(case.network(tmp_path))
    again = ContrastiveExplanation.from_json(found.to_json())
    assert again.to_json() == found.to_json()
    assert found.sentence().count("Or: with") == len(found.alternatives)


@pytest.mark.parametrize("measure", ["features", "distance"])
@pytest.mark.parametrize("seed", range(600, 608))
def test_features_change_in_their_direction_alone(seed: int, measure: str, tmp_path: Path) -> None:
    case = mixed_case(seed, rules=False)
    names = [f.name for f in case.features if f.kind not in ("category", "fixed")]
    ways = {name: ("up", "down")[place % 2] for place, name in enumerate(names)}
    found = _asked(case, tmp_path, minimise=measure, inputs=case.inputs.only(ways))
    sign = {name: 1 if way == "up" else -1 for name, way in ways.items()}

    def allowed(point: Values) -> bool:
        pairs = zip(case.features, point, case.x, strict=True)
        return all(sign.get(f.name, 0) * (value - x) >= 0 for f, value, x in pairs)

    left = [cost for cost, point, _ in _changes(case, measure) if allowed(point)]
    assert found.robust == (not left)
    if found.counterfactual is not None:
        assert found.cost is not None
        assert found.cost <= min(left) * 1.0011 + 1e-9
        changed = found.counterfactual.input.reshape(-1)
        for feature, group in zip(case.inputs.features, case.inputs.groups, strict=True):
            way = sign.get(feature.name, 0)
            assert np.all(way * (changed[group] - case.point[group]) >= 0)
    if names:
        assert "only" in found.sentence()


def test_directions_are_stored_and_explanations_do_not_know_them(tmp_path: Path) -> None:
    layers = as_layers(([[0.0, 0.0], [1.0, 1.0]], [0.0, -10.5]))
    network = dense_network(layers, tmp_path)
    plain = Inputs([integer("a", 0, 9), continuous("b", 0, 9)])
    inputs = plain.only({"a": "down"})
    assert Inputs.from_data(inputs.to_data()) == inputs != plain
    asked: dict[str, Any] = {"epsilon": np.inf}
    x = {"a": 5, "b": 4}
    found = milp_verix.contrastive(network, x, inputs=inputs, **asked)
    assert found.sentence() == (
        "With b: 4 → 6, the prediction becomes class 1. No change of fewer features does that, as "
        "long as a only falls."
    )
    both = [milp_verix.explain(network, x, inputs=one, **asked) for one in (plain, inputs)]
    assert both[0].explanation == both[1].explanation
    for wrong in ({"c": "up"}, {"a": "sideways"}, ["a"]):
        with pytest.raises(InputError):
            plain.only(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no direction"):
        replace(milp_verix.category("c", ["p", "q"]), only="up")


def test_the_nearest_change_has_few_digits(tmp_path: Path) -> None:
    layers = as_layers(([[0.0, 0.0], [1.0, 0.5]], [0.0, -3.14159]))
    network = dense_network(layers, tmp_path)
    inputs = Inputs([continuous("a", 0, 10), continuous("b", 0, 10)])
    found = milp_verix.contrastive(
        network, [0.0, 0.0], epsilon=np.inf, inputs=inputs, minimise="distance", count=2
    )
    assert found.proven
    assert found.counterfactual is not None
    value = float(found.counterfactual.input.reshape(-1)[0])
    assert value == pytest.approx(3.142, abs=1e-6)
    assert len(found.alternatives) == 1
    (b,) = found.alternatives[0].counterfactual.input.reshape(-1)[1:].tolist()
    assert 6.28318 < b < 6.29


def test_several_numbers_come_near_together(tmp_path: Path) -> None:
    # class 1 where calls + income / 10 > 3.05: both must move, by 1 and by 11 at the least
    layers = as_layers(([[0.0, 0.0], [1.0, 0.1]], [0.0, -3.05]))
    network = dense_network(layers, tmp_path)
    inputs = Inputs([integer("calls", 0, 2), integer("income", 0, 20)])
    found = milp_verix.contrastive(network, [1, 0], epsilon=np.inf, inputs=inputs)
    assert found.contrast == (0, 1)
    assert found.counterfactual is not None
    assert found.counterfactual.input.reshape(-1).tolist() == [2, 11]
