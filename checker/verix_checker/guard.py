"""A guard against operators that are misread: the network is run, too, before anything is proven.

The neurons of a file are evaluated exactly, in the structure that proofs use, and compared with the
reference evaluator of the ``onnx`` package, which runs the operators of the file. Both must agree
at the input of the claim and at corners, middles and mixtures of the ball, and of the box in which
all features may move. So must the scores that a Softmax or Sigmoid reads. A guard proves nothing,
and a difference, or a file that the evaluator does not run, is a refusal.

Rounding. Stored numbers are run as float64, without loss, so each operation is off by 2**-53 of
what it adds up. A network of 2**13 terms in a sum and 2**6 operations in a row stays within 2**-34
of its largest sum of absolute values; ``NEAR`` is 2**-30 of that. A softmax adds a few roundings.
"""

import hashlib
import warnings
from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import exp, inf, log
from typing import Any

import onnx
from onnx import helper, numpy_helper

from verix_checker.neurons import Network, UnreadableError

NEAR = 2**-30
FLOAT, DOUBLE = 1, 11
MIXTURES = 3


def doubled(stored: Any, name: str) -> Any:
    """Return a stored tensor with its real numbers as float64."""
    numbers = numpy_helper.to_array(stored)
    real = stored.data_type == FLOAT
    return numpy_helper.from_array(numbers.astype("float64") if real else numbers, name)


def reference(net: Network) -> Any:
    """Return the evaluator of the part of a file that a network was read from."""
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in net.nodes]
    for stored in (a for node in nodes if node.op_type == "Cast" for a in node.attribute):
        stored.i = DOUBLE if stored.name == "to" and stored.i == FLOAT else stored.i
    names = [*net.compared, *([net.output] if net.ordered else [])]
    ends = [helper.make_tensor_value_info(name, DOUBLE, None) for name in names]
    source = helper.make_tensor_value_info(net.source.name, DOUBLE, net.shape)
    numbers = [doubled(stored, name) for name, stored in net.stored.items()]
    graph = helper.make_graph(nodes, "part", [source], ends, numbers)
    from onnx.reference import ReferenceEvaluator  # takes a second to load

    return ReferenceEvaluator(helper.make_model(graph, opset_imports=net.versions))


def squashed(kind: str, scores: list[float]) -> list[float]:
    """Return what a Softmax, LogSoftmax or Sigmoid makes of scores."""
    if kind == "Sigmoid":  # the one of -s and s that does not overflow
        small = [exp(-abs(s)) for s in scores]
        return [(e if s < 0 else 1) / (1 + e) for s, e in zip(scores, small, strict=True)]
    top = max(scores)
    shares = [exp(s - top) for s in scores]
    total = sum(shares)
    if kind == "LogSoftmax":
        return [s - top - log(total) for s in scores]
    return [share / total for share in shares]


def mixtures(net: Network, low: list[int], high: list[int]) -> Iterator[list[int]]:
    """Yield inputs of a box: two corners, and mixtures of both."""
    yield [net.one, *low]
    yield [net.one, *high]
    for seed in range(MIXTURES):
        parts = zip(hashlib.shake_256(bytes([seed])).digest(net.size), low, high, strict=True)
        yield [net.one, *((a * (255 - k) + b * k) // 255 for k, a, b in parts)]


def points(net: Network, ball: Any, low: list[Any], high: list[Any]) -> Iterator[list[int]]:
    """Yield inputs at which a network is run: the claim's, and some of two boxes around it."""
    x, own = ball.x, range(1, 1 + net.size)
    yield x
    yield from mixtures(net, low[1 : 1 + net.size], high[1 : 1 + net.size])
    wide = [ball.free_ends(v) for v in own]
    least = [x[v] - net.one if a == -inf else a for v, (a, _) in zip(own, wide, strict=True)]
    most = [x[v] + net.one if b == inf else b for v, (_, b) in zip(own, wide, strict=True)]
    yield from mixtures(net, least, most)


def compare(net: Network, inputs: Iterable[list[int]]) -> int:
    """Return at how many inputs the network and the file agree; refuse where they do not."""
    try:
        evaluator, count = reference(net), 0
    except Exception as error:
        raise UnreadableError(
            f"the reference evaluator of onnx does not read it: {error}"
        ) from error
    forms = [form for tensor in net.compared.values() for form in tensor]
    for point in {tuple(point): list(point) for point in inputs}.values():
        try:
            numbers = [k / net.one for k in point[1:]]
            given = helper.make_tensor("x", DOUBLE, net.shape, numbers)
            with warnings.catch_warnings(action="ignore"):
                ran = evaluator.run(None, {net.source.name: numpy_helper.to_array(given)})
        except Exception as error:
            text = f"the reference evaluator of onnx does not run it: {error}"
            raise UnreadableError(text) from error
        found, most = net.evaluated(point, forms)
        ours: list[Any] = [*found]
        theirs = [float(k) for tensor in ran for k in tensor.ravel().tolist()]
        if net.ordered:  # the last ones are behind a Softmax or Sigmoid
            scores = list(map(float, net.values(point, net.forms)))
            ours += squashed(net.names[net.output], scores)
            most = max(most, Fraction(1))
        near = len(ours) == len(theirs) and all(
            abs(a - b) <= NEAR * most for a, b in zip(ours, theirs, strict=True)
        )
        if not near:
            raise UnreadableError("the file computes something else than what is read from it")
        count += 1
    return count
