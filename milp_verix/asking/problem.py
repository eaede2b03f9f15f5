"""``Problem``: a question about one prediction, and the searches that answer it as methods."""

from milp_verix.auditing.audit import audit_of
from milp_verix.certification.certificate import Certificate
from milp_verix.certification.certify import certify
from milp_verix.comparison.compare import compare_solvers
from milp_verix.duality.contrastive import contrastive_of
from milp_verix.duality.marco import enumerate_problem
from milp_verix.duality.relevance import relevance_of
from milp_verix.global_search.minimum import minimum_of
from milp_verix.oracle.check import check_problem
from milp_verix.oracle.check_program import encode_problem
from milp_verix.problem import problem as checked
from milp_verix.radius.robustness import radius_of
from milp_verix.radius.sweep import sweep_of
from milp_verix.reporting.words.wording import counted, joined, number
from milp_verix.results.records.audit import Audit
from milp_verix.results.records.explanation import Explanation
from milp_verix.traversal.explain import explain_problem

_NORMS = {"linf": "each by at most", "l1": "by at most, in all,", "l2": "in length by at most"}


class Problem(checked.Problem):  # noqa: D101 - that of the class above
    __doc__ = checked.Problem.__doc__

    explain = explain_problem
    minimum = minimum_of
    contrastive = contrastive_of
    enumerate = enumerate_problem
    check = check_problem
    audit = audit_of
    relevance = relevance_of
    radius = radius_of
    sweep = sweep_of
    compare = compare_solvers
    export = encode_problem

    def certify(
        self, explanation: Explanation | Audit, *, time_limit: float | None = None
    ) -> Certificate:
        """Return a certificate of an answer, as :func:`milp_verix.certify` does."""
        return certify(self.network, explanation, time_limit=time_limit)

    def __str__(self) -> str:
        """The question in words: the prediction, and the changes under which it is to stay."""
        ball, names, prediction = self.ball, self.class_names, self.question.prediction
        if isinstance(prediction, int):
            told = f"class {prediction}"
            told = f"“{names[prediction]}”" if prediction < len(names) else told
        else:
            told = f"({', '.join(map(number, prediction))})"
        against = getattr(self.question, "against", None)
        rivals = [names[one] if names else str(one) for one in against or ()]
        stays = f"ahead of {joined(rivals)}" if rivals else "as it is"
        delta = getattr(self.question, "delta", None)
        stays = stays if delta is None else f"within {number(delta)} of it"
        by = f"{_NORMS[ball.norm]} {number(ball.epsilon)}"
        if self.radii is not None:
            least, most = min(self.radii), max(self.radii)
            by = f"each by at most {number(least)}"
            by += "" if least == most else f" to {number(most)}, a radius for each"
        features = counted(self.features.count, "feature")
        return (
            f"{self.network.name} predicts {told}: which of the {features} keep it {stays} while "
            f"the others change, {by}?"
        )
