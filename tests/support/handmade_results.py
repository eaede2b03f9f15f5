"""Explanations made by hand: what is drawn and told does not depend on a solver."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix import Explanation
from milp_verix.base.stored_kinds import DomainEnd, Prediction
from milp_verix.oracle.verdict import Statistics
from milp_verix.results.base import Counterfactual, ModelInfo

SHA = "0123456789abcdef" * 4


def made(
    shape: tuple[int, ...],
    *,
    x: NDArray[Any] | None = None,
    prediction: Prediction = 2,
    changed: Prediction | Mapping[int, Prediction] = 5,
    explained: Sequence[int] = (),
    undecided: Mapping[int, str] | None = None,
    groups: Sequence[Sequence[int]] | None = None,
    sensitivity: Sequence[float] | None = None,
    epsilon: float = 0.1,
    delta: float | None = None,
    output: int | None = None,
    domain: tuple[DomainEnd, DomainEnd] = (0.0, 1.0),
    file: str = "model.onnx",
    statistics: Statistics | None = None,
    notes: tuple[str, ...] = (),
    **more: Any,
) -> Explanation:
    """Return an explanation by ``explained``, each with a counterfactual, and ``undecided``.

    ``more`` are fields of an explanation that most have no use for.
    """
    size = int(np.prod(shape))
    if x is None:
        x = np.linspace(0, 1, size)
    x = np.asarray(x, dtype=np.float32).reshape(shape)
    if groups is None:
        groups = [[i] for i in range(size)]
    reasons = dict(undecided or {})
    inside = sorted([*explained, *reasons])

    def counterfactual(feature: int) -> Counterfactual:
        witness = x.copy()
        witness.reshape(-1)[list(groups[feature])] += np.float32(epsilon)
        new = changed[feature] if isinstance(changed, Mapping) else changed
        return Counterfactual(witness, new)

    return Explanation(
        model=ModelInfo(file, SHA, shape, "float32", False, SHA),
        input=x,
        prediction=prediction,
        epsilon=epsilon,
        norm="linf",
        delta=delta,
        domain=domain,
        groups=tuple(tuple(group) for group in groups),
        feature_shape=None,
        order="sequential" if sensitivity is None else "sensitivity",
        permutation=tuple(range(len(groups))),
        sensitivity=None if sensitivity is None else tuple(sensitivity),
        solver="highs",
        explanation=tuple(inside),
        irrelevant=tuple(i for i in range(len(groups)) if i not in inside),
        unknown_reasons=reasons,
        counterfactuals={feature: counterfactual(feature) for feature in sorted(explained)},
        statistics=statistics or Statistics(checks=len(groups), solves=7, bounded=3, seconds=1.5),
        notes=notes,
        versions={"highs": "1.11.0"},
        output=output,
        **more,
    )
