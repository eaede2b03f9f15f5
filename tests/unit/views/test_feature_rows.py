from dataclasses import fields, replace

import numpy as np

from milp_verix import ContrastiveExplanation
from milp_verix.inputs.feature import category, integer
from milp_verix.inputs.inputs import Inputs
from milp_verix.results.base import Counterfactual
from milp_verix.views.result_page import feature_view
from tests.support.handmade_results import made
from tests.support.pages import HOSTILE, Element, table, viewed


def rows(page: Element) -> list[list[str]]:
    return [[cell.words for cell in row.all("th", "td")] for row in page.all("tr")]


def shown(result, most: int = 4) -> Element:  # type: ignore[no-untyped-def]
    return viewed(feature_view(result, most, "Features"))


def test_features_have_names_values_and_changes() -> None:
    page = shown(table(7, epsilon=0.5))
    assert rows(page) == [
        ["feature", "value", "becomes class 5 with"],
        [f"“{HOSTILE}” (explanation)", "2", "→ 2.5"],
        ["age (irrelevant)", "7", ""],
        ["capital-gain (irrelevant)", "3", ""],
        ["hours (irrelevant)", "4", ""],
    ]


def test_numbers_are_written_as_people_do() -> None:
    base = table(12345, epsilon=-4.25)
    assert [row[1:] for row in rows(shown(base))[1:3]] == [["2", "→ −2.25"], ["12345", ""]]


def test_other_changes_stand_behind_that_of_the_feature() -> None:
    base = table(7, epsilon=0.5)
    found = base.counterfactuals[1]
    after = found.input.copy()
    after[0, 3] = 9
    told = replace(base, counterfactuals={1: Counterfactual(after, found.prediction)})
    assert rows(shown(told))[1][2] == "→ 2.5, with hours 4 → 9"


def test_a_limit_leaves_counterfactuals_out_and_says_so() -> None:
    page = shown(made((1, 4), explained=(0, 1, 2)), most=1)
    assert sum(bool(row[2]) for row in rows(page)[1:]) == 1
    assert page.all("p")[0].words == "1 of 3 counterfactuals are shown"


def test_undecided_features_come_behind_those_explained() -> None:
    found = made((1, 3), explained=(2,), undecided={1: "time limit"})
    labels = [row[0] for row in rows(shown(found))]
    assert labels == [
        "feature",
        "feature 2 (explanation)",
        "feature 1 (undecided)",
        "feature 0 (irrelevant)",
    ]


def test_the_values_of_a_group_are_listed() -> None:
    found = made((1, 6), x=[1, 0, 0, 0, 1, 2], groups=[[0, 1, 2, 3, 4], [5]], explained=(0,))
    assert rows(shown(found))[1][:2] == ["feature 0 (explanation)", "1, 0, 0, 0, …"]


def test_many_features_are_cut_and_counted() -> None:
    page = shown(made((1, 50), explained=(49,)))
    assert len(rows(page)) == 41
    assert rows(page)[1][0] == "feature 49 (explanation)"
    assert (
        page.all("p")[0].words
        == "and 10 features more, later in the order or not in the explanation"
    )


def test_described_values_are_words() -> None:
    described = Inputs([category("job", ["none", "clerk", "cook"]), integer("age", 0, 99, "years")])
    assert described.names == ("job", "age")
    x = np.array([[1, 40]])
    found = made((1, 2), x=x, explained=(0,), epsilon=1.0, inputs=described, radii=(1.0, 1.0))
    assert rows(shown(found))[1:] == [
        ["feature 0 (explanation)", "clerk", "→ cook"],
        ["feature 1 (irrelevant)", "40 years", ""],
    ]


def test_a_contrast_shows_before_and_after() -> None:
    base = table(7)
    after = base.input.copy()
    after[0, 2] -= 1
    given = {
        field.name: getattr(base, field.name)
        for field in fields(ContrastiveExplanation)
        if hasattr(base, field.name)
    }
    found = ContrastiveExplanation(
        **{**given, "costs": None, "lower_bound": 1.0},
        contrast=(2,),
        counterfactual=Counterfactual(after, 4),
        robust=False,
    )
    assert rows(shown(found)) == [
        ["feature", "value", "counterfactual", "difference"],
        ["capital-gain", "3", "2", "−1"],
    ]
