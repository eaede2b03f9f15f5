"""Sets of features as other tools give them: indices, masks, and results of our own."""

from collections.abc import Sequence, Set
from typing import Any, TypeAlias

from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.problem.features import FeaturesLike
from milp_verix.problem.problem import ProblemData, features_in
from milp_verix.results.explanation import Explanation

FeatureSetLike: TypeAlias = "Sequence[int | str] | Set[int | str] | NDArray[Any] | Explanation"
"""Features by index or name, a mask, or the features of an explanation."""


def groups_for(given: "FeatureSetLike | None", features: FeaturesLike) -> FeaturesLike:
    """Return ``features``, or the groups of the explanation ``given`` where these are None."""
    if not isinstance(given, Explanation) or features is not None:
        return features
    single = all(group == (index,) for index, group in enumerate(given.groups))
    return None if single else given.groups


def feature_set(given: FeatureSetLike, problem: ProblemData) -> tuple[int, ...]:
    """Return the features in the set ``given``, ascending.

    Besides the values of :func:`.features_in` it may be a result, about the same features, which go
    by name where both have names. Raises ``InputError`` as that does.
    """
    if not isinstance(given, Explanation):
        return features_in(given, problem, "explanation")
    features = problem.features
    own = tuple(tuple(group.tolist()) for group in features.groups)
    if own != given.groups:
        raise InputError(
            f"the explanation is about {len(given.groups)} features, the audit about "
            f"{features.count} that are grouped otherwise: leave features (--features) out"
        )
    names = given.feature_names
    if names is None or features.names is None:
        return given.explanation
    named = [names[feature] for feature in given.explanation]
    return tuple(sorted(features.indices(named, "explanation")))
