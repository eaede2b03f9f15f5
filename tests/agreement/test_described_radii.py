"""Sweeps and radii of described inputs: every answer is that of listing all points."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from milp_verix import epsilon_sweep, robustness_radius
from tests.support.mixed_domains import MixedCase, mixed_case

_RULES = pytest.mark.parametrize("rules", [False, True], ids=["free", "rules"])


def _with(case: MixedCase, epsilon: dict[str, float]) -> MixedCase:
    return replace(case, epsilon=epsilon)


def _nearest(case: MixedCase, free: tuple[int, ...], scale: dict[str, float]) -> float:
    """Return the least radius at which a point changes the prediction, infinite if none does."""
    everywhere = _with(case, {feature.name: np.inf for feature in case.features})
    points = everywhere.points(free)
    far = [
        max((_needed(case, i, point[i]) / scale[case.features[i].name] for i in free), default=0.0)
        for point in points
    ]
    changed = everywhere.margins(points) > 0
    return min(
        (one for one, is_changed in zip(far, changed, strict=True) if is_changed), default=np.inf
    )


def _needed(case: MixedCase, index: int, value: int) -> float:
    if case.features[index].kind == "category":
        return float(value != case.x[index])
    return abs(value - case.x[index])


@_RULES
@pytest.mark.parametrize("seed", range(200, 230))
def test_brackets_hold_the_radius_of_enumeration(seed: int, rules: bool, tmp_path: Path) -> None:
    case, rng = mixed_case(seed, rules=rules), np.random.default_rng(seed)
    network, every = case.network(tmp_path), range(len(case.features))
    for free in [(i,) for i in every] + [*combinations(every, 2)][::3]:
        scale = {f.name: float(rng.choice([1.0, 2.0, 0.3, 3.5])) for f in case.features}
        found = robustness_radius(network, case.point, free=free, inputs=case.inputs, scale=scale)
        bracket, exact = found.bracket, _nearest(case, free, scale)
        assert bracket.settled
        assert bracket.irrelevant == (exact == np.inf)
        assert found.replay(network) == ()
        if bracket.upper is not None:
            # smaller radii are those of the same steps, up to the next one
            assert bracket.lower < exact * (1 + 1e-12)
            assert exact <= bracket.upper <= bracket.lower / (1 - found.tolerance) * (1 + 1e-12)


def test_each_feature_and_shares_of_ranges(tmp_path: Path) -> None:
    case = mixed_case(201, rules=False)
    network = case.network(tmp_path)
    widths = {f.name: 1.0 if f.kind == "category" else f.upper - f.lower for f in case.features}
    found = robustness_radius(network, case.point, each=True, inputs=case.inputs, scale="100%")
    for index, bracket in enumerate(found.brackets):
        exact = _nearest(case, (index,), widths)
        assert bracket.irrelevant == (exact == np.inf)
        if bracket.upper is not None:
            assert bracket.upper == pytest.approx(exact)


@_RULES
@pytest.mark.parametrize("seed", range(230, 260))
def test_levels_are_nested_and_minimal_by_enumeration(
    seed: int, rules: bool, tmp_path: Path
) -> None:
    case = mixed_case(seed, rules=rules)
    network = case.network(tmp_path)
    smaller = {
        name: radius / 2 if np.isfinite(radius) else 1 for name, radius in case.epsilon.items()
    }
    radii = [smaller, case.epsilon, np.inf]
    found = epsilon_sweep(network, case.point, epsilons=radii, inputs=case.inputs)
    every, freed = range(len(case.features)), set[int]()
    for level, given in zip(found.levels, reversed(radii), strict=True):
        named = given if isinstance(given, dict) else {f.name: np.inf for f in case.features}
        here = _with(case, named)
        assert level.minimal
        assert freed <= {*level.irrelevant}
        freed = {*level.irrelevant}
        assert here.holds(level.irrelevant)
        assert not any(here.holds([*level.irrelevant, i]) for i in every if i not in freed)
        assert level.replay(network) == ()
