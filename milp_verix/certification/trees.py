"""Trees of cases that prove the margins of a claim, found in float64 and checked exactly.

A margin that backward bounds prove has a tree of one leaf. Other margins are branched on phases
(:mod:`~milp_verix.oracle.engines.phase_search`), or on inputs if few are free
(:mod:`.input_cases`). Leaves suppose phases of some neurons, and hold
the slopes and multipliers that closed them. These are rounded to few digits, and to more where the
exact bound of the checker is not below zero.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from milp_verix.certification.input_cases import (
    SPARE,
    Ends,
    UnsplitError,
    input_splits,
    tree_of_splits,
)
from milp_verix.certification.neurons import Neurons
from milp_verix.clock import NO_LIMIT, Deadline
from milp_verix.oracle.engines.phase_search import PhaseNodes, PhaseSearch
from milp_verix.results.records.statistics import TIME_LIMIT
from verix_checker.claim import Claim
from verix_encodings.propagation.row_slopes import Relaxed, RowSlopes

Tree = dict[str, Any]
"""A leaf with ``slopes`` and ``multipliers``, or a split with ``below`` and ``above``."""

_DIGITS = (2, 4, 8)
_ROWS = 64
MOST_FREE = 32
"""The free inputs beyond which they are not split."""

FIRST_TURN = 2.0
"""The seconds of the first turn of a search."""

# the ratio of one turn to the next
_LONGER = 4.0


class NoProofError(Exception):
    """Raised where no tree is found; the message says why."""


def trees_of(claim: Claim, deadline: Deadline = NO_LIMIT) -> list[Tree]:
    """Return a tree for each margin of ``claim`` that the checker accepts.

    Raises ``NoProofError`` if the deadline passes, or no cases are found that prove a margin.
    """
    trees: dict[int, Tree] = {}
    margins = range(len(claim.margins))
    ends = claim.low, claim.high
    for margin in margins:
        with suppress(ValueError):
            trees[margin] = _exact_leaf(claim, margin, Leaf(), ends)
        if deadline.passed():
            raise NoProofError(TIME_LIMIT)
    left = [margin for margin in margins if margin not in trees]
    trees |= _searched(claim, left, deadline) if left else {}
    return [trees[margin] for margin in margins]


def _searched(claim: Claim, margins: list[int], deadline: Deadline) -> dict[int, Tree]:
    """Return trees of phases or of inputs, searched for in turns that grow; or ``NoProofError``."""
    ends = claim.low, claim.high
    ways: list[Callable[[Deadline], dict[int, Tree]]] = [
        lambda turn: _by_phases(claim, margins, ends, deadline, turn)
    ]
    free = {v for v in range(1 + claim.net.size) if claim.low[v] < claim.high[v]}
    if len(free) <= MOST_FREE:
        whole = bool(free & {*claim.ball.whole})
        ways.insert(0 if whole else 1, lambda turn: _by_inputs(claim, margins, deadline, turn))
    seconds, reason = FIRST_TURN, ""
    while ways:
        for way in tuple(ways):
            try:
                return way(deadline if len(ways) == 1 else deadline.within(seconds))
            except NoProofError as error:
                reason = str(error)
                if deadline.passed():
                    raise
                if reason != TIME_LIMIT:
                    ways.remove(way)
        seconds *= _LONGER
    raise NoProofError(reason)


def _by_phases(
    claim: Claim, margins: list[int], ends: Ends, deadline: Deadline, turn: Deadline
) -> dict[int, Tree]:
    """Return trees of phases that prove ``margins`` within ``ends``; or ``NoProofError``.

    They are searched for until ``turn`` has passed, and proven until ``deadline`` has.
    """

    def proven(margin: int, leaf: Leaf) -> Tree:
        if deadline.passed():
            raise NoProofError(TIME_LIMIT)
        try:
            return _exact_leaf(claim, margin, leaf, ends)
        except ValueError as error:
            raise NoProofError(f"exact arithmetic does not confirm a case: {error}") from error

    return {
        margin: _tree(claim, leaves, {}, partial(proven, margin))
        for margin, leaves in _leaves(claim, margins, ends, turn).items()
    }


def _by_inputs(
    claim: Claim, margins: list[int], deadline: Deadline, turn: Deadline
) -> dict[int, Tree]:
    """Return trees of inputs, and of phases below them, as :func:`_by_phases` does."""

    def leaf(margin: int, within: Ends) -> Tree:
        if deadline.passed():
            raise NoProofError(TIME_LIMIT)
        ends = claim.bounds(*within)
        with suppress(ValueError):
            return _exact_leaf(claim, margin, Leaf(), ends)
        return _by_phases(claim, [margin], ends, deadline, deadline)[margin]

    try:
        splits = {margin: input_splits(claim, margin, turn) for margin in margins}
    except UnsplitError as error:
        raise NoProofError(str(error)) from error
    return {
        margin: tree_of_splits(claim, found, partial(leaf, margin))
        for margin, found in splits.items()
    }


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A case: supposed signs, slopes and multipliers of neurons, by the checker's variables."""

    signs: Mapping[int, int] = field(default_factory=dict)
    slopes: Mapping[int, float] = field(default_factory=dict)
    multipliers: Mapping[int, float] = field(default_factory=dict)


def _leaves(
    claim: Claim, margins: list[int], ends: Ends, deadline: Deadline
) -> dict[int, list[Leaf]]:
    """Search for cases that prove the ``margins``; ``NoProofError`` if there are none."""
    neurons = Neurons.of(claim, margins, ends)
    network, region, last = neurons.network, neurons.region, neurons.bounds[-1]
    closed: list[PhaseNodes] = []
    search = PhaseSearch(
        network,
        region,
        neurons.bounds,
        np.full(len(margins), np.inf),  # no margin is to be closed without a node
        SPARE * last.magnitude,
        lambda point: bool(np.max(network.evaluate(point)) >= 0),
        closed,
    )
    relaxed = Relaxed.of(network, neurons.bounds)
    found: dict[int, list[Leaf]] = {margin: [] for margin in margins}
    with np.errstate(over="ignore", invalid="ignore"):
        if not search.run(deadline.passed):
            raise NoProofError(reason_of(search, deadline))
        nodes = PhaseNodes.joined(closed)
        for start in range(0, len(nodes), _ROWS):
            group = nodes[start : start + _ROWS]
            ways = np.eye(len(margins))[group.margin]
            rows = RowSlopes(relaxed, ways, group.dials, group.signs)
            rows.extremes(region)
            for row, margin in enumerate(group.margin):
                found[margins[margin]].append(_leaf(neurons, rows, row))
    return found


def _leaf(neurons: Neurons, rows: RowSlopes, row: int) -> Leaf:
    """Return the case of one row; slopes that the checker chooses itself are left out."""
    signs: dict[int, int] = {}
    slopes: dict[int, float] = {}
    multipliers: dict[int, float] = {}
    for layer in rows.relaxed.layers:
        variables = neurons.variables[layer.source][layer.free].tolist()
        dials, usual = rows.dials[row, layer.places], layer.slopes[layer.free]
        sign = rows.signs[row, layer.places]
        met = rows.met[layer.value][row, layer.free] if layer.value in rows.met else 0 * dials
        for place in np.flatnonzero(sign):
            signs[variables[place]] = int(sign[place])
            if dials[place] > 0:
                multipliers[variables[place]] = float(dials[place])
        for place in np.flatnonzero((sign == 0) & (met < 0) & (dials != usual)):
            slopes[variables[place]] = float(dials[place])
    return Leaf(signs, slopes, multipliers)


def reason_of(search: PhaseSearch, deadline: Deadline) -> str:
    """Return why a search has not proven all margins."""
    if search.tried.found:
        return "a point of the ball has another prediction in float64"
    if deadline.passed():
        return TIME_LIMIT
    return "phases are split, and bounds still leave a margin open"


def _tree(
    claim: Claim, leaves: list[Leaf], cases: dict[int, int], proven: Callable[[Leaf], Tree]
) -> Tree:
    """Return the tree with these leaves, each ``proven``, below the ``cases``."""
    common = set.intersection(*(set(leaf.signs) for leaf in leaves)) - set(cases)
    if not common:
        return proven(leaves[0])
    variable = min(common)  # the root of a tree of decisions is in each of its leaves
    halves = {}
    for side, sign in (("below", -1), ("above", 1)):
        half = [leaf for leaf in leaves if leaf.signs[variable] == sign]
        halves[side] = _tree(claim, half, {**cases, variable: sign}, proven)
    return {"neuron": variable - claim.net.size - 1, **halves}


def _exact_leaf(claim: Claim, margin: int, leaf: Leaf, ends: Ends) -> Tree:
    """Return the leaf as the checker reads it, with the fewest digits that it accepts.

    Raises ``ValueError`` where it accepts none.
    """
    low, high = ends[0][:], ends[1][:]
    for variable, sign in leaf.signs.items():
        low[variable] = max(low[variable], 0) if sign > 0 else low[variable]
        high[variable] = min(high[variable], 0) if sign < 0 else high[variable]
    for digits in _DIGITS:
        tree = {
            "slopes": _named(claim, {v: round(s, digits) for v, s in leaf.slopes.items()}),
            "multipliers": _named(
                claim, {v: float(f"{m:.{digits}g}") for v, m in leaf.multipliers.items()}
            ),
        }
        as_read = json.loads(json.dumps(tree), parse_float=Fraction)
        try:
            claim.leaves(claim.margins[margin], as_read, low, high, leaf.signs)
        except ValueError:
            if digits == _DIGITS[-1] or not (leaf.slopes or leaf.multipliers):
                raise
            continue
        break
    return tree


def _named(claim: Claim, dials: Mapping[int, float]) -> dict[str, float]:
    """Return numbers by the names of neurons in a certificate, zero multipliers left out."""
    return {
        str(variable - claim.net.size - 1): int(dial) if dial == int(dial) else dial
        for variable, dial in dials.items()
    }
