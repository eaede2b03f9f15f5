"""Assertions on boxes in a batch, and on parts of a network."""

from collections.abc import Callable, Sequence

import numpy as np

from verix_encodings import Interval, Network, alpha_bounds, crown_bounds, interval_bounds
from verix_encodings.arrays import FloatArray
from verix_encodings.batch_crown import BatchCrown, slope_ranges
from verix_encodings.bounds.boxes import Boxes
from verix_encodings.bounds.interval import Bounds
from verix_encodings.interval_bounds import cone
from verix_encodings.network import batch_values


def inputs(box: Interval, rng: np.random.Generator) -> FloatArray:
    """Return 300 points of a ``box`` of three coordinates, as columns: corners among them."""
    shares = np.hstack([rng.random((3, 200)), rng.integers(0, 2, (3, 100))])
    points = box.lower[:, None] + shares * (box.upper - box.lower)[:, None]
    return np.clip(points, box.lower[:, None], box.upper[:, None])


def assert_boxes_enclose(
    network: Network,
    box: Interval,
    rng: np.random.Generator,
    off: Callable[[FloatArray], FloatArray],
) -> None:
    """Assert that two halves of ``box`` have bounds of their own around :func:`inputs` of each.

    ``network`` has two outputs; ``off`` is the rounding of values.
    """
    middle = box.lower / 2 + box.upper / 2
    boxes = Boxes(np.stack([box.lower, middle]), np.stack([middle, box.upper]))
    crown = BatchCrown(network, crown_bounds(network, box))
    found = crown.bounds(boxes, {})
    owner, margin = np.divmod(np.arange(4), 2)
    upper = crown.margins(boxes, found, owner, margin).upper.reshape(2, 2)
    centre, half = slope_ranges(network, found, np.zeros(2, dtype=np.intp))
    assert np.isfinite(centre).all()
    assert np.all(half >= 0)
    for number in range(2):
        part = Interval(boxes.lower[number], boxes.upper[number])
        values = batch_values(network, inputs(part, rng))
        for (low, high), value in zip(found, values[:-1], strict=True):
            assert np.all(low[number][:, None] <= value + off(value))
            assert np.all(value - off(value) <= high[number][:, None])
        assert np.all(values[-1] <= upper[number][:, None] + off(values[-1]))


def assert_values_enclosed(
    network: Network,
    box: Interval,
    values: Sequence[FloatArray],
    off: Callable[[FloatArray], FloatArray],
) -> None:
    """Assert that bounds of each kind over ``box`` hold for ``values``, up to ``off`` of them."""
    for method in (interval_bounds, crown_bounds, alpha_bounds):
        for interval, value in zip(method(network, box), values, strict=True):
            assert np.all(interval.lower[:, None] <= value + off(value))
            assert np.all(value - off(value) <= interval.upper[:, None])


def assert_parts_agree(
    network: Network, bounds: Bounds, points: FloatArray, rng: np.random.Generator
) -> None:
    """Assert that the cones of random neurons have the values of the network at ``points``."""
    values = batch_values(network, points)
    for value in range(1, len(bounds)):
        rows = np.flatnonzero(rng.random(network.sizes[value]) < 0.5)
        if rows.size:
            part, inner, places = cone(network, bounds, value, rows)
            assert part.sizes == tuple(interval.lower.size for interval in inner)
            np.testing.assert_allclose(batch_values(part, points)[-1][places], values[value][rows])
