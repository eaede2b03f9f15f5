"""Small networks over mixed domains, and what each set of features allows, by listing all points.

Nothing here uses the code under test but the constructors of features: values, rules and distances
are stated again as plain Python.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from milp_verix import Inputs, binary, category, integer, ordinal
from milp_verix.inputs.feature import Feature
from milp_verix.models.onnx.onnx_network import OnnxNetwork
from tests.support.random_networks import Layer, dense_network, random_layers

Array = NDArray[np.float64]
Values = tuple[int, ...]
"""The value of each feature: a number, a code, or the place in a one-hot block."""

_MOST_POINTS = 100_000


# no slots: the points are listed once
@dataclass(frozen=True, eq=False)
class MixedCase:
    """A network of ``layers`` at ``x``, features with their ``values`` in the ball, and rules.

    ``rules`` are pairs of a text and a function of the values of all features.
    """

    layers: tuple[Layer, ...]
    features: tuple[Feature, ...]
    x: Values
    epsilon: dict[str, float]
    rules: tuple[tuple[str, Callable[[Values], bool]], ...]

    @property
    def inputs(self) -> Inputs:
        """The description of the input."""
        return Inputs(self.features, [text for text, _ in self.rules])

    @property
    def point(self) -> Array:
        """The input of the network."""
        return self.placed(self.x)

    def network(self, folder: Path) -> OnnxNetwork:
        """Return the network, through an ONNX file in ``folder``."""
        return dense_network(self.layers, folder)

    def placed(self, values: Values) -> Array:
        """Return ``values`` as an input of the network."""
        found: list[float] = []
        for feature, value in zip(self.features, values, strict=True):
            if feature.one_hot:
                found += [float(place == value) for place in range(len(feature.values))]
            else:
                found.append(float(value))
        return np.array(found)

    def reachable(self, index: int) -> list[int]:
        """Return the values of a feature within its radius."""
        feature, here = self.features[index], self.x[index]
        radius = self.epsilon[feature.name]
        if feature.kind == "category":
            every = range(len(feature.values)) if feature.one_hot else feature.codes
            return list(every) if radius >= 1 else [here]
        between = range(int(feature.lower), int(feature.upper) + 1)
        return [value for value in between if abs(value - here) <= radius]

    def points(self, free: Sequence[int]) -> list[Values]:
        """Return the points of the ball with the features ``free`` free, by the rules."""
        choices = [self.reachable(i) if i in free else [v] for i, v in enumerate(self.x)]
        return [p for p in product(*choices) if all(rule(p) for _, rule in self.rules)]

    def margins(self, points: Sequence[Values]) -> Array:
        """Return the worst margin at each of ``points``."""
        values, blocks = np.array(points), []
        for column, feature in zip(values.T, self.features, strict=True):
            places = np.arange(feature.width)[None, :]
            code = column[:, None]
            blocks.append((code == places).astype(float) if feature.one_hot else code)
        y = np.concatenate(blocks, axis=1)
        for matrix, bias in self.layers[:-1]:
            y = np.maximum(y @ matrix.T + bias, 0.0)
        scores = y @ self.layers[-1][0].T + self.layers[-1][1]
        label = int(np.argmax(self._scores(self.point)))
        return np.max(np.delete(scores, label, axis=1) - scores[:, [label]], axis=1)

    def holds(self, free: Sequence[int]) -> bool:
        """Return whether the prediction survives every change of ``free``."""
        points, margins = self._listed
        fixed = [i for i in range(len(self.features)) if i not in free]
        there = np.all(points[:, fixed] == np.array(self.x)[fixed], axis=1)
        return bool(margins[there].max() < 0)

    @cached_property
    def _listed(self) -> tuple[Array, Array]:
        """Points of the ball, shape (N, features), and the worst margin at each, (N,)."""
        points = self.points(range(len(self.features)))
        return np.array(points), self.margins(points)

    def explanation(self, order: Sequence[int]) -> tuple[int, ...]:
        """Return what Algorithm 1 finds in ``order``, ascending."""
        irrelevant: list[int] = []
        for feature in order:
            if self.holds([*irrelevant, feature]):
                irrelevant.append(feature)
        return tuple(sorted({*order} - {*irrelevant}))

    def least_explanation(self) -> int:
        """Return the size of a smallest explanation."""
        return min(len(explanation) for explanation in self.minimal()[0])

    def least_contrast(
        self, held: Sequence[int] = (), costs: Sequence[float] | None = None
    ) -> float | None:
        """Return the least cost of a contrastive set without ``held``, None if there is none.

        Without ``costs`` it is the number of features.
        """
        sets = [contrast for contrast in self.minimal()[1] if not {*contrast} & {*held}]
        prices = [1] * len(self.features) if costs is None else costs
        return min((sum(prices[f] for f in contrast) for contrast in sets), default=None)

    def nearest(self, costs: Sequence[float], held: Sequence[int] = ()) -> float | None:
        """Return the least distance of a counterfactual that keeps ``held``, None if none does."""
        points, margins = self._listed
        there = np.all(points[:, [*held]] == np.array(self.x)[[*held]], axis=1)
        changed = points[there & (margins > 0)].tolist()
        return min((self.distance(point, costs) for point in changed), default=None)

    def distance(self, point: Values, costs: Sequence[float]) -> float:
        """Return the distance of ``point``: steps as shares of what is allowed, categories 1."""
        total = 0.0
        for feature, cost, a, b in zip(self.features, costs, self.x, point, strict=True):
            if feature.kind == "category":
                total += cost * (a != b)
            else:
                steps = np.floor(self.epsilon[feature.name])
                most = min(steps, feature.upper - feature.lower)
                total += cost * abs(a - b) / most if a != b else 0.0
        return total

    def minimal(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """Return all minimal explanations and all minimal contrastive sets."""
        every = range(len(self.features))
        sets = [frozenset(c) for k in range(len(every) + 1) for c in combinations(every, k)]
        explain = [s for s in sets if self.holds([*{*every} - s])]
        change = [s for s in sets if not self.holds([*s])]
        return _least(explain), _least(change)

    def _scores(self, point: Array) -> Array:
        y = point
        for matrix, bias in self.layers[:-1]:
            y = np.maximum(matrix @ y + bias, 0.0)
        return self.layers[-1][0] @ y + self.layers[-1][1]


@cache
def mixed_case(
    seed: int, *, rules: bool, most: int = 6, widest: int = 9, clear: float = 1e-3
) -> MixedCase:
    """Return a case whose margins are farther from zero than ``clear`` at each of its points.

    It has fewer than ``most`` features, and integers of fewer than ``widest`` steps.
    """
    for attempt in range(1000):
        rng = np.random.default_rng([seed, attempt])
        found = _drawn(rng, rules=rules, most=most, widest=widest, clear=clear)
        if found is not None:
            return found
    raise AssertionError("no case found: allow smaller margins")


def _drawn(
    rng: np.random.Generator, *, rules: bool, most: int, widest: int, clear: float
) -> MixedCase | None:
    features = tuple(
        random_feature(rng, f"f{i}" if i else "first one", widest)
        for i in range(rng.integers(3, most))
    )
    x = tuple(random_value(rng, feature) for feature in features)
    radii = [np.inf, 1.0, 2.5, 3.0]
    epsilon = {feature.name: float(rng.choice(radii)) for feature in features}
    chosen = (
        tuple(random_rule(rng, features, x) for _ in range(rng.integers(1, 4))) if rules else ()
    )
    width = sum(feature.width for feature in features)
    (matrix, bias), *others = random_layers(rng, (width, 6, 5, int(rng.integers(2, 4))))
    low = np.concatenate([np.full(f.width, f.lower) for f in features])
    size = np.concatenate([np.full(f.width, max(f.upper - f.lower, 1.0)) for f in features])
    scaled = (2.0 * matrix / size).astype(np.float32).astype(np.float64)
    moved = (2.0 * bias - scaled @ low).astype(np.float32).astype(np.float64)
    case = MixedCase(((scaled, moved), *others), features, x, epsilon, chosen)
    everything = range(len(features))
    if np.prod([len(case.reachable(i)) for i in everything]) > _MOST_POINTS:
        return None
    margins = case.margins(case.points(everything))
    return case if np.abs(margins).min() > clear and margins.max() > 0 else None


def random_feature(rng: np.random.Generator, name: str, widest: int) -> Feature:
    words = ["red", "green", "blue", "white"][: int(rng.integers(2, 5))]
    kind = rng.choice(["integer", "binary", "codes", "gaps", "one-hot", "ordinal"])
    if kind == "integer":
        low = int(rng.integers(-3, 4))
        return integer(name, low, low + int(rng.integers(1, widest)))
    if kind == "binary":
        return binary(name)
    if kind == "gaps":
        codes = np.sort(rng.choice(10, len(words), replace=False)).tolist()
        return category(name, words, codes=codes)
    if kind == "ordinal":
        return ordinal(name, words, first=int(rng.integers(0, 3)))
    return category(name, words, one_hot=bool(kind == "one-hot"))


def random_value(rng: np.random.Generator, feature: Feature) -> int:
    if feature.codes:
        return int(rng.choice(feature.codes))
    return int(rng.integers(feature.lower, feature.upper + 1))


def random_rule(
    rng: np.random.Generator, features: tuple[Feature, ...], x: Values
) -> tuple[str, Callable[[Values], bool]]:
    """Return a rule that ``x`` satisfies, as a text and as a function."""
    while True:
        found = _joined(rng, features)
        if found[1](x):
            return found


def _joined(
    rng: np.random.Generator, features: tuple[Feature, ...]
) -> tuple[str, Callable[[Values], bool]]:
    (p, is_p), (q, is_q) = (_condition(rng, features) for _ in range(2))
    kind = rng.choice(["alone", "implies", "or", "not and", "sum"])
    if kind == "sum":
        return _sum(rng, features)
    if kind == "implies":
        return f"({p}).implies({q})", lambda v: not is_p(v) or is_q(v)
    if kind == "or":
        return f"({p}) | ({q})", lambda v: is_p(v) or is_q(v)
    if kind == "not and":
        return f"not ({p} and {q})", lambda v: not (is_p(v) and is_q(v))
    return p, is_p


def _condition(
    rng: np.random.Generator, features: tuple[Feature, ...]
) -> tuple[str, Callable[[Values], bool]]:
    index = int(rng.integers(len(features)))
    feature = features[index]
    name, value = f"inputs[{feature.name!r}]", random_value(rng, feature)
    if feature.kind == "category":
        word = feature.values[feature.codes.index(value)]
        if rng.random() < 0.5:
            return f"{name} == {word!r}", lambda v: v[index] == value
        return f"{name} != {word!r}", lambda v: v[index] != value
    sign = str(rng.choice(["<=", "<", ">=", ">", "=="]))
    return f"{name} {sign} {value}", lambda v: bool(eval(f"{v[index]} {sign} {value}"))


def _sum(
    rng: np.random.Generator, features: tuple[Feature, ...]
) -> tuple[str, Callable[[Values], bool]]:
    numbers = [i for i, feature in enumerate(features) if feature.kind != "category"]
    if not numbers:
        return _condition(rng, features)
    weights = {i: int(rng.integers(-2, 3)) or 1 for i in numbers}
    limit = int(rng.integers(-3, 8))
    text = " + ".join(f"{w} * inputs[{features[i].name!r}]" for i, w in weights.items())
    return (
        f"{text} <= {limit}",
        lambda v: sum(w * v[i] for i, w in weights.items()) <= limit,
    )


def _least(sets: list[frozenset[int]]) -> list[tuple[int, ...]]:
    return sorted(tuple(sorted(s)) for s in sets if not any(other < s for other in sets))
