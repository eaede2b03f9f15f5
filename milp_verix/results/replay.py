"""Check the counterfactuals of a result again, from nothing but the file and the network."""

from collections.abc import Iterable

from milp_verix.errors import InputError
from milp_verix.onnx_reader.onnx_network import OnnxNetwork
from milp_verix.problem.problem import Problem, make_problem
from milp_verix.records.base import Finding
from milp_verix.records.explanation import Counterfactual, Explanation


def failing_counterfactuals(explanation: Explanation, network: OnnxNetwork) -> tuple[int, ...]:
    """Return the features whose counterfactual is not one, ascending; see ``Explanation.replay``.

    Raises as :func:`posed_again` does.
    """
    problem = posed_again(explanation, network)
    return tuple(
        feature
        for feature, counterfactual in sorted(explanation.counterfactuals.items())
        if not stands(problem, [*explanation.irrelevant, feature], counterfactual)
    )


def posed_again(result: Explanation | Finding, network: OnnxNetwork) -> Problem:
    """Return the problem that ``result`` is about.

    Raises ``InputError`` where ``network`` is another file than the one explained, or predicts
    something else for the input.
    """
    if network.sha256 != result.model.sha256:
        raise InputError(
            f"{network.path or network.name} is not the network explained: its SHA-256 is "
            f"{network.sha256[:12]}…, that of {result.model.file} was {result.model.sha256[:12]}…"
        )
    problem = make_problem(
        network,
        result.input,
        epsilon=result.epsilon,
        norm=result.norm,
        delta=result.delta,
        domain=result.domain,
        features=result.groups,
        output=result.output,
    )
    if problem.question.prediction != result.prediction:
        raise InputError(
            f"the network predicts {problem.question.prediction} for the input, the explanation "
            f"says {result.prediction}"
        )
    return problem


def stands(problem: Problem, free: Iterable[int], counterfactual: Counterfactual) -> bool:
    """Whether ``counterfactual`` changes the prediction, and nothing but the features ``free``."""
    coordinates = problem.features.coordinates(sorted(free))
    if not problem.ball.contains(counterfactual.input.reshape(-1), coordinates):
        return False
    outputs = problem.network.evaluate(counterfactual.input)
    return (
        problem.question.changed(outputs)
        and problem.question.predicted(outputs) == counterfactual.prediction
    )
