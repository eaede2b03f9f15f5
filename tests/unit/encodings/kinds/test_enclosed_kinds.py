"""Products, norms, softmax, steps, curves: bounds, batches, slopes and programs hold each run."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.batch_enclosures import (
    assert_boxes_enclose,
    assert_parts_agree,
    assert_values_enclosed,
    inputs,
)
from tests.support.pointed_kinds import POINTED
from tests.support.scipy_reference import optimum
from verix_encodings import (
    RECIPROCAL,
    Affine,
    Curve,
    Interval,
    Network,
    Node,
    Product,
    Relu,
    Softmax,
    Step,
    crown_bounds,
    encode,
    interval_bounds,
    power,
    slope_bounds,
)
from verix_encodings.arrays import FloatArray
from verix_encodings.kinds.softmax import softmax_planes
from verix_encodings.kinds.tree import Tree
from verix_encodings.kinds.tree_ensemble import TreeEnsemble
from verix_encodings.network import batch_gradients, batch_values
from verix_encodings.safe_bounds import encoding_error, evaluation_error

KINDS: dict[str, Callable[[int, int], Node]] = {
    **POINTED,
    "cube": lambda value, _: Curve(value, power(3.0)),
    "softmax of all": lambda value, _: Softmax(value, np.array([[0, 1, 2, 3]])),
    "trees": lambda value, _: TreeEnsemble.of(value, STUMPS, np.zeros(4), blur=1e-6),
}
STEPPED = ("above", "reached", "floor", "round")
JUMPS = (*STEPPED, "trees")
STUMPS = [
    Tree(
        np.array([feature, -1, -1]),
        np.array([threshold, 0.0, 0.0]),
        np.array([1, 1, 2]),
        np.array([2, 1, 2]),
        np.array([[0.0] * 4, [1.0, 0.5, -1.0, 2.0], [-0.5, 1.0, 0.25, 0.0]]),
    )
    for feature, threshold in enumerate([0.1, -0.2, 0.3, 0.0])
]


def network_with(kind: str, rng: np.random.Generator) -> Network:
    """Affine maps and ReLUs, with nodes of the kind behind each, all read by the output."""

    def affine(*sources: int, rows: int = 4) -> Affine:
        terms = ((s, rng.normal(size=(rows, 3 if s == 0 else 4))) for s in sources)
        return Affine(tuple(terms), rng.normal(size=rows) / 2)

    first = [affine(0), Relu(1), KINDS[kind](1, 2)]
    return Network((3,), (*first, affine(2, 3), KINDS[kind](4, 3), Relu(4), affine(5, 6, rows=2)))


def some_box(rng: np.random.Generator) -> Interval:
    ends = np.sort(rng.uniform(-1.0, 1.0, (2, 3)), axis=0)
    width = 10.0 ** rng.uniform(-3, 0)
    return Interval(ends[0], ends[0] + width * (ends[1] - ends[0]))


def off(value: FloatArray) -> FloatArray:
    return np.asarray(1e-12 * (1.0 + np.abs(value)))


every_kind = pytest.mark.parametrize("kind", KINDS)
seeds = pytest.mark.parametrize("seed", range(8))


@every_kind
@seeds
def test_no_value_is_outside_of_its_bounds(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, box = network_with(kind, rng), some_box(rng)
    values = batch_values(network, inputs(box, rng))
    assert_values_enclosed(network, box, values, off)
    for single, several in zip(network.values(values[0][:, 7]), values, strict=True):
        np.testing.assert_allclose(single, several[:, 7], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in JUMPS])
@pytest.mark.parametrize("seed", range(3))
def test_backward_bounds_of_narrow_boxes_are_exact_to_the_first_order(kind: str, seed: int) -> None:
    """What the bounds leave open around the gradient shrinks with the square of the width."""
    rng = np.random.default_rng(seed)
    network, centre = network_with(kind, rng), rng.uniform(-1, 1, 3)
    if np.any(np.abs(network.values(centre)[1]) < 1e-2):
        return  # a ReLU has a kink near by
    excess = []
    for width in (1e-4, 1e-5):
        bounds = crown_bounds(network, Interval(centre - width, centre + width))[-1]
        values = batch_values(network, centre[:, None])
        gradients = [
            batch_gradients(network, values, np.array([output]))[:, 0] for output in range(2)
        ]
        spread = 2.0 * width * np.abs(np.array(gradients)).sum(axis=1)
        excess.append(np.max(bounds.upper - bounds.lower - spread))
    assert excess[1] <= 0.02 * excess[0] + 1e-11


@every_kind
@seeds
def test_boxes_in_a_batch_have_bounds_of_their_own(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, box = network_with(kind, rng), some_box(rng)
    assert_boxes_enclose(network, box, rng, off)


@every_kind
@pytest.mark.parametrize("seed", range(4))
def test_slopes_hold(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, box = network_with(kind, rng), some_box(rng)
    lower, upper = slope_bounds(network, crown_bounds(network, box))
    points = inputs(box, rng)
    values = batch_values(network, points)
    gradients = batch_gradients(network, values, np.zeros(300, np.intp))
    assert np.isfinite(gradients).all()
    if kind not in JUMPS:
        # at kinks of ReLUs, too, the gradient is one of the slopes
        assert np.all(lower[0][:, None] <= gradients + off(gradients))
        assert np.all(gradients <= upper[0][:, None] + off(gradients))
        # against differences, where no ReLU has a kink near by
        steady = np.all([np.abs(values[k]).min(axis=0) > 1e-3 for k in (1, 4)], axis=0)
        for i in range(3):
            ends = [points.copy() for _ in range(2)]
            ends[0][i] -= 1e-6
            ends[1][i] += 1e-6
            low, high = (batch_values(network, x)[-1][0] for x in ends)
            found = (high - low)[steady] / 2e-6
            np.testing.assert_allclose(gradients[i][steady], found, rtol=1e-4, atol=1e-4)


@every_kind
@pytest.mark.parametrize("seed", range(3))
def test_a_part_of_the_network_has_its_values(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, box = network_with(kind, rng), some_box(rng)
    assert_parts_agree(network, crown_bounds(network, box), inputs(box, rng), rng)


@every_kind
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("segments", [1, 4])
def test_a_program_has_every_run(kind: str, seed: int, segments: int) -> None:
    rng = np.random.default_rng(seed)
    network, box = network_with(kind, rng), some_box(rng)
    bounds = crown_bounds(network, box)
    encoding = encode(network, bounds, segments=segments)
    highest = batch_values(network, inputs(box, rng))[-1].max(axis=1)
    size = 1.0 + bounds[-1].magnitude.max()
    assert encoding_error(network, bounds) < 1e-9 * size
    assert np.isfinite(evaluation_error(network, bounds)).all()
    for output in range(2):
        cost, constant = encoding.output.row(output, encoding.program.columns)
        least, _ = optimum(encoding.program, -cost)
        assert constant - least >= highest[output] - 1e-6 * size
        # it is no looser than the lines, whose planes of products are means of its own
        assert constant - least <= bounds[-1].upper[output] + 1e-5 * size


def test_segments_of_a_factor_tighten_a_product() -> None:
    """``t (1 − t)`` is at most a quarter; McCormick's envelope has a half in the middle."""
    network = Network(
        (1,),
        (
            Affine(((0, np.array([[1.0], [-1.0]])),), np.array([0.0, 1.0])),
            Product(1, 1, np.array([[0]]), np.array([[1]])),
        ),
    )
    bounds = interval_bounds(network, Interval(np.zeros(1), np.ones(1)))
    found = []
    for segments in (1, 2, 4, 8):
        encoding = encode(network, bounds, segments=segments)
        cost, constant = encoding.output.row(0, encoding.program.columns)
        found.append(constant - optimum(encoding.program, -cost)[0])
    assert found[0] == pytest.approx(0.5)
    assert found[1:] == sorted(found[1:], reverse=True)
    assert 0.25 <= found[-1] < 0.29


def test_steps_are_computed_by_programs() -> None:
    """Between the steps, a program has the values of the function alone."""
    rng = np.random.default_rng(0)
    for form in STEPPED:
        network = Network(
            (1,),
            (
                Affine(((0, np.eye(1)),), np.zeros(1)),
                Step(1, form),
                Affine(((1, np.array([[-1.0]])), (2, np.eye(1))), np.zeros(1)),
            ),
        )
        box = Interval(np.array([-2.3]), np.array([2.6]))
        bounds = interval_bounds(network, box)
        encoding = encode(network, bounds)
        cost, constant = encoding.output.row(0, encoding.program.columns)
        highest = constant - optimum(encoding.program, -cost)[0]
        lowest = constant + optimum(encoding.program, cost)[0]
        points = np.concatenate([rng.uniform(-2.3, 2.6, 20000), np.arange(-2, 3), [-2.3, 2.6]])
        points = np.concatenate([points, np.arange(-4, 6) / 2 + 1e-7, np.arange(-4, 6) / 2 - 1e-7])
        values = batch_values(network, points[None])[-1][0]
        assert highest == pytest.approx(values.max(), abs=1e-3)
        assert lowest == pytest.approx(values.min(), abs=1e-3)


def test_a_function_that_is_not_defined_everywhere_has_no_bounds() -> None:
    network = Network((1,), (Affine(((0, np.eye(1)),), np.zeros(1)), Curve(1, RECIPROCAL)))
    with pytest.raises(OverflowError, match="value 2"):
        interval_bounds(network, Interval(np.array([-1.0]), np.array([1.0])))
    bounds = interval_bounds(network, Interval(np.array([0.5]), np.array([2.0])))
    assert bounds[2].lower[0] == pytest.approx(0.5)
    assert bounds[2].upper[0] == pytest.approx(2.0)


def test_planes_of_far_scores_do_not_overflow() -> None:
    scores = np.array([[-170.0, 100.0, 0.0]])
    with np.errstate(over="raise"):
        planes = softmax_planes(scores - 220.0, scores + 220.0)
    for points in np.random.default_rng(0).uniform(-220.0, 220.0, (50, 3)) + scores:
        powers = np.exp(points - points.max())
        share = powers / powers.sum()
        assert np.all(planes.below[0] @ points + planes.floor[0] <= share + 1e-12)
        assert np.all(share <= planes.above[0] @ points + planes.ceiling[0] + 1e-12)
