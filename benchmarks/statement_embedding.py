"""A network inside an optimisation model, and the texts that check its solutions.

The maker knows how a model's inputs are made of the user's columns, by the names that the model
stores; the judge gets rows of the frame and numbers alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pulp
import pyomo.environ as pyo
from statement_cases import Case, Column, Rng
from statement_rooms import Solution

import milp_verix as mv

_SECONDS = 20.0
_SUMS, _RANKS = "outputs are sums of leaves: divided by ", "outputs are ranks of the classes"


@dataclass(frozen=True)
class Entry:
    """An input of a model: the ``name`` it is given by, and the column, and word, it is made of.

    The input is 1 for the ``word`` and 0 for others, or the place of a word among ``words``.
    """

    name: str
    column: Column
    word: str | None = None
    words: tuple[str, ...] = ()


def entries_of(case: Case, network: Any) -> list[Entry] | None:
    """Return the inputs of a model in its order, None where the frame does not tell them."""
    if case.message or any(one.kind == "group" for one in case.columns):
        return None
    if case.array is not None:
        groups = (case.given or {}).get("features", [[place] for place in range(len(case.columns))])
        pairs = zip(groups, case.columns, strict=True)
        ordered = sorted((group[0], column) for group, column in pairs)
        return [Entry(f"input {place}", column) for place, column in ordered]
    found = []
    for name in network.columns or ():
        fits = [one for c in case.columns for one in _entries(case, c) if _same(one.name, name)]
        if len(fits) != 1:
            return None
        found += fits
    known = {entry.column.name for entry in found}
    missing = "imputers" in case.kind and any(one.missing for one in case.columns)
    return found if known == {*case.names} and not missing else None


def _entries(case: Case, column: Column) -> Iterator[Entry]:
    """Yield all inputs that may be made of a column."""
    words = _codes(case, column)
    yield Entry(column.name, column, words=words)
    for word in words:
        yield from (Entry(f"{column.name}{sign}{word}", column, word, words) for sign in "=_")


def _codes(case: Case, column: Column) -> tuple[str, ...]:
    """Return words as they are numbered: pandas' categories, or in order as encoders see them."""
    own = case.frame[column.name].dtype
    if not column.words or not isinstance(own, pd.CategoricalDtype):
        return column.words
    known = [word for word in own.categories if word in {*case.frame[column.name]}]
    encoded = case.kind == "search" or case.kind.startswith("pipeline")
    return tuple(sorted(known)) if encoded else tuple(own.categories)


def _same(one: str, other: str) -> bool:
    return one.replace(" ", "_") == other.replace(" ", "_")


def checked(
    case: Case, network: Any, entries: list[Entry], row: int, rng: Rng
) -> Iterator[tuple[str, Solution]]:
    """Yield what checks say of a solution: as it is, moved off thresholds, and a false one."""
    own, share = case.own(row), float(rng.choice([0.05, 0.3, 1.0]))
    ends = [_ends(entry, own, share) for entry in entries]
    host = [_Pyomo, _Pulp][rng.integers(2)](entries, ends)
    given: Any = {entry.name: one for entry, one in zip(entries, host.inputs, strict=True)}
    given = dict(reversed(given.items())) if case.array is None else host.inputs
    inside = mv.embed(host.model, network, given)
    told = [note for note in inside.notes if note.startswith(_SUMS)]
    ranked = any(note.startswith(_RANKS) for note in inside.notes)
    divisor = float(told[0].removeprefix(_SUMS).split()[0]) if told else 1.0
    host.aim(inside.outputs, rng.normal(size=len(inside.outputs)).tolist())
    if np.isnan(inside.solve("highs", _SECONDS).objective):
        raise mv.InputError("the solver ends without a solution")
    for one, entry, (entry_low, _) in zip(host.inputs, entries, ends, strict=True):
        value = entry_low if (found := host.value(one)) is None else found
        host.put(one, value if entry.column.kind == "real" else float(np.rint(value)))
    tolerance = float(rng.choice([1e-6, 1e-3]))
    farther, error = rng.choice(len(entries)), float(rng.choice([0.5, 1e-3]))
    for turn in ("solved", "repaired", "false"):
        if turn == "false":
            at = entries[farther]
            host.put(inside.outputs[0], host.value(inside.outputs[0]) + error)
            if at.column.kind == "real":
                host.put(host.inputs[farther], ends[farther][1] + error)
        values = np.array([host.value(one) for one in host.inputs])
        repaired = inside.check(repair=True, tolerance=tolerance)
        check = repaired if turn == "repaired" else inside.check(tolerance=tolerance)
        low, high = np.array(ends).T
        yield (
            str(check),
            Solution(
                _row(case, row, entries, check.inputs),
                _row(case, row, entries, repaired.inputs),
                np.array([host.value(one) for one in inside.outputs]),
                float(np.max(np.maximum(low - values, values - high), initial=0.0)),
                float(np.max(np.abs(check.inputs - values), initial=0.0)),
                tolerance,
                tuple(entry.name for entry in entries),
                divisor,
                ranked,
            ),
        )


def _ends(entry: Entry, own: Mapping[str, Any], share: float) -> tuple[float, float]:
    """Return the ends of an input: a part of the column's range around the row's own value."""
    column, value = entry.column, own[entry.column.name]
    if entry.words:
        return 0.0, 1.0 if entry.word is not None else len(entry.words) - 1.0
    low = column.low if np.isfinite(column.low) else -1e4
    high = column.high if np.isfinite(column.high) else 1e4
    value = low if value is None else value
    ends = max(low, value - share * (high - low)), min(high, value + share * (high - low))
    return (float(np.ceil(ends[0])), float(np.floor(ends[1]))) if column.kind == "whole" else ends


def _row(case: Case, row: int, entries: list[Entry], point: Any) -> pd.DataFrame | None:
    """Return the row of the frame that is the input ``point``, None for a part of a word."""
    values: dict[str, Any] = {name: case.frame[name].iloc[row] for name in case.frame.columns}
    values |= case.own(row)
    chosen: dict[str, str] = {}
    for entry, x in zip(entries, np.asarray(point).tolist(), strict=True):
        name = entry.column.name
        if entry.words and not x.is_integer():
            return None
        if entry.word is not None:
            others = {e.word for e in entries if e.column.name == name}
            dropped = [word for word in entry.words if word not in others]
            chosen.setdefault(name, (dropped or [""])[0])
            chosen |= {name: entry.word} if x > 0.5 else {}
        else:
            values[name] = entry.words[int(x)] if entry.words else x
    return case.table({name: [value] for name, value in {**values, **chosen}.items()})


class _Pyomo:
    """A model of Pyomo with a variable for each input, at most one 1 for the words of a column."""

    def __init__(self, entries: list[Entry], ends: list[tuple[float, float]]) -> None:
        self.model: Any = pyo.ConcreteModel()
        kinds = [pyo.Reals if one.column.kind == "real" else pyo.Integers for one in entries]
        self.model.x = pyo.Var(
            range(len(entries)), domain=lambda _, i: kinds[i], bounds=lambda _, i: ends[i]
        )
        self.inputs = [self.model.x[i] for i in range(len(entries))]
        self.model.words = pyo.ConstraintList()
        for places, full in _choices(entries):
            total = sum(self.inputs[i] for i in places)
            self.model.words.add(total == 1 if full else total <= 1)

    def aim(self, outputs: Any, weights: list[float]) -> None:
        """Maximise a sum of outputs."""
        aim = sum(w * one for w, one in zip(weights, outputs, strict=True))
        self.model.aim = pyo.Objective(expr=aim, sense=pyo.maximize)

    def put(self, variable: Any, value: float) -> None:
        """Set a value."""
        variable.set_value(value, skip_validation=True)

    def value(self, variable: Any) -> float | None:
        """Return a value, None where no output depends on it."""
        return None if variable.value is None else float(variable.value)


class _Pulp:
    """A model of PuLP, likewise."""

    def __init__(self, entries: list[Entry], ends: list[tuple[float, float]]) -> None:
        self.model = pulp.LpProblem("model", pulp.LpMaximize)
        self.inputs = [
            pulp.LpVariable(
                f"x{i}", *ends[i], "Continuous" if e.column.kind == "real" else "Integer"
            )
            for i, e in enumerate(entries)
        ]
        for places, full in _choices(entries):
            total = pulp.lpSum(self.inputs[i] for i in places)
            self.model += total == 1 if full else total <= 1

    def aim(self, outputs: Any, weights: list[float]) -> None:
        """Maximise a sum of outputs."""
        self.model += pulp.lpSum(w * one for w, one in zip(weights, outputs, strict=True))

    def put(self, variable: Any, value: float) -> None:
        """Set a value."""
        variable.varValue = value

    def value(self, variable: Any) -> float | None:
        """Return a value, None where no output depends on it."""
        return None if variable.varValue is None else float(variable.varValue)


def _choices(entries: list[Entry]) -> Iterator[tuple[list[int], bool]]:
    """Yield places of the words of each column, and whether these are all of its words."""
    names = dict.fromkeys(one.column.name for one in entries if one.word is not None)
    for name in names:
        places = [i for i, one in enumerate(entries) if one.column.name == name]
        yield places, len(places) == len(entries[places[0]].words)
