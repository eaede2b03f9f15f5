"""Explanations of described inputs made by hand, with features of every kind."""

from dataclasses import replace
from typing import Any

import numpy as np

from milp_verix import Explanation, Inputs, binary, category, continuous, fixed, integer, ordinal
from milp_verix.inputs.feature import Feature
from milp_verix.results.base import Counterfactual
from tests.support.handmade_results import made


def _features(prefix: str) -> list[Feature]:
    return [
        integer(f"{prefix}age", 18, 75, "years"),
        continuous(f"{prefix}wage", -1e6, np.inf),
        binary(f"{prefix}arrears"),
        category(f"{prefix}contract", ["permanent", "fixed-term", "none"], one_hot=True),
        ordinal(f"{prefix}school", ["none", "primary", "secondary", "university"], first=1),
        fixed(f"{prefix}place"),
    ]


_X = [40, -1234.5, 1, 0, 1, 0, 2, 7]
_AFTER = [18, 5.25, 0, 1, 0, 0, 4, 7]


def described(
    *,
    named: bool = True,
    long: bool = False,
    times: int = 1,
    radii: tuple[float, ...] | None = None,
    **more: Any,
) -> Explanation:
    """Return an explanation of ``times`` six features; each counterfactual changes all of them."""
    prefixes = [f"{'a-rather-' * 5 * long}{i if times > 1 else ''}" for i in range(times)]
    features = [feature for prefix in prefixes for feature in _features(prefix)]
    if long:
        words = [f"{'long-' * 9}{word}" for word in ("yes", "no")]
        features[2] = binary(features[2].name, words)
    inputs = Inputs(features, class_names=["no", "perhaps", "yes"] if named else [])
    x, after = (np.array(values * times, dtype=np.float32) for values in (_X, _AFTER))
    found = made(
        x.shape,
        x=x,
        inputs=inputs,
        radii=radii or (np.inf,) * len(features),
        groups=inputs.listed,
        feature_names=inputs.names,
        domain=(-np.inf, np.inf),
        **{"changed": 0, **more},
    )
    points = {
        feature: Counterfactual(after.copy(), point.prediction)
        for feature, point in found.counterfactuals.items()
    }
    return replace(found, counterfactuals=points)
