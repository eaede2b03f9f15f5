"""A few proven rules that cover a table: inflated explanations of some rows, chosen greedily."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from milp_verix.base.arguments import integer_of
from milp_verix.base.clock import deadline_in
from milp_verix.base.errors import InputError
from milp_verix.inputs.inputs import Inputs, inputs_of
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import NetworkLike, loaded
from milp_verix.problem.options import Given
from milp_verix.problem.problem import PosedProblem, pose
from milp_verix.problem.search import Search
from milp_verix.results.answers import Rules
from milp_verix.results.ranges import Ranges
from milp_verix.searches.explain.explain import explain_problem
from milp_verix.searches.ranges.inflate import ranges_search
from milp_verix.searches.ranges.regions import Numbers, rows_of
from milp_verix.searches.ranges.result import rows_inside
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.bounds.interval import Late
from verix_encodings.network import batch_outputs

_TRIES = 3
"""Rows that are explained for each rule."""
_DRAWN = 50
"""Rows drawn before it is given up to find one that no rule covers and that can be explained."""


def rules_of_table(
    network: NetworkLike,
    rows: Any,
    asked: Mapping[str, Any],
    *,
    count: int = 12,
    tries: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    memory: float | str | None = None,
) -> Rules:
    """Find a few proven rules that cover the rows of a table.

    Rows that no rule covers yet are drawn one after the other, explained, and inflated towards the
    other rows of their class (:func:`milp_verix.inflate`). Out of all rules found, those are chosen
    that add the most rows, greedily: a cover within a factor ``1 − 1/e`` of the best choice of as
    many of these rules (Nemhauser, Wolsey, Fisher, 1978). Each rule is a proof about every input in
    its ranges, not about the rows alone.

    ``asked`` are the options of the question; ``epsilon=math.inf`` lets all features outside a rule
    take any value.

    Raises:
        InputError: an argument does not fit, or no row is an input of the question.
        ModelError: the network cannot be read or encoded.
    """
    started, deadline = time.monotonic(), deadline_in(np.inf if time_limit is None else time_limit)
    integer_of(count, "count")
    tried = _TRIES * count if tries is None else integer_of(tries, "tries")
    search = Search(time_limit=cast(Any, deadline), memory=memory)
    network = loaded(network, inputs_of(asked.get("inputs")))
    table, described, notes = _numbers(network, rows, asked)
    asked = {**asked, "inputs": described}
    classes = _classes(network, table, deadline.passed)
    draw, left = np.random.default_rng(seed), np.ones(len(table), dtype=bool)
    candidates: list[tuple[Ranges, BoolArray]] = []
    done = 0
    while done < tried and left.any() and not deadline.passed():
        row = int(draw.choice(np.flatnonzero(left)))
        left[row] = False
        worth = table[(classes == classes[row]) & left]
        found = _rule(_posed(network, table[row], asked), worth, table, search)
        done += 1
        if found is not None:
            candidates.append(found)
            left &= ~found[1]
    chosen, covered = _cover(candidates, len(table), count)
    seconds = time.monotonic() - started
    chosen = [replace(rule, notes=(*rule.notes, *notes)) for rule in chosen]
    return Rules(tuple(chosen), tuple(covered), len(table), done, seconds)


def _numbers(
    network: LoadedModel, rows: Any, asked: Mapping[str, Any]
) -> tuple[FloatArray, Inputs | None, tuple[str, ...]]:
    """Return all rows as numbers of the network, their description as it has it, and notes.

    The first rows say if the question can be asked.
    """
    if not hasattr(rows, "__len__") or getattr(rows, "ndim", 1) == 0 or not len(rows):
        raise InputError(f"rows are a table of inputs with a row or more, got {rows!r:.60}")
    given = rows if hasattr(rows, "iloc") or isinstance(rows, np.ndarray) else [*rows]
    reason: InputError | None = None
    for index in range(min(len(rows), _DRAWN)):
        one = given.iloc[index] if hasattr(given, "iloc") else given[index]
        try:
            problem = pose(network, one, Given(**asked))
        except InputError as error:
            reason = reason or error
            continue
        table, notes = rows_of(problem, given)
        assert table is not None
        seen = problem.inputs  # what stands for a domain is made of it again
        return table, None if seen is not None and seen.of_domain else seen, notes
    raise InputError(f"none of the first rows is an input of the question: {reason}")


def _classes(network: LoadedModel, table: FloatArray, late: Late) -> FloatArray:
    """Return a number for the prediction of each row, by which rows are grouped; (R,)."""
    scores = batch_outputs(network.ir, table.T, late)
    found = (scores[0] > 0) if len(scores) == 1 else np.argmax(scores, axis=0)
    return np.asarray(found, dtype=np.float64)


def _posed(network: LoadedModel, row: FloatArray, asked: Mapping[str, Any]) -> PosedProblem | None:
    """Return the question about a row; None for one outside the domain, or that breaks rules."""
    try:
        return pose(network, row, Given(**asked))
    except InputError:
        return None


def _rule(
    problem: PosedProblem | None, worth: FloatArray, table: FloatArray, search: Search
) -> tuple[Ranges, BoolArray] | None:
    """Return the rule of a row, and the rows of ``table`` that it covers; None without one."""
    if problem is None:
        return None
    explanation = explain_problem(problem, search=search)
    run = ranges_search(
        problem, explanation, rows=Numbers(worth), within=np.inf, resolution=0.01, search=search
    )
    found = run.run(None, None)
    if found.unknown_reason is not None:
        return None
    return found, rows_inside(run, table, found)


def _cover(
    candidates: list[tuple[Ranges, BoolArray]], rows: int, count: int
) -> tuple[list[Ranges], list[int]]:
    """Choose the rules that add the most rows, one after the other."""
    left, chosen, covered = np.ones(rows, dtype=bool), list[Ranges](), list[int]()
    while candidates and len(chosen) < count:
        gains = [int((mask & left).sum()) for _, mask in candidates]
        best = int(np.argmax(gains))
        if not gains[best]:
            break
        rule, mask = candidates.pop(best)
        left &= ~mask
        chosen.append(rule)
        covered.append(rows - int(left.sum()))
    return chosen, covered
