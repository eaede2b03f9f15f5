"""The programs of balls are as tight as they say: by their rows, and by what a solver proves."""

from pathlib import Path

import numpy as np
import pytest

from milp_verix import Answer, check
from tests.support.random_networks import as_layers, dense_network
from tests.support.scipy_reference import optimum, pinned
from verix_encodings import Expressions, Interval, NormBall, Program, ball_encoding
from verix_encodings.program import ProgramBuilder

SIZE, RADIUS = 20, 0.3
CENTRE = np.linspace(-1.0, 1.0, SIZE)
UNIT = RADIUS / np.sqrt(SIZE)


def ball_in(norm: int, *points: np.ndarray) -> tuple[Program, Expressions]:
    """Return the program of a ball in a wide box, and its inputs."""
    builder, box = ProgramBuilder(), Interval(CENTRE - 1, CENTRE + 1)
    inputs = ball_encoding(NormBall(box, CENTRE, RADIUS, norm), points=points)(builder)
    return builder.build(), inputs


def columns(program: Program, block: str) -> np.ndarray:
    """Return the places of the columns of one name."""
    names = np.concatenate([[name] * len(numbers) for name, numbers in program.column_labels])
    return np.flatnonzero(names == block)


@pytest.mark.parametrize("seed", range(5))
def test_the_row_of_an_l1_ball_is_its_radius(seed: int) -> None:
    program, inputs = ball_in(1)
    weights = np.random.default_rng(seed).normal(size=SIZE)
    cost = np.zeros(program.columns)
    cost[inputs.columns] = -(inputs.matrix.T @ weights)
    assert -optimum(program, cost)[0] == pytest.approx(RADIUS * np.abs(weights).max(), rel=1e-9)


@pytest.mark.parametrize("q", [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 0.7])
def test_a_tangent_of_an_l2_ball_touches_the_parabola(q: float) -> None:
    moved = CENTRE + 0.7 * UNIT
    program, _ = ball_in(2, *([moved] if q == 0.7 else []))
    squares, free = np.eye(program.columns)[columns(program, "s")], columns(program, "e")
    for place in (0, 7, SIZE - 1):
        there = pinned(program, free[[place]], np.array([q * UNIT]))
        assert optimum(there, squares[place])[0] == pytest.approx(q * q, rel=1e-8)


def test_the_squares_of_an_l2_ball_sum_up_to_its_radius() -> None:
    program, _ = ball_in(2)
    cost = np.zeros(program.columns)
    cost[columns(program, "s")] = -1.0
    assert -optimum(program, cost)[0] == pytest.approx(SIZE, rel=1e-9)


@pytest.mark.parametrize(("norm", "highest"), [("l1", 1.0), ("l2", np.sqrt(2.0))])
def test_highs_proves_what_is_just_below_the_highest(
    norm: str, highest: float, tmp_path: Path
) -> None:
    """``|x₀| + |x₁|`` in a ball around zero: bounds alone leave 2."""
    ends = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    for slack, answer in ((0.02, Answer.HOLDS), (-0.02, Answer.VIOLATED)):
        layers = as_layers((ends, np.zeros(4)), ([[0] * 4, [1] * 4], [highest + slack, 0]))
        network = dense_network(layers, tmp_path)
        found = check(
            network, np.zeros(2), [0, 1], epsilon=1, norm=norm, domain=(-2, 2), solver="highs"
        )
        assert found.answer is answer
        assert found.effort.solves
