"""Odd arguments of calls that write files, change models or ask many questions."""

import tempfile
from collections.abc import Callable
from contextlib import chdir
from typing import Any

import pandas as pd
import pulp

import milp_verix as mv
from tests.fuzz.arguments import NAMES, Calls, models, tries_of
from tests.fuzz.trials import LIMIT, Try

Sort = tuple[Calls, Any, dict[Callable[..., Any], tuple[str, ...]]]


def _study(**asked: Any) -> object:
    """Run a study in a folder of its own, and read its journal."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        told = mv.explain_many(**asked)
        mv.read_study(asked["journal"])
        return told


def _embedded(**asked: Any) -> object:
    """Embed a network in a new model of PuLP; a function of the user's may raise what it likes."""
    if callable(asked.get("bounds")):
        return None
    model = pulp.LpProblem()
    inputs = [pulp.LpVariable(f"x{place}", 0, 8) for place in range(3)]
    return mv.embed(**{"model": model, "inputs": inputs, **asked})


def of_studies() -> Sort:
    """Return studies."""
    (forest, linear, dense), frame = models()
    described = mv.Inputs([mv.integer(name, 0, 8) for name in NAMES])
    usual = {"journal": "study.jsonl", "time_limit": LIMIT, "task": "explain", "grid": None}
    rows = frame.iloc[:2]
    calls: Calls = [
        (_study, {"network": model, "xs": xs, "epsilon": epsilon, **asked, **usual})
        for model, xs in ((forest, rows), (linear, rows), (dense, rows.to_numpy()))
        for epsilon, asked in (
            (2, {"domain": (0, 8), "order": "influence"}),
            ("inf", {"inputs": described}),
        )
    ]
    more = ("indices", "columns", "retry", "results", "fsync", "norm", "solver", "traversal")
    return calls, frame.iloc[3], {_study: more}


def of_embedding() -> Sort:
    """Return embeddings."""
    (forest, linear, dense), frame = models()
    calls: Calls = [(_embedded, {"network": model}) for model in (forest, linear, dense)]
    more = ("model", "inputs", "outputs", "formulation", "bounds", "segments", "name", "names")
    return calls, frame.iloc[3], {_embedded: more}


def of_comparisons() -> Sort:
    """Return comparisons of solvers."""
    (forest, linear, dense), frame = models()
    row: pd.Series = frame.iloc[3]
    usual = {"epsilon": 2, "domain": (0, 8), "time_limit": LIMIT, "solvers": ["highs"]}
    calls: Calls = [
        (mv.compare, {"network": model, "x": x, "task": task, **usual})
        for model, x in ((forest, row), (linear, row), (dense, row.to_numpy()))
        for task in ("check", "explain", "contrastive", *(("minimum",) if model is dense else ()))
    ]
    more = ("formulations", "master", "checks", "most_checks", "rounds", "relaxations", "order")
    return calls, row, {mv.compare: (*more, "norm", "features", "seed", "traversal")}


def trials(sort: Callable[[], Sort]) -> Try:
    """Return what makes a try of odd arguments of a sort of calls from a seed."""
    return tries_of(*sort())
