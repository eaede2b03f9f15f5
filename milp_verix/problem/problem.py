"""One prediction to explain: network, question, ball and features, checked once and then shared.

Sets of features as users give them: indices, names, and masks.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from functools import cached_property
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from milp_verix.base.arguments import LISTS
from milp_verix.base.comparable import comparable
from milp_verix.base.errors import InputError, refusing, same_names, shown
from milp_verix.base.image_shape import image_layout, image_shape_of, shape_seen
from milp_verix.base.number_text import counted
from milp_verix.inputs.frame import is_frame
from milp_verix.inputs.inputs import Inputs, inputs_of
from milp_verix.inputs.one_row import counts, numbers_in, row_of
from milp_verix.inputs.radii import Epsilon, Labels, features_listed, radii_of
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import NetworkLike, loaded
from milp_verix.problem.agreement import reading_notes, require_agreement
from milp_verix.problem.ball import Ball, Domain, make_ball
from milp_verix.problem.features import Features, make_features, named
from milp_verix.problem.meeting import (
    make_described_ball,
    own_radii,
    placed,
    refuse_beside,
    row_placed,
    shaped_domain,
    with_missing_of,
)
from milp_verix.problem.question import Classification, Question, make_question, rounded_margins
from milp_verix.problem.search import Given, InputLike
from verix_encodings import Network
from verix_encodings.arrays import BoolArray

ROUNDED = (
    "the final Sigmoid rounds large scores to the same output: a claim keeps scores so far apart "
    "that their outputs differ"
)


# no slots: what is derived from the problem is computed once
@dataclass(frozen=True, eq=False, repr=False)
class ProblemData:
    """A question about one prediction: network, input, ball and features; checked once."""

    network: LoadedModel
    question: Question
    """The prediction, and the changes of it that count."""
    ball: Ball
    features: Features
    output: int | None
    """The one output that a regression is about, None for all of them."""
    image_shape: tuple[int, ...] | None
    """The shape in which the input is an image, None if its own shape tells."""
    notes: tuple[str, ...]
    """Notes for readers of results: how the array given and the outputs were read."""
    inputs: Inputs | None
    """The description of the input, if it has one."""
    radii: tuple[float, ...] | None
    """The radii of the features of a described input."""
    _alike: "ProblemData | None" = None
    """The same problem over the first ball around the input, which margins are shared with."""

    @property
    def x(self) -> NDArray[Any]:
        """The input explained, flat, in the network's own dtype."""
        return self.ball.centre

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes, empty if they have none."""
        described = () if self.inputs is None else self.inputs.class_names
        return described or self.network.facts.class_names

    @property
    def coordinate_names(self) -> tuple[str, ...] | None:
        """The names of the coordinates: the model's columns, or features of one coordinate each."""
        single = self.features.count == self.x.size
        return self.network.columns_for(()) or (self.features.names if single else None)

    def labels_for(self, given: Any) -> Labels:
        """Return what the labels of ``given`` may name.

        They are those of the features, or of the coordinates if all of the labels are.
        """
        features, labels = self.features, [*map(str, getattr(given, "keys", list)())]
        columns = self.network.columns_for(labels) or ()
        known = len(same_names(features.names or (), labels))
        if known < len(same_names((*columns, *features.unread), labels)) == len(labels):
            return Labels(columns, len(columns), features.unread)
        return features.labels

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProblemData):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        ball, question = self.ball, self.question
        radius = self.radii or ball.epsilon
        parts = [repr(self.network.name), f"x of shape {self.network.input_shape}"]
        parts += [f"epsilon={radius}", f"norm={ball.norm!r}", f"prediction={question.prediction}"]
        for name in ("delta", "against"):
            value = getattr(question, name, None)
            parts += [] if value is None else [f"{name}={value}"]
        return f"Problem({', '.join(parts)}, {counted(self.features.count, 'feature')})"

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        """The parts of the problem as values that can be compared."""
        parts = (self.ball, self.question, self.features, self.output, self.image_shape)
        return (self.network.content_sha256, *map(comparable, parts), self.inputs, self.radii)

    def at(self, epsilon: Epsilon) -> Self:
        """Return this problem at another radius, without a second comparison with onnxruntime.

        Raises ``InputError`` for a radius that makes no ball.
        """
        if self.inputs is not None:
            radii = radii_of(self.inputs, epsilon)
            ball = make_described_ball(self.x, radii, self.ball.norm, self.inputs)
            return self.within(ball, radii)
        radius: Any = epsilon  # make_ball refuses radii by name
        domain = self.ball.domain_lower, self.ball.domain_upper
        return self.within(make_ball(self.x, radius, self.ball.norm, domain))

    def within(self, ball: Ball, radii: tuple[float, ...] | None = None) -> Self:
        """Return this problem over another ball around the same input."""
        other = object.__new__(type(self))  # a question that users pose has other arguments
        parts = {one.name: getattr(self, one.name) for one in fields(ProblemData)}
        parts |= {"ball": ball, "radii": radii or self.radii, "_alike": self._alike or self}
        ProblemData.__init__(other, **parts)
        return other

    @cached_property
    def margins(self) -> Network:
        """The network of the margins: the prediction is kept where every output is below zero.

        If a Sigmoid rounds several scores they depend on the ball; see ``rounded_margins``.
        """
        question, network = self.question, self.network
        if not (network.rounds_scores and isinstance(question, Classification)):
            return self._alike.margins if self._alike else question.margins(network.ir)
        box, label, rivals = self.ball.outer, question.label, question.rivals
        return rounded_margins(network.ir, box, label, rivals, network.dtype)

    def holding(self, features: Sequence[int]) -> Self:
        """Return the same problem with ``features`` held at the input, whatever a check frees."""
        ball = self.ball
        radii = np.full(ball.centre.size, ball.epsilon) if ball.radii is None else ball.radii.copy()
        radii[self.features.coordinates(self.features.indices(features, "features"))] = 0.0
        return self.within(replace(ball, radii=radii))


def pose(problem: ProblemData, network: NetworkLike, x: InputLike, **given: Any) -> None:
    """Fill ``problem`` with what the arguments of :class:`milp_verix.Problem` pose."""
    ProblemData.__init__(problem, **vars(problem_of(network, x, Given(**given))))


def problem_of(network: NetworkLike, x: InputLike, given: Given) -> ProblemData:
    """Return the problem that the arguments of :class:`milp_verix.Problem` pose."""
    described, row = inputs_of(given.inputs), row_of(x)
    domain, features, feature_names = given.domain, given.features, given.feature_names
    if described is not None and row and counts([*row]) and not {*row} & {*described.names}:
        x, row = numbers_in(row), None  # nobody gave names
    known = isinstance(network, LoadedModel)
    network = loaded(
        network, described, example=None if known else _example(network, x, row, described)
    )
    names: Sequence[str] | None = None
    if described is None:
        own = feature_names if features is None else None
        x, names, notes = row_placed(x, row, network, own)
        if features is None and feature_names is None and given.image_shape is None:
            feature_names = names
        array = _array(x)  # type: ignore[arg-type]
    else:
        described, x, notes = placed(described, network, x, row)
        refuse_beside(described, network, domain, (features, feature_names, given.image_shape))
        domain, features = (described.lower, described.upper), described.listed
        feature_names = described.names
        network = with_missing_of(described, network)
        array = _array(x)  # type: ignore[arg-type]
        array = described.coded(array.reshape(-1)).reshape(array.shape)
        if array.size == len(described.features) < described.size:
            raise InputError(
                f"the input has a number for each of {array.size} features, expected one for each "
                f"of {described.size} coordinates, as one-hot blocks have several: give values by "
                "name"
            )
    said = image_shape_of(given.image_shape, network.input_shape)
    seen = shape_seen(array.shape, network.input_shape, said)
    labels = Labels(names, network.input_size, network.unread)
    domain = shaped_domain(domain, labels, network.input_shape, seen)
    converted = _converted(network, array.reshape(-1), domain)
    radii: tuple[float, ...] | None = None
    epsilon, with_radii = own_radii(given, labels, domain, (network.input_shape, seen))
    described = described or with_radii
    if described is None:  # make_ball refuses other radii by name
        ball = make_ball(converted, epsilon, given.norm, domain, None if row is None else names)
    else:
        radii = radii_of(described, epsilon)
        ball = make_described_ball(converted, radii, given.norm, described)
    class_names = network.facts.class_names or (described.class_names if described else ())
    require_agreement(network, ball)
    question = make_question(network, ball.centre, given, class_names)
    groups = make_features(features, network.input_shape, seen)
    groups = named(groups, feature_names, network.columns or ())
    groups = replace(groups, unread=(described and described.unread) or network.unread)
    note = f"the image, {seen}, was read row by row as the network's input, {network.input_shape}"
    notes += () if seen == said else (note,)
    notes += question.notes
    notes += (ROUNDED,) * network.rounds_scores
    if given.delta is None and given.label is None and not class_names:
        notes += reading_notes(network, network.outputs_at(ball.centre))
    return ProblemData(network, question, ball, groups, given.output, seen, notes, described, radii)


def _example(network: Any, x: Any, row: Mapping[str, Any] | None, described: Inputs | None) -> Any:
    """Return the input for a module that needs the shape of one, or a frame for a pipeline."""
    fitted = [*getattr(network, "feature_names_in_", ())]
    if row is None:
        return x
    if described is not None:
        return None if fitted else described.row(row)
    return x[fitted] if fitted and is_frame(x) and {*fitted} <= {*x.columns} else [*row.values()]


def _array(x: ArrayLike) -> NDArray[Any]:
    """Return ``x`` as an array of numbers; an array of objects may hold truth values, too."""
    with refusing("the input is not an array", ValueError):  # rows of different lengths
        given = np.asarray(x)
    if given.dtype.kind == "O" and given.size and given.ndim:
        entries = {f"the input's value {i}": one for i, one in enumerate(given.flat)}
        if not any(isinstance(one, str) for one in entries.values()):
            return np.array(numbers_in(entries)).reshape(given.shape)
    if isinstance(x, (str, PathLike)):
        raise InputError(
            f"the input is the text {shown(str(x))}, expected numbers or values by name: read a "
            "file first, by numpy.load, json.loads or pandas.read_csv"
        )
    if given.dtype.kind not in "iuf":
        texts = [str(one) for one in given.flat if isinstance(one, str)]
        words = [one for one in texts if not one.replace(".", "").isdigit()]
        text = f" with words such as {shown(words[0])}" if words else ""
        raise InputError(
            f"the input must hold numbers, got dtype {given.dtype}{text}: give values by name, "
            "such as df.iloc[i] or a dict, with inputs="
        )
    return given


def _converted(network: LoadedModel, x: NDArray[Any], domain: Domain) -> NDArray[Any]:
    """Return ``x``, flat, in the network's shape and dtype.

    Rounding to that dtype may carry a value across the end of its domain (0.1 in float32 is above
    0.1); such a value moves to the next number inside.
    """
    rounded = network.as_input(x) + 0.0  # a zero has no sign in real arithmetic, nor in a digest
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


def features_in(
    given: Any, problem: ProblemData, argument: str, *, ordered: bool = False
) -> tuple[int, ...]:
    """Return the features in the set ``given``, ascending; errors tell the ``argument``.

    It lists features by names or indices, and keeps its order if ``ordered``; or it is a mask: True
    and False by name, a list or an array of them or of 0.0 and 1.0, or of 0 and 1 with two axes or
    more. A mask has an entry for each coordinate, in the input's shape or in a row, for each pixel,
    or for each feature. Raises ``InputError`` for any other value, and for a mask that covers part
    of a feature.
    """
    labels = problem.labels_for(given)
    listed = features_listed(given, labels, argument)
    if listed is not given and labels.size != problem.features.count:
        return _features_in(np.isin(np.arange(labels.size), listed), problem, argument)
    listed = sorted(given, key=str) if isinstance(given, Set) else listed
    try:
        array = np.asarray(listed)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"{argument} {LISTS}") from error
    kind, deep = array.dtype.kind, array.ndim > 1
    if kind == "b" or (
        array.size and kind in ("iuf" if deep else "f") and np.isin(array, (0, 1)).all()
    ):
        return _features_in(array == 1, problem, argument)
    if not deep:
        indices = listed if isinstance(listed, Sequence) else array.tolist()
        found = problem.features.indices(indices, argument)
        return tuple(found if ordered else sorted(found))
    values = f" from {array.min():g} to {array.max():g}" if array.size and kind in "iuf" else ""
    raise InputError(
        f"{argument}: a mask holds True and False, or 1 and 0; got {array.dtype}{values}. Of a "
        "heat map give the entries above a threshold; of a LIME mask with −1 in it give mask == 1"
    )


def _features_in(mask: BoolArray, problem: ProblemData, argument: str) -> tuple[int, ...]:
    """Return the features that ``mask`` covers; ``InputError`` where it covers part of one."""
    covered = _coordinates_in(mask, problem, argument)
    if covered is None:
        return tuple(np.flatnonzero(mask).tolist())
    found = []
    for feature, group in enumerate(problem.features.groups):
        inside = int(covered[group].sum())
        if 0 < inside < group.size:
            raise InputError(
                f"{argument}: the mask covers {inside} of the {group.size} coordinates of feature "
                f"{feature}, and a feature is fixed or freed as a whole: mask whole features, or "
                "leave features (--features) out so that each coordinate is one"
            )
        if inside:
            found.append(feature)
    return tuple(found)


def _coordinates_in(mask: BoolArray, problem: ProblemData, argument: str) -> BoolArray | None:
    """Return ``mask`` by flat coordinates, None if it is by features; or ``InputError``."""
    input_shape, size = problem.network.input_shape, problem.x.size
    layout = image_layout(problem.image_shape or input_shape)
    if layout is not None and np.squeeze(mask).shape == layout[:2]:
        height, width, axis = layout
        pixels, channels = mask.reshape(height, width), size // (height * width)
        stack = [pixels] * channels
        return np.stack(stack, axis=0 if axis == 0 else 2).reshape(-1)
    try:
        shape_seen(mask.shape, input_shape, problem.image_shape)
    except InputError as error:
        if mask.shape == (problem.features.count,):
            return None
        pixels_too = "" if layout is None else f", {layout[:2]} for pixels"
        raise InputError(
            f"{argument}: the mask has shape {mask.shape}, expected the input's, "
            f"{problem.image_shape or input_shape}{pixels_too}, or an entry for each of the "
            f"{problem.features.count} features"
        ) from error
    return mask.reshape(-1)
