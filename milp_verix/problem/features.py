"""Features: groups of input coordinates that are freed together."""

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from milp_verix.base.arguments import indices_of, refuse_surrogates
from milp_verix.base.errors import (
    InputError,
    listed,
    meant,
    refusing,
    require_one_of,
    same_names,
    shown,
)
from milp_verix.base.image_shape import image_layout, likely_image, without_ones
from milp_verix.inputs.radii import Labels, features_listed, values_by_label
from verix_encodings.arrays import FloatArray, IntArray, frozen_indices

CostsLike: TypeAlias = ArrayLike | Mapping[str | int, float] | None
"""A cost for each feature, or costs by name or index, with ``"*"`` for those not named."""

FeaturesLike: TypeAlias = "str | NDArray[Any] | Sequence[Sequence[int]] | None"
"""``None``, ``"pixels"``, an integer array of the input's shape, or lists of coordinates."""


# no slots: the inverse of the partition is computed once
@dataclass(frozen=True, eq=False)
class Features:
    """A partition of the input coordinates. ``groups[i]`` holds the flat coordinates of feature i.

    ``shape`` is the shape in which the features are drawn, such as (height, width), or None;
    ``names`` are their names in results, one each, or None; ``unread`` those of columns that are no
    features, as the model drops them.
    """

    groups: tuple[IntArray, ...]
    shape: tuple[int, ...] | None = None
    names: tuple[str, ...] | None = None
    unread: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Number of features."""
        return len(self.groups)

    @property
    def labels(self) -> Labels:
        """The names that labels of an argument may have."""
        return Labels(self.names, self.count, self.unread)

    @cached_property
    def of_coordinate(self) -> IntArray:
        """The feature of each input coordinate, shape (d,)."""
        coordinates = np.concatenate([np.zeros(0, np.intp), *self.groups])
        found = np.zeros_like(coordinates)
        found[coordinates] = np.repeat(np.arange(self.count), [*map(len, self.groups)])
        return frozen_indices(found)

    @cached_property
    def listed(self) -> tuple[tuple[int, ...], ...]:
        """The coordinates of each feature; a sweep's results share them."""
        return tuple(tuple(group.tolist()) for group in self.groups)

    @cached_property
    def _places(self) -> dict[str, int]:
        """The feature of each name."""
        return {name: place for place, name in enumerate(self.names or ())}

    def coordinates(self, features: Sequence[int]) -> IntArray:
        """Return the flat coordinates of all of ``features``, ascending."""
        if len(features) == 1:
            return np.sort(self.groups[features[0]])
        chosen = np.zeros(self.count, dtype=bool)
        chosen[np.asarray(features, dtype=np.intp)] = True
        return np.flatnonzero(chosen[self.of_coordinate])

    def index(self, given: str | int, argument: str) -> int:
        """Return the index of a feature by name or index; ``InputError`` tells ``argument``."""
        names = self._places
        if isinstance(given, str) and given not in names:  # spaces may be underscores
            given = next(iter(same_names(names, [given])), given)
        try:
            found = names[given] if isinstance(given, str) else operator.index(given)
        except (KeyError, TypeError):
            found = -1
        if not 0 <= found < self.count:
            known = listed(names) or "none has a name"
            dropped = ", as the model drops it" if given in self.unread else ""
            raise InputError(
                f"{argument}: there is no feature {shown(given)}{dropped}: give an index from 0 to "
                f"{self.count - 1}, or a name ({known}){meant(str(given), names)}"
            )
        return found

    def unnamed(self, given: str | Sequence[str | int] | NDArray[Any], argument: str) -> list[int]:
        """Return features with names replaced by indices; indices stay as they are, unchecked.

        Of a mask they are those that are True, see :func:`.features_listed`. An error calls them
        ``argument``; raises ``InputError`` for a name that no feature has.
        """
        given = features_listed(given, self.labels, argument)
        listed = isinstance(given, Iterable) and getattr(given, "ndim", 1) > 0
        several: list[Any] = [*given] if listed and not isinstance(given, str) else [given]
        named = self._places  # 2020 is no index, and the name of a column: the error suggests it
        return [
            self.index(one, argument) if isinstance(one, str) or str(one) in named else one
            for one in several
        ]

    def indices(self, given: str | Sequence[str | int], argument: str) -> list[int]:
        """Return distinct features by name or index as indices; errors tell the ``argument``."""
        return indices_of(self.unnamed(given, argument), self.count, argument)

    def priced(self, costs: CostsLike) -> ArrayLike | None:
        """Return costs in the features' order if they have labels, see :func:`.values_by_label`."""
        found: ArrayLike | None = values_by_label(costs, self.labels, "costs", ": 1")
        return found

    def totals(self, values: FloatArray) -> FloatArray:
        """Sum over the coordinates of each feature; shape (m, d) becomes (m, features)."""
        if not self.groups:
            return np.zeros((values.shape[0], 0))
        in_groups, starts = self._in_groups
        return np.asarray(np.add.reduceat(values[:, in_groups], starts, axis=1))

    @cached_property
    def _in_groups(self) -> tuple[IntArray, IntArray]:
        """The coordinates group by group, shape (d,), and the place where each group starts."""
        starts = np.cumsum([0, *map(len, self.groups[:-1])])
        return np.concatenate(self.groups), starts


def make_features(
    given: FeaturesLike, input_shape: tuple[int, ...], image_shape: tuple[int, ...] | None = None
) -> Features:
    """Return the partition that ``given`` describes of an input of ``input_shape``.

    ``image_shape`` is the shape in which it is an image, where ``input_shape`` is not.

    ``None``: every coordinate is a feature. ``"pixels"``: a pixel with its channels. An integer
    array of the input's shape: coordinates with the same number are one feature, numbered
    0, 1, … without a gap. Lists of flat coordinates: one list a feature. Raises ``InputError``
    unless that is a partition.
    """
    size = int(np.prod(input_shape))
    layout = image_layout(image_shape or input_shape)
    shape = layout[:2] if layout else None
    if given is None:
        one_channel = shape is not None and shape[0] * shape[1] == size
        singles = tuple(np.arange(size, dtype=np.intp)[:, None])
        return Features(singles, shape if one_channel else None)
    if isinstance(given, str):
        require_one_of(["pixels"], given, "features", ", or give groups")
        if layout is None:
            raise InputError(
                "features='pixels' needs an image, height × width × 1, 3 or 4 channels, or with "
                f"channels first, not an input of shape {input_shape}; if it is an image all the "
                f"same, say {likely_image(size)}; otherwise give groups"
            )
        height, width, axis = layout
        channels = size // (height * width)
        index = np.arange(size, dtype=np.intp)
        pixels = (
            index.reshape(channels, -1).T if axis == 0 else index.reshape(height * width, channels)
        )
        return Features(tuple(pixels), shape)
    if isinstance(given, np.ndarray) and given.ndim and given.size == size:
        # a table of another shape in which each coordinate stands once is a list of groups
        own = (without_ones(input_shape), without_ones(image_shape or input_shape))
        table = given.ndim == 2 and without_ones(given.shape) not in own
        if not (table and np.array_equal(np.sort(given, axis=None), np.arange(size))):
            return _labelled(given, input_shape)
    return _listed(given, size)


def named(
    features: Features, names: Sequence[str] | NDArray[Any] | None, columns: Sequence[str] = ()
) -> Features:
    """Return ``features`` with ``names``; ``InputError`` where the network's ``columns`` differ."""
    if names is None:
        return features
    with refusing("feature_names are a list of texts", ValueError):  # rows of different lengths
        # an index or a Series holds objects
        given = np.asarray(names.tolist() if hasattr(names, "tolist") else names)
    if given.shape != (features.count,) or given.dtype.kind != "U":
        raise InputError(
            f"feature_names are {features.count} texts, one for each feature; got an array of "
            f"shape {given.shape} and dtype {given.dtype}"
        )
    refuse_surrogates(given.tolist(), "feature_names")
    own = {name: column for column, name in same_names(columns, {*given.tolist()}).items()}
    for name, group in zip(given.tolist(), features.groups, strict=True):
        if name in own and len(group) == 1 and columns[group[0]] != own[name]:
            raise InputError(
                f"feature_names: {name!r} is at place {group[0]}, and the model has it at place "
                f"{columns.index(own[name])}: {listed(columns)}. Give names in this order, or none"
            )
    return replace(features, names=tuple(given.tolist()))


def _labelled(labels: NDArray[Any], input_shape: tuple[int, ...]) -> Features:
    if not np.issubdtype(labels.dtype, np.integer):
        raise InputError(f"an array of features holds integers, got dtype {labels.dtype}")
    flat = labels.reshape(-1)
    numbers = np.unique(flat)
    if not np.array_equal(numbers, np.arange(numbers.size)):
        raise InputError(
            f"features are numbered 0, 1, … without a gap over an input of shape {input_shape}; "
            f"the array's numbers run from {numbers[0]} to {numbers[-1]}, {numbers.size} distinct"
        )
    by_label = np.argsort(flat, kind="stable")
    ends = np.cumsum(np.bincount(flat))[:-1]
    return Features(tuple(np.split(by_label, ends)))


def _listed(given: Sequence[Sequence[int]] | NDArray[Any], size: int) -> Features:
    with refusing("features are lists of flat coordinates", TypeError, ValueError):
        groups = tuple(
            np.array([operator.index(i) for i in group], dtype=np.intp) for group in given
        )
    if any(group.size == 0 for group in groups):
        raise InputError("a feature needs at least one coordinate, and one of them is empty")
    members = np.sort(np.concatenate([np.zeros(0, dtype=np.intp), *groups]))
    if not np.array_equal(members, np.arange(size)):
        raise InputError(
            f"features must hold each of the {size} input coordinates 0..{size - 1} exactly once; "
            f"the groups given hold {members.size} ({np.unique(members).size} distinct)"
        )
    return Features(groups)
