"""Lists of checks in files, so that every solver can answer the same checks.

    {"schema": 1, "features": 64, "checks": [[0], [0, 5], ...]}

A check is the list of the features that are free; ``features`` is the number of all features.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypedDict

from milp_verix.arguments import indices_of
from milp_verix.atomic_write import write_atomically
from milp_verix.errors import InputError
from milp_verix.results.records.explanation import Explanation
from milp_verix.results.records.kinds import Count, Indices
from milp_verix.stored_numbers import json_in

SCHEMA = 1


class ChecksFile(TypedDict):
    """Written by ``compare --save-checks``, and read by ``compare --checks``.

    Attributes:
        schema: Number of the format.
        features: Number of features.
        checks: The free features of each check.
    """

    schema: Literal[1]
    features: Count
    checks: list[Indices]


def checks_of(explanation: Explanation) -> tuple[tuple[int, ...], ...]:
    """Return the checks that decide ``explanation``, one for each feature in the order.

    They are the checks of the sequential traversal: a feature with the irrelevant ones before it.
    """
    irrelevant = set(explanation.irrelevant)
    free: list[int] = []
    checks = []
    for feature in explanation.permutation:
        checks.append((*free, feature))
        if feature in irrelevant:
            free.append(feature)
    return tuple(checks)


def write_checks(path: str | Path, checks: Sequence[Sequence[int]], features: int) -> None:
    """Write ``checks`` on ``features`` features to ``path``; ``InputError`` where that fails."""
    lists = [indices_of(free, features) for free in checks]
    text = json.dumps({"schema": SCHEMA, "features": features, "checks": lists})
    write_atomically(Path(path), text + "\n")


def read_checks(path: str | Path, features: int) -> tuple[tuple[int, ...], ...]:
    """Return the checks in a file; ``InputError`` for one that holds none on ``features``."""
    try:
        data = json_in(Path(path))
    except OSError as error:
        raise InputError(f"cannot read the checks in {path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} holds no checks: it is not JSON ({error})") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or "checks" not in data:
        raise InputError(
            f'{path} holds no checks: expected {{"schema": {SCHEMA}, "features": N, '
            '"checks": [[free features], ...]}'
        )
    if data.get("features") != features:
        raise InputError(
            f"the checks in {path} are on {data.get('features')} features, here are {features}"
        )
    return as_checks(data["checks"], lambda free: indices_of(free, features))


def as_checks(
    given: Sequence[Sequence[int | str]], indices: Callable[[Sequence[int | str]], list[int]]
) -> tuple[tuple[int, ...], ...]:
    """Return ``given`` as checks; ``InputError`` unless it lists lists of distinct features.

    ``indices`` returns the indices of the features in such a list.
    """
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError("checks are a list of lists of features")
    if not given:
        raise InputError("the list of checks is empty: there is nothing to compare")
    return tuple(tuple(indices(free)) for free in given)
