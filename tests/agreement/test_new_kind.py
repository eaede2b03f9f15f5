"""A kind of node that the documents add: its answers are those of the operator read as ReLUs."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest

from milp_verix import check, contrastive, explain, load_network, minimum
from milp_verix.models.onnx import registry
from milp_verix.models.onnx.registry import NodeContext, operator
from milp_verix.models.onnx.symbol import Symbol, Tensor
from tests.support.onnx_models import FLOAT, build, node
from verix_encodings import Elementwise, EncodingContext, Expressions, Interval, crown_bounds
from verix_encodings.arrays import FloatArray
from verix_encodings.blocks.layers import define
from verix_encodings.kinds.node import within_bounds

ROOT = Path(__file__).parents[2]
EPSILON = 0.4


def code_of_the_page() -> list[str]:
    """Return the two pieces of code that add the kind: its file and its line."""
    text = ROOT.joinpath("docs", "extending.md").read_text("utf-8")
    part = text[text.index("### A new kind of node") : text.index("### A method for bounds")]
    return re.findall(r"```python\n(.*?)```", part, re.DOTALL)


def kind_of_the_page() -> type[Elementwise]:
    names: dict[str, Any] = {"__name__": "hard_sigmoid"}
    exec(code_of_the_page()[0], names)
    return cast(type[Elementwise], names["HardSigmoid"])


HardSigmoid = kind_of_the_page()


class Tight(HardSigmoid):  # type: ignore[misc, valid-type]
    """The same function with lines around it, slopes, and rows that are exact."""

    __slots__ = ()
    exact = True

    def lines_of(
        self, lower: FloatArray, upper: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        low, high = self.apply(lower), self.apply(upper)
        wide = upper - lower
        chord = np.divide(high - low, wide, out=np.zeros_like(wide), where=wide > 0)
        # the distance to a line is greatest at corners and ends
        points = np.stack([lower, upper, *(np.clip(c, lower, upper) for c in (-2.5, 2.5))])
        apart = self.apply(points) - chord * points
        return chord, apart.min(axis=0) - 1e-12, chord, apart.max(axis=0) + 1e-12

    def slope_range(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        straight = (lower >= -2.5) & (upper <= 2.5)
        flat = (upper < -2.5) | (lower > 2.5)
        return np.where(straight, 0.2, 0.0), np.where(flat, 0.0, 0.2)

    def rows(self, context: EncodingContext) -> Expressions:
        """Add ``a = min(max(y, 0), 1)`` with ``y = z / 5 + 1 / 2``, and two binaries ``p``, ``q``.

        ``a ≤ p,  a ≤ y + L (1 − p),  a ≥ y − U q,  a ≥ q,  q ≤ p``
        """
        interval, result = context.bounds[self.source], within_bounds(context)
        every, label, builder = np.arange(interval.lower.size), context.label, context.builder
        z = define(builder, f"z_{label}", context.values[self.source], interval, every)
        p, q = (builder.add_columns(f"{n}_{label}", every, 0.0, 1.0, integer=True) for n in "pq")
        one, fifth = np.ones(every.size), np.full(every.size, 0.2)
        below = np.maximum(-(interval.lower / 5 + 0.5), 0.0) + 1e-6
        above = np.maximum(interval.upper / 5 - 0.5, 0.0) + 1e-6
        a = (one, result.columns)
        for name, terms, low, high in (
            ("on", [a, (-one, p)], -np.inf, 0.0),
            ("straight", [a, (-fifth, z), (below, p)], -np.inf, 0.5 + below),
            ("full", [a, (-fifth, z), (above, q)], 0.5, np.inf),
            ("end", [a, (-one, q)], 0.0, np.inf),
            ("order", [(one, q), (-one, p)], -np.inf, 0.0),
        ):
            builder.add_rows(f"hard_{name}_{label}", every, terms, low, high)
        return result


@contextmanager
def added(kind: type[Elementwise]) -> Iterator[None]:
    """Let the reader make nodes of this kind, by the line of the page."""
    known = registry.operators["HardSigmoid"]
    names = {"HardSigmoid": kind, "operator": operator, "Symbol": Symbol}
    try:
        exec(code_of_the_page()[1], {**names, "NodeContext": NodeContext, "Tensor": Tensor})
        yield
    finally:
        registry.operators["HardSigmoid"] = known


def model(seed: int) -> onnx.ModelProto:
    """Return a network of four inputs, four hard sigmoids, and three scores."""
    rng = np.random.default_rng(seed)
    nodes = [
        node("Gemm", ["x", "A", "a"], ["h"]),
        node("HardSigmoid", ["h"], ["r"]),
        node("Gemm", ["r", "B", "b"], ["y"]),
    ]
    constants = {
        "A": rng.normal(size=(4, 4)) * 4,
        "a": rng.normal(size=4),
        "B": rng.normal(size=(4, 3)),
        "b": rng.normal(size=3) / 4,
    }
    return build(nodes, inputs={"x": (1, 4)}, constants=constants, elem=FLOAT)


def point(seed: int) -> FloatArray:
    return np.random.default_rng([seed, 1]).uniform(0.2, 0.8, (1, 4)).astype(np.float32)


def answers(seed: int, **options: Any) -> dict[tuple[int, ...], str]:
    """Return the answer of a check for each set of free features."""
    network, x = load_network(model(seed)), point(seed)
    sets = [free for size in range(1, 5) for free in combinations(range(4), size)]
    return {
        free: check(network, x, list(free), epsilon=EPSILON, **options).answer.name for free in sets
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [HardSigmoid, Tight], ids=["from the page", "tight"])
def test_no_answer_contradicts_that_of_the_operator(kind: type[Elementwise], seed: int) -> None:
    truth = answers(seed)
    assert "UNKNOWN" not in truth.values()
    for options in ({}, {"solver": "highs", "bounds": "interval"}):
        with added(kind):
            found = answers(seed, **options)
            ir = load_network(model(seed)).ir
        assert ir.counts == {"hard sigmoids": 4}
        told = {free: answer for free, answer in found.items() if answer != "UNKNOWN"}
        assert told == {free: truth[free] for free in told}
        # with exact rows nothing stays open
        assert kind is HardSigmoid or told == truth


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_explanations_and_minima_are_those_of_the_operator(seed: int) -> None:
    x, network = point(seed), load_network(model(seed))
    known = explain(network, x, epsilon=EPSILON, order=[0, 1, 2, 3])
    fewest = minimum(network, x, epsilon=EPSILON)
    with added(Tight):
        ours = load_network(model(seed))
    assert explain(ours, x, epsilon=EPSILON, order=[0, 1, 2, 3]).explanation == known.explanation
    found = minimum(ours, x, epsilon=EPSILON)
    assert len(found.explanation) == len(fewest.explanation)
    assert found.lower_bound == fewest.lower_bound
    changed = contrastive(ours, x, epsilon=EPSILON)
    assert (changed.contrast is None) == (not known.explanation)
    if changed.contrast is not None:
        other = contrastive(network, x, epsilon=EPSILON).contrast
        assert other is not None
        assert len(changed.contrast) == len(other)
    # the checker reads the file on its own, and does not know the operator
    proof = explain(ours, x, epsilon=EPSILON, order=[0, 1, 2, 3]).certify(ours)
    assert proof.data is None
    assert proof.reason is not None
    assert "HardSigmoid" in proof.reason


def test_lines_are_tighter_than_the_enclosure_alone() -> None:
    found = []
    for kind in (HardSigmoid, Tight):
        with added(kind):
            network = load_network(model(0)).ir
        box = crown_bounds(network, Interval(np.full(4, 0.3), np.full(4, 0.7)))
        found.append(box[-1].upper - box[-1].lower)
    assert np.all(found[1] <= found[0])
    assert np.any(found[1] < 0.9 * found[0])
