"""Sets of features as other tools give them: indices, masks, and results of our own."""

from collections.abc import Sequence, Set
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.base.image_shape import image_layout, shape_seen
from milp_verix.inputs.radii import features_listed
from milp_verix.problem.features import Features, FeaturesLike
from milp_verix.problem.problem import ProblemData
from milp_verix.results.explanation import Explanation
from verix_encodings.arrays import BoolArray

FeatureSetLike: TypeAlias = "Sequence[int | str] | Set[int | str] | NDArray[Any] | Explanation"
"""Features by index or name, a mask, or the features of an explanation."""


def groups_for(given: "FeatureSetLike | None", features: FeaturesLike) -> FeaturesLike:
    """Return ``features``, or the groups of the explanation ``given`` where these are None."""
    if not isinstance(given, Explanation) or features is not None:
        return features
    single = all(group == (index,) for index, group in enumerate(given.groups))
    return None if single else given.groups


def feature_set(given: FeatureSetLike, problem: ProblemData) -> tuple[int, ...]:
    """Return the features in the set ``given``, ascending.

    It lists features by names or indices; or it is a mask: True and False by name, an array of
    bool, or one of 0 and 1 with two axes or more. A mask has an entry for each coordinate, in the
    input's shape or in a row, for each pixel, or for each feature. Raises ``InputError`` for any
    other value, and for a mask that covers part of a feature.
    """
    if isinstance(given, Explanation):
        return _of_result(given, problem.features)
    labels = problem.labels_for(given)
    listed = features_listed(given, labels, "explanation")
    if listed is not given and labels.size != problem.features.count:
        return _features_in(np.isin(np.arange(labels.size), listed), problem)
    listed = sorted(given, key=str) if isinstance(given, Set) else listed
    try:
        array = np.asarray(listed)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"explanation: {error}; list indices of features, or mask them") from error
    if array.dtype == np.bool_:
        return _features_in(array, problem)
    if array.ndim < 2:
        indices = listed if isinstance(listed, Sequence) else array.tolist()
        return tuple(sorted(problem.features.indices(indices, "explanation")))
    if np.issubdtype(array.dtype, np.integer) and np.isin(array, (0, 1)).all():
        return _features_in(array == 1, problem)
    raise InputError(
        f"explanation: a mask holds True and False, or 1 and 0; got {array.dtype} from "
        f"{np.min(array, initial=0):g} to {np.max(array, initial=0):g}. Of a heat map give the "
        "entries above a threshold; of a LIME mask with −1 in it give mask == 1"
    )


def _of_result(given: Explanation, features: Features) -> tuple[int, ...]:
    """Return the features of a result, by name where both have names."""
    own = tuple(tuple(group.tolist()) for group in features.groups)
    if own != given.groups:
        raise InputError(
            f"the explanation is about {len(given.groups)} features, the audit about "
            f"{features.count} that are grouped otherwise: leave features (--features) out"
        )
    names = given.feature_names
    if names is None or features.names is None:
        return given.explanation
    named = [names[feature] for feature in given.explanation]
    return tuple(sorted(features.indices(named, "explanation")))


def _features_in(mask: BoolArray, problem: ProblemData) -> tuple[int, ...]:
    """Return the features that ``mask`` covers; ``InputError`` where it covers part of one."""
    covered = _coordinates_in(mask, problem)
    if covered is None:
        return tuple(np.flatnonzero(mask).tolist())
    found = []
    for feature, group in enumerate(problem.features.groups):
        inside = int(covered[group].sum())
        if 0 < inside < group.size:
            raise InputError(
                f"explanation: the mask covers {inside} of the {group.size} coordinates of feature "
                f"{feature}, and a feature is fixed as a whole: mask whole features, or leave "
                "features (--features) out so that each coordinate is one"
            )
        if inside:
            found.append(feature)
    return tuple(found)


def _coordinates_in(mask: BoolArray, problem: ProblemData) -> BoolArray | None:
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
            f"explanation: the mask has shape {mask.shape}, expected the input's, "
            f"{problem.image_shape or input_shape}{pixels_too}, or an entry for each of the "
            f"{problem.features.count} features"
        ) from error
    return mask.reshape(-1)
