"""Tables of one-hot columns, as ``pandas.get_dummies`` makes them, and their descriptions."""

import pandas as pd
import pytest

from milp_verix import InputError, Inputs

WORDS = pd.DataFrame(
    {
        "age": [20, 30, 40],
        "town": ["Rome", "Île de", "Bonn"],
        "sex": ["f", "m", "f"],
        "k": [1, 0, 1],
    }
)
TABLE = pd.get_dummies(WORDS, columns=["town", "sex"])
MIXED = TABLE[["town_Rome", "sex_m", "k", "town_Île de", "age", "sex_f", "town_Bonn"]]


def test_blocks_are_one_feature_in_the_order_of_the_table() -> None:
    inputs = Inputs.from_frame(MIXED, one_hot=["sex", "town"])
    assert inputs.names == ("town", "sex", "k", "age")
    assert [feature.values for feature in inputs.features][:2] == [
        ("Rome", "Île de", "Bonn"),
        ("m", "f"),
    ]
    assert inputs.places == (0, 3, 6, 1, 5, 2, 4)
    for index in range(3):
        expected = MIXED.iloc[index].astype(float).tolist()
        assert inputs.row(MIXED.iloc[[index]]).tolist() == expected
        assert inputs.row(WORDS.iloc[index]).tolist() == expected
    assert inputs.placed(MIXED.columns) is inputs
    assert Inputs.from_frame(WORDS, one_hot=["sex", "town"]).placed(MIXED.columns).listed == [
        [4],
        [6, 0, 3],
        [5, 1],
        [2],
    ]


def test_words_and_blocks_may_stand_side_by_side() -> None:
    frame = pd.get_dummies(WORDS, columns=["sex"], prefix_sep="=")
    inputs = Inputs.from_frame(frame, one_hot=["town", "sex"])
    assert inputs.names == ("age", "town", "k", "sex")
    assert inputs.places is None
    assert inputs.row(frame.iloc[1]).tolist() == [30, 0, 0, 1, 0, 0, 1]


@pytest.mark.parametrize("kind", ["int64", "float64", "boolean", "object", "Int8"])
def test_columns_of_every_type_that_holds_0_and_1(kind: str) -> None:
    types = dict.fromkeys([n for n in MIXED.columns if "_" in n], kind)
    inputs = Inputs.from_frame(MIXED.astype(types), one_hot=["sex", "town"])
    assert inputs == Inputs.from_frame(MIXED, one_hot=["sex", "town"])


def test_columns_that_are_not_named_stay_apart() -> None:
    inputs = Inputs.from_frame(TABLE)
    assert inputs.names == tuple(TABLE.columns)
    assert {feature.kind for feature in inputs.features[2:]} == {"binary"}


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (pd.get_dummies(WORDS, columns=["sex"], drop_first=True).drop(columns="town"),
         "column.* sex_m have the prefix sex; the row 0 has False, expected one 1.*drop_first"),
        (TABLE.assign(sex_f=False), "the row 0 has False, False, expected one 1"),
        (TABLE.assign(sex_f=True), "the row 1 has True, True, expected one 1"),
        (TABLE.assign(sex_ratio=0.5), "sex_f, sex_m, sex_ratio have the prefix sex; the row 0 has"),
        (TABLE.assign(sex_f=pd.array([True, None, True], dtype="boolean")), "the row 1 has <NA>"),
        (TABLE.assign(sex=WORDS.sex), "prefix sex; sex is a column, too"),
        (TABLE.rename(columns={"sex_f": "sex=f"}), "columns sex_m have .* the row 0 has False"),
        (TABLE.assign(**{"sex=f": TABLE.sex_m, "sex=m": TABLE.sex_f}),
         "sex_f, sex_m have the prefix sex; so have sex=f, sex=m, with another separator"),
        (WORDS[["age"]], r"there is no column 'sex'"),
    ],
)  # fmt: skip
def test_what_is_no_block_is_told(frame: pd.DataFrame, told: str) -> None:
    with pytest.raises(InputError, match=told):
        Inputs.from_frame(frame, one_hot=["sex"])


def test_a_column_of_two_prefixes_is_refused() -> None:
    frame = pd.DataFrame({"a_b_c": [1, 0], "a_b_d": [0, 1], "a_e": [0, 0]})
    with pytest.raises(InputError, match="a_b_c may be a word of a_b, too: rename it"):
        Inputs.from_frame(frame, one_hot=["a", "a_b"])
    assert Inputs.from_frame(frame, one_hot=["a_b"]).names == ("a_b", "a_e")


def test_a_column_of_words_beside_others_with_its_name_is_no_block() -> None:
    named = {"sex-ratio": 0.5, "sex.known": [True, True, False]}
    assert Inputs.from_frame(TABLE.assign(**named), one_hot=["sex"]).features[-3].width == 2
    frame = WORDS.assign(sex_known=[True, True, False], sex_ratio=[0.5, 0.2, 0.1])
    inputs = Inputs.from_frame(frame, one_hot=["sex"])
    assert inputs.features[2].values == ("f", "m")


def test_other_arguments_name_no_column_of_a_block() -> None:
    for given in ({"fixed": ["sex_f"]}, {"categories": {"sex": ["f", "m"]}}):
        with pytest.raises(InputError, match="there is no column"):
            Inputs.from_frame(TABLE, one_hot=["sex"], **given)  # type: ignore[arg-type]
