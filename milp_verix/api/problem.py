"""``Problem``: a question about one prediction, and the searches that answer it as methods."""

from collections.abc import Callable
from functools import wraps
from inspect import signature, unwrap
from math import inf
from typing import Any

from milp_verix.base.errors import printable
from milp_verix.base.number_text import counted, exact, percent
from milp_verix.certificates.certificate import Certificate
from milp_verix.certificates.certify import Certifiable, certify
from milp_verix.comparison.compare import compare_solvers
from milp_verix.inputs.radii import common_share
from milp_verix.oracle.check_program import encode_problem
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.question import Classification, Regression
from milp_verix.problem.search import Search
from milp_verix.problem.signatures import readable
from milp_verix.searches.audit.audit import audit_of
from milp_verix.searches.contrast.contrastive import contrastive_of
from milp_verix.searches.explain.check import check_problem
from milp_verix.searches.explain.explain import explain_problem
from milp_verix.searches.importance.importance import importance_of
from milp_verix.searches.importance.marco import enumerate_problem
from milp_verix.searches.importance.relevance import relevance_of
from milp_verix.searches.minimum.minimum import minimum_of
from milp_verix.searches.radius.robustness import radius_of
from milp_verix.searches.radius.sweep import sweep_of
from milp_verix.searches.ranges.inflate import inflate_problem
from milp_verix.views.words.wording import joined, prediction_text

_NORMS = {
    "linf": "each by at most {}",
    "l1": "by at most {} in all",
    "l2": "by at most {} in length",
}


class Problem(PosedProblem):  # noqa: D101 - that of the class above
    __doc__ = PosedProblem.__doc__

    explain = explain_problem
    minimum = minimum_of
    contrastive = contrastive_of
    enumerate = enumerate_problem
    inflate = inflate_problem
    check = check_problem
    audit = audit_of
    relevance = relevance_of
    importance = importance_of
    radius = radius_of
    sweep = sweep_of
    compare = compare_solvers
    export = encode_problem

    def certify(self, explanation: Certifiable, *, time_limit: float | None = None) -> Certificate:
        """Return a certificate of an answer, as :func:`milp_verix.certify` does."""
        return certify(self.network, explanation, time_limit=time_limit)

    def __str__(self) -> str:
        """The question in words: the prediction, and the changes under which it is to stay."""
        question, names, rules = self.question, self.class_names, ""
        told, kept = prediction_text(question.prediction), "as it is"
        if isinstance(question.prediction, int):
            told = f"“{names[question.prediction]}”" if names else f"class {told}"
        if isinstance(question, Classification) and question.against:
            rivals = [f"“{names[one]}”" if names else str(one) for one in question.against]
            kept = f"ahead of {joined(rivals)}"
        if isinstance(question, Regression):
            kept = f"within ±{exact(question.delta)}"
        if self.inputs is not None and self.inputs.rules:
            rules = f", and obey {counted(len(self.inputs.rules), 'rule')}"
        value = "the prediction" if self.output is None else f"output {self.output}"
        of, reach = f"{value} of {self.network.name}, {told},", f"{self._reach}{rules}"
        if self.features.count == 1:
            return printable(f"Does {of} stay {kept} while the one feature changes, {reach}?")
        which = f"Which of the {counted(self.features.count, 'feature')} keep"
        return printable(f"{which} {of} {kept} while the others change, {reach}?")

    @property
    def _reach(self) -> str:
        """The words for how far features may change."""
        if self.inputs is None or self.radii is None:
            return _NORMS[self.ball.norm].format(exact(self.ball.epsilon))
        least, most = min(self.radii), max(self.radii)
        if least == most < inf and self.inputs.of_domain:
            return _NORMS["linf"].format(exact(least))
        share = common_share(self.inputs, self.radii)
        each = "each " * (len(self.radii) > 1)
        if least == inf:
            return f"{each}over its whole domain"
        if share is not None:
            return f"{each}by at most {percent(share)} % of its range"
        if least == most:
            return f"{each}by at most {exact(least)} in its own unit"
        return f"each by at most a radius of its own, {exact(least)} to {exact(most)}"


def _method(name: str, answer: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``answer`` as a method whose errors and signature are told by its ``name``."""
    whole = readable(signature(answer), unwrap(answer).__globals__)

    @wraps(answer)
    def ask(*args: object, **options: object) -> object:
        try:
            whole.bind(*args, **options)
        except TypeError as error:
            astray = [one for one in options if one in Search.__annotations__]
            hint = f"; give search=Search({astray[0]}=…)" if astray else ""
            raise TypeError(f"Problem.{name}(): {error}{hint}") from None
        return answer(*args, **options)

    ask.__signature__ = whole  # type: ignore[attr-defined]
    return ask


for _name, _answer in [*vars(Problem).items()]:
    if hasattr(_answer, "__wrapped__"):  # the functions of other modules, not those written here
        setattr(Problem, _name, _method(_name, _answer))
