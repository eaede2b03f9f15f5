"""The audit of an explanation by any tool, as a function."""

from collections.abc import Callable
from functools import partial

from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.options import OrderLike
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.audit import Audit
from milp_verix.searches.audit.feature_sets import FeatureSetLike, feature_set
from milp_verix.searches.audit.search import AuditProgress, AuditSearch, smallest_sets
from milp_verix.searches.explain.order import resolve_order
from milp_verix.searches.explain.strategies import resolve_strategy


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
