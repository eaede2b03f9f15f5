"""The audit of an explanation by any tool, as a function."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from numpy.typing import ArrayLike, NDArray

from milp_verix.argument_kinds import FLAG, checked
from milp_verix.auditing.feature_sets import FeatureSetLike, feature_set, groups_for
from milp_verix.auditing.search import AuditProgress, AuditSearch
from milp_verix.auditing.smallest import smallest_sets
from milp_verix.inputs.features import Feature
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import Epsilon
from milp_verix.onnx_reader.onnx_network import NetworkLike
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.ball import UNIT_DOMAIN, Domain
from milp_verix.problem.features import FeaturesLike
from milp_verix.problem.request import make_request
from milp_verix.results.public import Audit
from milp_verix.tolerances import Tolerances
from milp_verix.traversal.order import resolve_order
from milp_verix.traversal.strategies import resolve_strategy
from verix_encodings import BoundMethod, Formulation
from verix_encodings.blocks.smooth_enclosure import DEFAULT_SEGMENTS


@checked(minimum=FLAG)
def audit(
    network: NetworkLike,
    x: ArrayLike,
    explanation: FeatureSetLike,
    *,
    epsilon: Epsilon,
    norm: str = "linf",
    delta: float | None = None,
    domain: Domain = UNIT_DOMAIN,
    features: FeaturesLike = None,
    feature_names: Sequence[str] | None = None,
    sound_only: bool = False,
    minimum: bool = False,
    order: str | Sequence[int] | NDArray[Any] = "influence",
    transformation: str = "reversal",
    traversal: str = "galloping",
    label: int | None = None,
    against: int | Sequence[int] | None = None,
    output: int | None = None,
    image_shape: Sequence[int] | None = None,
    inputs: Inputs | Sequence[Feature] | None = None,
    solver: str = "auto",
    exactness: str = "exact",
    time_limit: float | None = None,
    check_time_limit: float | None = None,
    seed: int = 0,
    threads: int = 1,
    bounds: BoundMethod | str = "crown",
    segments: int = DEFAULT_SEGMENTS,
    formulation: str | Formulation = "big_m",
    reuse: bool = True,
    tolerances: Tolerances | None = None,
    progress: Callable[[AuditProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Audit]], None] | None = None,
) -> Audit:
    """Judge an explanation by any tool: is it sound, is it minimal, and if not, what would be.

    Sound: with the features in ``explanation`` fixed, no change of the others in the ball changes
    the prediction; this is proven, or refuted by an input run in onnxruntime. Of a sound set the
    result has the features that can be left out, all together, and a counterfactual for each other
    feature. To another set it adds features that make it sound, as few as the order finds. Ctrl-C
    and the time limit return the result so far; "not known" is an answer, too.

    Arguments and errors are those of :func:`milp_verix.explain`, and

    Args:
        explanation: the features that are said to keep the prediction: their indices; a mask, an
            array of bool (or of 0 and 1, with two axes or more) with an entry for each coordinate,
            each pixel or each feature; or an :class:`Explanation`, whose groups are taken if
            ``features`` is None.
        features: the grouping of coordinates, as everywhere; not the set that is audited.
        sound_only: whether to end once soundness is decided.
        minimum: whether to search the smallest sound set of all, too, and, for a set that is not
            sound, the smallest one that holds it (:func:`milp_verix.minimum`).
        order: the order in which features are tried.
        time_limit: seconds from the call on; the check of soundness may take half of them.
    """
    question: dict[str, Any] = {
        "epsilon": epsilon,
        "norm": norm,
        "delta": delta,
        "domain": domain,
        "features": features if inputs is not None else groups_for(explanation, features),
        "feature_names": feature_names,
        "label": label,
        "against": against,
        "output": output,
        "image_shape": image_shape,
        "inputs": inputs,
        "solver": solver,
        "threads": threads,
        "tolerances": tolerances,
        "check_time_limit": check_time_limit,
    }
    request = make_request(network, x, **question, time_limit=time_limit)
    problem = request.problem
    audited = feature_set(explanation, problem)
    strategy = resolve_strategy(traversal)
    order_by = resolve_order(problem, order, transformation=transformation, seed=seed)
    with Oracle(
        problem,
        solver,
        bounds=bounds,
        segments=segments,
        formulation=formulation,
        threads=threads,
        tolerances=request.tolerances,
        reuse=reuse,
        exactness=exactness,
    ) as oracle:
        smallest = partial(smallest_sets, problem.network, x, question, request.deadline)
        search = AuditSearch(
            oracle,
            request,
            audited,
            None if sound_only else strategy,
            order_by,
            smallest if minimum else None,
        )
        return search.run(progress, snapshots)
