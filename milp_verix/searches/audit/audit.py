"""The audit of an explanation by any tool, as a function.

Sets of features as other tools give them: indices, masks, and results of our own.
"""

from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import Any, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.argument_kinds import FLAG, checked
from milp_verix.base.errors import InputError
from milp_verix.base.image_shape import image_layout, shape_seen
from milp_verix.inputs.labelled import features_listed
from milp_verix.models.onnx.onnx_network import NetworkLike
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.features import Features, FeaturesLike
from milp_verix.problem.one_liner import one_liner, parted
from milp_verix.problem.options import Asked, InputLike, Ordering, OrderLike, TraversalOptions
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.public import Audit
from milp_verix.results.records.explanation import ExplanationRecord
from milp_verix.searches.audit.search import AuditProgress, AuditSearch, smallest_sets
from milp_verix.searches.explain.order import resolve_order
from milp_verix.searches.explain.strategies import resolve_strategy
from verix_encodings.arrays import BoolArray

FeatureSetLike: TypeAlias = (
    "Sequence[int | str] | Set[int | str] | NDArray[Any] | ExplanationRecord"
)
"""Features by index or name, a mask, or the features of an explanation."""


def groups_for(given: FeatureSetLike, features: FeaturesLike) -> FeaturesLike:
    """Return ``features``, or the groups of the explanation ``given`` where these are None."""
    if not isinstance(given, ExplanationRecord) or features is not None:
        return features
    single = all(group == (index,) for index, group in enumerate(given.groups))
    return None if single else given.groups


def feature_set(given: FeatureSetLike, problem: PosedProblem) -> tuple[int, ...]:
    """Return the features in the set ``given``, ascending.

    It lists features by names or indices; or it is a mask: True and False by name, an array of
    bool, or one of 0 and 1 with two axes or more. A mask has an entry for each coordinate, in the
    input's shape or in a row, for each pixel, or for each feature. Raises ``InputError`` for any
    other value, and for a mask that covers part of a feature.
    """
    if isinstance(given, ExplanationRecord):
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


def _of_result(given: ExplanationRecord, features: Features) -> tuple[int, ...]:
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


def _features_in(mask: BoolArray, problem: PosedProblem) -> tuple[int, ...]:
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


def _coordinates_in(mask: BoolArray, problem: PosedProblem) -> BoolArray | None:
    """Return ``mask`` over flat coordinates; None if its entries are features.

    Raises ``InputError`` for a mask that fits neither.
    """
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


class Auditing(Ordering, total=False):
    """The options of :func:`audit_of`."""

    sound_only: bool
    minimum: bool
    progress: Callable[[AuditProgress], None] | None
    snapshots: Callable[[Callable[[], Audit]], None] | None


class AuditAsked(Asked, TraversalOptions, Auditing, total=False):
    """The options of :func:`audit`."""


@checked(minimum=FLAG)
def audit_of(
    problem: PosedProblem,
    explanation: FeatureSetLike,
    *,
    sound_only: bool = False,
    minimum: bool = False,
    order: OrderLike = "influence",
    transformation: str = "reversal",
    traversal: str = "galloping",
    search: Search = USUAL,
    progress: Callable[[AuditProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Audit]], None] | None = None,
) -> Audit:
    """Judge an explanation by any tool: is it sound, is it minimal, and if not, what would be.

    Sound: with the features in ``explanation`` fixed, no change of the others in the ball changes
    the prediction; this is proven, or refuted by an input run in onnxruntime. Of a sound set the
    result has the features that can be left out, all together, and a counterfactual for each other
    feature. To another set it adds features that make it sound, as few as the order finds. Ctrl-C
    and the time limit return the result so far; "not known" is an answer, too. The check of
    soundness may take half of a limited time.

    Args:
        explanation: the features that are said to keep the prediction: their indices or
            names; a mask, an array of bool (or of 0 and 1, with two axes or more) with an entry for
            each coordinate, each pixel or each feature; or an :class:`Explanation`, whose groups
            :func:`milp_verix.audit` takes if ``features`` is None.
        sound_only: whether to end once soundness is decided.
        minimum: whether to search the smallest sound set of all, too, and, for a set that is not
            sound, the smallest one that holds it (:func:`milp_verix.minimum`).
        order: the order in which features are tried, as for :func:`milp_verix.explain`.
        transformation: as for :func:`milp_verix.explain`.
        traversal: as for :func:`milp_verix.explain`.
        progress: called at the start, before each check, and after each decision.
        snapshots: called with a function that returns the result so far.

    Raises:
        InputError: an argument does not fit.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """
    request = Request.now(problem, search)
    audited = feature_set(explanation, problem)
    strategy = resolve_strategy(traversal)
    order_by = resolve_order(problem, order, transformation=transformation, seed=search.seed)
    with Oracle(problem, search) as oracle:
        run = AuditSearch(
            oracle,
            request,
            audited,
            None if sound_only else strategy,
            order_by,
            partial(smallest_sets, request) if minimum else None,
        )
        return run.run(progress, snapshots)


@one_liner(audit_of)
def audit(
    network: NetworkLike, x: InputLike, explanation: FeatureSetLike, **asked: Unpack[AuditAsked]
) -> Audit:
    """Audit an explanation: :meth:`milp_verix.Problem.audit` in one call."""
    if asked.get("inputs") is None:
        asked["features"] = groups_for(explanation, asked.get("features"))
    problem, search, own = parted(network, x, asked, Auditing)
    return audit_of(problem, explanation, search=search, **own)
