"""Sets of features as users give them: indices, names, and masks."""

from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from milp_verix.base.arguments import LISTS
from milp_verix.base.errors import InputError
from milp_verix.base.image_shape import image_layout, shape_seen
from milp_verix.inputs.radii import features_listed
from milp_verix.problem.problem import ProblemData
from verix_encodings.arrays import BoolArray


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
