"""An explanation in words: for the command line and for notebooks."""

import re
from dataclasses import replace
from io import StringIO
from typing import Any

import numpy as np
from rich.console import Console

from milp_verix import Explanation
from milp_verix.oracle.verdict import SearchEffort, Statistics
from milp_verix.views.result_words import facts_of
from tests.support.handmade_results import made


def case(**given: Any) -> Explanation:
    return made((1, 64), **{"explained": range(61), **given})


def printed(explanation: Explanation, **options: Any) -> str:
    out = StringIO()
    Console(file=out, width=100, **options).print(explanation.summary())
    return out.getvalue()


def line(explanation: Explanation, name: str) -> str:
    (found,) = (text for label, text in facts_of(explanation) if label == name)
    return found


def test_summary_of_a_classification() -> None:
    explanation = case(changed={**dict.fromkeys(range(60), 8), 60: 1})
    lines = [re.split(r"\s{2,}", row.strip()) for row in printed(explanation).splitlines()]
    assert dict(lines) == {
        "model": "model.onnx (SHA-256 0123456789ab…)",
        "prediction": "class 2",
        "ball": "ε = 0.1 (L∞), domain 0 to 1",
        "explanation": "61 of 64 features (95 %)",
        "features": "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … and 49 more",
        "outcome": "locally minimal",
        "irrelevant": "3 features",
        "undecided": "none",
        "minimal": "yes (locally: no single feature can be left out)",
        "counterfactuals": "61, to class 8 (60), class 1",
        "order": "sequential",
        "solver": "highs 1.11.0",
        "effort": "64 checks, 7 solves, 0 nodes, 0 simplex iterations",
        "time": "1.50 s, 0.00 s of it in checks",
    }


def test_reasons_are_added_up() -> None:
    reasons = {0: "time limit", 1: "numerical trouble: lost", 2: "time limit"}
    explanation = case(explained=[9], undecided=reasons)
    assert line(explanation, "undecided") == ("3 features: time limit (2), numerical trouble: lost")
    assert line(explanation, "minimal").startswith("no")
    assert line(explanation, "explanation") == "4 of 64 features (6 %)"


def test_a_regression_tells_its_outputs_and_how_far_they_move() -> None:
    explanation = case(
        prediction=(1.0, -2.0),
        changed={**dict.fromkeys(range(60), (1.5, -2.25)), 60: (1.0, 0.0)},
        delta=0.25,
    )
    assert line(explanation, "prediction") == "(1, -2), the outputs"
    assert line(explanation, "ball") == "ε = 0.1 (L∞), δ = 0.25, domain 0 to 1"
    assert line(explanation, "counterfactuals") == "61, moving an output by 0.5 to 2"
    single = case(prediction=(1.5,), changed=(2.5,), delta=0.5, output=3)
    assert line(single, "prediction") == "1.5 of output 3"


def test_nothing_found_is_said() -> None:
    explanation = case(explained=())
    assert line(explanation, "counterfactuals") == "none"
    assert line(explanation, "explanation") == "0 of 64 features (0 %)"


def test_a_domain_by_coordinate_and_without_end() -> None:
    assert line(case(domain=(-np.inf, np.inf)), "ball").endswith(", unlimited domain")
    ends = tuple(np.linspace(0, 2, 64).tolist())
    text = line(case(domain=(-np.inf, ends)), "ball")
    assert text.endswith("domain -∞ to (0 … 2 by coordinate)")


def test_what_stopped_it_and_notes_are_told() -> None:
    statistics = Statistics(
        checks=1, solves=1, seconds=725.4, check_seconds=60, stopped="interrupted"
    )
    explanation = case(statistics=statistics, notes=("one", "two"))
    assert line(explanation, "time") == "12 min 5 s, 60.0 s of it in checks; stopped: interrupted"
    assert line(explanation, "effort").startswith("1 check, 1 solve, 0 nodes")
    assert [text for name, text in facts_of(explanation) if name == "note"] == ["one", "two"]


SEARCH = SearchEffort("tree", 2, 5, 30, 400, 6000, (("lower bound", 1.25), ("counterfactuals", 0)))


def test_a_minimum_tells_what_its_search_took() -> None:
    statistics = Statistics(checks=13, solves=3, nodes=7, seconds=2, search=SEARCH)
    explanation = case(explained=[1], lower_bound=1, statistics=statistics)
    assert line(explanation, "search") == (
        "2 rounds, 5 scenarios, 30 nodes, 400 linear programs, 6000 simplex iterations"
    )
    assert line(explanation, "checks") == "13 checks, 3 solves, 7 nodes, 0 simplex iterations"
    assert line(explanation, "stages") == "lower bound 1.25 s, counterfactuals 0.00 s"
    sets = replace(SEARCH, master="hitting sets")
    other = replace(explanation, statistics=replace(statistics, search=sets))
    assert "5 contrastive sets, 30 nodes, 400 programs" in line(other, "search")


def test_pixels_are_listed_by_row_and_column() -> None:
    explanation = made((1, 1, 8, 8), explained=[1, 8, 63])
    assert line(explanation, "pixels") == "(row,column) from 0: (0,1), (1,0), (7,7)"
    flat = facts_of(case(explained=[9], image_shape=(8, 8)))
    assert ("pixels", "(row,column) from 0: (1,1)") in flat
    assert ("features", "9") in facts_of(case(explained=[9]))


def test_names_are_listed_and_shown_in_html() -> None:
    names = ("age", "sex", "<income>")
    explanation = made((3,), explained=[0, 2], feature_names=names)
    assert line(explanation, "features") == "age, <income>"
    assert "age, &lt;income&gt;" in explanation._repr_html_()


def test_nothing_is_listed_where_nothing_matters() -> None:
    for told in (case(explained=()), case(explained=(), lower_bound=0)):
        assert line(told, "outcome") == "robust: no input in the ball changes the prediction"
        assert not {"features", "minimal", "minimum"} & {name for name, _ in facts_of(told)}


def test_summary_is_plain_where_there_is_no_terminal() -> None:
    text = printed(case())
    assert "\x1b" not in text
    assert not set(text) & set("│─┃━╭╮|+")
    on_terminal = printed(case(), force_terminal=True)
    assert "\x1b" in on_terminal
    assert re.sub(r"\x1b\[[0-9;]*m", "", on_terminal) == text


def test_a_file_name_is_not_markup() -> None:
    assert "[red]a[/red].onnx" in printed(case(file="[red]a[/red].onnx"))
