"""One prediction to explain: network, question, ball and features, checked once and then shared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from milp_verix.errors import InputError
from milp_verix.image_shape import image_shape_of, shape_seen
from milp_verix.inputs.features import Feature
from milp_verix.inputs.frame import is_frame
from milp_verix.inputs.inputs import Inputs, inputs_of
from milp_verix.inputs.names import listed, shown
from milp_verix.inputs.one_row import numbers_in, row_of
from milp_verix.inputs.radii import Epsilon, radii_of
from milp_verix.onnx_reader.onnx_network import NetworkLike, OnnxNetwork, load_network
from milp_verix.problem.agreement import require_agreement
from milp_verix.problem.ball import UNIT_DOMAIN, Ball, Domain, make_ball
from milp_verix.problem.described import make_described_ball
from milp_verix.problem.features import Features, FeaturesLike, make_features, named
from milp_verix.problem.question import Question, make_question
from milp_verix.problem.reading import reading_notes
from verix_encodings import Network

Radius: TypeAlias = float | tuple[float, ...]
"""The radius of a ball; one for each feature of a described input."""


# no slots: what is derived from the problem is computed once
@dataclass(frozen=True, eq=False)
class Problem:
    """The network, question, ball and features that all checks of one prediction refer to.

    ``output`` is the one output that a regression is about, None for all of them. ``image_shape``
    is the shape in which the input is an image, None if its own shape tells; ``notes`` say if it
    was taken from the array given, and how the outputs were read if nothing else tells. ``inputs``
    describe the input, if they do, and ``radii`` are those of its features.
    """

    network: OnnxNetwork
    question: Question
    ball: Ball
    features: Features
    output: int | None = None
    image_shape: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()
    inputs: Inputs | None = None
    radii: tuple[float, ...] | None = None

    @property
    def x(self) -> NDArray[Any]:
        """The input explained, flat, in the network's own dtype."""
        return self.ball.centre

    def at(self, radius: Radius) -> "Problem":
        """Return this problem with another radius: one for each feature if it has ``radii``.

        Raises ``InputError`` as :func:`make_described_ball` does.
        """
        if not isinstance(radius, tuple):
            return replace(self, ball=replace(self.ball, epsilon=radius))
        assert self.inputs is not None
        ball = make_described_ball(self.x, radius, self.ball.norm, self.inputs)
        return replace(self, ball=ball, radii=radius)

    @cached_property
    def margins(self) -> Network:
        """The network of the margins: the prediction is kept where every output is below zero."""
        return self.question.margins(self.network.ir)

    def holding(self, features: Sequence[int]) -> "Problem":
        """Return the same problem with ``features`` held at the input, whatever a check frees."""
        ball = self.ball
        radii = np.full(ball.centre.size, ball.epsilon) if ball.radii is None else ball.radii.copy()
        radii[self.features.coordinates(features)] = 0.0
        return replace(self, ball=replace(ball, radii=radii))


def make_problem(
    network: NetworkLike,
    x: ArrayLike | Mapping[str, Any],
    *,
    epsilon: Epsilon,
    norm: str = "linf",
    delta: float | None = None,
    domain: Domain = UNIT_DOMAIN,
    features: FeaturesLike = None,
    feature_names: Sequence[str] | None = None,
    label: int | None = None,
    against: int | Sequence[int] | None = None,
    output: int | None = None,
    image_shape: Sequence[int] | None = None,
    inputs: Inputs | Sequence[Feature] | None = None,
) -> Problem:
    """Check the arguments of an explanation and return the problem they pose.

    ``x`` may also be a row of a table with names, see :mod:`milp_verix.inputs.one_row`: of numbers
    by the names that the network knows, or in the row's order; with ``inputs`` also of words.
    ``epsilon`` is then one of :mod:`milp_verix.inputs.radii`, and the domain and the features are
    those described.

    Raises ``InputError`` for an argument that does not fit the network, ``ModelError`` for a
    network that cannot be read.
    """
    described, row = inputs_of(inputs), row_of(x)
    if described is not None and row is not None:
        x, row = described.row(row), None
    if not isinstance(network, OnnxNetwork):
        example = x if row is None or is_frame(x) else list(row.values())
        network = load_network(network, example=example)  # type: ignore[arg-type]
    notes: tuple[str, ...] = ()
    if row is not None:
        x = network.numbers_of(row)
        names = network.columns or tuple(row)
        if network.columns is None:
            notes += (f"the row's values were taken in the order {listed(names)}",)
        if features is None and image_shape is None and len(names) == network.input_size:
            feature_names = names if feature_names is None else feature_names
    if described is not None:
        _refuse_beside(described, network, domain, (features, feature_names, image_shape))
        domain, features = (described.lower, described.upper), described.listed
        feature_names = described.names
    given = _array(x)  # type: ignore[arg-type]
    if described is not None and given.size == len(described.features) < described.size:
        raise InputError(
            f"the input has a number for each of {given.size} features, expected one for each of "
            f"{described.size} coordinates, as one-hot blocks have several: give values by name"
        )
    said = image_shape_of(image_shape, network.input_shape)
    seen = shape_seen(given.shape, network.input_shape, said)
    domain = _shaped(domain, network.input_shape, seen)
    converted = _converted(network, given.reshape(-1), domain)
    radii = None if described is None else radii_of(described, epsilon)
    if described is None or radii is None:
        coordinates = feature_names if row is not None and feature_names is names else None
        ball = make_ball(converted, epsilon, norm, domain, coordinates)  # type: ignore[arg-type]
    else:
        ball = make_described_ball(converted, radii, norm, described)
    question = make_question(
        network, ball.centre, delta=delta, label=label, against=against, output=output
    )
    groups = named(make_features(features, network.input_shape, seen), feature_names)
    require_agreement(network, ball)
    note = f"the image, {seen}, was read row by row as the network's input, {network.input_shape}"
    notes += () if seen == said else (note,)
    notes += question.notes
    named_classes = network.facts.class_names or (described and described.class_names)
    if delta is None and label is None and not named_classes:
        notes += reading_notes(network, network.evaluate(ball.centre))
    return Problem(network, question, ball, groups, output, seen, notes, described, radii)


def _refuse_beside(
    inputs: Inputs, network: OnnxNetwork, domain: Domain, others: tuple[object, ...]
) -> None:
    """Raise ``InputError`` for inputs of another size, or arguments that they replace."""
    if inputs.size != network.input_size:
        raise InputError(
            f"the inputs described have {inputs.size} coordinates, those of the network "
            f"{network.input_size} (shape {network.input_shape}): one for each feature, and one "
            "for each value of a one-hot block"
        )
    classes = max(network.output_size, 2)  # one score decides between two
    known = network.facts.class_names
    if inputs.class_names != known and sorted(inputs.class_names) == sorted(known):
        raise InputError(
            f"the classes of the network are {', '.join(known)}, in this order; the inputs "
            f"described name them in another: {', '.join(inputs.class_names)}"
        )
    if inputs.class_names and len(inputs.class_names) != classes:
        raise InputError(
            f"the inputs described name {len(inputs.class_names)} classes, the network has "
            f"{classes}: give a name for each, or leave class_names out"
        )
    if domain is not UNIT_DOMAIN or any(other is not None for other in others):
        raise InputError(
            "inputs describe the domain, the features and their names: leave domain, features, "
            "feature_names and image_shape out"
        )


def _array(x: ArrayLike) -> NDArray[Any]:
    """Return ``x`` as an array of numbers; an array of objects may hold truth values, too."""
    try:
        given = np.asarray(x)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"the input is not an array: {error}") from error
    if given.dtype.kind == "O" and given.size and given.ndim:
        entries = {f"the input's value {i}": one for i, one in enumerate(given.flat)}
        if not any(isinstance(one, str) for one in entries.values()):
            return np.array(numbers_in(entries)).reshape(given.shape)
    if isinstance(x, (str, PathLike)):
        raise InputError(
            f"the input is the text {shown(str(x))}, expected numbers or values by name: read a "
            "file first, by numpy.load, json.loads or pandas.read_csv"
        )
    if given.dtype.kind in "OU" and given.size:
        words = [one for one in given.flat if isinstance(one, str)]
        word = next((one for one in words if not one.replace(".", "").isdigit()), None)
        told = "" if word is None else f" with words such as {shown(str(word))}"
        raise InputError(
            f"the input must hold numbers, got dtype {given.dtype}{told}: give values by name, "
            "such as df.iloc[i] or a dict, with inputs="
        )
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
