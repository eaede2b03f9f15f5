"""Check the counterfactuals of an explanation again, from nothing but the file and the network."""

from milp_verix.errors import InputError
from milp_verix.explanation import Counterfactual, Explanation
from milp_verix.onnx_network import OnnxNetwork
from milp_verix.problem import Problem, make_problem


def failing_counterfactuals(explanation: Explanation, network: OnnxNetwork) -> tuple[int, ...]:
    """Return the features whose counterfactual is not one, ascending; see ``Explanation.replay``.

    Raises ``InputError`` where ``network`` is another file than the one explained, or predicts
    something else for the input.
    """
    if network.sha256 != explanation.model.sha256:
        raise InputError(
            f"{network.path} is not the network explained: its SHA-256 is {network.sha256[:12]}…, "
            f"that of {explanation.model.file} was {explanation.model.sha256[:12]}…"
        )
    problem = make_problem(
        network,
        explanation.input,
        epsilon=explanation.epsilon,
        norm=explanation.norm,
        delta=explanation.delta,
        domain=explanation.domain,
        features=explanation.groups,
        output=explanation.output,
    )
    if problem.question.prediction != explanation.prediction:
        raise InputError(
            f"the network predicts {problem.question.prediction} for the input, the explanation "
            f"says {explanation.prediction}"
        )
    return tuple(
        feature
        for feature, counterfactual in sorted(explanation.counterfactuals.items())
        if not _stands(problem, explanation, feature, counterfactual)
    )


def _stands(
    problem: Problem, explanation: Explanation, feature: int, counterfactual: Counterfactual
) -> bool:
    free = problem.features.coordinates([*explanation.irrelevant, feature])
    if not problem.ball.contains(counterfactual.input.reshape(-1), free):
        return False
    outputs = problem.network.evaluate(counterfactual.input)
    return (
        problem.question.changed(outputs)
        and problem.question.predicted(outputs) == counterfactual.prediction
    )
