"""One prediction to explain: network, question, ball and features, checked once and then shared."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from milp_verix.errors import InputError
from milp_verix.image_shape import image_shape_of, shape_seen
from milp_verix.onnx_reader.onnx_network import NetworkLike, OnnxNetwork, load_network
from milp_verix.problem.agreement import require_agreement
from milp_verix.problem.ball import Ball, Domain, make_ball
from milp_verix.problem.features import Features, FeaturesLike, make_features, named
from milp_verix.problem.question import Question, make_question
from milp_verix.problem.reading import reading_notes
from verix_encodings import Network


# no slots: what is derived from the problem is computed once
@dataclass(frozen=True, eq=False)
class Problem:
    """The network, question, ball and features that all checks of one prediction refer to.

    ``output`` is the one output that a regression is about, None for all of them. ``image_shape``
    is the shape in which the input is an image, None if its own shape tells; ``notes`` say if it
    was taken from the array given, and how the outputs were read if nothing else tells.
    """

    network: OnnxNetwork
    question: Question
    ball: Ball
    features: Features
    output: int | None = None
    image_shape: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def x(self) -> NDArray[Any]:
        """The input explained, flat, in the network's own dtype."""
        return self.ball.centre

    @cached_property
    def margins(self) -> Network:
        """The network of the margins: the prediction is kept where every output is below zero."""
        return self.question.margins(self.network.ir)


def make_problem(
    network: NetworkLike,
    x: ArrayLike,
    *,
    epsilon: float,
    norm: str = "linf",
    delta: float | None = None,
    domain: Domain = (0.0, 1.0),
    features: FeaturesLike = None,
    feature_names: Sequence[str] | None = None,
    label: int | None = None,
    against: int | Sequence[int] | None = None,
    output: int | None = None,
    image_shape: Sequence[int] | None = None,
) -> Problem:
    """Check the arguments of an explanation and return the problem they pose.

    Raises ``InputError`` for an argument that does not fit the network, ``ModelError`` for a
    network that cannot be read.
    """
    if not isinstance(network, OnnxNetwork):
        network = load_network(network, example=x)
    given = _array(x)
    said = image_shape_of(image_shape, network.input_shape)
    seen = shape_seen(given.shape, network.input_shape, said)
    domain = _shaped(domain, network.input_shape, seen)
    converted = _converted(network, given.reshape(-1), domain)
    ball = make_ball(converted, epsilon, norm, domain)
    question = make_question(
        network, ball.centre, delta=delta, label=label, against=against, output=output
    )
    groups = named(make_features(features, network.input_shape, seen), feature_names)
    require_agreement(network, ball)
    note = f"the image, {seen}, was read row by row as the network's input, {network.input_shape}"
    notes: tuple[str, ...] = () if seen == said else (note,)
    notes += question.notes
    if delta is None and label is None:
        notes += reading_notes(network, network.evaluate(ball.centre))
    return Problem(network, question, ball, groups, output, seen, notes)


def _array(x: ArrayLike) -> NDArray[Any]:
    """Return ``x`` as an array of numbers."""
    try:
        given = np.asarray(x)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"the input is not an array: {error}") from error
    if not (np.issubdtype(given.dtype, np.floating) or np.issubdtype(given.dtype, np.integer)):
        raise InputError(f"the input must hold numbers, got dtype {given.dtype}")
    return given


def _shaped(
    domain: Domain, input_shape: tuple[int, ...], image_shape: tuple[int, ...] | None
) -> Domain:
    """Return the domain; its arrays that fit like an input get ``input_shape``.

    An array of another shape is left to be broadcast, or refused, by ``make_ball``.
    """

    def shaped(end: ArrayLike) -> ArrayLike:
        try:
            array = np.asarray(end)
            shape_seen(array.shape, input_shape, image_shape)
        except (TypeError, ValueError):
            return end
        return array.reshape(input_shape)

    try:
        low, high = domain
    except (TypeError, ValueError):
        return domain
    return shaped(low), shaped(high)


def _converted(network: OnnxNetwork, x: NDArray[Any], domain: Domain) -> NDArray[Any]:
    """Return ``x``, flat, in the network's shape and dtype.

    Rounding to that dtype may carry a value across the end of its domain (0.1 in float32 is above
    0.1); such a value moves to the next number inside.
    """
    rounded = network.as_input(x)
    original = x.reshape(rounded.shape).astype(np.float64)
    try:
        low, high = (np.broadcast_to(np.asarray(end, np.float64), rounded.shape) for end in domain)
    except (TypeError, ValueError):
        return rounded  # make_ball names what is wrong with the domain
    wide = rounded.astype(np.float64)
    up = np.nextafter(rounded, rounded.dtype.type(np.inf))
    down = np.nextafter(rounded, rounded.dtype.type(-np.inf))
    rounded = np.where((wide < low) & (original >= low), up, rounded)
    return np.where((wide > high) & (original <= high), down, rounded)
