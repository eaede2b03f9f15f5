"""Small programs for sessions on trial: those of ``programs.json``, and others with fixed seeds."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from verix_encodings import Program, ProgramBuilder
from verix_encodings.arrays import FloatArray

INF = np.inf
WRITTEN: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
"""Programs by their names: a ``cost``, and the data that :func:`builder_of` takes."""


def builder_of(data: Mapping[str, Any]) -> ProgramBuilder:
    """Return a builder with the ``box`` of columns, the last of them ``binaries``.

    ``rows`` have coefficients and two ends, none of them None; ``rules`` a binary, its value,
    coefficients and an upper end; ``sets`` their columns. Column 0 is the ``maximum`` of columns
    and a constant; all continuous columns lie in the ``ball``.
    """
    builder, ends = ProgramBuilder(), np.array(data["box"], dtype=np.float64).reshape(-1, 2)
    low, high = np.where(np.isnan(ends), [-INF, INF], ends).T
    columns = np.arange(low.size)
    first = low.size - data.get("binaries", 0)
    for part, whole in ((columns[:first], False), (columns[first:], True)):
        builder.add_columns("v", part, low[part], high[part], integer=whole)
    for i, (row, least, most) in enumerate(data.get("rows", ())):
        sides = -INF if least is None else least, INF if most is None else most
        builder.add_rows("row", np.array([i]), [(np.array([row], float), columns)], *sides)
    for i, (binary, value, row, upper) in enumerate(data.get("rules", ())):
        terms, at = [(np.array([row], float), columns)], (np.array([i]), np.array([binary]))
        builder.add_indicators("rule", *at, terms, value=value, upper=upper)
    for i, members in enumerate(data.get("sets", ())):
        builder.add_sos1("set", np.array([i]), np.array([members]))
    if "maximum" in data:
        members, constant = data["maximum"]
        nought = np.zeros(1, dtype=np.intp)
        builder.add_maxima("maximum", nought, nought, np.array([members]), constant)
    if "ball" in data:
        builder.add_quadratic_row(columns[:first], data["ball"])
    return builder


def mixed(seed: int) -> Program:
    """Return a program of two continuous columns, three binaries and four rows, never empty."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-5, 6, (4, 5)) * (rng.random((4, 5)) < 0.8)
    ends = -rng.integers(1, 6, 4), rng.integers(1, 6, 4) + 0.25
    box = [[-2, 2]] * 2 + [[0, 1]] * 3
    return builder_of({"box": box, "binaries": 3, "rows": zip(rows, *ends, strict=True)}).build()


def covering(seed: int) -> Program:
    """Return a program of nine binaries whose optimum takes branching."""
    rows = np.random.default_rng(seed).integers(2, 9, (3, 9))
    asked = [(row, np.floor(row.sum() * 0.45), INF) for row in rows]
    return builder_of({"box": [[0, 1]] * 9, "binaries": 9, "rows": asked}).build()


def cost_of(program: Program, seed: int) -> FloatArray:
    """Return a cost of whole numbers other than zero."""
    rng = np.random.default_rng(seed)
    signs: FloatArray = rng.choice([-1.0, 1.0], program.columns)
    return signs * rng.integers(1, 10, program.columns)


def matching(size: int) -> tuple[Program, FloatArray, int]:
    """Return an assignment of ``size`` pairs, its cost, and its optimum, which one pairing has."""
    rng = np.random.default_rng(size)
    prices, best = rng.integers(1, 50, (2, size)), rng.permutation(size)
    cost = prices[0][:, None] + prices[1] + rng.integers(1, 20, (size, size))
    cost[np.arange(size), best] = prices[0] + prices[1][best]
    one, ones = np.eye(size), np.ones(size)
    rows = [(row, 1, 1) for row in np.vstack([np.kron(one, ones), np.kron(ones, one)])]
    program = builder_of({"box": [[0, 1]] * size**2, "binaries": size**2, "rows": rows}).build()
    return program, cost.ravel().astype(np.float64), int(prices.sum())


SPLIT_SIZES = (22, 24, 26, 28, 30, 33, 36, 40, 60)
"""Sizes of splits: the first take no time, the last nobody has years for."""


def split(size: int) -> tuple[Program, FloatArray]:
    """Return a market split of ``size`` binaries, and the cost whose optimum is 0.

    ``min Σ s`` over ``|A x − A x*| ≤ s`` (Cornuéjols and Dawande, IPCO 1998). The relaxation costs
    nothing, many points cost little, and next to none nothing.
    """
    rng = np.random.default_rng(0)
    A, chosen = rng.integers(0, 100, (4, size)), rng.integers(0, 2, size)
    rows = [
        (np.concatenate([side * row, a]), *ends)
        for row, a in zip(np.eye(4), A, strict=True)
        for side, ends in ((-1, (-INF, a @ chosen)), (1, (a @ chosen, INF)))
    ]
    box = [[0, 1e4]] * 4 + [[0, 1]] * size
    program = builder_of({"box": box, "binaries": size, "rows": rows}).build()
    return program, np.concatenate([np.ones(4), np.zeros(size)])
