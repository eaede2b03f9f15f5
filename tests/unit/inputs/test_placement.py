"""Places of described features: the order of a model's columns, and names that it does not have."""

import numpy as np
import pandas as pd
import pytest

from milp_verix import InputError, Inputs, binary, category, continuous, integer
from milp_verix.base.errors import same_names

FEATURES = [
    integer("age", 18, 75),
    category("sex", ["f", "m", "d"], one_hot=True),
    continuous("net income", 0, 9, missing=True),
    binary("member"),
]
COLUMNS = ["sex_d", "member", "net income", "sex_m", "age", "sex_f"]
ROW = {"age": 40, "sex": "m", "net income": 2.5, "member": "yes"}


def described() -> Inputs:
    return Inputs(FEATURES, ["(sex == 'm').implies(age >= 30)", "age <= 60 or member == 'yes'"])


def test_coordinates_are_the_models_and_features_the_users() -> None:
    inputs, placed = described(), described().placed(COLUMNS)
    assert placed.names == inputs.names
    assert placed.listed == [[4], [5, 3, 0], [2], [1]]
    x = placed.row(ROW)
    assert dict(zip(COLUMNS, x, strict=True)) == {
        "sex_d": 0, "member": 1, "net income": 2.5, "sex_m": 1, "age": 40, "sex_f": 0
    }  # fmt: skip
    assert placed.texts(x) == inputs.texts(inputs.row(ROW))
    assert placed.lower.tolist() == [0, 0, 0, 0, 18, 0]
    assert placed.upper.tolist()[4] == 75
    assert placed.integral.tolist() == [True, True, False, True, True, True]
    assert [*placed.missing] == [2]
    assert placed.mixed is not None
    assert [block.tolist() for block in placed.mixed.blocks] == [[0, 3, 5]]
    assert placed.mixed.contains(x)
    young = placed.row({**ROW, "age": 20})
    assert not placed.mixed.contains(young)
    with pytest.raises(InputError, match=r"breaks the rule .*implies"):
        placed.refuse(young)
    old = placed.row({**ROW, "age": 70, "member": "no"})
    with pytest.raises(InputError, match=r"breaks the rule .*member"):
        placed.refuse(old)
    assert placed.changes(x, old) == {"age": ("40", "70"), "member": ("yes", "no")}


def test_the_models_own_order_is_left_alone() -> None:
    inputs = described()
    columns = ["age", "sex_f", "sex_m", "sex_d", "net_income", "member"]
    assert inputs.placed(columns) is inputs
    assert inputs.placed(None) is inputs
    assert "places" not in inputs.to_data()


def test_places_stay_with_rules_directions_and_data() -> None:
    placed = described().placed(COLUMNS)
    again = Inputs.from_data(placed.to_data())
    assert again == placed != described()
    assert again.places == (4, 5, 3, 0, 2, 1)
    assert placed.only({"age": "up"}).places == placed.places
    more = placed.where(placed["sex"] != "d")
    assert more.places == placed.places
    with pytest.raises(InputError, match="breaks the rule sex"):
        more.refuse(more.row({**ROW, "sex": "d"}))
    with pytest.raises(InputError, match="features of other Inputs"):
        placed.where(described()["age"] >= 30)
    assert again.placed(COLUMNS) is again
    assert again.placed(["age", "sex_f", "sex_m", "sex_d", "net income", "member"]).places is None


@pytest.mark.parametrize("places", [(0, 1), (0, 1, 2, 3, 4, 4), [0, 1, 2, 3, 4, "5"], [1.5]])
def test_places_are_each_coordinate_once(places: object) -> None:
    with pytest.raises(InputError, match="places are"):
        Inputs.from_data({**described().to_data(), "places": places})


@pytest.mark.parametrize("sign", ["_", "=", ".", ":", "-"])
def test_separators_between_prefix_and_word(sign: str) -> None:
    inputs = Inputs([category("a b", ["x", "y z"], one_hot=True), integer("n", 0, 1)])
    columns = [f"a_b{sign}y_z", "n", f"a_b{sign}x"]
    assert inputs.placed(columns).listed == [[2, 0], [1]]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (["age", "sex_f", "sex_m", "sex_d", "member", "id"],
         r"missing: id; extra: net income\): describe these"),
        (["age", "sex_f", "sex_m", "net income", "member"],
         r"extra: sex_d\): .* a column for each word"),
        (["age", "sex", "net income", "member"],
         r"missing: sex; extra: sex_f, sex_m, sex_d\): .* one_hot lists"),
        (["age", "sex_f", "sex_m", "sex_d", "net income", "member_no", "member_yes"],
         "missing: member_no, member_yes; extra: member.* one_hot lists"),
        (["age", "sex_f", "sex_m", "sex_d", "sex=f", "sex=m", "sex=d", "net income", "member"],
         r"missing: sex=f, sex=m, sex=d\): "),
        (["age", "age", "sex_f", "sex_m", "sex_d", "net income", "member"],
         "two columns of the model are named 'age'"),
        ([f"c{i}" for i in range(9)], r"missing: c0, c1, c2, c3, c4, … \(9 in all\)"),
    ],
)  # fmt: skip
def test_other_names_are_told(columns: list[str], told: str) -> None:
    with pytest.raises(InputError, match=told):
        described().placed(columns)


def test_two_coordinates_of_one_name_are_refused() -> None:
    inputs = Inputs([category("a", ["b", "c"], one_hot=True), integer("a_b", 0, 1)])
    with pytest.raises(InputError, match="two coordinates described are named 'a_b'"):
        inputs.placed(["a_b", "a_c", "d"])


def test_spaces_are_underscores_unless_both_are_there() -> None:
    assert same_names(["a_b", "c"], ["c", "a b"]) == {"a_b": "a b", "c": "c"}
    assert same_names(["a b"], ["a_b"]) == {"a b": "a_b"}
    assert same_names(["a b"], ["a_b", "a b"]) == {"a b": "a b"}
    assert same_names(["a_b", "a b"], ["a b", "a_b"]) == {"a_b": "a_b", "a b": "a b"}
    assert same_names(["a_b", "a b"], ["a b"]) == {"a b": "a b"}
    with pytest.raises(InputError, match="'a b' and 'a_b' differ by spaces"):
        same_names(["a_b"], ["a b", "a_b"])


def test_an_array_beside_inputs_in_another_order_is_refused() -> None:
    inputs = described()
    x = inputs.row(ROW)
    assert inputs.words(x)["sex"] == "m"
    placed = inputs.placed(COLUMNS)
    for call in (inputs.words, inputs.texts, inputs.refuse):
        with pytest.raises(InputError, match=r"result\.inputs reads the arrays of a result"):
            call(x)
    assert inputs.words(ROW) == placed.words(placed.row(ROW))
    inputs.placed(None)  # a model whose arrays are in the order of the description
    assert inputs.words(x)["sex"] == "m"


def test_rows_by_the_columns_of_blocks() -> None:
    inputs = described()
    dummies = {"age": 40, "sex_f": 0, "sex_m": True, "sex_d": "0", "net income": 2.5, "member": 1}
    assert inputs.row(dummies).tolist() == inputs.row(ROW).tolist()
    assert inputs.row(pd.Series(dummies)).tolist() == inputs.row(ROW).tolist()
    named = {"age": 40, "sex": "m", "net_income": 2.5, "member": True, "sex_f": 1}
    assert inputs.row(named).tolist() == inputs.row(ROW).tolist()
    with pytest.raises(InputError, match=r"sex_f is 1, sex_m is True.*expected one 1 among these"):
        inputs.row({**dummies, "sex_f": 1})
    with pytest.raises(InputError, match="missing: sex;"):
        inputs.row({name: cell for name, cell in dummies.items() if name != "sex_d"})
    with pytest.raises(InputError, match="sex_f is missing"):
        inputs.row({**dummies, "sex_f": np.nan})
