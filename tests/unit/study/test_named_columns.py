"""Tables are read by the names of their columns: in studies, in files, as rows worth covering.

What is read is compared with the columns in the order of the model.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest

import milp_verix as mv
from milp_verix import InputError
from milp_verix.study.study_inputs import described_inputs, inputs_of
from tests.support.command_line import run_here

pytest.importorskip("sklearn")

NAMES = ["age", "debt", "income"]
RNG = np.random.default_rng(1)
PEOPLE = pd.DataFrame(RNG.integers(0, 100, (40, 3)).astype(float), columns=NAMES)
WIDE = PEOPLE[["income", "age", "debt"]].assign(id=np.arange(40.0), name=1.0)
NARROW = PEOPLE[["age", "debt"]].assign(id=np.arange(40.0))
QUESTION: dict[str, Any] = {"domain": (0, 1000), "epsilon": 5}
LEFT_OUT = "left out of {}, as they are no features: id, name"


def tree(table: Any = PEOPLE) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    decision = PEOPLE.income > 30 + 30 * (PEOPLE.debt > 50)
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(table, decision)


@pytest.fixture(scope="module")
def nameless() -> Any:
    return mv.load_network(tree(PEOPLE.to_numpy()))


def records(journal: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal.read_text().splitlines()]


def study(tmp_path: Path, name: str, model: Any, table: Any, **options: Any) -> list[Any]:
    """Return the explanations, predictions and notes of a study over the first three rows."""
    journal = tmp_path / f"{name}.jsonl"
    options = {"indices": [0, 1, 2], "results": False, **options}
    mv.explain_many(model, table, journal=journal, **{**QUESTION, **options})
    kept = ("explanation", "prediction", "notes")
    return [[record[name] for name in kept] for record in records(journal)]


def test_a_study_takes_columns_by_the_names_of_the_model(tmp_path: Path) -> None:
    plain = study(tmp_path, "plain", tree(), PEOPLE.to_numpy())
    WIDE.to_csv(tmp_path / "wide.csv", index=False)
    PEOPLE.to_csv(tmp_path / "headless.csv", index=False, header=False)
    cases = {
        "the frame": WIDE,
        "wide.csv": tmp_path / "wide.csv",
        "the row": WIDE.to_dict("records"),
        "no names": tmp_path / "headless.csv",
        "an array": pd.DataFrame(PEOPLE.to_numpy()),
    }
    for place, (what, table) in enumerate(cases.items()):
        found = study(tmp_path, str(place), tree(), table)
        left_out = [] if place > 2 else [LEFT_OUT.format(what)]
        assert found == [[kept, label, [*notes, *left_out]] for kept, label, notes in plain]


def test_an_id_is_never_taken_for_a_column_of_the_model(tmp_path: Path) -> None:
    NARROW.to_csv(tmp_path / "narrow.csv", index=False)
    missing = "missing: income; the names seen are age, debt, id"
    for table in (NARROW, tmp_path / "narrow.csv", NARROW.to_dict("records")):
        with pytest.raises(InputError, match=missing):
            study(tmp_path, "none", tree(), table)
    with pytest.raises(InputError, match=r"the choice of columns needs .* missing: income"):
        study(tmp_path, "none", tree(), WIDE, columns=["age", "debt", "id"])


def test_columns_that_are_chosen_are_placed_by_name_where_they_are_the_models() -> None:
    chosen = inputs_of(WIDE, 3, ["income", "debt", "age"], NAMES)
    assert chosen.read(3).tolist() == PEOPLE.iloc[3].tolist()
    assert chosen.remarks == ()
    other = WIDE.set_axis(["c", "a", "b", "id", "name"], axis=1)  # the user says which is which
    assert inputs_of(other, 3, ["a", "b", "c"], NAMES).read(3).tolist() == PEOPLE.iloc[3].tolist()


def test_without_names_of_the_model_columns_are_taken_in_their_order_or_by_the_users_names(
    tmp_path: Path, nameless: Any
) -> None:
    order = "the values of {} were taken in the order age, debt, income"
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    for what, table in (("the frame", PEOPLE), ("people.csv", tmp_path / "people.csv")):
        assert inputs_of(table, 3).remarks == (order.format(what),)
    mixed: list[Any] = PEOPLE.head(3).to_dict("records")
    mixed[1] = dict(reversed(mixed[1].items()))
    rows = inputs_of(mixed, 3)
    assert [rows.read(place).tolist() for place in range(3)] == PEOPLE.head(3).to_numpy().tolist()
    assert rows.remarks == (order.format("the first row"),)
    plain = study(tmp_path, "plain", nameless, PEOPLE.to_numpy(), feature_names=NAMES)
    found = study(tmp_path, "wide", nameless, WIDE, feature_names=NAMES)
    assert [kept[:2] for kept in found] == [kept[:2] for kept in plain]
    with pytest.raises(InputError, match="missing: income"):
        study(tmp_path, "none", nameless, NARROW, feature_names=NAMES)


def test_a_described_table_tells_once_what_is_left_out(tmp_path: Path) -> None:
    described = mv.Inputs.from_frame(PEOPLE)
    WIDE.to_csv(tmp_path / "wide.csv", index=False)
    for what, table in (("the frame", WIDE), ("wide.csv", tmp_path / "wide.csv")):
        found = described_inputs(table, described)
        assert found.remarks == (LEFT_OUT.format(what),)
        assert found.read(3).tolist() == PEOPLE.iloc[3].tolist()
    assert described_inputs(WIDE.to_dict("records"), described).notes(3) == (
        LEFT_OUT.format("the row"),
    )
    with pytest.raises(InputError, match="missing: income"):
        described_inputs(NARROW, described)
    with pytest.raises(InputError, match="missing: age, debt, income; the names seen are 0, 1, 2"):
        described_inputs(pd.DataFrame(PEOPLE.to_numpy()), described)


def test_arguments_by_label_are_those_of_a_study_too(tmp_path: Path) -> None:
    costs, ends = [1.0, 2.0, 9.0], pd.Series([200.0, 100.0, 150.0], ["income", "age", "debt"])
    plain = study(
        tmp_path, "0", tree(), PEOPLE, task="minimum", costs=costs, domain=(0, [*ends[NAMES]])
    )
    labelled = {"costs": pd.Series(costs, NAMES)[::-1], "domain": (0, ends)}
    assert study(tmp_path, "1", tree(), PEOPLE, task="minimum", **labelled) == plain
    with pytest.raises(
        InputError, match=r"^costs .* missing: debt, income: name them, or add '\*'"
    ):
        mv.explain_many(
            tree(), PEOPLE, epsilon=3, domain=(0, 200), task="minimum", costs={"age": 3},
            journal=tmp_path / "3.jsonl",
        )  # fmt: skip
    described = {"inputs": mv.Inputs.from_frame(PEOPLE), "domain": (0.0, 1.0)}
    radii = {"age": 3.0, "debt": 5.0, "income": 9.0}
    mv.explain_many(
        tree(), PEOPLE, epsilon=pd.Series(radii)[::-1], journal=tmp_path / "2.jsonl",
        indices=[0], inputs=described["inputs"], results=False,
    )  # fmt: skip
    (record,) = records(tmp_path / "2.jsonl")
    assert record["epsilon"] == radii
    grid = {"order": [pd.Index(["income", "age", "debt"]), pd.Series(NAMES)]}
    found = study(tmp_path, "3", tree(), PEOPLE, grid=grid, feature_names=pd.Index(NAMES))
    assert len(found) == 6


def test_the_command_places_columns_by_name_and_says_what_is_left_out(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    decision = PEOPLE.income > 50
    fitted = xgboost.XGBClassifier(n_estimators=3).fit(PEOPLE, decision)
    fitted.save_model(tmp_path / "model.json")
    WIDE.to_csv(tmp_path / "wide.csv", index=False)
    NARROW.to_csv(tmp_path / "narrow.csv", index=False)
    common = ("batch", tmp_path / "model.json")
    ends = ("--epsilon", "3", "--domain", "0", "1000", "--indices", "0:20", "--no-results")
    done = run_here(*common, tmp_path / "wide.csv", *ends, "--journal", tmp_path / "a.jsonl")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"note: {LEFT_OUT.format('wide.csv')}") == 1
    found = [record["prediction"] for record in records(tmp_path / "a.jsonl")]
    assert found == fitted.predict(PEOPLE)[:20].tolist()
    done = run_here(*common, tmp_path / "narrow.csv", *ends, "--journal", tmp_path / "b.jsonl")
    assert done.returncode == 2
    assert "missing: income; the names seen are age, debt, id" in done.stderr


def test_rows_worth_covering_are_read_by_name(nameless: Any) -> None:
    inputs = mv.Inputs.from_frame(PEOPLE)
    row, plain = PEOPLE.iloc[3], PEOPLE.to_numpy()
    problems = {
        "described": mv.Problem(tree(), row, epsilon="inf", inputs=inputs),
        "names of the model": mv.Problem(tree(), row, **QUESTION),
        "names of the row": mv.Problem(nameless, row, **QUESTION),
        "names of the user": mv.Problem(nameless, [*row], feature_names=NAMES, **QUESTION),
    }
    for problem in problems.values():
        within: dict[str, Any] = {} if problem.inputs else {"within": 20}
        expected = problem.inflate(["debt", "income"], rows=plain, **within)
        assert expected.inside
        for rows in (WIDE, WIDE.to_dict("records")):
            found = problem.inflate(["debt", "income"], rows=rows, **within)
            assert (found.inside, str(found.ranges)) == (expected.inside, str(expected.ranges))
            assert found.notes[-1] == LEFT_OUT.format("rows")
        with pytest.raises(InputError, match=r"rows needs .* missing: income"):
            problem.inflate(["debt", "income"], rows=NARROW, **within)
    unnamed = mv.Problem(nameless, [*row], **QUESTION).inflate([1, 2], rows=PEOPLE, within=20)
    assert "the values of rows were taken in the order age, debt, income" in unnamed.notes


def test_rules_of_a_table_are_those_of_its_columns_by_name() -> None:
    plain = mv.find_rules(tree(), PEOPLE.to_numpy(), count=2, **QUESTION)
    for rows in (WIDE, WIDE.to_dict("records")):
        found = mv.find_rules(tree(), rows, count=2, **QUESTION)
        assert [str(rule.ranges) for rule in found.rules] == [str(r.ranges) for r in plain.rules]
        assert found.rules[0].notes[-1] == LEFT_OUT.format("rows")
    with pytest.raises(InputError, match="missing: income"):
        mv.find_rules(tree(), NARROW, **QUESTION)


def test_rows_in_a_file_for_the_command_are_read_by_name(tmp_path: Path) -> None:
    pytest.importorskip("skl2onnx")
    from sklearn.neural_network import MLPClassifier

    fitted = MLPClassifier((3,), max_iter=20, random_state=0).fit(PEOPLE / 100, PEOPLE.income > 50)
    onnx.save(mv.load_network(fitted).model, tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", PEOPLE.iloc[3].to_numpy() / 100)
    (tmp_path / "names.json").write_text(json.dumps(NAMES))
    (WIDE / 100).to_csv(tmp_path / "wide.csv", index=False)
    done = run_here(
        "inflate", tmp_path / "model.onnx", tmp_path / "x.npy", "--epsilon", "0.01", "--rows",
        tmp_path / "wide.csv", "--within", "0.05", "--feature-names", tmp_path / "names.json",
        "--json", tmp_path / "found.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = mv.Ranges.from_json(tmp_path / "found.json")
    assert found.notes[-1] == LEFT_OUT.format("wide.csv")
    network, row = mv.load_network(tmp_path / "model.onnx"), PEOPLE.iloc[3] / 100
    rows = PEOPLE.to_numpy() / 100
    expected = mv.inflate(network, [*row], epsilon=0.01, rows=rows, within=0.05)
    assert found.inside == expected.inside


def test_the_command_reads_rows_masks_and_scores_in_files_by_name(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    fitted = xgboost.XGBClassifier(n_estimators=3).fit(PEOPLE, PEOPLE.income > 50)
    fitted.save_model(tmp_path / "model.json")
    described = mv.Inputs.from_frame(PEOPLE)
    files: dict[str, Any] = {
        "inputs.json": described.to_data(),
        "row.json": WIDE.iloc[3].to_dict(),
        "mask.json": {"income": True, "age": False, "debt": False},
        "scores.json": {"income": 0.9, "debt": 0.2, "age": 0.1},
    }
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    WIDE.to_csv(tmp_path / "wide.csv", index=False)

    def run(command: str, row: str, *more: object) -> Any:
        done = run_here(
            command, tmp_path / "model.json", tmp_path / row, "--epsilon", "inf",
            "--inputs", tmp_path / "inputs.json", "--json", tmp_path / "found.json", *more,
        )  # fmt: skip
        assert done.returncode in (0, 1), done.stderr
        return json.loads((tmp_path / "found.json").read_text())

    for row, what in (("row.json", "the row"), ("wide.csv:3", "wide.csv")):
        found = run("audit", row, "--explanation", tmp_path / "mask.json")
        assert found["explanation"] == [2]
        assert found["sound"] is True
        assert LEFT_OUT.format(what) in found["notes"]
        assert np.ravel(found["input"]).tolist() == PEOPLE.iloc[3].tolist()
    found = run("importance", "row.json", "--beside", tmp_path / "scores.json")
    assert found["beside"] == [0.1, 0.2, 0.9]
    found = run("minimum", "row.json", "--costs", tmp_path / "scores.json")
    assert found["costs"] == [0.1, 0.2, 0.9]
