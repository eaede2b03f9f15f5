"""Rows with names in further forms: named tuples, one row, structured arrays; and features by name.

Each is compared with the same question asked by a DataFrame.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pandas as pd
import pytest

import milp_verix as mv
from milp_verix import InputError

trees = pytest.importorskip("sklearn.tree")

RNG = np.random.default_rng(3)
TABLE = pd.DataFrame({"age": RNG.uniform(18, 75, 80), "debt": RNG.uniform(0, 9, 80)})
TABLE["pay"] = RNG.uniform(0, 5, 80)
GIVEN = TABLE[["pay", "age", "debt"]]
DESCRIBED = mv.Inputs.from_frame(GIVEN)
ASKED: list[dict[str, Any]] = [{"domain": (0, 99)}, {"inputs": DESCRIBED}]
"""The same question by the names of the model, and by those of a description in another order."""


@pytest.fixture(scope="module")
def model() -> Any:
    decided = TABLE.pay * 12 > TABLE.age / 3 + TABLE.debt
    return trees.DecisionTreeClassifier(max_depth=4, random_state=0).fit(TABLE, decided)


def test_a_named_tuple_is_a_row_by_its_names(model: Any) -> None:
    named = next(GIVEN.itertuples(index=False))
    for asked in ASKED:
        found = mv.explain(model, named, epsilon=2, **asked)
        assert found.input.reshape(-1).tolist() == TABLE.iloc[0].tolist()
    indexed = mv.explain(model, next(GIVEN.itertuples()), epsilon=2, inputs=DESCRIBED)
    assert indexed.notes == ("left out of the row, as it is no feature: Index",)


@pytest.mark.parametrize("asked", ASKED)
def test_a_study_places_named_tuples_by_name(model: Any, tmp_path: Path, asked: Any) -> None:
    frame, tuples = GIVEN.iloc[:4], [*GIVEN.iloc[:4].itertuples(index=False)]
    for name, xs in (("frame", frame), ("tuples", tuples)):
        path = tmp_path / f"{name}.jsonl"
        mv.explain_many(model, xs, epsilon=2, journal=path, results=False, **asked)
    one, other = (mv.read_study(tmp_path / f"{name}.jsonl") for name in ("frame", "tuples"))
    assert one.explanation.tolist() == other.explanation.tolist()
    assert one.prediction.tolist() == other.prediction.tolist()


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize(
    "form",
    [
        lambda rows: [rows.iloc[place] for place in range(len(rows))],
        lambda rows: [*rows.itertuples(index=False)],
        lambda rows: rows.to_records(index=False),
        lambda rows: rows.to_records(),
        lambda rows: [rows.iloc[[place]] for place in range(len(rows))],
    ],
)
def test_rows_to_be_covered_have_names_in_every_form(model: Any, form: Any, asked: Any) -> None:
    def coverage(rows: Any) -> float:
        found = mv.inflate(model, GIVEN.iloc[0], epsilon=9, rows=rows, **asked)
        return float(found.coverage)

    assert 0 < coverage(GIVEN) < 1
    assert coverage(form(GIVEN)) == coverage(GIVEN)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize(
    "form",
    [
        lambda rows: iter(rows.to_dict("records")),
        lambda rows: rows.itertuples(index=False),
        lambda rows: (row for _, row in rows.iterrows()),
        lambda rows: rows.to_dict("index"),
        lambda rows: rows.to_dict("index").values(),
        lambda rows: rows.to_records(),
        lambda rows: (rows.iloc[[place]] for place in range(len(rows))),
    ],
)
def test_rows_may_come_one_by_one(model: Any, form: Any, asked: Any, tmp_path: Path) -> None:
    path, frame = tmp_path / "rows.jsonl", GIVEN.iloc[:4]
    mv.explain_many(model, form(frame), epsilon=9, journal=path, results=False, **asked)
    each = [mv.explain(model, row, epsilon=9, **asked).explanation for _, row in frame.iterrows()]
    assert [tuple(one) for one in mv.read_study(path).explanation] == each
    found = mv.inflate(model, GIVEN.iloc[0], epsilon=9, rows=form(GIVEN), **asked)
    assert (
        found.coverage == mv.inflate(model, GIVEN.iloc[0], epsilon=9, rows=GIVEN, **asked).coverage
    )


@pytest.mark.parametrize("asked", ASKED)
def test_a_study_of_one_row_and_pairs_that_are_no_rows(
    model: Any, asked: Any, tmp_path: Path
) -> None:
    for number, row in enumerate((GIVEN.iloc[3], GIVEN.iloc[3].to_dict())):
        path = tmp_path / f"{number}.jsonl"
        mv.explain_many(model, row, epsilon=9, journal=path, results=False, **asked)
        found = mv.explain(model, GIVEN.iloc[3], epsilon=9, **asked).explanation
        assert [tuple(one) for one in mv.read_study(path).explanation] == [found]
    with pytest.raises(InputError, match=r"pairs of an index and a row.*give df itself"):
        mv.explain_many(model, GIVEN.iterrows(), epsilon=9, journal=tmp_path / "no.jsonl", **asked)
    with pytest.raises(InputError, match=r"pairs of an index and a row.*give df itself"):
        mv.inflate(model, GIVEN.iloc[0], rows=[*GIVEN.iterrows()], epsilon=9, **asked)


@pytest.mark.parametrize("asked", ASKED)
def test_one_row_may_be_the_rows_and_columns_of_lists_are_refused(model: Any, asked: Any) -> None:
    for row in (GIVEN.iloc[0], GIVEN.iloc[0].to_dict()):
        assert mv.inflate(model, GIVEN.iloc[0], rows=row, epsilon=9, **asked).coverage == 1
    with pytest.raises(InputError, match="a list, expected one number"):
        mv.inflate(model, GIVEN.iloc[0], rows=GIVEN.to_dict("list"), epsilon=9, **asked)


def test_features_are_listed_with_spaces_or_underscores() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    table = TABLE.rename(columns={"pay": "net pay"})
    model = lightgbm.LGBMClassifier(n_estimators=4, verbose=-1).fit(table, table["net pay"] > 2)
    row, asked = table.iloc[0], {"epsilon": 9, "domain": (0, 99)}
    assert "net_pay" in str(mv.Problem(model, row, **asked).minimum().sentence())
    for name in ("net pay", "net_pay"):
        assert 2 in mv.minimum(model, row, must=name, **asked).explanation
        assert mv.audit(model, row, [name], **asked).explanation == (2,)
        order = mv.explain(model, row, order=["age", "debt", name], **asked)
        assert order.permutation == (0, 1, 2)


def test_a_number_that_is_the_name_of_a_column_is_suggested_where_it_is_no_index() -> None:
    table = TABLE.set_axis([2019, 2020, 2021], axis=1)
    model = trees.DecisionTreeClassifier(max_depth=2).fit(table.to_numpy(), table[2021] > 2)
    asked = {"epsilon": 9, "inputs": mv.Inputs.from_frame(table)}
    assert mv.minimum(model, table.iloc[0], must=["2020"], **asked).explanation == (1, 2)
    with pytest.raises(InputError, match=r"must: there is no feature 2020: .*mean '2020'"):
        mv.minimum(model, table.iloc[0], must=[2020], **asked)


def test_an_order_with_an_unknown_name_tells_it(model: Any) -> None:
    with pytest.raises(InputError, match="order: there is no feature 'id'"):
        mv.explain(model, GIVEN.iloc[0], epsilon=2, inputs=DESCRIBED, order=["age", "debt", "id"])


def test_parts_of_a_network_with_several_inputs_may_have_others_beside_them() -> None:
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["": 17]>
    parts (float[1,1] age, float[1,2] wealth) => (float[1,1] s)
    <float[3,1] W = {0.01, 0.02, -1.0}> { x = Concat<axis=1>(age, wealth) s = MatMul(x, W) }
    """)
    parts = {"id": [9.0], "wealth": [3.0, 4.0], "age": [2.0]}
    found = mv.explain(model, parts, epsilon=0.5, domain=(0, 9), delta=0.1)
    assert found.input.reshape(-1).tolist() == [2, 3, 4]
    assert found.notes == ("left out of the row, as it is no feature: id",)


def test_a_column_without_a_name_is_shown_where_it_is_left_out(model: Any, tmp_path: Path) -> None:
    GIVEN.to_csv(tmp_path / "rows.csv")
    tally = mv.explain_many(
        model,
        tmp_path / "rows.csv",
        indices=[0],
        epsilon=1,
        inputs=DESCRIBED,
        journal=tmp_path / "study.jsonl",
    )
    notes = mv.read_study(tmp_path / "study.jsonl").notes[0]
    assert tally.done == 1
    assert "left out of rows.csv, as it is no feature: ''" in notes


def test_a_file_of_rows_that_is_not_read_is_refused_by_its_form(model: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    GIVEN.to_json(path, orient="records")
    with pytest.raises(InputError, match=r"cannot tell what the inputs .* are: give a \.npy"):
        mv.explain_many(model, path, epsilon=1, inputs=DESCRIBED, journal=tmp_path / "study.jsonl")
