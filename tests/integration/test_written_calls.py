"""The calls that a script writes from the table of options: they are those of the table."""

import sys
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest

import milp_verix
from milp_verix.comparison.compare import TASKS
from milp_verix.oracle.ball_bounds import BOUNDS
from milp_verix.problem.ball import NORMS
from milp_verix.problem.option_rows import COURSE, OWN, QUESTION, REQUIRED, SEARCH, Option, rows_of
from milp_verix.problem.search import EXACTNESS, USUAL, WARM, Given
from milp_verix.results.power_indices import INDICES
from milp_verix.searches.contrastive import MEASURES
from milp_verix.searches.minimum.smallest import MASTERS, METHODS
from milp_verix.searches.order import ORDERS, TRANSFORMATIONS
from milp_verix.searches.strategies import STRATEGIES
from milp_verix.solvers import OWN_ENGINES, SOLVERS
from verix_encodings import FORMULATIONS

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from call_rows import CALLS, MANY, RULES, Call
from write_calls import files

EVERY = [*CALLS, RULES, MANY]


def answer(call: Call) -> Callable[..., Any]:
    module, _, name = call.answer.rpartition(".")
    found: Callable[..., Any] = getattr(import_module(f"milp_verix.{module}"), name)
    return found


def default(row: Option) -> object:
    """Return the default of a row as the source of the calls evaluates it."""
    names = vars(import_module("milp_verix.api.calls")) | vars(import_module("warnings"))
    return eval(row.default, {"warnings": import_module("warnings"), **names})


def test_the_files_are_those_that_the_script_writes() -> None:
    """``python docs/write_calls.py`` writes them anew."""
    for path, text in files().items():
        assert path.read_text(encoding="utf-8") == text, path


@pytest.mark.parametrize("call", CALLS, ids=[call.method for call in CALLS])
def test_an_answer_takes_the_options_of_its_call_with_the_same_defaults(call: Call) -> None:
    taken = dict(signature(answer(call)).parameters)
    taken.pop("problem")
    taken.pop("search")
    rows = rows_of(call.method, OWN, COURSE)
    rest = {*taken} ^ {row.name for row in rows}
    assert not rest, f"{call.answer} and the rows of option_rows.py differ in {rest}"
    for row in rows:
        known = taken[row.name].default
        assert known is Parameter.empty if row.default == REQUIRED else known == default(row)


def test_a_question_and_a_search_have_the_options_of_the_table() -> None:
    of_question = rows_of("explain", QUESTION)
    assert [one.name for one in fields(Given)] == [row.name for row in of_question]
    assert all(
        one.default == default(row)
        for one, row in zip(fields(Given), of_question, strict=True)
        if row.default != REQUIRED
    )
    of_search = {row.name: row for row in SEARCH}
    assert {one.name for one in fields(USUAL)} == {*of_search}
    assert all(getattr(USUAL, name) == default(row) for name, row in of_search.items())


def test_each_option_has_one_row_in_each_call() -> None:
    for call in EVERY:
        names = [row.name for row in rows_of(call.method)]
        assert len(names) == len({*names}), call
        shown = signature(getattr(milp_verix, call.name)).parameters
        assert {*names} <= {*shown}


def test_a_signature_tells_types_without_quotation_marks() -> None:
    told = str(signature(milp_verix.explain))
    assert "epsilon: Epsilon, norm: str = 'linf'" in told
    assert told.endswith("-> Explanation")
    assert str(signature(milp_verix.Problem.explain)).startswith("(self, *, order: OrderLike = ")


def test_options_by_position_are_refused_with_the_remedy() -> None:
    with pytest.raises(TypeError, match=r"3 were given: give options by name, such as epsilon="):
        milp_verix.explain("digits.onnx", [0.0], 0.1)  # type: ignore[call-arg]


def test_the_command_line_tells_the_names_that_there_are() -> None:
    names = {
        "norm": NORMS,
        "solver": ["auto", *SOLVERS, *OWN_ENGINES],
        "bounds": BOUNDS,
        "formulation": [*FORMULATIONS, "partition:N"],
        "exactness": EXACTNESS,
        "warm": WARM,
        "order": [*ORDERS, "FILE"],
        "transformation": TRANSFORMATIONS,
        "traversal": STRATEGIES,
        "method": METHODS,
        "master": MASTERS,
        "minimise": MEASURES,
        "index": INDICES,
        "task": TASKS,
        "solvers": [*SOLVERS, *OWN_ENGINES],
        "formulations": [*FORMULATIONS, "partition:N"],
    }
    told = {
        (row.name, row.line.metavar.replace(",", "|"))
        for call in EVERY
        for row in rows_of(call.method)
        if row.line is not None and row.name in names
    }
    assert told == {(name, "|".join(known)) for name, known in names.items()}
