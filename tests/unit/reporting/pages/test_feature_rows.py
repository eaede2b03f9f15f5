from dataclasses import fields

import numpy as np

from milp_verix import ContrastiveExplanation
from milp_verix.inputs.features import category, integer
from milp_verix.inputs.inputs import Inputs
from milp_verix.reporting.pages.feature_rows import feature_view
from milp_verix.results.records.base import Counterfactual
from tests.support.handmade_results import made
from tests.support.pages import HOSTILE, Element, table, viewed


def rows(page: Element) -> list[list[str]]:
    return [[cell.words for cell in row.all("th", "td")] for row in page.all("tr")]


def shown(result, most: int = 4) -> Element:  # type: ignore[no-untyped-def]
    return viewed(feature_view(result, most, "Features"))


def test_features_have_names_values_and_signed_differences() -> None:
    page = shown(table(7, epsilon=0.5))
    assert rows(page) == [
        ["feature", "value", f"{HOSTILE} → 5"],
        [f"{HOSTILE} (explanation)", "2", "+0.5"],
        ["age (irrelevant)", "7", "0"],
        ["capital-gain (irrelevant)", "3", "0"],
        ["hours (irrelevant)", "4", "0"],
    ]
    assert [cell.attributes["class"] for cell in page.all("td")][1] == "number rise freed"


def test_falls_have_a_minus_sign() -> None:
    assert rows(shown(table(7, epsilon=-0.25)))[1][2] == "−0.25"


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
    assert rows(shown(found))[1] == ["feature 0 (explanation)", "1, 0, 0, 0, …", "+0.1"]


def test_many_features_are_cut_and_counted() -> None:
    page = shown(made((1, 50), explained=(49,)))
    assert len(rows(page)) == 41
    assert rows(page)[1][0] == "feature 49 (explanation)"
    assert (
        page.all("p")[0].words == "and 10 features more, less important or not in the explanation"
    )


def test_described_values_are_words() -> None:
    described = Inputs([category("job", ["none", "clerk", "cook"]), integer("age", 0, 99, "years")])
    assert described.names == ("job", "age")
    x = np.array([[1, 40]])
    found = made((1, 2), x=x, explained=(0,), epsilon=1.0, inputs=described, radii=(1.0, 1.0))
    assert rows(shown(found))[1:] == [
        ["feature 0 (explanation)", "clerk", "cook"],
        ["feature 1 (irrelevant)", "40 years", "0"],
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
