"""Orders by bounds with one feature free: by hand, against samples, published, and cut short."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import Problem, explain, load_network
from milp_verix.base.clock import OutOfTimeError, deadline_in
from milp_verix.searches import order as freed_alone
from milp_verix.searches.order import BOUND_ORDERS, influence, resolve_order, rises
from tests.support.digits_example import images, network
from tests.support.orders import make_order
from tests.support.published_data import shared_file
from tests.support.random_networks import as_layers, dense_network, random_layers
from verix_encodings import Bounds, interval_bounds
from verix_encodings.work import UNITS_PER_SECOND, spend

# f_0 = 4 + ReLU(x0) − ReLU(x0 + x1) − 0.2 ReLU(x2) and f_1 = 5 ReLU(x2); f_0 is larger
LAYERS = as_layers(
    ([[1, 0, 0], [1, 1, 0], [0, 0, 1]], [0, 0, 0]), ([[1, -1, -0.2], [0, 0, 5]], [4, 0])
)


@pytest.mark.parametrize(
    ("order", "scores", "permutation"),
    [
        # intervals do not see that x0 cancels out in f_0
        ("bound", [0.2, 0.1, 0.02], (2, 1, 0)),
        ("bound_crown", [0.0, 0.1, 0.02], (0, 2, 1)),
        # and f_0 alone does not know that x2 raises the rival
        ("margin", [0.0, 0.1, 0.52], (0, 1, 2)),
    ],
)
def test_scores_by_hand(
    order: str, scores: list[float], permutation: tuple[int, ...], tmp_path: Path
) -> None:
    problem = Problem(dense_network(LAYERS, tmp_path), [0.5, 0.5, 0.5], epsilon=0.1)
    assert problem.question.prediction == 0
    np.testing.assert_allclose(rises(problem, order, range(3)), scores, atol=1e-6)
    assert make_order(problem, order).permutation == permutation


def test_features_of_one_score_keep_their_order(tmp_path: Path) -> None:
    weight = np.tile([1.0, 2.0], 20)
    problem = Problem(
        dense_network(as_layers(([weight, -weight], [0, 0])), tmp_path), np.ones(40), epsilon=0.1
    )
    for order in BOUND_ORDERS:
        assert make_order(problem, order).permutation == (*range(0, 40, 2), *range(1, 40, 2))


@pytest.mark.parametrize("order", BOUND_ORDERS)
@pytest.mark.parametrize(
    ("outputs", "options"),
    [(4, {}), (1, {}), (2, {"delta": 0.2}), (4, {"norm": "l1"}), (4, {"norm": "l2"})],
)
@pytest.mark.parametrize("seed", range(5))
def test_no_sample_loses_more(
    seed: int, outputs: int, options: dict[str, Any], order: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(seed)
    net = dense_network(random_layers(rng, (6, 8, 8, outputs)), tmp_path)
    groups = [[0, 4], [1], [5, 2, 3]]
    x = rng.uniform(size=6).astype(np.float32)
    problem = Problem(net, x, epsilon=0.1, features=groups, **options)
    margins = order == "margin"
    losses = problem.margins if margins else problem.question.losses(problem.network.ir)
    scores = rises(problem, order, range(3))
    for group, score in zip(groups, scores, strict=True):
        region = problem.ball.region(np.array(group))
        points = [x + np.zeros(6)]
        points += [region.farthest(rng.normal(size=6) * rng.integers(0, 2, 6)) for _ in range(50)]
        found = [losses.evaluate(point).max() - losses.evaluate(x).max() for point in points]
        assert max(found) <= score
        assert score > 0


def test_the_loss_is_that_of_the_prediction(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for outputs in (4, 1):
        net = dense_network(random_layers(rng, (6, 5, outputs)), tmp_path)
        for _ in range(8):
            x, other = rng.uniform(size=(2, 6)).astype(np.float32)
            problem = Problem(net, x, epsilon=0.1)
            losses = problem.question.losses(net.ir)
            assert losses.output_size == 1
            rise = float((losses.evaluate(other) - losses.evaluate(x))[0])
            drop = problem.question.confidence_drop(net.evaluate(x), net.evaluate(other))
            assert rise == pytest.approx(drop, abs=1e-5)


PUBLISHED = [
    ("gtsrb-10x2", "bound", 38, 13),
    ("gtsrb-10x2", "bound", 84, 7),
    ("fame-gtsrb-cnn", "bound_crown", 3, 24),
]
"""Sizes that VeriX+ reached with incomplete checks, as published with FAME (2026)."""


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "order", "image", "size"), PUBLISHED)
def test_sizes_published_for_verix_plus(name: str, order: str, image: int, size: int) -> None:
    net = load_network(shared_file(f"models/{name}.onnx"))
    with np.load(shared_file("data/gtsrb10.npz")) as data:
        x = data["test_images"][image] / np.float32(255)
    options: dict[str, Any] = {
        "epsilon": 0.01,
        "features": "pixels",
        "image_shape": (32, 32, 3),
        "order": order,
    }
    found = explain(net, x, exactness="bounds", traversal="binary", **options)
    assert found.size == size
    exact = explain(net, x, **options)
    assert exact.minimal
    assert exact.size < size


def slow_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the bounds of each feature take 0.03 s of work and a little."""

    def slow(*arguments: Any) -> Bounds:
        spend(3 * UNITS_PER_SECOND // 100)
        return interval_bounds(*arguments)

    monkeypatch.setattr(freed_alone, "interval_bounds", slow)


def test_an_order_cut_short_keeps_its_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(network(), images()[15], epsilon=0.1)
    whole, turn = rises(problem, "bound", range(64)), np.argsort(influence(problem), kind="stable")
    slow_bounds(monkeypatch)
    order = resolve_order(problem, "bound")(deadline_in(1.0), None)
    (note,) = order.notes
    count = int(re.findall(r"bounds of (\d+) of 64 features", note)[0])
    assert 2 <= count <= 6
    scored = np.sort(turn[:count])
    assert order.permutation[:count] == tuple(scored[np.argsort(whole[scored], kind="stable")])
    assert order.permutation[count:] == tuple(turn[count:])
    assert (order.name, order.sensitivity) == ("bound", None)


def test_time_enough_changes_nothing() -> None:
    problem = Problem(network(), images()[15], epsilon=0.1)
    for order in BOUND_ORDERS:
        found, expected = (
            resolve_order(problem, order)(deadline_in(60), None),
            make_order(problem, order),
        )
        assert found.permutation == expected.permutation
        assert found.notes == ()
        assert found.sensitivity is not None


def test_without_time_for_a_single_score_the_order_is_sequential(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = Problem(network(), images()[15], epsilon=0.1)
    slow_bounds(monkeypatch)
    for seconds in (0.1, -1.0):
        with pytest.raises(OutOfTimeError):
            rises(problem, "bound", range(64), deadline_in(seconds))
    order = resolve_order(problem, "bound")(deadline_in(0.1), None)
    assert (order.name, order.permutation) == ("sequential", tuple(range(64)))
    assert len(order.notes) == 1
