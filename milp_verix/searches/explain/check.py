"""One check, as a function: whether the prediction survives every change of some features."""

from collections.abc import Sequence
from dataclasses import fields

from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import Verdict
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.answers import Check
from milp_verix.results.base import Result
from milp_verix.results.build import counterfactual_of
from milp_verix.results.plain_counterfactuals import plain_counterfactual
from milp_verix.searches.runner import fields_of


def check_problem(
    problem: PosedProblem, free: Sequence[int | str], *, search: Search = USUAL
) -> Check:
    """Decide whether the prediction survives every perturbation of the features ``free``.

    The claim: for every ``x'`` in ``domain`` that equals ``x`` outside ``free`` and has
    ``‖x' − x‖ ≤ epsilon`` in ``norm``, the predicted class is the same, or, if ``delta`` is given,
    every output (or the one numbered ``output``) moves by at most ``delta``.

    Raises:
        InputError: an argument does not fit.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """
    search.require_only("check", "a check")
    request = Request.now(problem, search)
    chosen = sorted(problem.features.indices(free, "free"))
    coordinates = problem.features.coordinates(chosen)
    with Oracle(problem, search) as oracle:
        verdict = oracle.check(coordinates, request.deadline.limited(request.check_limit))
        told = {one.name: getattr(verdict, one.name) for one in fields(Verdict)}
        if verdict.violated:
            plain = plain_counterfactual(problem, counterfactual_of(verdict), request.deadline)
            told |= {"witness": plain.input, "prediction": plain.prediction, "rival": plain.rival}
        about = Result(**fields_of(oracle, request.elapsed, None))
        return Check(**told, about=about, free=tuple(chosen))
