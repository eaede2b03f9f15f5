"""The tests of a run: ``--seeds N``, the one number that says how thorough it is.

A test with an argument named ``seed`` is asked about the first N of the seeds in its
``parametrize``, for each value of its other arguments. A test that draws as many cases as it is
given takes an argument whose name ends in ``_seed``: it gets the seeds 0 to N - 1. Tests marked
``slow`` and ``nightly`` need at least as many seeds as :data:`MARKS` says. ``--after M`` leaves out
what a run with ``--seeds M`` has, for the second of two runs.
"""

from collections import Counter
from collections.abc import Iterable

import pytest

DEFAULT = 2
MARKS = {"slow": 4, "nightly": 200}
"""The number of seeds from which on a run has the tests with this mark; CI's, and that of night."""


def chosen(
    items: Iterable[pytest.Item], seeds: int, asked: str = ""
) -> tuple[list[pytest.Item], dict[str, list[pytest.Item]]]:
    """Return the tests of a run with ``seeds``, and the others by the reason that leaves them out.

    A mark in ``asked``, the expression of ``-m``, leaves nothing out: it chooses already.
    """
    kept: list[pytest.Item] = []
    left_out: dict[str, list[pytest.Item]] = {}
    used = Counter[object]()
    marks = [name for name, least in MARKS.items() if least > seeds and name not in asked]
    for item in items:
        reason = next((name for name in marks if item.get_closest_marker(name)), None)
        if reason is None and any(seed >= seeds for seed in _drawn(item)):
            reason = "more seeds"
        if reason is None and (group := _without_seed(item)) is not None:
            used[group] += 1
            reason = "more seeds" if used[group] > seeds else None
        (kept if reason is None else left_out.setdefault(reason, [])).append(item)
    return kept, left_out


def repeated(items: Iterable[pytest.Item], before: int) -> list[pytest.Item]:
    """Return those of ``items`` that a run with ``--seeds before`` has; none before the first."""
    return chosen(items, before)[0] if before else []


def told(left_out: dict[str, int], seeds: int) -> str:
    """Return the line about what ``seeds`` left out: ``left_out`` has a number for each reason."""
    parts = [f"{count} {reason}" for reason, count in sorted(left_out.items())]
    more = next((number for number in MARKS.values() if number > seeds), None)
    hint = "" if more is None else f"; --seeds {more} runs more"
    return f"left out by --seeds {seeds}: {', '.join(parts)}{hint}"


def _drawn(item: pytest.Item) -> list[int]:
    """Return the seeds of a test that draws its cases by those that a run gives it."""
    call = getattr(item, "callspec", None)
    return [seed for name, seed in call.params.items() if name.endswith("_seed")] if call else []


def _without_seed(item: pytest.Item) -> object:
    """Return what tests that differ in their seed alone have in common; None without a seed."""
    call = getattr(item, "callspec", None)
    if call is None or "seed" not in call.params:
        return None
    # values need not be hashable
    others = tuple((name, repr(value)) for name, value in call.params.items() if name != "seed")
    return item.location[0], item.originalname, others
