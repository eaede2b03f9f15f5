"""Larger trees beside Veritas, a search of others over the same trees, which reads them itself.

Veritas (Devos, Meert, Davis, *Versatile verification of tree ensembles*, ICML 2021) bounds a sum of
leaves over a box of real numbers. Tables lie on a grid, so that its thresholds, which it rounds to
float32, leave each value of the grid on the library's side. Its sums and the library's are off by
rounding: within ``_ROUNDED`` of zero nothing is compared.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from milp_verix import Problem
from tests.support.tree_models import Array

veritas = pytest.importorskip("veritas", reason="dtai-veritas is not installed")

_ROUNDED = 1e-4
_MOST = 12.0
"""The end of the grid of each column, which begins at 0."""


def _xgboost(seed: int, *, classify: bool) -> Any:
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    kind = xgboost.XGBClassifier if classify else xgboost.XGBRegressor
    return kind(n_estimators=20, max_depth=4, n_jobs=1, random_state=seed)


def _lightgbm(seed: int, *, classify: bool) -> Any:
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    kind = lightgbm.LGBMClassifier if classify else lightgbm.LGBMRegressor
    options: dict[str, Any] = {"n_jobs": 1, "verbose": -1, "random_state": seed}
    return kind(n_estimators=20, num_leaves=15, min_child_samples=3, **options)


def _forest(seed: int, *, classify: bool) -> Any:
    ensemble = pytest.importorskip("sklearn.ensemble")
    kind = ensemble.RandomForestClassifier if classify else ensemble.RandomForestRegressor
    return kind(15, max_depth=5, random_state=seed)


def _gradient(seed: int, *, classify: bool) -> Any:
    ensemble = pytest.importorskip("sklearn.ensemble")
    name = f"GradientBoosting{'Classifier' if classify else 'Regressor'}"
    return getattr(ensemble, name)(n_estimators=20, max_depth=3, random_state=seed)


MODELS: dict[str, Callable[..., Any]] = {
    "XGBoost": _xgboost,
    "LightGBM": _lightgbm,
    "forest": _forest,
    "gradient boosting": _gradient,
}


@dataclass(frozen=True, eq=False)
class _Case:
    """A fitted model, an input of its table, and the same trees as Veritas reads them."""

    model: Any
    x: Array
    sums: Any

    @cached_property
    def margins(self) -> list[Any]:
        """The sums that must stay below zero for the prediction of ``x`` to stay."""
        own = int(self.model.predict(self.x[None])[0])
        if self.sums.num_leaf_values() == 1:
            return [self.sums.negate_leaf_values() if own else self.sums]
        classes = [self.sums.make_singleclass(k) for k in range(self.sums.num_leaf_values())]
        predicted = classes.pop(own)
        return [rival.concat_negated(predicted) for rival in classes]

    def problem(self, **asked: Any) -> Problem:
        """Return the problem over the whole domain."""
        return Problem(self.model, self.x, **{"epsilon": _MOST, "domain": (0.0, _MOST), **asked})

    def worst(self, free: Collection[int], radius: float = np.inf) -> float:
        """Return the largest margin by Veritas, with the features ``free`` within ``radius``."""
        return max(self.largest(margin, free, radius) for margin in self.margins)

    def largest(self, sums: Any, free: Collection[int], radius: float = np.inf) -> float:
        """Return the largest of ``sums`` by Veritas."""
        box = {}
        for feature, value in enumerate(self.x.tolist()):
            moved = radius if feature in free else 0.0
            low, high = max(value - moved, 0.0), min(value + moved, _MOST)
            box[feature] = veritas.Interval(low, float(np.nextafter(high, np.inf)))
        search = veritas.Config(veritas.HeuristicType.MAX_OUTPUT).get_search(sums, box)
        stopped = search.step_for(60.0, 1000)
        assert stopped in (veritas.StopReason.OPTIMAL, veritas.StopReason.NO_MORE_OPEN)
        return float(search.get_solution(0).output)


def _case(name: str, seed: int, *, classify: bool) -> _Case:
    rng = np.random.default_rng(seed)
    width = int(rng.integers(4, 8))
    X = rng.integers(0, 2 * _MOST + 1, (250, width)) / 2.0
    y = X @ rng.normal(size=width) + 4 * rng.normal(size=len(X))
    if classify:
        classes = int(rng.integers(2, 4))
        y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    model = MODELS[name](seed, classify=classify).fit(X, y)
    return _Case(model, X[rng.integers(len(X))], veritas.get_addtree(model, silent=True))


_MODELS = pytest.mark.parametrize("name", MODELS)


@_MODELS
@pytest.mark.filterwarnings("ignore")
def test_checks_and_minima(name: str, slow_seed: int) -> None:
    case = _case(name, slow_seed, classify=True)
    problem, every = case.problem(), frozenset(range(case.x.size))
    rng, compared = np.random.default_rng(slow_seed), 0
    for _ in range(8):
        free = rng.permutation(case.x.size)[: rng.integers(1, case.x.size + 1)].tolist()
        worst = case.worst(free)
        if abs(worst) > _ROUNDED:
            compared += 1
            assert problem.check(free).holds == (worst < 0)
    assert compared
    least = problem.minimum()
    assert least.proven
    assert case.worst(every - {*least.explanation}) < _ROUNDED
    for smaller in combinations(every, least.size - 1) if least.size else ():
        assert case.worst(every - {*smaller}) > -_ROUNDED


@_MODELS
@pytest.mark.filterwarnings("ignore")
def test_changes_and_radii(name: str, slow_seed: int) -> None:
    case = _case(name, 1000 + slow_seed, classify=True)
    problem, every = case.problem(), range(case.x.size)
    fewest = problem.contrastive()
    assert fewest.proven
    if fewest.contrast is None:
        assert case.worst(every) < _ROUNDED
        return
    assert case.worst(fewest.contrast) > -_ROUNDED
    for smaller in combinations(every, len(fewest.contrast) - 1):
        assert case.worst(smaller) < _ROUNDED
    found = problem.radius(tolerance=1e-6).bracket
    assert found.settled
    assert found.upper is not None
    # radii end at thresholds, which are a quarter apart
    assert case.worst(every, max(found.lower - _ROUNDED, 0.0)) < _ROUNDED
    assert case.worst(every, found.upper + _ROUNDED) > -_ROUNDED


@_MODELS
@pytest.mark.filterwarnings("ignore")
def test_the_largest_change_of_a_value(name: str, slow_seed: int) -> None:
    """A claim about it holds just above the largest change, and fails just below."""
    case = _case(name, 2000 + slow_seed, classify=False)
    rng = np.random.default_rng(slow_seed)
    free = rng.permutation(case.x.size)[: rng.integers(1, case.x.size + 1)].tolist()
    # the sum of a forest's trees is not divided by their number
    share = len(case.sums) if name == "forest" else 1
    now = float(case.sums.eval(case.x[None])[0, 0])
    rise = case.largest(case.sums, free) - now
    fall = case.largest(case.sums.negate_leaf_values(), free) + now
    change = max(rise, fall) / share
    assert change > 0
    assert case.problem(delta=change + _ROUNDED).check(free).holds
    assert case.problem(delta=change - _ROUNDED).check(free).violated
