"""Random trees of scikit-learn on few inputs, and all answers about them by listing points.

Points are listed from the thresholds that the library stores, and judged by its own ``predict``:
all of them for whole numbers; for real numbers those next to the input in each cell that rounding
to float32 can tell apart.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from milp_verix import Inputs, Problem, category, integer

KINDS = ("whole", "real", "l1", "l2", "one_hot", "rules")
_ORDERS = {"l1": 1.0, "l2": 2.0}


@dataclass(frozen=True, eq=False)
class TreeCase:
    """A model, an input ``x``, and the points of its ball, (n, d), that stand for all others.

    ``groups`` are the coordinates of each feature; ``asked`` are further arguments of the problem.
    """

    model: Any
    x: NDArray[np.float64]
    points: NDArray[np.float64]
    groups: tuple[tuple[int, ...], ...]
    asked: dict[str, Any]

    @property
    def problem(self) -> Problem:
        """The problem about the prediction at ``x``."""
        return Problem(self.model, self.x, **self.asked)

    @property
    def count(self) -> int:
        """Number of features."""
        return len(self.groups)

    @cached_property
    def changed(self) -> NDArray[np.bool_]:
        """The points where the library's prediction is another one, (n,)."""
        return self.changes(self.points)

    def changes(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether the library's prediction at ``points``, (n, d), is another one."""
        found, own = self.model.predict(points), self.model.predict(self.x[None, :])[0]
        if "delta" in self.asked:
            return np.abs(found - own) > self.asked["delta"]
        return found != own

    @cached_property
    def moved(self) -> NDArray[np.bool_]:
        """Which features each point changes, (n, features)."""
        differs = self.points != self.x
        return np.stack([differs[:, list(group)].any(axis=1) for group in self.groups], axis=1)

    def suffices(self, features: Iterable[int]) -> bool:
        """Return whether fixing ``features`` keeps the prediction."""
        fixed = list(features)
        return not np.any(self.changed & ~self.moved[:, fixed].any(axis=1))

    @property
    def explanations(self) -> set[tuple[int, ...]]:
        """All minimal explanations."""
        every = [
            chosen
            for size in range(self.count + 1)
            for chosen in combinations(range(self.count), size)
            if self.suffices(chosen)
        ]
        return {one for one in every if not any(set(other) < set(one) for other in every)}

    @property
    def fewest(self) -> int | None:
        """The fewest features whose change changes the prediction, None if there are none."""
        return min(self.moved[self.changed].sum(axis=1).tolist(), default=None)


def tree_case(seed: int, kind: str) -> TreeCase:
    """Return a random case of one of ``KINDS``."""
    rng = np.random.default_rng(seed)
    small = kind in ("real", "l1", "l2")
    d = int(rng.integers(2, 4 if small else 5))
    if kind == "one_hot":
        return _one_hot_case(rng)
    values = int(rng.integers(3, 6))
    table = rng.integers(0, values, size=(40, d)) * (0.7 if small else 1.0)
    model = _model(rng, table, few=small)
    asked: dict[str, Any] = {}
    if not hasattr(model, "classes_"):
        asked["delta"] = float(rng.choice([0.1, 0.3, 0.5]))
    x, groups = table[0], tuple((i,) for i in range(d))
    if small:
        norm = kind if kind != "real" else "linf"
        epsilon = float(rng.choice([0.4, 0.8, 1.7]))
        asked |= {"epsilon": epsilon, "norm": norm, "domain": (-1.0, 4.0)}
        points = _next_to(model, x, epsilon, norm)
        return TreeCase(model, x, points, groups, asked)
    features = [integer(f"f{i}", 0, values - 1) for i in range(d)]
    rules: list[str] = []
    points = np.array(list(product(range(values), repeat=d)), dtype=np.float64)
    if kind == "rules":
        most = float(x[0] + x[1] + rng.integers(0, 2))
        rules = [f"f0 + f1 <= {most:g}"]
        points = points[points[:, 0] + points[:, 1] <= most]
    epsilon = float(rng.choice([1.0, np.inf]))
    points = points[(np.abs(points - x) <= epsilon).all(axis=1)]
    asked |= {"epsilon": epsilon, "inputs": Inputs(features, rules=rules)}
    return TreeCase(model, x, points, groups, asked)


def _one_hot_case(rng: np.random.Generator) -> TreeCase:
    words, numbers = int(rng.integers(3, 5)), int(rng.integers(1, 3))
    blocks = int(rng.integers(1, 3))
    units = list(np.eye(words))
    listed = product(*[range(3)] * numbers, *[units] * blocks)
    points = np.array([np.concatenate([one[:numbers], *one[numbers:]]) for one in listed])
    table = points[rng.integers(0, len(points), size=60)]
    model = _model(rng, table, few=False)
    groups = [(i,) for i in range(numbers)]
    for b in range(blocks):
        first = numbers + b * words
        groups.append(tuple(range(first, first + words)))
    features = [integer(f"n{i}", 0, 2) for i in range(numbers)]
    features += [
        category(f"c{b}", [f"w{k}" for k in range(words)], one_hot=True) for b in range(blocks)
    ]
    asked: dict[str, Any] = {"epsilon": np.inf, "inputs": Inputs(features)}
    if not hasattr(model, "classes_"):
        asked["delta"] = 0.3
    return TreeCase(model, table[0], points, tuple(groups), asked)


def _model(rng: np.random.Generator, table: NDArray[np.float64], *, few: bool) -> Any:
    """Return a fitted model of a random kind on random labels."""
    labels = rng.integers(0, int(rng.integers(2, 4)), size=len(table))
    labels[: labels.max() + 1] = np.arange(labels.max() + 1)
    count = int(rng.integers(2, 4 if few else 8))
    state = int(rng.integers(1_000_000))
    depth = int(rng.integers(1, 4))
    kinds: list[Callable[[], Any]] = [
        lambda: DecisionTreeClassifier(max_depth=depth, random_state=state),
        lambda: RandomForestClassifier(count, max_depth=3 if few else None, random_state=state),
        lambda: RandomForestClassifier(count, max_depth=2, random_state=state),
        lambda: ExtraTreesClassifier(count, max_depth=3 if few else None, random_state=state),
        lambda: GradientBoostingClassifier(n_estimators=count, max_depth=2, random_state=state),
        lambda: GradientBoostingRegressor(n_estimators=count, max_depth=2, random_state=state),
        lambda: RandomForestRegressor(count, max_depth=2, random_state=state),
    ]
    return kinds[int(rng.integers(len(kinds)))]().fit(table, labels)


def _next_to(model: Any, x: NDArray[np.float64], epsilon: float, norm: str) -> NDArray[np.float64]:
    """Return the points of the ball next to ``x`` in each box of cells of the library's own."""
    axes = []
    for i, value in enumerate(x):
        low, high = max(value - epsilon, -1.0), min(value + epsilon, 4.0)
        found = {float(value), *_sides(thresholds_of(model, i))}
        axes.append([v for v in sorted(found) if low <= v <= high])
    points = np.array(list(product(*axes)))
    if norm != "linf":
        order = _ORDERS[norm]
        points = points[(np.abs(points - x) ** order).sum(axis=1) <= epsilon**order]
    return points


def thresholds_of(model: Any, feature: int) -> NDArray[np.float64]:
    """Return the thresholds that a model of scikit-learn stores for a feature."""
    members = np.ravel(model.estimators_) if hasattr(model, "estimators_") else [model]
    trees = [member.tree_ for member in members]
    return np.unique(np.concatenate([t.threshold[t.feature == feature] for t in trees]))


def _sides(thresholds: NDArray[np.float64]) -> list[float]:
    """Return float64 numbers on both sides of where rounding to float32 passes each threshold."""
    found: list[float] = []
    for threshold in thresholds:
        near = np.float32(threshold)
        steps = [
            np.nextafter(near, np.float32(-np.inf)),
            near,
            np.nextafter(near, np.float32(np.inf)),
        ]
        wide = np.array(steps, dtype=np.float64)
        for middle in (wide[:-1] + wide[1:]) / 2:
            found += [np.nextafter(middle, -np.inf), middle, np.nextafter(middle, np.inf)]
        found += wide.tolist()
    return [float(value) for value in found]
