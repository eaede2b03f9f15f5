"""Studies of described tables: rows with words and numbers become the inputs they mean."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import milp_verix
from milp_verix import InputError, binary, category, explain_many, integer, read_study
from milp_verix.study.described_rows import described_inputs
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
    with pytest.raises(InputError, match="age: expected a number, got ''"):
        found.read(3)


def test_a_column_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text("age,job\n18,cook\n")
    with pytest.raises(InputError, match="a feature 'member', but the table has the columns age"):
        described_inputs(tmp_path / "few.csv", DESCRIPTION)


def test_a_study_of_a_described_table_explains_its_rows(tmp_path: Path) -> None:
    onnx, (table, described) = network(tmp_path), files(tmp_path)
    journal = tmp_path / "study.jsonl"
    tally = explain_many(onnx, table, described=described, epsilon=[np.inf, "50%"], journal=journal)
    assert (tally.done, tally.failed) == (4, 4)
    rows = read_study(journal)
    for index, x in enumerate(NUMBERS):
        for epsilon in (np.inf, "50%"):
            alone = milp_verix.explain(onnx, x, epsilon=epsilon, inputs=DESCRIPTION)
            told = "inf" if epsilon == np.inf else epsilon
            (row,) = rows[(rows["index"] == index) & (rows["epsilon"] == told)].to_dict("records")
            assert tuple(row["explanation"]) == alone.explanation
    again = explain_many(
        onnx, table, described=DESCRIPTION, epsilon=[np.inf, "50%"], journal=journal
    )
    assert again.known == 8
    with pytest.raises(InputError, match="leave columns out"):
        explain_many(
            onnx, table, described=DESCRIPTION, columns=["age"], epsilon=1, journal=journal
        )


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
        f'model = "{onnx.path.name}"\ninputs = "people.csv"\ndescribed = "described.json"\n'
        'epsilon = [inf, "50%"]\n'
    )
    assert milp_verix.run_study(tmp_path / "study.toml").known == 8
