"""Studies of described tables: rows with words and numbers become the inputs they mean."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import milp_verix
from milp_verix import InputError, binary, category, explain_many, integer, read_study
from milp_verix.study.study_inputs import described_inputs
from tests.support.command_line import run_here
from tests.support.random_networks import dense_network, random_layers

DESCRIPTION = milp_verix.Inputs(
    [integer("age", 18, 22), category("job", ["cook", "clerk", "none"]), binary("member")]
)
TABLE = "name,job,age,member\nAnn,cook,18,yes\nBob,none,21,no\nCy,king,20,no\nDee,clerk,,yes\n"
NUMBERS = [[18, 0, 1], [21, 2, 0]]


def network(folder: Path) -> milp_verix.OnnxNetwork:
    layers = random_layers(np.random.default_rng(5), (3, 4, 2))
    return dense_network(layers, folder)


def files(folder: Path) -> tuple[Path, Path]:
    (folder / "people.csv").write_text(TABLE)
    (folder / "described.json").write_text(json.dumps(DESCRIPTION.to_data()))
    return folder / "people.csv", folder / "described.json"


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_rows_are_read_by_the_names_of_columns(kind: str, tmp_path: Path) -> None:
    table, _ = files(tmp_path)
    frame = pd.read_csv(table, keep_default_na=False)
    source = {"csv": table, "frame": frame, "parquet": tmp_path / "people.parquet"}[kind]
    if kind == "parquet":
        frame.to_parquet(source)
    found = described_inputs(source, DESCRIPTION)
    assert found.count == 4
    np.testing.assert_array_equal([found.read(0), found.read(1)], NUMBERS)
    with pytest.raises(InputError, match="job has no value 'king'; its values are cook, clerk"):
        found.read(2)
    place = {"csv": "people.csv, line 5", "parquet": "people.parquet, row 3"}
    with pytest.raises(InputError, match=f"{place.get(kind, 'the frame, row 3')}: age is ''"):
        found.read(3)


def test_a_column_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text("age,job\n18,cook\n")
    with pytest.raises(InputError, match=r"few.csv .*missing: member; the names seen are age"):
        described_inputs(tmp_path / "few.csv", DESCRIPTION)


def test_a_study_of_a_described_table_explains_its_rows(tmp_path: Path) -> None:
    onnx, (table, described) = network(tmp_path), files(tmp_path)
    journal = tmp_path / "study.jsonl"
    tally = explain_many(onnx, table, inputs=described, epsilon=[np.inf, "50%"], journal=journal)
    assert (tally.done, tally.failed) == (4, 4)
    rows = read_study(journal)
    for index, x in enumerate(NUMBERS):
        for epsilon in (np.inf, "50%"):
            alone = milp_verix.explain(onnx, x, epsilon=epsilon, inputs=DESCRIPTION)
            told = "inf" if epsilon == np.inf else epsilon
            (row,) = rows[(rows["index"] == index) & (rows["epsilon"] == told)].to_dict("records")
            assert tuple(row["explanation"]) == alone.explanation
    again = explain_many(onnx, table, inputs=DESCRIPTION, epsilon=[np.inf, "50%"], journal=journal)
    assert again.known == 8
    with pytest.raises(InputError, match="leave columns out"):
        explain_many(onnx, table, inputs=DESCRIPTION, columns=["age"], epsilon=1, journal=journal)


def test_the_command_and_the_study_file_take_a_description(tmp_path: Path) -> None:
    onnx, (table, described) = network(tmp_path), files(tmp_path)
    journal = tmp_path / "study.jsonl"
    said = run_here(
        *("batch", onnx.path, table, "--inputs", described, "--epsilon", "inf,50%"),
        *("--journal", journal),
    )
    assert said.returncode == 3  # two rows are bad
    assert "4 done" in said.stdout
    (tmp_path / "study.toml").write_text(
        f'model = "{onnx.path.name}"\nxs = "people.csv"\ninputs = "described.json"\n'
        'epsilon = [inf, "50%"]\n'
    )
    assert milp_verix.run_study(tmp_path / "study.toml").known == 8


def saved(frame: pd.DataFrame, kind: str, folder: Path) -> object:
    if kind == "csv":
        frame.to_csv(folder / "people.csv")  # with the index, as a newcomer writes it
        return folder / "people.csv"
    if kind == "parquet":
        frame.to_parquet(folder / "people.parquet")
        return folder / "people.parquet"
    return frame if kind == "frame" else frame.to_dict("records")


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "records"])
@pytest.mark.parametrize("dtype", ["bool", "boolean", "object", "category", "int64", "float64"])
def test_truth_values_as_pandas_writes_them_are_words(
    kind: str, dtype: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame(
        {"age": [18, 21], "job": ["cook", "none"], "member": np.array([True, False])}
    ).astype({"member": dtype})
    found = described_inputs(saved(frame, kind, tmp_path), DESCRIPTION)
    np.testing.assert_array_equal([found.read(0), found.read(1)], NUMBERS)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"member": ["maybe", "never"]}, "member has no value 'maybe'; its values are no, yes"),
        ({"job": ["Cook", "Clerk"]}, "job has no value 'Cook'.* did you mean 'cook'"),
        ({"age": ["18,5", "19,5"]}, "age is '18,5', expected a number: write it with a decimal"),
        ({"age": [8, 9]}, r"the input's age is 8.0, outside of \[18, 22\]"),
    ],
)
@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("csv", "people.csv, line 2"),
        ("parquet", "people.parquet, row 0"),
        ("frame", "the frame, row 0"),
    ],
)
def test_where_no_row_fits_the_first_is_named(
    change: dict[str, list[object]], told: str, kind: str, place: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"age": [18, 21], "job": ["cook", "none"], "member": ["yes", "no"]})
    source = saved(frame.assign(**change), kind, tmp_path)
    first = f"none of the 2 inputs can be explained; the first: {place}: {told}"
    with pytest.raises(InputError, match=first):
        explain_many(
            network(tmp_path),
            source,
            inputs=DESCRIPTION,
            epsilon=1,
            journal=tmp_path / "j.jsonl",
        )
    assert not (tmp_path / "j.jsonl").exists()


def test_rows_of_an_array_are_refused_by_their_place_and_other_descriptions_as_such(
    tmp_path: Path,
) -> None:
    onnx, journal = network(tmp_path), tmp_path / "j.jsonl"
    found = described_inputs(np.array([[18, 0, 1], [18, 0, 7]]), DESCRIPTION)
    assert found.read(0).tolist() == [18, 0, 1]
    with pytest.raises(InputError, match=r"input 1: the input's member is 7\.0, which is none"):
        found.read(1)
    with pytest.raises(InputError, match="inputs must be an object of the class Inputs"):
        explain_many(onnx, NUMBERS, inputs=pd.DataFrame({"age": [18]}), epsilon=1, journal=journal)


def test_a_row_that_fails_alone_is_named_by_its_line(tmp_path: Path) -> None:
    onnx, (table, described) = network(tmp_path), files(tmp_path)
    said = run_here(
        *("batch", onnx.path, table, "--inputs", described, "--epsilon", "inf"),
        *("--journal", tmp_path / "j.jsonl"),
    )
    assert "2 done, 0 undecided, 2 failed" in said.stdout
    assert "the first that failed: people.csv, line 4: job has no value 'king'" in said.stdout
    reasons = read_study(tmp_path / "j.jsonl").reason.dropna().tolist()
    assert [reason.split(":")[0] for reason in reasons] == [
        "people.csv, line 4",
        "people.csv, line 5",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "people.csv is empty, expected a line"),
        ("age,job,member\n", "people.csv holds no rows"),
        ("age;job;member\n18;cook;yes\n", "one cell, 'age;job;member': separate columns by commas"),
        ("age,job,age\n18,cook,19\n", "two columns named 'age'"),
        ("Age,job,member\n18,cook,yes\n", r"missing: age; .*Is 'Age' meant for 'age'"),
        ("age, job,member\n18,cook,yes\n", "Is ' job' meant for 'job'"),
        ("age,job,member\n1,800,cook,yes\n", "line 2: 4 cells, expected 3 .* in quotes"),
    ],
)
def test_a_file_that_is_no_table_of_these_columns_is_refused(
    text: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text(text)
    with pytest.raises(InputError, match=told):
        explain_many(
            network(tmp_path),
            tmp_path / "people.csv",
            inputs=DESCRIPTION,
            epsilon=1,
            journal=tmp_path / "j.jsonl",
        )


def test_a_single_command_takes_a_row_of_a_table(tmp_path: Path) -> None:
    onnx, (table, described) = network(tmp_path), files(tmp_path)
    asked = ("--epsilon", "inf", "--inputs", described)
    for row, line in ((0, 2), (1, 3)):
        out = tmp_path / f"{row}.json"
        assert (
            run_here("explain", onnx.path, f"{table}:{row}", *asked, "--json", out).returncode == 0
        )
        found = milp_verix.Explanation.from_json(out)
        assert found.input.reshape(-1).tolist() == NUMBERS[row]
        assert f"the input is people.csv, line {line}" in found.notes
    for case, told in (
        (f"{table}:2", "line 4: job has no value 'king'"),
        (table, "has 4 rows, expected one: "),
        (f"{table}:7", "has the rows 0 to 3, got 7"),
        (tmp_path / "several.json", "several.json: one row is expected, 2 were seen"),
        (tmp_path / "broken.json", "broken.json is no JSON"),
    ):
        (tmp_path / "several.json").write_text('[{"age": 18}, {"age": 19}]')
        (tmp_path / "broken.json").write_text("{age: 18}")
        said = run_here("explain", onnx.path, case, *asked)
        assert said.returncode == 2
        assert told in said.stderr
    kept = run_here("explain", onnx.path, f"{table}:0", *asked, "--json", table)
    assert "is another file of this command" in kept.stderr
    assert table.read_text() == TABLE
    said = run_here("explain", onnx.path, f"{table}:0", "--epsilon", "0.1")
    assert ".csv, need --inputs" in said.stderr


@pytest.mark.parametrize("text", ["inf", "8/255", "50%"])
def test_a_study_file_takes_a_radius_as_text(text: str, tmp_path: Path) -> None:
    onnx, _ = network(tmp_path), files(tmp_path)
    (tmp_path / "study.toml").write_text(
        f'model = "{onnx.path.name}"\nxs = "people.csv"\ninputs = "described.json"\n'
        f'indices = [0]\nepsilon = "{text}"\n'
    )
    assert milp_verix.run_study(tmp_path / "study.toml").complete
    (tmp_path / "study.toml").write_text((tmp_path / "study.toml").read_text().replace(text, "abc"))
    with pytest.raises(
        InputError, match=r"epsilon: 'abc' is no number; give one .* 10%, 0.5sd and inf"
    ):
        milp_verix.run_study(tmp_path / "study.toml")
