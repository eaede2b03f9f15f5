"""The audit of an explanation by any tool, as a function."""

from collections.abc import Callable
from functools import partial
from typing import Unpack

from milp_verix.base.argument_kinds import FLAG, checked
from milp_verix.models.onnx.onnx_network import NetworkLike
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.one_liner import one_liner, parted
from milp_verix.problem.options import Asked, InputLike, Ordering, OrderLike, TraversalOptions
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.public import Audit
from milp_verix.searches.audit.feature_sets import FeatureSetLike, feature_set, groups_for
from milp_verix.searches.audit.search import AuditProgress, AuditSearch, smallest_sets
from milp_verix.searches.explain.order import resolve_order
from milp_verix.searches.explain.strategies import resolve_strategy


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
