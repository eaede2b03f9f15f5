"""A random question about a random model over a finite domain, with the truth by listing it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import milp_verix
from milp_verix import Inputs, Problem
from milp_verix.inputs.feature import Feature
from tests.campaign.models import KINDS, ExportedTrees
from tests.support.mixed_domains import Values, random_feature, random_rule, random_value

MOST_POINTS = 4000
CLEAR = 1e-4
"""Scores of networks that are closer, relative to the largest, are drawn again: float32 decides."""


# no slots: the points are listed once
@dataclass(frozen=True, eq=False)
class FiniteCase:
    """A question ``problem`` with the values ``x`` of its features, and all ``points`` of its ball.

    ``predictions`` are the classes that the model's own runtime has at the points.
    """

    kind: str
    problem: Problem
    x: Values
    points: NDArray[Any]
    predictions: NDArray[Any]
    own: int

    @property
    def count(self) -> int:
        """The number of features."""
        return len(self.x)

    def holds(self, free: Sequence[int]) -> bool:
        """Return whether the prediction survives every change of ``free``."""
        fixed = [i for i in range(self.count) if i not in set(free)]
        there = np.all(self.points[:, fixed] == np.array(self.x)[fixed], axis=1)
        return bool(np.all(self.predictions[there] == self.own))

    def values_of(self, point: NDArray[Any]) -> Values | None:
        """Return the features' values at an input, None if it is no point of the ball."""
        places = {self.placed(tuple(p)).tobytes(): tuple(p) for p in self.points.tolist()}
        # -0.0 is 0.0, in other bytes
        return places.get((np.asarray(point, dtype=np.float64).reshape(-1) + 0.0).tobytes())

    def placed(self, values: Values) -> NDArray[np.float64]:
        """Return values of the features as an input of the model."""
        assert self.problem.inputs is not None
        return placed(self.problem.inputs.features, values)

    @cached_property
    def minimal(self) -> tuple[set[frozenset[int]], set[frozenset[int]]]:
        """All minimal explanations, and all minimal contrastive sets."""
        every = frozenset(range(self.count))
        sets = [frozenset(c) for k in range(self.count + 1) for c in combinations(every, k)]
        free = {one: self.holds(sorted(one)) for one in sets}
        explain = [one for one in sets if free[every - one]]
        change = [one for one in sets if not free[one]]
        return _least(explain), _least(change)


def _least(sets: list[frozenset[int]]) -> set[frozenset[int]]:
    return {one for one in sets if not any(other < one for other in sets)}


def placed(features: Sequence[Feature], values: Values) -> NDArray[np.float64]:
    """Return ``values`` of ``features`` as coordinates."""
    found: list[float] = []
    for feature, value in zip(features, values, strict=True):
        if feature.one_hot:
            found += [float(place == value) for place in range(len(feature.values))]
        else:
            found.append(float(value))
    return np.array(found)


def case(seed: int, kinds: Sequence[str] = tuple(KINDS)) -> FiniteCase:
    """Return the case of a ``seed``, about a model of one of the ``kinds``."""
    for attempt in range(1000):
        found = _drawn(np.random.default_rng([seed, attempt]), kinds)
        if found is not None:
            return found
    raise AssertionError("no case found")


def _drawn(rng: np.random.Generator, kinds: Sequence[str]) -> FiniteCase | None:
    widest = int(rng.choice([4, 9]))
    features = tuple(random_feature(rng, f"f{i}", widest) for i in range(rng.integers(2, 6)))
    x = tuple(random_value(rng, feature) for feature in features)
    rules: Sequence[tuple[str, Callable[[Values], bool]]] = ()
    if rng.random() < 0.3:
        rules = [random_rule(rng, features, x) for _ in range(rng.integers(1, 3))]
    radii = [np.inf, 1.0, 2.5, 3.0]
    epsilon = {feature.name: float(rng.choice(radii)) for feature in features}
    choices = [reachable(f, v, epsilon[f.name]) for f, v in zip(features, x, strict=True)]
    domain = [reachable(f, v, np.inf) for f, v in zip(features, x, strict=True)]
    if np.prod([len(one) for one in choices]) > MOST_POINTS:
        return None
    points = [p for p in product(*choices) if all(rule(p) for _, rule in rules)]
    kind = str(rng.choice(kinds))
    rows = np.array([placed(features, [rng.choice(one) for one in domain]) for _ in range(200)])
    model = KINDS[kind](rng, rows)
    network = milp_verix.load_network(model.model if isinstance(model, ExportedTrees) else model)
    predictions = predicted(model, network, np.array([placed(features, p) for p in points]))
    (own,) = predicted(model, network, placed(features, x)[None])
    if predictions is None or own is None or (predictions == own).all():
        return None
    inputs = Inputs(features, [text for text, _ in rules])
    problem = Problem(network, placed(features, x), epsilon=epsilon, inputs=inputs)
    return FiniteCase(kind, problem, x, np.array(points), predictions, int(own))


def reachable(feature: Feature, here: int, radius: float) -> list[int]:
    """Return the values of a feature within ``radius`` of its value ``here``."""
    if feature.kind == "category":
        every = range(len(feature.values)) if feature.one_hot else feature.codes
        return list(every) if radius >= 1 else [here]
    between = range(int(feature.lower), int(feature.upper) + 1)
    return [value for value in between if abs(value - here) <= radius]


def predicted(model: Any, network: Any, rows: NDArray[np.float64]) -> NDArray[Any] | None:
    """Return the classes that the model's own runtime has at ``rows``; None where it is close."""
    if hasattr(model, "predict"):
        return np.searchsorted(model.classes_, model.predict(rows))
    scores = np.asarray(network.evaluate_many(rows), dtype=np.float64)
    ranked = np.sort(scores, axis=1)
    if (ranked[:, -1] - ranked[:, -2] < CLEAR * np.abs(scores).max()).any():
        return None
    return np.argmax(scores, axis=1)
