"""Whatever calls itself a witness is compared with the ball before it counts, and run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix import Problem
from milp_verix.inputs.feature import integer
from milp_verix.oracle.verdict import replayed
from tests.support.lying_solvers import with_lying_ball
from tests.support.random_networks import as_layers, dense_network

ABOVE, FREE = np.float32(np.inf), np.array([0])


def asked(folder: Path, norm: str = "linf", high: float = 1.0) -> Problem:
    """Return what asks for ``x₀ + x₁ > 1.05`` near (½, ½), by ¼ at most."""
    network = dense_network(as_layers(([[1, 1], [0, 0]], [-1.05, 0])), folder)
    return Problem(network, [0.5, 0.5], epsilon=0.25, norm=norm, domain=(0.0, high))


def single(*values: Any) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32)


def test_the_witness_next_to_a_point_outside_lies_in_the_ball(tmp_path: Path) -> None:
    for norm in ("linf", "l1", "l2"):
        verdict = replayed(asked(tmp_path, norm), np.array([7.0, 7.0]), FREE)
        assert verdict is not None
        assert verdict.witness is not None
        assert verdict.witness.tolist() == [[0.75, 0.5]]


def test_a_zero_has_no_sign(tmp_path: Path) -> None:
    network = dense_network(as_layers(([[-1, 0], [0, 0]], [0.5, 0])), tmp_path)
    inputs = [integer("rooms", -3, 3), integer("floors", -3, 3)]
    problem = Problem(network, single(1.0, -0.0), epsilon=2, inputs=inputs)
    verdict = replayed(problem, np.array([-0.25, 0.25]), FREE)
    assert verdict is not None
    assert verdict.witness is not None
    assert verdict.witness.tolist() == [[0.0, 0.0]]
    assert not np.signbit(verdict.witness).any()


@pytest.mark.parametrize(
    "lie",
    [
        single(np.nextafter(single(0.75), ABOVE)[0], 0.5),
        single(0.75, np.nextafter(single(0.5), ABOVE)[0]),
        single(0.5, 0.75),
        single(np.inf, 0.5),
        single(np.nan, np.inf),
        np.array([0.75, 0.5]),
        single(0.75, 0.5)[None],
        single(0.75, 0.5, 0.5),
        single(0.75),
        single(),
    ],
    ids=["beyond", "moved", "other", "infinite", "nan", "wide", "deep", "long", "short", "empty"],
)
def test_a_ball_that_hands_out_what_is_no_member_makes_no_counterexample(
    lie: NDArray[Any], tmp_path: Path
) -> None:
    problem = asked(tmp_path)
    # by such a ball a member is one, too
    member = with_lying_ball(problem, single(0.75, 0.5))
    assert replayed(member, np.array([0.6, 0.5]), FREE) is not None
    assert replayed(with_lying_ball(problem, lie), np.array([0.6, 0.5]), FREE) is None


def test_a_witness_outside_the_domain_is_none(tmp_path: Path) -> None:
    problem = with_lying_ball(asked(tmp_path, high=0.7), single(0.75, 0.5))
    assert replayed(problem, np.array([0.6, 0.5]), FREE) is None


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_witness_in_the_box_but_not_in_the_norm_is_none(norm: str, tmp_path: Path) -> None:
    problem = with_lying_ball(asked(tmp_path, norm), single(0.75, 0.625))
    assert replayed(problem, np.array([0.6, 0.5]), np.array([0, 1])) is None


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_point_that_is_no_number_is_not_run(value: float, tmp_path: Path) -> None:
    assert replayed(asked(tmp_path), np.array([value, 0.5]), FREE) is None
