"""What results beside :class:`~milp_verix.Explanation` share: which prediction they are about."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.problem import Problem
from milp_verix.records.explanation import DomainEnd, ModelInfo, Prediction, Statistics
from milp_verix.records.verdict import Effort
from verix_encodings.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Finding:
    """The prediction and the ball that a result is about; the names are those of an explanation.

    ``input`` has the network's input shape and dtype; feature numbers refer to ``groups``;
    ``statistics`` say what it took, and what stopped it early, if anything. ``image_shape`` is the
    shape in which the input is an image, None where its own shape says it; ``feature_names``
    are those that the user gave, or None.
    """

    model: ModelInfo
    input: NDArray[Any]
    prediction: Prediction
    epsilon: float
    norm: str
    delta: float | None
    output: int | None
    domain: tuple[DomainEnd, DomainEnd]
    groups: tuple[tuple[int, ...], ...]
    feature_shape: tuple[int, ...] | None
    solver: str
    statistics: Statistics
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    image_shape: tuple[int, ...] | None = None
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        self.input.flags.writeable = False


def posed(problem: Problem, oracle: Oracle) -> dict[str, Any]:
    """Return the fields that a :class:`Finding` about ``problem`` has from the start."""
    network, ball = problem.network, problem.ball
    return {
        "model": ModelInfo(
            network.name,
            network.sha256,
            network.input_shape,
            str(network.dtype),
            network.softmax_stripped,
            network.sigmoid_stripped,
        ),
        "input": problem.x.reshape(network.input_shape),
        "prediction": problem.question.prediction,
        "epsilon": ball.epsilon,
        "norm": ball.norm,
        "delta": getattr(problem.question, "delta", None),
        "output": problem.output,
        "domain": (_end(ball.domain_lower), _end(ball.domain_upper)),
        "groups": tuple(tuple(int(i) for i in group) for group in problem.features.groups),
        "feature_shape": problem.features.shape,
        "feature_names": problem.features.names,
        "solver": oracle.solver,
        "notes": network.notes + problem.notes + oracle.notes,
        "versions": {oracle.solver: oracle.solver_version},
        "image_shape": problem.image_shape,
    }


def spent(effort: Effort, checks: int, seconds: float, stopped: str | None) -> Statistics:
    """Return the statistics of a search."""
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
    )


def _end(values: FloatArray) -> DomainEnd:
    if np.all(values == values[0]):
        return float(values[0])
    return tuple(float(value) for value in values)
