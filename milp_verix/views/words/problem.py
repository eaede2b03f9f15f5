"""A question about a prediction in words."""

from math import inf

from milp_verix.base.errors import printable
from milp_verix.base.number_text import counted, exact, percent
from milp_verix.inputs.radii import common_share
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.question import Classification, Regression
from milp_verix.views.words.wording import joined, prediction_text

_NORMS = {
    "linf": "each by at most {}",
    "l1": "by at most {} in all",
    "l2": "by at most {} in length",
}


def question_text(problem: PosedProblem) -> str:
    """Return the question in words: the prediction, and the changes under which it is to stay."""
    question, names, rules = problem.question, problem.class_names, ""
    told, kept = prediction_text(question.prediction), "as it is"
    if isinstance(question.prediction, int):
        told = f"“{names[question.prediction]}”" if names else f"class {told}"
    if isinstance(question, Classification) and question.against:
        rivals = [f"“{names[one]}”" if names else str(one) for one in question.against]
        kept = f"ahead of {joined(rivals)}"
    if isinstance(question, Regression):
        kept = f"within ±{exact(question.delta)}"
    if problem.inputs is not None and problem.inputs.rules:
        rules = f", and obey {counted(len(problem.inputs.rules), 'rule')}"
    value = "the prediction" if problem.output is None else f"output {problem.output}"
    of, reach = f"{value} of {problem.network.name}, {told},", f"{_reach(problem)}{rules}"
    if problem.features.count == 1:
        return printable(f"Does {of} stay {kept} while the one feature changes, {reach}?")
    which = f"Which of the {counted(problem.features.count, 'feature')} keep"
    return printable(f"{which} {of} {kept} while the others change, {reach}?")


def _reach(problem: PosedProblem) -> str:
    """Return the words for how far features may change."""
    if problem.inputs is None or problem.radii is None:
        return _NORMS[problem.ball.norm].format(exact(problem.ball.epsilon))
    least, most = min(problem.radii), max(problem.radii)
    if least == most < inf and problem.inputs.of_domain:
        return _NORMS["linf"].format(exact(least))
    share = common_share(problem.inputs, problem.radii)
    each = "each " * (len(problem.radii) > 1)
    if least == inf:
        return f"{each}over its whole domain"
    if share is not None:
        return f"{each}by at most {percent(share)} % of its range"
    if least == most:
        return f"{each}by at most {exact(least)} in its own unit"
    return f"each by at most a radius of its own, {exact(least)} to {exact(most)}"
