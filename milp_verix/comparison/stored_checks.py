"""Lists of checks in files, so that every solver can answer the same checks.

    {"schema": 1, "features": 64, "checks": [[0], [0, 5], ...]}

A check is the list of the features that are free; ``features`` is the number of all features.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypedDict

from milp_verix.base.arguments import indices_of
from milp_verix.base.errors import InputError, refusing
from milp_verix.base.files import write_atomically
from milp_verix.base.stored_kinds import Count, Indices
from milp_verix.base.stored_numbers import json_in
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import Answer
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import Request, Search
from milp_verix.results.explanation import Explanation

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
    """Return the checks that the sequential traversal to ``explanation`` asks, one a feature."""
    irrelevant = set(explanation.irrelevant)
    free: list[int] = []
    checks = []
    for feature in explanation.permutation:
        checks.append((*free, feature))
        if feature in irrelevant:
            free.append(feature)
    return tuple(checks)


def hard_checks(
    problem: PosedProblem, checks: Sequence[tuple[int, ...]], most: int, search: Search
) -> tuple[tuple[int, ...], ...]:
    """Return up to ``most`` of ``checks`` that bounds and attacks leave open, in their order.

    They are looked for at places spread over all of them, ever closer to each other.
    """
    whole = Request.now(problem, search).deadline
    quick = replace(search, exactness="bounds", reuse=False)
    found: list[int] = []
    with Oracle(problem, quick) as oracle:
        oracle.prepare(whole)
        for number in _spread(len(checks)):
            if len(found) == most or whole.passed():
                break
            coordinates = problem.features.coordinates(checks[number])
            if oracle.check(coordinates, whole).answer is Answer.UNKNOWN:
                found.append(number)
    return tuple(checks[number] for number in sorted(found))


def _spread(count: int) -> Iterator[int]:
    """Yield the numbers below ``count``, each once, by halving the gaps between them in turns."""
    bits = max(count - 1, 0).bit_length()
    for number in range(2**bits):
        place = int(f"{number:0{bits}b}"[::-1], 2) if bits else 0
        if place < count:
            yield place


def write_checks(path: str | Path, checks: Sequence[Sequence[int]], features: int) -> None:
    """Write ``checks`` on ``features`` features to ``path``; ``InputError`` where that fails."""
    lists = [indices_of(free, features) for free in checks]
    text = json.dumps({"schema": SCHEMA, "features": features, "checks": lists})
    write_atomically(Path(path), text + "\n")


def read_checks(path: str | Path, features: int) -> tuple[tuple[int, ...], ...]:
    """Return the checks in a file; ``InputError`` for one that holds none on ``features``."""
    told = f"cannot read the checks in {path}", f"{path} holds no checks: it is not JSON"
    with refusing(told[0]), refusing(told[1], ValueError):
        data = json_in(Path(path))
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
