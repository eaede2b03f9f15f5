"""Descriptions of inputs as readers see them."""

from milp_verix import Inputs, binary, category, continuous, fixed, integer

INPUTS = Inputs(
    [
        integer("age", 18, 75, unit="years"),
        continuous("wage", 0, unit="€"),
        continuous("drift"),
        binary("arrears"),
        category("contract", [f"kind {place}" for place in range(11)]),
        fixed("b<i>"),
    ],
    ["age >= 20"],
    class_names=("no", "yes"),
)


def test_each_feature_has_a_line() -> None:
    assert str(INPUTS).splitlines() == [
        "6 features:",
        "  age       whole number  18 to 75 years",
        "  wage      number        0 or more €",
        "  drift     number        any",
        "  arrears   binary        no, yes",
        "  contract  category      kind 0, kind 1, kind 2, kind 3, kind 4, kind 5, kind 6, kind 7 "
        "and 3 more",
        "  b<i>      fixed         stays as it is",
        "rule: age >= 20",
        "decisions: no, yes",
    ]
    assert repr(INPUTS).startswith("Inputs(features=(Feature(name='age'")


def test_a_notebook_shows_a_table_with_names_as_they_are() -> None:
    shown = INPUTS._repr_html_()
    assert shown.count("<tr>") == 7
    assert "b&lt;i&gt;" in shown
    assert "<i>" not in shown
    assert "<p>rule: age &gt;= 20</p>" in shown
