"""The cases of a lower bound, as a result keeps them: what a search splits, without its numbers.

A tree of cases covers all sets of features, whatever is split in it: a feature is out or in, a
neuron of a scenario is inactive or active. So a stored tree needs no trust: the search that begins
with it bounds each of its leaves anew, over scenarios that are inputs of the ball.

A tree is a tuple of texts, each case before its halves: ``""`` for a leaf; ``"12"`` where feature
12 is out, then in; ``"3:2:17"`` where the 17th phase of node 2 is 0, then 1, under scenario 3.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from milp_verix.results.earlier import EarlierResultError
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.encoding import Constraint, Scenario
from verix_encodings.program import Program
from verix_encodings.program_files import blocks

Fixings: TypeAlias = tuple[IntArray, FloatArray]
"""Columns of a program, and the value, 0 or 1, at which each is fixed."""

NO_FIXINGS: Fixings = (np.zeros(0, dtype=np.intp), np.zeros(0))

Splits = dict[int, tuple[int, int]]
"""For each case that is split, its column, and the number of its first half; then the second."""


def column_names(program: Program, constraints: Sequence[Constraint]) -> dict[int, str]:
    """Return how stored trees name the columns that branching fixes, of a program of scenarios."""
    scenario = np.cumsum([isinstance(one, Scenario) for one in constraints]) - 1
    result = dict[int, str]()
    for prefix, (places, numbers) in blocks(program.column_labels).items():
        if prefix == "A":
            result |= zip(places.tolist(), map(str, numbers), strict=True)
        elif prefix.startswith("d_"):
            constraint, node = prefix.removeprefix("d_").split("_")
            names = (f"{scenario[int(constraint)]}:{node}:{number}" for number in numbers)
            result |= zip(places.tolist(), names, strict=True)
    return result


def stored_cases(splits: Splits, names: Mapping[int, str]) -> tuple[str, ...]:
    """Return the tree of ``splits``, whose root is case 0."""
    cases, left = list[str](), [0]
    while left:
        column, first = splits.get(case := left.pop(), (-1, case))
        cases.append(names.get(column, ""))
        left += [first + 1, first] if column >= 0 else []
    return tuple(cases)


def read_cases(cases: Sequence[str], names: Mapping[int, str]) -> tuple[Splits, dict[int, Fixings]]:
    """Return the splits of a stored tree, and what each leaf fixes; empty without a tree.

    A split of what ``names`` does not have makes a leaf. Raises ``EarlierResultError`` where
    ``cases`` are no tree.
    """
    columns = {name: column for column, name in names.items()}
    splits, leaves = Splits(), dict[int, Fixings]()
    left: list[tuple[int, Fixings] | None] = [(0, NO_FIXINGS)]
    for name in cases:
        if not left:
            raise EarlierResultError("resume: the cases of the lower bound are no tree")
        here, column = left.pop(), columns.get(name)
        if here is not None and column is not None:
            case, (fixed, values) = here
            first = 2 * (len(splits) + 1)
            splits[case] = column, first
            more = np.append(fixed, column)
            left += [(first + end, (more, np.append(values, float(end)))) for end in (1, 0)]
            continue
        if here is not None:
            leaves[here[0]] = here[1]
        left += [None, None] if name else []
    if cases and left:
        raise EarlierResultError("resume: the cases of the lower bound are no tree")
    return splits, leaves
