"""Balls of radius zero or of any size, domains with no room: answers, and no warnings from numpy.

Warnings of this project's modules are errors in tests (``filterwarnings`` in pyproject.toml).
"""

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import milp_verix
from milp_verix import OnnxNetwork
from milp_verix.problem.ball import NORMS
from milp_verix.searches.minimum.smallest import METHODS
from tests.support.random_networks import as_layers, dense_network
from verix_encodings import Interval, NormBall, ProgramBuilder, l2_tangents, tangent_gaps

X = np.array([0.25, 0.5, 0.0])
RADII = (0.0, 5e-324, 1e-170, 1e-12, 0.1, 1e160, 1e300)
DOMAINS = {
    "one point": (X, X),
    "one coordinate fixed": ([0.25, 0.0, 0.0], [0.25, 1.0, 1.0]),
    "open": (-np.inf, np.inf),
    "open on one side": ([-np.inf, 0.0, 0.0], [1.0, np.inf, 1.0]),
    "unit": (0.0, 1.0),
}


def three_inputs(folder: Path) -> OnnxNetwork:
    """Return a network whose classes 1 and 2 have the same score at every input."""
    hidden = ([[1, -1, 0.5], [0.5, 1, -1], [-1, 0.5, 1], [1, 1, 1]], [-0.1, -0.3, 0.1, -0.4])
    scores = ([[1, 1, -1, 0.5], [-1, 1, 1, 0], [-1, 1, 1, 0]], [0.6, 0.1, 0.1])
    return dense_network(as_layers(hidden, scores), folder)


@pytest.mark.slow
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("epsilon", RADII)
@pytest.mark.parametrize("domain", DOMAINS)
def test_every_ball_has_an_answer(domain: str, epsilon: float, norm: str, tmp_path: Path) -> None:
    net = three_inputs(tmp_path)
    options = {"epsilon": epsilon, "norm": norm, "domain": DOMAINS[domain]}
    assert milp_verix.check(net, X, [], **options).holds
    verdict = milp_verix.check(net, X, [0, 1, 2], **options)
    if epsilon < 0.1 or domain == "one point":
        assert verdict.holds
    elif domain == "open":
        assert verdict.violated == (epsilon > 1)
    found = milp_verix.explain(net, X, transformation="deletion", **options)
    assert found.minimal
    assert (found.size == 0) == verdict.holds


@pytest.mark.parametrize("norm", NORMS)
def test_nothing_can_change_where_nothing_may_move(norm: str, tmp_path: Path) -> None:
    net = three_inputs(tmp_path)
    for epsilon, domain in ((0.0, (0.0, 1.0)), (0.1, (X, X))):
        options = {"epsilon": epsilon, "norm": norm, "domain": domain}
        for method in METHODS:
            least = milp_verix.minimum(net, X, method=method, **options)
            assert (least.size, least.lower_bound, least.proven) == (0, 0, True)
        assert milp_verix.contrastive(net, X, **options).robust
        listed = milp_verix.enumerate_explanations(net, X, **options)
        assert listed.complete
        assert (listed.abductive, dict(listed.contrastive)) == (((),), {})
        assert milp_verix.compare(net, X, solvers=["highs", "phase"], **options).agree


def exact_reach(way: np.ndarray, ball: NormBall, point: np.ndarray) -> tuple[Fraction, Fraction]:
    """Return ``way·(point − centre)`` and ``‖point − centre‖²``, both exact."""
    moves = [Fraction(p) - Fraction(c) for p, c in zip(point, ball.centre, strict=True)]
    rise = sum(Fraction(w) * m for w, m in zip(way, moves, strict=True))
    return rise, sum(m * m for m in moves)


@pytest.mark.parametrize("power", [-300, -170, -160, -80, 0, 80, 150, 155, 300])
@pytest.mark.parametrize("room", [1e-3, 0.5, 3.0])
def test_bounds_over_an_l2_ball_of_any_size(power: int, room: float) -> None:
    # with the box in proportion to ε, the farthest point is the same but for its unit
    radius, centre, way = 10.0**power, np.zeros(3), np.array([3.0, -2.0, 1.0])
    sides = radius * np.array([room, 1.0, 0.1])
    ball = NormBall(Interval(-sides, sides), centre, radius, 2)
    point = ball.farthest(way)
    rise, squared = exact_reach(way, ball, point)
    assert squared <= Fraction(radius) ** 2 * Fraction(1 + 1e-12)
    highest = Fraction(float(ball.greatest(way[None])[0]))
    assert rise <= highest <= rise * Fraction(1 + 1e-9)


def test_tangents_where_there_is_nothing_to_approximate() -> None:
    point = np.array([0.25, 0.5])
    for radius, sides in product((0.0, 5e-324, 1e-170, 1.0, 1e300), (0.0, 1e-17, 0.1)):
        ball = NormBall(Interval(point - sides, point + sides), point, radius, 2)
        builder = ProgramBuilder()
        l2_tangents(builder, ball)
        program = builder.build()
        assert np.isfinite(program.matrix.data if program.rows else np.zeros(0)).all()
        excess, gaps = tangent_gaps(ball, [point], point + sides)
        assert np.isfinite([excess, *gaps]).all()


SOLVERS = ("auto", "split", "phase", "beta", "highs")
TIES: dict[str, tuple[list[float], dict[str, float]]] = {
    "a tie of classes": ([0.0, 0.0], {}),
    "a margin within the tolerance": ([0.0, 1e-8], {}),
    "a regression without room": ([0.0, 0.0], {"delta": 0.0}),
}


@pytest.mark.slow
@pytest.mark.parametrize("tie", TIES)
def test_a_margin_near_zero_with_nothing_free_is_undecided_by_every_solver(
    tie: str, tmp_path: Path
) -> None:
    bias, question = TIES[tie]
    net = dense_network(as_layers((np.eye(2), [0, 0]), (np.eye(2), bias)), tmp_path)
    x = np.array([0.5, 0.5])
    for solver in SOLVERS:
        options = {"epsilon": 0.1, "solver": solver, **question}
        verdict = milp_verix.check(net, x, [], **options)
        assert verdict.answer is milp_verix.Answer.UNKNOWN
        assert verdict.reason
        assert milp_verix.audit(net, x, [0, 1], **options).answer is milp_verix.Answer.UNKNOWN
        assert milp_verix.explain(net, x, **options).explanation == (0, 1)
        for method in METHODS:
            least = milp_verix.minimum(net, x, method=method, **options)
            assert least.explanation == (0, 1)
        listed = milp_verix.enumerate_explanations(net, x, **options)
        assert listed.abductive == ()
        assert not listed.complete
        contrast = milp_verix.contrastive(net, x, **options)
        assert (contrast.size, contrast.robust) == (1, False)
        assert contrast.replay(net)
        assert milp_verix.relevance(net, x, 0, **options).role == "necessary"
