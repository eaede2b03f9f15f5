"""Values of networks in rational arithmetic, and bounds that must enclose them."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

from verix_encodings import BoundMethod, Interval, Max, Network, Relu, interval_bounds
from verix_encodings.arrays import dense

seeds = st.integers(0, 2**32 - 1)
Test = Callable[..., None]


def examples(count: int, *drawn: st.SearchStrategy[Any]) -> Callable[[Test], Test]:
    """Return the decorator of a test that hypothesis runs on ``count`` examples of ``drawn``."""
    return lambda test: settings(max_examples=count)(given(*drawn)(test))


def exact_values(network: Network, x: list[Fraction]) -> list[list[Fraction]]:
    """Evaluate every value of ``network`` at ``x`` in rational arithmetic."""
    values = [x]
    for node in network.nodes:
        if isinstance(node, Relu):
            values.append([max(z, Fraction(0)) for z in values[node.source]])
            continue
        if isinstance(node, Max):
            z = values[node.entries]
            values.append([max(z[p], z[q]) for p, q in zip(node.first, node.second, strict=True)])
            continue
        result = [Fraction(float(b)) for b in node.bias]
        for source, matrix in node.terms:
            for i, row in enumerate(dense(matrix)):
                result[i] += sum(
                    (Fraction(float(w)) * v for w, v in zip(row, values[source], strict=True)),
                    Fraction(0),
                )
        values.append(result)
    return values


def assert_encloses(
    network: Network, box: Interval, x: list[Fraction], method: BoundMethod = interval_bounds
) -> None:
    for interval, value in zip(method(network, box), exact_values(network, x), strict=True):
        for low, v, high in zip(interval.lower, value, interval.upper, strict=True):
            assert Fraction(float(low)) <= v <= Fraction(float(high))


def inside(box: Interval, rng: np.random.Generator) -> list[Fraction]:
    """Return an exact point of ``box``: a corner, or a mixture of its two ends."""
    shares = [Fraction(int(n), 4) for n in rng.integers(0, 5, box.lower.size)]
    return [
        Fraction(float(low)) * (1 - t) + Fraction(float(high)) * t
        for low, high, t in zip(box.lower, box.upper, shares, strict=True)
    ]
