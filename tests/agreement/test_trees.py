"""Trees: every answer is that of listing points by the library's own prediction."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from milp_verix import Answer, Search, check
from milp_verix.solvers import SOLVERS
from tests.support.installed_solvers import SLOW, needs
from tests.support.tree_cases import KINDS, TreeCase, tree_case

_KINDS = pytest.mark.parametrize("kind", KINDS)
_PROGRAMS = [
    pytest.param(name, seed, marks=needs(name))
    for name in SOLVERS
    if name != "phase"
    for seed in range(1 if name in SLOW else 3)
]


def _is_counterfactual(case: TreeCase, point: np.ndarray, features: set[int]) -> bool:
    """Return whether a point changes the prediction, and the coordinates of ``features`` alone."""
    flat = point.reshape(-1)
    moved = {f for f, group in enumerate(case.groups) if np.any(flat[[*group]] != case.x[[*group]])}
    return bool(case.changes(flat[None, :])[0]) and moved <= features


@_KINDS
def test_explanations_and_minima(kind: str, tree_seed: int) -> None:
    case = tree_case(tree_seed, kind)
    found = case.problem.explain()
    assert not found.unknown
    assert found.explanation in case.explanations
    for feature, counterfactual in found.counterfactuals.items():
        free = {*found.irrelevant, feature}
        assert _is_counterfactual(case, counterfactual.input, free)
    least = case.problem.minimum()
    assert least.proven
    assert least.size == min(map(len, case.explanations))
    assert case.suffices(least.explanation)


@_KINDS
def test_contrasts(kind: str, tree_seed: int) -> None:
    case = tree_case(1000 + tree_seed, kind)
    found = case.problem.contrastive()
    assert found.robust == (case.fewest is None)
    if found.contrast is not None:
        assert found.counterfactual is not None
        assert case.fewest is not None
        assert found.lower_bound is not None
        assert found.unknown_reason is None
        assert found.lower_bound == case.fewest == len(found.contrast)
        assert _is_counterfactual(case, found.counterfactual.input, {*found.contrast})


@pytest.mark.parametrize("kind", ["whole", "real", "one_hot"])
def test_the_nearest_counterfactual(kind: str, tree_seed: int) -> None:
    case = tree_case(2000 + tree_seed, kind)
    found = case.problem.contrastive(minimise="distance")
    assert found.robust == (case.fewest is None)
    if found.distance is None:
        return
    assert found.scales is not None
    assert found.lower_bound is not None
    scales = np.array(found.scales)
    moves = np.abs(case.points - case.x) / scales
    shares = [
        moves[:, group[0]] if len(group) == 1 else moves[:, list(group)].any(axis=1)
        for group in case.groups
    ]
    least = np.sum(shares, axis=0)[case.changed].min()
    assert found.distance == pytest.approx(least, rel=1e-3)
    assert found.lower_bound <= least * (1 + 1e-9)
    assert found.proven


@pytest.mark.parametrize("kind", ["whole", "real", "one_hot", "rules"])
def test_enumeration_and_relevance(kind: str, tree_seed: int) -> None:
    case = tree_case(3000 + tree_seed, kind)
    found = case.problem.enumerate()
    assert found.complete
    assert set(found.abductive) == case.explanations
    relevance = case.problem.relevance(0)
    assert relevance.relevant == any(0 in one for one in case.explanations)


@_KINDS
@pytest.mark.parametrize(("solver", "seed"), _PROGRAMS)
def test_programs_answer_as_listing(solver: str, seed: int, kind: str) -> None:
    """A program may leave a tie open, which rounding could decide either way."""
    case = tree_case(4000 + seed, kind)
    rng = np.random.default_rng(seed)
    for _ in range(2):
        free = np.flatnonzero(rng.random(case.count) < 0.6).tolist()
        holds = case.suffices(set(range(case.count)) - {*free})
        verdict = case.problem.check(free, search=Search(solver=solver))
        if verdict.answer is Answer.UNKNOWN:
            assert "zero" in (verdict.reason or "")
        else:
            assert verdict.holds == holds
        assert case.problem.check(free).holds == holds


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("seed", [930059, 930000, 930001])
def test_a_ball_around_an_input_of_another_class_is_violated(seed: int, norm: str) -> None:
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(60, 2)) * 3, 1)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, rows.sum(1) > 0)
    everywhere = (-np.inf, np.inf)
    found = check(model, rows[0], [0, 1], epsilon=20, norm=norm, domain=everywhere)
    assert found.answer is Answer.VIOLATED
    witness = found.witness.reshape(1, -1)
    assert model.predict(witness)[0] != model.predict(rows[:1])[0]
    moves = [abs(Fraction(a) - Fraction(b)) for a, b in zip(witness[0], rows[0], strict=True)]
    far = {"linf": max(moves), "l1": sum(moves), "l2": sum(m * m for m in moves)}[norm]
    assert far <= (400 if norm == "l2" else 20)
