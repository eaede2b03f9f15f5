"""Inflated explanations: the widest proven ranges of kept features, as a function.

A few proven rules that cover a table: inflated explanations of some rows, chosen greedily.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from milp_verix.base.arguments import integer_of, seconds_of
from milp_verix.base.clock import deadline_in
from milp_verix.base.errors import InputError
from milp_verix.inputs.inputs import Inputs, inputs_of
from milp_verix.inputs.radii import Epsilon, radii_of
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import NetworkLike, loaded
from milp_verix.problem.problem import ProblemData, problem_of
from milp_verix.problem.search import USUAL, Given, Request, Search
from milp_verix.results.answers import Rules
from milp_verix.results.ranges import Ranges
from milp_verix.searches.explain_search import explain_problem
from milp_verix.searches.feature_sets import FeatureSetLike, feature_set
from milp_verix.searches.ranges.axes import axes_of
from milp_verix.searches.ranges.ranges_search import RangesProgress, RangesSearch
from milp_verix.searches.ranges.regions import Numbers, Regions, rows_inside, rows_of
from verix_encodings.arrays import BoolArray, FloatArray
from verix_encodings.bounds.interval import Late
from verix_encodings.network import batch_outputs


def inflate_problem(
    problem: ProblemData,
    explanation: "FeatureSetLike | None" = None,
    *,
    rows: Any = None,
    within: Epsilon = np.inf,
    resolution: float = 0.01,
    search: Search = USUAL,
    progress: Callable[[RangesProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Ranges]], None] | None = None,
) -> Ranges:
    """Answer :func:`milp_verix.inflate`, which describes the arguments."""
    run = ranges_search(
        problem, explanation, rows=rows, within=within, resolution=resolution, search=search
    )
    return run.run(progress, snapshots)


def ranges_search(
    problem: ProblemData,
    explanation: "FeatureSetLike | None",
    *,
    rows: Any,
    within: Epsilon,
    resolution: float,
    search: Search,
) -> RangesSearch:
    """Return the search for ranges that :func:`inflate_problem` runs."""
    search.require_only("inflate", "the search for ranges")
    if problem.ball.norm != "linf":
        raise InputError(
            f"ranges are intervals, and take the norm 'linf' alone, not {problem.ball.norm!r}"
        )
    if not 0 < resolution < 1:
        raise InputError(
            f"resolution is a share of a feature's room, above 0 and below 1; got {resolution}"
        )
    request = Request.now(problem, search)
    given, notes = rows_of(problem, rows)
    if explanation is None:
        explanation = explain_problem(problem, search=search)
    kept = feature_set(explanation, problem)
    axes = axes_of(problem, kept, _radii(problem, within), float(resolution))
    return RangesSearch(request, Regions(problem, axes), float(resolution), given, notes)


def _radii(problem: ProblemData, within: Epsilon) -> FloatArray:
    """Return how far each feature may move at most, shape (features,)."""
    if problem.inputs is not None:
        return np.array(radii_of(problem.inputs, within, "within"))
    if not isinstance(within, int | float) or not within >= 0:
        raise InputError(
            f"within is a number that is not negative, got {within!r}: radii by name and shares "
            "need a description, inputs="
        )
    return np.full(problem.features.count, float(within))


_TRIES = 3
"""Rows that are explained for each rule."""
_DRAWN = 50
"""Rows drawn before it is given up to find one that no rule covers and that can be explained."""


def rules_of_table(
    network: NetworkLike,
    rows: Any,
    *,
    count: int = 12,
    tries: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    memory: float | str | None = None,
    **question: Any,
) -> Rules:
    """Answer :func:`milp_verix.find_rules`, which describes the arguments."""
    started, deadline = time.monotonic(), deadline_in(seconds_of(time_limit, "time_limit"))
    integer_of(count, "count")
    integer_of(seed, "seed", least=0)
    tried = _TRIES * count if tries is None else integer_of(tries, "tries")
    search = Search(time_limit=deadline, memory=memory)
    network = loaded(network, inputs_of(question.get("inputs")))
    table, described, notes = _numbers(network, rows, question)
    question = {**question, "inputs": described}
    classes = _classes(network, table, deadline.passed)
    draw, left = np.random.default_rng(seed), np.ones(len(table), dtype=bool)
    candidates: list[tuple[Ranges, BoolArray]] = []
    done = 0
    while done < tried and left.any() and not deadline.passed():
        row = int(draw.choice(np.flatnonzero(left)))
        left[row] = False
        worth = table[(classes == classes[row]) & left]
        done += 1
        try:
            problem = problem_of(network, table[row], Given(**question))
        except InputError:  # outside the domain, or against rules
            continue
        if (found := _rule(problem, worth, table, search)) is not None:
            candidates.append(found)
            left &= ~found[1]
    chosen, covered = _cover(candidates, len(table), count)
    seconds = time.monotonic() - started
    chosen = [replace(rule, notes=(*rule.notes, *notes)) for rule in chosen]
    return Rules(tuple(chosen), tuple(covered), len(table), done, seconds)


def _numbers(
    network: LoadedModel, rows: Any, question: Mapping[str, Any]
) -> tuple[FloatArray, Inputs | None, tuple[str, ...]]:
    """Return all rows as the network's numbers, their description as it has it, and notes."""
    if not hasattr(rows, "__len__") or getattr(rows, "ndim", 1) == 0 or not len(rows):
        raise InputError(f"rows are a table of inputs with a row or more, got {rows!r:.60}")
    given = rows if hasattr(rows, "iloc") or isinstance(rows, np.ndarray) else [*rows]
    reason: InputError | None = None
    for index in range(min(len(rows), _DRAWN)):
        one = given.iloc[index] if hasattr(given, "iloc") else given[index]
        try:
            problem = problem_of(network, one, Given(**question))
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


def _rule(
    problem: ProblemData, worth: FloatArray, table: FloatArray, search: Search
) -> tuple[Ranges, BoolArray] | None:
    """Return the rule of a row, and the rows of ``table`` that it covers; None without one."""
    explanation = explain_problem(problem, search=search)
    run = ranges_search(
        problem, explanation, rows=Numbers(worth), within=np.inf, resolution=0.01, search=search
    )
    found = run.run(None, None)
    if found.unknown_reason is not None:
        return None
    assert run.state is not None
    inside = rows_inside(run.regions, run.state, table, found)
    return replace(found, rows=len(table), inside=int(inside.sum())), inside


def _cover(
    candidates: list[tuple[Ranges, BoolArray]], rows: int, count: int
) -> tuple[list[Ranges], list[int]]:
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
