"""Results of problems, and problems of results.

Fields of results are made from a problem, the solver that answered, and its verdicts. The question
of a result is posed again to its model, to check its counterfactuals again: nothing but the file
and the network is needed.
"""

import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.base.stored_kinds import DomainEnd
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import loaded
from milp_verix.oracle.verdict import Effort, SolverStatistics, Statistics, Verdict
from milp_verix.problem.problem import ProblemData, problem_of
from milp_verix.problem.search import Given
from milp_verix.results.base import Counterfactual, ModelInfo, Result
from verix_encodings.arrays import FloatArray

_NOT_INSTALLED = "not installed as a package"


def shared_fields(
    problem: ProblemData, solver: str, versions: dict[str, str], notes: tuple[str, ...]
) -> dict[str, Any]:
    """Return the fields of a :class:`~milp_verix.results.base.Result` but its statistics.

    ``versions`` are those of the solvers, and join those of the packages. ``notes`` come behind
    those of the network and the problem.
    """
    network, ball = problem.network, problem.ball
    return {
        "model": ModelInfo(
            network.name,
            network.sha256,
            network.input_shape,
            str(network.dtype),
            network.softmax_stripped,
            network.content_sha256,
            network.sigmoid_stripped,
            network.facts.class_names,
        ),
        "input": problem.x.reshape(network.input_shape),
        "prediction": problem.question.prediction,
        "epsilon": ball.epsilon,
        "norm": ball.norm,
        "delta": getattr(problem.question, "delta", None),
        "output": problem.output,
        "against": getattr(problem.question, "against", None),
        "domain": (_end(ball.domain_lower), _end(ball.domain_upper)),
        "groups": problem.features.listed,
        "feature_shape": problem.features.shape,
        "feature_names": problem.features.names,
        "image_shape": problem.image_shape,
        "inputs": problem.inputs,
        "radii": problem.radii,
        "solver": solver,
        "versions": {**package_versions(), **network.runtime, **versions},
        "notes": network.notes + problem.notes + notes,
    }


def statistics_of(
    effort: Effort,
    checks: int,
    seconds: float,
    stopped: str | None,
    solvers: tuple[SolverStatistics, ...],
) -> Statistics:
    """Return the statistics of a search that took ``effort`` in its checks."""
    return Statistics(
        checks=checks,
        flips=effort.flips,
        solves=effort.solves,
        bounded=effort.bounded,
        nodes=effort.nodes,
        iterations=effort.iterations,
        seconds=seconds,
        check_seconds=effort.seconds,
        stopped=stopped,
        solvers=solvers,
    )


def counterfactual_of(verdict: Verdict) -> Counterfactual:
    """Return the counterfactual of a violated claim; ``ValueError`` for any other."""
    if verdict.witness is None or verdict.prediction is None:
        raise ValueError("only a violated claim has a counterfactual")
    return Counterfactual(verdict.witness, verdict.prediction, verdict.rival)


def _end(values: FloatArray) -> DomainEnd:
    if np.all(values == values[0]):
        return float(values[0])
    return tuple(values.tolist())


@cache
def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that a result rests on."""
    versions = {"python": platform.python_version()}
    for package in ("milp-verix", "numpy", "onnx", "onnxruntime"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = _NOT_INSTALLED
    return versions


def problem_behind(result: Result, network: LoadedModel) -> ProblemData:
    """Return the problem that ``result`` is about.

    Raises ``InputError`` where ``network`` is another file than the one explained, or predicts
    something else for the input.
    """
    network = loaded(network, result.inputs)
    result.refuse_other(network)
    problem = problem_of(network, result.input, Given(**question_in(result)))
    if problem.question.prediction != result.prediction:
        raise InputError(
            f"the network predicts {problem.question.prediction} for the input, the explanation "
            f"says {result.prediction}"
        )
    return problem


def question_in(result: Result) -> dict[str, Any]:
    """Return the options of the question that ``result`` answers."""
    question: dict[str, Any] = {
        "epsilon": result.epsilon if result.radii is None else result.radii,
        "norm": result.norm,
        "delta": result.delta,
        "output": result.output,
        "against": result.against,
    }
    if result.inputs is not None:
        return question | {"inputs": result.inputs}
    return question | {"domain": result.domain, "features": result.groups}


def stands(problem: ProblemData, free: Iterable[int], counterfactual: Counterfactual) -> bool:
    """Return whether the counterfactual changes the prediction and moves ``free`` features only.

    It lies in the ball by definition, and its prediction is the one recorded.
    """
    coordinates = problem.features.coordinates(sorted(free))
    if not problem.ball.contains(counterfactual.input.reshape(-1), coordinates):
        return False
    outputs, question = problem.network.outputs_at(counterfactual.input), problem.question
    recorded = counterfactual.prediction, counterfactual.rival
    found = question.predicted(outputs), question.rival(outputs)
    return question.changed(outputs) and recorded == found
