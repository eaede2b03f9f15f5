"""The smallest contrastive explanation, as a function."""

import time
from collections.abc import Callable, Sequence
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.arguments import seconds_of
from milp_verix.ball import Domain
from milp_verix.contrast_search import ContrastiveProgress, ContrastSearch
from milp_verix.contrastive_explanation import ContrastiveExplanation
from milp_verix.errors import InputError
from milp_verix.explanation import Counterfactual
from milp_verix.features import FeaturesLike
from milp_verix.finding import posed, spent
from milp_verix.onnx_network import OnnxNetwork
from milp_verix.oracle import Oracle
from milp_verix.problem import make_problem
from milp_verix.solvers import open_session
from milp_verix.subsets import SubsetOracle
from milp_verix.tolerances import Tolerances
from milp_verix.traversal import INTERRUPTED
from milp_verix.verdict import Verdict
from verix_encodings.arrays import FloatArray


def contrastive(
    network: OnnxNetwork | str | PathLike[str],
    x: ArrayLike,
    *,
    epsilon: float,
    norm: str = "linf",
    delta: float | None = None,
    domain: Domain = (0.0, 1.0),
    features: FeaturesLike = None,
    label: int | None = None,
    output: int | None = None,
    costs: Sequence[float] | None = None,
    solver: str = "auto",
    time_limit: float | None = None,
    check_time_limit: float | None = 300.0,
    threads: int = 1,
    tolerances: Tolerances | None = None,
    progress: Callable[[ContrastiveProgress], None] | None = None,
) -> ContrastiveExplanation:
    """Find the fewest features whose change inside the ball changes the prediction.

    The result has a counterfactual that differs from ``x`` in these features alone, and a proven
    lower bound: Ctrl-C and the time limit return the best contrast so far with it. ``robust`` says
    that no change of any features does it, which is a proof as well.

    Arguments and errors are those of :func:`milp_verix.explain`. ``costs``, one positive number
    for each feature, ask for the cheapest set instead of the smallest. ``progress`` is called
    after each program.
    """
    started = time.monotonic()
    deadline = started + seconds_of(time_limit, "time_limit")
    check_seconds = seconds_of(check_time_limit, "check_time_limit")
    problem = make_problem(
        network,
        x,
        epsilon=epsilon,
        norm=norm,
        delta=delta,
        domain=domain,
        features=features,
        label=label,
        output=output,
    )
    priced = costs_of(costs, problem.features.count)
    tolerances = tolerances or Tolerances()
    with Oracle(problem, solver, threads=threads, tolerances=tolerances) as oracle:
        subsets = SubsetOracle(oracle, deadline, check_seconds)
        name = "highs" if oracle.solver == "phase" else oracle.solver
        session = open_session(name, threads=threads, tolerances=tolerances)
        search = ContrastSearch(subsets, session, (solver, threads), tolerances, priced)
        try:
            search.run(progress)
        except KeyboardInterrupt:
            search.stopped = INTERRUPTED
        finally:
            session.close()
        seconds = time.monotonic() - started
        best = search.best
        return ContrastiveExplanation(
            **posed(problem, oracle),
            contrast=None if best is None else tuple(sorted(subsets.changed(best))),
            counterfactual=None if best is None else counterfactual_of(best),
            robust=search.robust,
            costs=None if costs is None else tuple(priced.tolist()),
            lower_bound=None if search.robust else search.lower_bound,
            unknown_reason=None if search.proven else search.unknown_reason,
            statistics=spent(
                subsets.effort + search.effort, subsets.checks, seconds, search.stopped
            ),
        )


def costs_of(costs: Sequence[float] | None, count: int) -> FloatArray:
    """Return the costs of ``count`` features, 1 each for None; ``InputError`` for what is none."""
    if costs is None:
        return np.ones(count)
    try:
        given = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"costs are numbers, one for each feature: {error}") from error
    if given.shape != (count,):
        raise InputError(f"costs have shape {given.shape}, and there are {count} features")
    if not (np.isfinite(given).all() and np.all(given > 0)):
        raise InputError("costs must be finite and positive; a high one keeps a feature out")
    return given


def counterfactual_of(verdict: Verdict) -> Counterfactual:
    """Return the counterfactual of a violated claim."""
    assert verdict.witness is not None
    assert verdict.prediction is not None
    return Counterfactual(verdict.witness, verdict.prediction)
