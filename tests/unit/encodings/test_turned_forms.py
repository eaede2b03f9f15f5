"""Forms that rows turn: any turns are valid, the derivatives are right, and steps gain by them."""

from collections.abc import Sequence

import numpy as np
import pytest

from verix_encodings import Affine, Interval, Network, crown_bounds, row_slopes
from verix_encodings.alpha import lowered
from verix_encodings.arrays import FloatArray
from verix_encodings.bounds.curves import EXP, GELU, RECIPROCAL, SQRT, TANH, SmoothFunction
from verix_encodings.kinds.elementwise import Curve, Smooth
from verix_encodings.kinds.node import Node
from verix_encodings.kinds.product import Product
from verix_encodings.row_slopes import Relaxed, RowSlopes

FUNCTIONS = (TANH, GELU, EXP, SQRT, RECIPROCAL)


def curve(function: SmoothFunction, source: int) -> Curve:
    kind = Curve if function in (EXP, SQRT, RECIPROCAL) else Smooth
    return kind(source, function)


def turning(rng: np.random.Generator, function: SmoothFunction) -> tuple[Network, Interval]:
    """Return products of sums of a function of an affine map, and a box of inputs."""
    positive = function in (SQRT, RECIPROCAL)
    weights = rng.normal(size=(4, 3))
    nodes: Sequence[Node] = (
        Affine(((0, np.abs(weights) if positive else weights),), np.zeros(4)),
        curve(function, 1),
        Product(2, 1, rng.integers(0, 4, (3, 2)), rng.integers(0, 4, (3, 2))),
        Affine(((3, rng.normal(size=(2, 3))), (2, rng.normal(size=(2, 4)))), np.zeros(2)),
    )
    low = rng.uniform(0.1, 1.0, 3) if positive else rng.uniform(-1.5, 0.5, 3)
    return Network((3,), tuple(nodes)), Interval(low, low + rng.uniform(0.2, 1.5, 3))


def rows_of(network: Network, box: Interval, rng: np.random.Generator, *, parts: bool) -> RowSlopes:
    """Return rows of random turns, that suppose parts of ranges of values or none."""
    relaxed = Relaxed.of(network, crown_bounds(network, box))
    dials, ends = rng.random((20, relaxed.count)), relaxed.first_ends(20)
    signs = np.zeros_like(dials)
    if parts:
        for one in relaxed.splits:
            z = relaxed.bounds[one.value]
            share = rng.random((20, z.lower.size))
            side = rng.random(share.shape) < 0.2
            point = z.lower + share * (z.upper - z.lower)
            ends[:, 0, one.columns] = np.where(side, point, -np.inf)
            signs[:, one.places] = side
    return RowSlopes(relaxed, rng.normal(size=(20, 2)), dials, signs, ends)


@pytest.mark.parametrize(("parts", "most"), [(False, 100), (True, 100), (True, 10), (True, 0)])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
@pytest.mark.parametrize("seed", range(3))
def test_any_turns_are_valid(
    seed: int, function: SmoothFunction, parts: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the first forms alone turn, or none, where there would be too many dials
    monkeypatch.setattr(row_slopes, "_MOST_TURNED", most)
    rng = np.random.default_rng(seed)
    network, box = turning(rng, function)
    found = rows_of(network, box, rng, parts=parts)
    upper = found.extremes(box)
    found.descend(1, np.ones(20))
    upper = np.minimum(upper, found.extremes(box))
    shares = np.concatenate([rng.random((2000, 3)), rng.integers(0, 2, (200, 3))])
    values: list[FloatArray] = [(box.lower + shares * (box.upper - box.lower)).T]
    for node in network.nodes:
        values.append(node.value(values))
    held = np.ones((20, shares.shape[0]), dtype=bool)
    assert found._supposed is not None
    for one in found.relaxed.splits:
        low = found._supposed[:, 0, one.columns]
        held &= np.all(values[one.value][None] >= low[:, :, None], axis=1)
    assert held.any()
    assert np.all((found._rows @ values[-1] <= upper[:, None] + 1e-9) | ~held)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_derivatives_by_turns_are_those_of_differences(function: SmoothFunction) -> None:
    rng = np.random.default_rng(1)
    network, box = turning(rng, function)
    found = rows_of(network, box, rng, parts=False)
    found.extremes(box)
    derivatives, dials, step = found.derivatives(), found.dials.copy(), 1e-7
    right = total = 0
    for turned in found.relaxed.turned:
        for place in range(turned.places.start, turned.places.stop):
            ends = []
            for way in (-step, step):
                found.dials = dials.copy()
                found.dials[:, place] += way
                ends.append(found.extremes(box))
            steep = (ends[1] - ends[0]) / (2 * step)
            right += np.count_nonzero(np.abs(steep - derivatives[:, place]) < 1e-4)
            total += steep.size
    # elsewhere the maximiser, or the sign of a coefficient, changes within the step
    assert right > 0.97 * total


def test_turns_of_a_product_give_the_bounds_worked_out_by_hand() -> None:
    nodes = (
        Product(0, 0, np.array([[0]]), np.array([[1]])),
        Affine(((1, np.ones((1, 1))), (0, np.ones((1, 2)))), np.zeros(1)),
    )
    network, box = Network((2,), nodes), Interval(-np.ones(2), np.ones(2))
    relaxed = Relaxed.of(network, crown_bounds(network, box))
    uppers = []
    for turn in (0.0, 0.5, 1.0):
        dials = np.tile([turn, 0.0, 0.0], (2, 1))
        uppers.append(RowSlopes(relaxed, np.array([[1.0], [-1.0]]), dials).extremes(box))
    # x y ≤ 1 + t (x − y) and −x y ≤ 1 − t (x + y) with t = −1, 0, 1; x + y and −x − y are added
    assert np.array(uppers) == pytest.approx(np.array([[3.0, 1.0], [3.0, 3.0], [3.0, 5.0]]))


def test_steps_on_turns_find_the_best_plane() -> None:
    nodes = (
        Product(0, 0, np.array([[0]]), np.array([[1]])),
        Affine(((1, -np.ones((1, 1))), (0, -np.ones((1, 2)))), np.zeros(1)),
    )
    network, box = Network((2,), nodes), Interval(-np.ones(2), np.ones(2))
    rows = RowSlopes(Relaxed.of(network, crown_bounds(network, box)), np.ones((1, 1)))
    found = lowered(rows, box, np.full(1, np.inf), np.full(1, -9.0), tuple(range(12)))
    # −x y − x − y is at most 1, at (−1, −1), and the usual plane says 3
    assert found.upper == pytest.approx(1.0)


def test_forms_turn_without_splits_at_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_slopes, "splittable", lambda *_: ())
    rng = np.random.default_rng(0)
    network, box = turning(rng, TANH)
    rows = rows_of(network, box, rng, parts=False)
    assert rows.relaxed.splits == ()
    rows.extremes(box)
    for one in rows.relaxed.turned:
        assert np.any(rows.derivatives()[:, one.places])
