"""The fields that every result has: the question, with where two of them differ, and the effort."""

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from operator import lt
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.arguments import checked, instance_of
from milp_verix.base.comparable import Compared
from milp_verix.base.errors import InputError
from milp_verix.base.stored_kinds import (
    Amount,
    Count,
    DomainEnd,
    Index,
    Indices,
    Norm,
    Points,
    Prediction,
    Sha256,
    Shape,
)
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import still_features
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.oracle.verdict import Statistics
from milp_verix.results import shown

Name = TypeVar("Name")


@dataclass(frozen=True, slots=True, eq=False)
class Counterfactual(Compared):
    """An input inside the ball whose ``prediction`` by onnxruntime is not the original's.

    In an explanation it differs from the original only in irrelevant features and in the one that
    it belongs to.

    Attributes:
        input: The input.
        prediction: What onnxruntime predicts for it.
        rival: A class that scores above the original's where a result is ``against`` some classes
            alone; None elsewhere.
    """

    input: Points
    prediction: Prediction
    rival: Index | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The network that a result is about.

    Attributes:
        file: Name of the model's file.
        sha256: SHA-256 of the ONNX file, or of the model's content.
        input_shape: Shape of the input.
        dtype: Type of the input's numbers, as NumPy names it.
        softmax_stripped: True if a final Softmax was left out.
        content_sha256: A hash of the file, of weights stored beside it, of the input's shape and of
            the output's name.
        sigmoid_stripped: True if a final Sigmoid was left out.
        class_names: Words for the classes, if the model itself tells them.
    """

    file: str
    sha256: Sha256
    input_shape: Shape
    dtype: str
    softmax_stripped: bool
    content_sha256: Sha256
    sigmoid_stripped: bool = False
    class_names: tuple[str, ...] = ()


class Remembering:
    """An answer may remember the problem that it answers, until it is stored."""

    __slots__ = ("_problem",)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Result(Remembering):
    """The prediction and the ball that a result is about, and the effort of the search.

    Raises ``ValueError`` for fields that contradict each other.

    Attributes:
        model: The network.
        input: The input explained.
        prediction: The prediction explained.
        epsilon: Radius of the ball; of a described input, the largest of ``radii``. In JSON null
            stands for infinity, in ``radii`` and ``domain`` too.
        norm: Norm of the ball.
        delta: Most that outputs of a regression may change; None for a class.
        output: The one output that a regression is about; None for all.
        against: Classes that the prediction was compared with; None for all others.
        domain: Lower and upper end of the inputs, each for all coordinates or a number for each.
        groups: Coordinates of each feature: feature ``i`` is ``groups[i]``.
        feature_shape: Shape in which the features are an image, or None.
        feature_names: Names of the features that the user gave, or None.
        image_shape: Shape in which the input is an image; None if its own is one.
        inputs: Description of the input, if the user gave one, or None.
        radii: Radius of each described feature, or None.
        solver: Solver that was chosen.
        statistics: Effort of the search.
        notes: Reservations, and how the result came about.
        versions: Versions of Python, of packages and of the solver.
    """

    kind: ClassVar[str]
    """Kind of the result in JSON."""

    noun: ClassVar[str]
    """The noun for such a result in messages."""

    derived: ClassVar[tuple[str, ...]] = ("input_sha256", "words", "still")
    """Properties that JSON has beside the fields, for readers of the file."""

    model: ModelInfo
    input: Points
    prediction: Prediction
    epsilon: Amount
    norm: Norm
    delta: Amount | None
    domain: tuple[DomainEnd, DomainEnd]
    groups: tuple[Indices, ...]
    feature_shape: Shape | None
    solver: str
    statistics: Statistics
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    output: Count | None = None
    against: Indices | None = None
    image_shape: Shape | None = None
    feature_names: tuple[str, ...] | None = None
    inputs: Inputs | None = None
    radii: tuple[Amount, ...] | None = None

    def __post_init__(self) -> None:
        for one in fields(self):
            if isinstance(value := getattr(self, one.name), Mapping):
                object.__setattr__(self, one.name, MappingProxyType(dict(value)))
        self.input.flags.writeable = False
        self._refuse_contradictions()

    def __reduce__(self) -> tuple[Any, ...]:
        # read-only mappings cannot be pickled or copied
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return partial(type(self), **values | {"versions": dict(self.versions)}), ()

    def _refuse_contradictions(self) -> None:
        """Raise ``ValueError`` where fields that all results have contradict each other."""
        x, count, size = self.input, len(self.groups), self.input.size
        inputs, groups = self.inputs, self.groups
        described = inputs is None or inputs.listed == [[*group] for group in groups]
        for fits, text in (
            (size > 0, "the input has no numbers"),
            (x.shape == self.model.input_shape, "the input's shape is not model.input_shape"),
            (str(x.dtype) == self.model.dtype, "the input's type is not model.dtype"),
            (_are_parts(groups, size), "each coordinate belongs to one feature, groups says"),
            (_has(self.feature_shape, count), f"feature_shape is not that of {count} features"),
            (_has(self.image_shape, size), f"image_shape is not that of {size} numbers"),
            (_one_each(self.feature_names, count), "feature_names has a name for each feature"),
            (all(_one_each(e, size) for e in self.domain), "domain has an end for each number"),
            (_one_each(self.radii, count), "radii has one for each feature"),
            (isinstance(self.prediction, int) == (self.delta is None), "delta is not of a class"),
            (self.prediction != (), "prediction has no output"),
            (self.against != (), "against names no class"),
            (len({*(self.against or ())}) == len(self.against or ()), "against has a class twice"),
            ((inputs is None) == (self.radii is None), "inputs and radii belong together"),
            (described, "inputs describes other features"),
        ):  # fmt: skip
            if not fits:
                raise ValueError(text)

    def _refuse_no_features(self, **sets: Iterable[int]) -> None:
        """Raise ``ValueError`` unless each of ``sets``, by name, lists features, ascending."""
        for name, given in sets.items():
            ends = [-1, *given], [*given, len(self.groups)]
            if not all(map(lt, *ends)):
                raise ValueError(f"{name} lists features of the input, ascending, each once")

    def _refuse_points(
        self, found: Iterable[Counterfactual | None], changing: Iterable[int] | None = None
    ) -> None:
        """Raise ``ValueError`` for counterfactuals in ``found`` that cannot be some.

        Those have another kind of prediction than the original's, or change other features than
        those in ``changing``, if it is given.
        """
        kind = _kind_of(self.prediction)
        for point in found:
            if point is not None and _kind_of(point.prediction) != kind:
                raise ValueError(
                    "a counterfactual's prediction is of another kind than the original's"
                )
            if point is not None and changing is not None:
                self._refuse_change(point.input, changing)

    def _refuse_change(self, point: NDArray[Any], features: Iterable[int]) -> None:
        """Raise ``ValueError`` unless ``point`` differs from the input in ``features`` alone."""
        changed = (point != self.input).reshape(-1)
        allowed = [i for feature in features for i in self.groups[feature]]
        if changed.sum() > changed[allowed].sum():
            raise ValueError("a counterfactual changes features other than its own")

    def _failing(
        self, points: Iterable[tuple[Name, Iterable[int], Counterfactual]], network: LoadedModel
    ) -> tuple[Name, ...]:
        """Return the names of ``points``, with the features that each may change, that fail."""
        problem = shown.build.problem_behind(self, network)
        return tuple(
            name for name, free, found in points if not shown.build.stands(problem, free, found)
        )

    @checked(network=instance_of(LoadedModel))
    def refuse_other(self, network: LoadedModel) -> None:
        """Raise ``InputError`` where ``network`` is not the one explained, or was fitted again."""
        network.require_unchanged(wholly=True)
        for digest in ("sha256", "content_sha256"):
            seen, known = getattr(network, digest), getattr(self.model, digest)
            if seen != known:
                raise InputError(
                    f"{network.path or network.name} is not the network explained: its SHA-256 is "
                    f"{seen[:12]}…, that of {self.model.file} was {known[:12]}…"
                )

    @property
    def input_sha256(self) -> str:
        """SHA-256 of the input's bytes, little-endian, in C order."""
        return array_hash(self.input)

    @property
    def words(self) -> dict[str, str] | None:
        """The input in the words of its description, by feature; None without one."""
        return None if self.inputs is None else self.inputs.words(self.input)

    @property
    def still(self) -> Indices:
        """Features that have one value all over the ball, ascending, as far as that is proven.

        That they stay as they are says nothing about the network.
        """
        x = self.input.reshape(-1)
        if self.inputs is not None and self.radii is not None:
            return still_features(self.inputs, self.radii, tuple(x.tolist()))
        low, high = (np.broadcast_to(end, x.shape) for end in self.domain)
        stuck = (low == high) | (self.epsilon == 0)
        if not stuck.any():
            return ()
        return tuple(f for f, group in enumerate(self.groups) if stuck[list(group)].all())

    @property
    def class_names(self) -> tuple[str, ...]:
        """The words for a predicted class that the inputs give, or the model; none without any."""
        if not isinstance(self.prediction, int):
            return ()
        described = () if self.inputs is None else self.inputs.class_names
        return described or self.model.class_names


def array_hash(array: NDArray[Any]) -> str:
    """Return the SHA-256 of an array's bytes in C order, little-endian."""
    return hashlib.sha256(array.astype(array.dtype.newbyteorder("<")).tobytes()).hexdigest()


def _kind_of(prediction: Prediction) -> int:
    """Return how many values a prediction has, -1 for a class."""
    return len(prediction) if isinstance(prediction, tuple) else -1


def _are_parts(groups: tuple[tuple[int, ...], ...], size: int) -> bool:
    return all(groups) and sorted(i for group in groups for i in group) == [*range(size)]


def _has(shape: tuple[int, ...] | None, count: int) -> bool:
    return shape is None or (bool(shape) and math.prod(shape) == count)


def _one_each(values: Any, count: int) -> bool:
    return not isinstance(values, tuple) or len(values) == count


def question_of(given: Any) -> dict[str, object]:
    """Return the parts of a question by their names in messages, as values that can be compared.

    ``given`` is a result, or an object with such fields. Names of files are no part of it.
    """
    model, x, inputs = given.model, given.input, given.inputs
    found: dict[str, object] = {
        "network's SHA-256": model.content_sha256,
        "network's input shape": model.input_shape,
        "input": f"{x.dtype} {array_hash(x)}",
    }
    if inputs is not None:
        found |= {
            "list of classes": inputs.class_names,
            "list of features": inputs.names,
            # contrasts alone keep to directions
            "description": ([replace(one, only=None) for one in inputs.features], inputs.passage),
            "rules": tuple(rule.text for rule in inputs.rules),
            "directions": tuple(feature.only for feature in inputs.features),
        }
    names = ("prediction", "epsilon", "norm", "delta", "output", "against", "radii")
    found |= {name: getattr(given, name) for name in names}
    if inputs is None:  # else the domain is that of the description, and of directions
        found["domain"] = given.domain
    return {**found, "division into features": given.groups}


def difference_of(before: Any, after: Any, but: tuple[str, ...] = (), word: str = "now") -> str:
    """Return where two questions differ: ``"epsilon is 0.1, now it is 0.2"``; empty if nowhere.

    ``but`` are names of parts that are not compared; ``word`` says which the second question is.
    """
    first, second = question_of(before), question_of(after)
    # parts that only a described question has are told last
    for name in sorted(
        {**first, **second}, key=lambda name: not (name in first and name in second)
    ):
        one, other = first.get(name), second.get(name)
        if name not in but and one != other:
            texts = f"is {one}", f"{word} it is {other}"
            return f"{name} {', '.join(texts) if max(map(len, texts)) < 60 else 'differs'}"
    return ""
