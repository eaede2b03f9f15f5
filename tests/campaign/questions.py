"""Each question that can be asked, and whether its answer is that of listing all points.

A question returns whether it was decided; an ``AssertionError`` is a finding.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from milp_verix import Search
from milp_verix.results.base import Counterfactual
from tests.campaign.cases import MOST_POINTS, FiniteCase, reachable
from tests.support.power_indices import defined_indices
from verix_encodings import Interval, crown_bounds
from verix_encodings.alpha import alpha_bounds
from verix_encodings.network import batch_values

Question = Callable[[FiniteCase, Search, np.random.Generator], bool]


_LEAST_OPTIONS = ("solver", "time_limit", "threads", "tolerances", "check_time_limit")


def _limits_of(search: Search) -> Search:
    """Return the options of ``search`` that every question takes."""
    return Search(**{name: getattr(search, name) for name in _LEAST_OPTIONS})


def _real(case: FiniteCase, found: Counterfactual | None, free: Sequence[int]) -> None:
    """Assert that a counterfactual is a point of the ball, moves ``free`` alone, and changes."""
    assert found is not None
    values = case.values_of(found.input)
    assert values is not None, f"{found.input} is no point of the domain"
    moved = [i for i, (a, b) in enumerate(zip(case.x, values, strict=True)) if a != b]
    assert {*moved} <= {*free}, f"features {moved} moved, not only {free}"
    there = np.all(case.points == np.array(values), axis=1)
    assert case.predictions[there].item() != case.own, f"{values} does not change the prediction"


def check(case: FiniteCase, search: Search, rng: np.random.Generator) -> bool:
    """Decide one random set of features."""
    free = sorted(rng.permutation(case.count)[: rng.integers(1, case.count + 1)].tolist())
    verdict = case.problem.check(free, search=replace(search, reuse=True))
    truth = case.holds(free)
    if verdict.holds or verdict.violated:
        assert verdict.holds == truth, f"{free}: {verdict.answer}, which is wrong"
    return verdict.holds or verdict.violated


def explain(case: FiniteCase, search: Search, rng: np.random.Generator) -> bool:
    """Explain in a random order."""
    order = rng.permutation(case.count).tolist()
    found = case.problem.explain(order=order, search=search)
    assert case.holds(found.irrelevant), f"{found.explanation} does not keep the prediction"
    for feature in found.explanation:
        if feature not in found.unknown:
            free = [*found.irrelevant, feature]
            _real(case, found.counterfactuals.get(feature), free)
    return not found.unknown


def minimum(case: FiniteCase, search: Search, rng: np.random.Generator) -> bool:
    """Prove a smallest explanation."""
    found, least = case.problem.minimum(search=_limits_of(search)), min(map(len, case.minimal[0]))
    assert case.holds(found.irrelevant), f"{found.explanation} does not keep the prediction"
    assert (found.lower_bound or 0) <= least <= found.size, (found.lower_bound, least, found.size)
    return found.proven


def contrastive(case: FiniteCase, search: Search, rng: np.random.Generator) -> bool:
    """Find the fewest changes, with some features held."""
    held = sorted(rng.permutation(case.count)[: rng.integers(0, 2)].tolist())
    found = case.problem.contrastive(must_not=held, search=_limits_of(search))
    sizes = [len(one) for one in case.minimal[1] if not one & {*held}]
    if found.robust:
        assert not sizes, f"said to be robust, but {min(sizes)} changes do it"
    elif found.contrast is not None:
        assert (found.lower_bound or 0) <= min(sizes) <= len(found.contrast)
        _real(case, found.counterfactual, found.contrast)
    return found.proven


def nearest(case: FiniteCase, search: Search, rng: np.random.Generator) -> bool:
    """Find the nearest change, a word for another one being a change of 1."""
    inputs = case.problem.inputs
    assert inputs is not None
    found = case.problem.contrastive(minimise="distance", search=_limits_of(search))
    changing = case.points[case.predictions != case.own]
    assert not (found.robust and len(changing)), f"said to be robust, but {changing[0]} changes"
    if found.distance is None or found.scales is None:
        return found.proven
    total, first = np.zeros(len(changing)), 0
    for feature, here, values in zip(inputs.features, case.x, changing.T, strict=True):
        scale, first = found.scales[first], first + feature.width
        moved = np.abs(values - here)
        total += moved > 0 if feature.kind == "category" else moved / scale
    least = float(total.min())
    assert (found.lower_bound or 0) <= least * (1 + 1e-9), (found.lower_bound, least)
    assert found.distance >= least * (1 - 1e-9), (found.distance, least)
    assert not found.proven or found.distance <= least * (1 + 1e-3), (found.distance, least)
    assert found.contrast is not None
    _real(case, found.counterfactual, found.contrast)
    return found.proven


def enumerate_(case: FiniteCase, search: Search, rng: np.random.Generator) -> bool:
    """List all minimal explanations and contrasts."""
    found = case.problem.enumerate(search=_limits_of(search))
    explain, change = ({*map(frozenset, sets)} for sets in (found.abductive, found.contrastive))
    if found.complete:
        assert (explain, change) == case.minimal, (found.abductive, found.contrastive)
    assert explain <= case.minimal[0]
    assert change <= case.minimal[1]
    return found.complete


def relevance(case: FiniteCase, search: Search, rng: np.random.Generator) -> bool:
    """Decide the part that one feature plays."""
    feature = int(rng.integers(case.count))
    found = case.problem.relevance(feature, search=_limits_of(search))
    sets = case.minimal[0]
    for told, truth in (
        (found.necessary, all(feature in one for one in sets)),
        (found.relevant, any(feature in one for one in sets)),
    ):
        assert told in (None, truth), f"feature {feature}: {found!r}"
    return None not in (found.necessary, found.relevant)


def audit(case: FiniteCase, search: Search, rng: np.random.Generator) -> bool:
    """Judge a random set."""
    chosen = sorted(rng.permutation(case.count)[: rng.integers(0, case.count)].tolist())
    found = case.problem.audit(chosen, sound_only=True, search=search)
    truth = case.holds([i for i in range(case.count) if i not in chosen])
    assert found.sound in (None, truth), f"{chosen}: {found.sound}, which is wrong"
    return found.sound is not None


def importance(case: FiniteCase, search: Search, rng: np.random.Generator) -> bool:
    """Weigh the features by a random power index."""
    explanations = [*case.minimal[0]]
    indices = defined_indices(explanations, case.count)
    index = str(rng.choice([*indices]))
    found = case.problem.importance(index=index, search=_limits_of(search))
    for feature, truth in enumerate(indices[index]):
        low, high = found.lower[feature], found.upper[feature]
        assert low - 1e-12 <= truth <= high + 1e-12, (index, feature, float(truth), low, high)
    return found.exact


def inflate(case: FiniteCase, search: Search, rng: np.random.Generator) -> bool:
    """Widen the ranges of an explanation, and list all points in them."""
    inputs = case.problem.inputs
    assert inputs is not None
    found = case.problem.inflate(search=_limits_of(search))
    if inputs.rules or not found.ranges:
        return found.maximal
    choices = []
    for i, feature in enumerate(inputs.features):
        every = reachable(feature, case.x[i], np.inf)
        if i in found.explanation:
            ends = found.intervals[feature.name]
            words = feature.values
            if feature.kind == "category" or feature.values:
                codes = range(len(words)) if feature.one_hot else feature.codes
                choices.append([c for c, word in zip(codes, words, strict=True) if word in ends])
            else:
                choices.append([v for v in every if ends[0] <= v <= ends[1]])  # type: ignore[operator]
        else:
            choices.append(np.unique(case.points[:, i]).tolist())
    if np.prod([len(one) for one in choices]) > MOST_POINTS:
        return found.maximal
    for point in product(*choices):
        outputs = case.problem.network.evaluate(case.placed(point))
        assert not case.problem.question.changed(outputs), f"{point} is inside, and changes"
    return found.maximal


def enclose(case: FiniteCase, search: Search, rng: np.random.Generator) -> bool:
    """Bound all values of the network on a random box, and list the points in it."""
    points = np.array([case.placed(tuple(point)) for point in case.points.tolist()])
    some = points[rng.integers(0, len(points), 3)]
    box = Interval(some.min(axis=0), some.max(axis=0))
    inside = points[np.all((box.lower <= points) & (points <= box.upper), axis=1)]
    network = case.problem.network.ir
    try:
        bounds = (alpha_bounds if search.bounds == "alpha" else crown_bounds)(network, box)
    except OverflowError:  # such as the logarithm of what may be zero
        return False
    for interval, value in zip(bounds, batch_values(network, inside.T), strict=True):
        off = 1e-11 * (1.0 + np.abs(value))
        assert np.all(interval.lower[:, None] <= value + off), "a value is below its bound"
        assert np.all(value - off <= interval.upper[:, None]), "a value is above its bound"
    return True


QUESTIONS: Mapping[str, Question] = {
    "enclose": enclose,
    "check": check,
    "explain": explain,
    "minimum": minimum,
    "contrastive": contrastive,
    "nearest": nearest,
    "enumerate": enumerate_,
    "relevance": relevance,
    "audit": audit,
    "importance": importance,
    "inflate": inflate,
}


def search_of(rng: np.random.Generator, solvers: Sequence[str], *, trees: bool) -> Search:
    """Return random options of a search, with enough time that only engines leave things open.

    Those of ``trees`` leave out what only neurons have.
    """
    if trees:
        solvers = [name for name in solvers if name != "phase"]
    options: dict[str, Any] = {
        "solver": str(rng.choice([*solvers, *["auto"] * len(solvers)])),
        "bounds": str(rng.choice(["interval", "crown", "crown", *["alpha"] * (not trees)])),
        "segments": int(rng.choice([1, 8])),
        "reuse": bool(rng.random() < 0.9),
        "time_limit": 20.0,
    }
    return Search(**options)
