"""How a network was read: comparison with onnxruntime, and signs that outputs are scores.

Each value of the network that is a tensor of the file is evaluated by us and by onnxruntime, at the
input and at a few random points of the ball, from onnxruntime's values before it. So a difference
shows in the layer where it arises. It may be no larger than the rounding of one layer: the error
bound of each kind of node, for the precision that the file is run in.

Without ``delta`` the outputs are read as scores, and the largest is the class. An ONNX file does
not say that they are; these signs do:

- a final Softmax, LogSoftmax or Sigmoid, or an output of labels or of a map from them;
- a word for it in the names of the graph and the outputs, or in the metadata: logits, scores,
  probabilities, classes, labels, softmax …;
- values that are a distribution, or its logarithm;
- at least ten outputs, and fewer than inputs: regressions have few outputs, decoders as many as
  they have inputs.

A word for regression outweighs all signs but the first. If no sign shows a classifier, results say
how the outputs were read.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import ModelError
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.model_file import cut, session_of
from milp_verix.models.onnx.onnx_network import OnnxNetwork
from milp_verix.models.onnx.symbol import Symbol
from milp_verix.models.onnx.trace import trace
from milp_verix.problem.ball import Ball
from verix_encodings import Affine, Interval
from verix_encodings.arrays import FloatArray

_RANDOM_POINTS, _MANY_VALUES = 3, 10**6
"""Points beside the input, and values of a network that is compared at one of them alone: a
ResNet-18 at 224 x 224 took 3 s, and no limit of time counts them."""
_LENIENCE = 2.0
"""Factor on the first-order error bound, to cover the much smaller terms of higher order."""
_SAME = 8.0
"""Units in 1's last place within which outputs are not told apart; float32's ``σ`` is within 1."""


@dataclass(frozen=True, slots=True)
class _Difference:
    """Entry ``entry`` of a value: ``ours`` and ``theirs`` are farther apart than ``allowed``."""

    entry: int
    ours: float
    theirs: float
    allowed: float


def require_agreement(network: LoadedModel, ball: Ball) -> None:
    """Compare our evaluation with onnxruntime's in ``ball``; ``ModelError`` names a node."""
    generator = np.random.default_rng(0)
    everything = np.arange(ball.centre.size)
    points = [ball.centre]
    many = isinstance(network, OnnxNetwork) and sum(network.ir.sizes) > _MANY_VALUES
    for _ in range(1 if many else _RANDOM_POINTS):
        share = generator.random(everything.size)
        within = (1 - share) * ball.outer.lower + share * ball.outer.upper  # a width may overflow
        points.append(ball.some_input(within, everything))
    require_agreement_at(network, np.array(points))


def require_agreement_at(network: LoadedModel, points: NDArray[np.floating]) -> None:
    """Compare all values at the ``points``, shape (n, d), each from onnxruntime's before it.

    Raises as :func:`require_agreement` does, and ``InputError`` for a model in memory that was
    fitted again.
    """
    try:
        if isinstance(network, OnnxNetwork):
            with np.errstate(over="ignore", invalid="ignore"):  # whatever overflows is not compared
                _compare(network, points)
            return
        from milp_verix.models.trees.tree_network import TreeNetwork, require_equal

        assert isinstance(network, TreeNetwork)
        require_equal(network, points.astype(np.float64))
    except ModelError:
        network.require_unchanged(wholly=True)
        raise


def _compare(network: OnnxNetwork, points: NDArray[np.floating]) -> None:
    seen = zip(*map(network.tensors, points), strict=True)
    theirs = {anchor.value: runs for anchor, runs in zip(network.anchors, seen, strict=False)}
    start = points.astype(np.float64)
    values = [start.T]  # of all points at once, one a column
    errors, reaches = [np.zeros(points.shape[1])], [_range(start)]
    allowed = errors[0]
    for number, node in enumerate(network.ir.nodes, start=1):
        ours = node.value(values).T
        if not np.isfinite(ours).all():
            return  # nothing is proven of values that float64 cannot hold
        error = node.evaluation_error(errors, reaches)
        allowed = _allowed(network, error)
        for place, other in enumerate(theirs.get(number, ())):
            found = _difference(ours[place], other, allowed)
            if found is not None:
                raise _disagreement(network, points[place], [v[:, place] for v in values], found)
        if number in theirs and np.isfinite(theirs[number]).all():
            ours, error = np.array(theirs[number], dtype=np.float64), np.zeros_like(error)
        values.append(np.ascontiguousarray(ours.T))
        errors.append(error)
        reaches.append(_range(ours))
    for place, point in enumerate(points):
        scores = network.outputs_at(point)
        stripped = network.softmax_stripped or network.sigmoid_stripped
        own = [value[:, place] for value in values]
        found = (_out_of_order if stripped else _difference)(own[-1], scores, allowed)
        if found is not None:
            raise _disagreement(network, point, own, found)


def _range(values: FloatArray) -> Interval:
    """Return the range of each entry over the points, the rows of ``values``."""
    return Interval(values.min(axis=0), values.max(axis=0))


def _allowed(network: OnnxNetwork, error: FloatArray) -> FloatArray:
    """Scale an ``error`` in float64 to the precision that onnxruntime computes in."""
    # a file of float64 may cast to float32 on the way
    precision = np.finfo(np.float32 if network.dtype == np.float64 else network.dtype)
    ratio = float(precision.eps) / float(np.finfo(np.float64).eps)
    return np.asarray(_LENIENCE * ratio * error + float(precision.tiny))


def _difference(
    ours: FloatArray, theirs: NDArray[np.floating], allowed: FloatArray
) -> _Difference | None:
    """Return the first entry that differs by more than is ``allowed``; entry -1 for the shape."""
    if ours.size != theirs.size:
        return _Difference(-1, ours.size, theirs.size, 0.0)
    if not np.isfinite(theirs).all():
        return None  # it overflows in the precision of the file
    apart = np.flatnonzero(np.abs(ours - theirs) > allowed)
    if not apart.size:
        return None
    entry = int(apart[0])
    return _Difference(entry, float(ours[entry]), float(theirs[entry]), float(allowed[entry]))


def _out_of_order(
    scores: FloatArray, returned: NDArray[np.floating], allowed: FloatArray
) -> _Difference | None:
    """Return a score above the one that onnxruntime ranks first, behind its Softmax or Sigmoid.

    Outputs that rounding makes the same number have no order.
    """
    if scores.size != returned.size:
        return _Difference(-1, scores.size, returned.size, 0.0)
    if scores.size == 1:
        above = float(returned[0]) - 0.5
        wrong = abs(scores[0]) > allowed[0] and scores[0] * above < 0
        return _Difference(0, scores[0], float(returned[0]), allowed[0]) if wrong else None
    best = int(np.argmax(returned))
    same = _SAME * float(np.finfo(returned.dtype).eps) * max(abs(float(returned[best])), 1.0)
    lower = returned < float(returned[best]) - same
    ahead = np.flatnonzero(lower & (scores - scores[best] > allowed + allowed[best]))
    if not ahead.size or not np.isfinite(returned).all():
        return None
    entry = int(ahead[0])
    return _Difference(entry, float(scores[entry]), float(scores[best]), float(allowed[entry]))


def _disagreement(
    network: OnnxNetwork,
    point: NDArray[np.floating],
    values: Sequence[FloatArray],
    found: _Difference,
) -> ModelError:
    """Return the error that names the first node that differs; earlier ones have ``values``."""
    where, first = _first_node(network, point, values) or ("the output", found)
    if first.entry < 0:
        text = f"{first.ours:g} values, in onnxruntime {first.theirs:g}"
    else:
        text = (
            f"{first.ours:.9g} in entry {first.entry}, in onnxruntime {first.theirs:.9g}; "
            f"rounding explains a difference of {first.allowed:.2g}"
        )
    return ModelError(
        f"{network.path or network.name} is not read as onnxruntime runs it: {where} has {text}. "
        "Nothing can be proven about it; please report this network as an error of milp-verix"
    )


def _first_node(
    network: OnnxNetwork, point: NDArray[np.floating], values: Sequence[FloatArray]
) -> tuple[str, _Difference] | None:
    """Return the first node whose tensor differs, nodes that folding leaves out included."""
    seen: list[tuple[str, str, Symbol]] = []

    def watch(node: str, tensor: str, symbol: Symbol) -> None:
        if all(value < len(values) for value in symbol.terms):
            seen.append((node, tensor, symbol))

    trace(network.model, network.signature, watch)
    names = [tensor for _, tensor, _ in seen]
    outputs = session_of(network.path, cut(network.model, names)).run(
        names, {network.input_name: network.as_input(point)}
    )
    reaches = [Interval(value, value) for value in values]
    nothing = [np.zeros(value.size) for value in values]
    for (node, _, symbol), output in zip(seen, outputs, strict=True):
        rounding = (*(symbol.rounding[value] for value in symbol.terms), symbol.bias_rounding)
        affine = Affine(tuple(symbol.terms.items()), symbol.bias, rounding)
        allowed = _allowed(network, affine.evaluation_error(nothing, reaches))
        if output.shape != symbol.shape:
            return f"{node}, of shape {symbol.shape},", _Difference(-1, symbol.size, output.size, 0)
        found = _difference(affine.value(values), output.reshape(-1), allowed)
        if found is not None:
            return node, found
    return None


_SCORES = re.compile("logit|softmax|score|prob|class|categor|label", re.IGNORECASE)
_VALUES = re.compile("regress", re.IGNORECASE)
_MANY = 10
_ROUNDING = 1e-4


def reading_notes(network: LoadedModel, outputs: NDArray[np.floating]) -> tuple[str, ...]:
    """Return a note on the reading of the ``outputs`` at the input; none if a sign decides it."""
    count = network.output_size
    if count == 1 or _shows_classifier(network, outputs.astype(np.float64)):
        return ()
    return (
        f"the largest of the {count} outputs was taken for the class, though the model does not "
        "say that they are scores; for a regression give delta (--delta), the change of an "
        "output that counts",
    )


def _shows_classifier(network: LoadedModel, outputs: FloatArray) -> bool:
    if network.classifies or not isinstance(network, OnnxNetwork):
        return True
    if network.scores_name != network.output_name:
        return True
    model = network.model
    parts = [model.graph.name, *(value.name for value in model.graph.output)]
    words = " ".join([*parts, *(f"{one.key}: {one.value}" for one in model.metadata_props)])
    if _VALUES.search(words):
        return False
    return (
        _SCORES.search(words) is not None
        or _is_distribution(outputs)
        or _is_distribution(np.exp(np.minimum(outputs, 1.0)))
        or _MANY <= outputs.size < network.input_size
    )


def _is_distribution(values: FloatArray) -> bool:
    return bool(np.all(values >= 0) and abs(values.sum() - 1.0) <= _ROUNDING)
