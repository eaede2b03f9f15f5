"""The fields that every result has: the prediction, the ball, and the effort of the search."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.still import still_features
from milp_verix.records.statistics import Statistics

Prediction = int | tuple[float, ...]
"""A class, or the values of the outputs that a regression is about."""

DomainEnd = float | tuple[float, ...]
"""One end of the input domain: the same for all coordinates, or one number for each."""


@dataclass(frozen=True, slots=True, eq=False)
class Counterfactual:
    """An input inside the ball whose ``prediction`` by onnxruntime is not the original's.

    In an explanation it differs from the original only in irrelevant features and in the one that
    it belongs to. ``rival`` is a class that scores above the original's where a result is
    ``against`` some classes alone; None elsewhere. Results of earlier versions have such a class
    as ``prediction``, and no ``rival``.
    """

    input: NDArray[Any]
    prediction: Prediction
    rival: int | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The network that a result is about.

    ``sha256`` is that of the ONNX file. ``content_sha256`` covers weights stored beside it, the
    input's shape and the output's name, too; None in files of earlier versions. ``class_names`` are
    the words for its classes, if the model itself tells them.
    """

    file: str
    sha256: str
    input_shape: tuple[int, ...]
    dtype: str
    softmax_stripped: bool
    sigmoid_stripped: bool = False
    content_sha256: str | None = None
    class_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Result:
    """The prediction and the ball that a result is about, and the effort of the search.

    ``input`` has the network's input shape and dtype. ``domain`` is the pair of ends, each a float
    or a flat tuple. ``output`` is the one output that a regression is about, None for all.
    ``against`` are the classes that the prediction was compared with, None for all others.
    ``groups`` holds the coordinates of each feature: feature ``i`` is ``groups[i]``.
    ``image_shape`` is the shape in which the input is an image, None if its own shape is one.
    ``feature_names`` are the user's names, or None. ``inputs`` describe the input if the user did;
    ``radii`` are those of the features then, and ``epsilon`` is the largest. ``notes`` tell a
    reader how the result came about; ``versions`` are those of the solver and of the packages used.
    """

    model: ModelInfo
    input: NDArray[Any]
    prediction: Prediction
    epsilon: float
    norm: str
    delta: float | None
    domain: tuple[DomainEnd, DomainEnd]
    groups: tuple[tuple[int, ...], ...]
    feature_shape: tuple[int, ...] | None
    solver: str
    statistics: Statistics
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    output: int | None = None
    against: tuple[int, ...] | None = None
    image_shape: tuple[int, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    inputs: Inputs | None = None
    radii: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "versions", MappingProxyType(dict(self.versions)))
        self.input.flags.writeable = False

    @property
    def still(self) -> tuple[int, ...]:
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
