"""An exported program explains itself: comments, a map of its columns, numbers that are printed."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from typer.testing import CliRunner

from milp_verix import encode_check
from milp_verix.cli.app import app
from tests.support.digits_example import images, network

ASK = ["export", "examples/digits.onnx", "examples/digits.npz:images[15]", "--epsilon", "0.1"]


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_files_have_comments_that_solvers_skip(suffix: str, tmp_path: Path) -> None:
    highspy = pytest.importorskip("highspy")
    out = tmp_path / f"check{suffix}"
    done = CliRunner().invoke(app, [*ASK, "--out", str(out)])
    assert done.exit_code == 0, done.output
    sign = "\\" if suffix == ".lp" else "*"
    comments = [line for line in out.read_text().splitlines() if line.startswith(sign)]
    told = "\n".join(comments)
    for part in ("digits.onnx", "milp-verix ", "radius 0.1", "formulation big_m", " - cost"):
        assert part in told
    model: Any = highspy.Highs()
    model.setOptionValue("output_flag", False)
    assert model.readModel(str(out)) == highspy.HighsStatus.kOk
    program = encode_check(network(), images()[15], epsilon=0.1).program
    assert model.getNumCol() == program.columns


def test_numbers_printed_are_those_of_the_program(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [*ASK, "--out", str(tmp_path / "check.lp")])
    encoding = encode_check(network(), images()[15], epsilon=0.1)
    program = encoding.program
    lines = done.output.splitlines()
    relaxed = float(lines[2].rpartition(" ")[2])
    best = []
    for index in range(9):
        row, _ = encoding.output.row(index, program.columns)
        rows, above = program.matrix.toarray(), np.isfinite(program.row_upper)
        below = np.isfinite(program.row_lower)
        found = linprog(
            -row,
            A_ub=np.vstack([rows[above], -rows[below]]),
            b_ub=np.concatenate([program.row_upper[above], -program.row_lower[below]]),
            bounds=np.column_stack([program.column_lower, program.column_upper]),
        )
        best.append(found.fun)
    assert min(abs(relaxed - value) for value in best) < 1e-6
    assert f"largest big-M {program.largest_big_m:.4g}" in done.output


def test_the_map_names_every_column(tmp_path: Path) -> None:
    table = tmp_path / "columns.csv"
    out = tmp_path / "check.lp"
    done = CliRunner().invoke(app, [*ASK, "--out", str(out), "--columns", str(table)])
    assert done.exit_code == 0, done.output
    program = encode_check(network(), images()[15], epsilon=0.1).program
    lines = list(csv.DictReader(table.read_text().splitlines()))
    assert [line["name"] for line in lines] == program.column_names
    assert [int(line["integer"]) for line in lines] == program.integer.astype(int).tolist()
    assert [float(line["upper"]) for line in lines] == program.column_upper.tolist()
    for line in lines:
        name = "_".join(part for part in (line["name"][0], line["node"], line["neuron"]) if part)
        assert line["name"] == name
    assert {line["meaning"].partition(":")[0] for line in lines} == {
        "input",
        "pre-activation",
        "activation",
        "phase",
    }


def test_no_weight_is_tiny_and_rows_enclose_what_was_left_out() -> None:
    encoding = encode_check(network(), images()[15], epsilon=0.1)
    assert np.abs(encoding.program.matrix.data).min() > 1e-13


def test_a_ball_as_a_quadratic_row(tmp_path: Path) -> None:
    out = tmp_path / "check.lp"
    ball = ["--norm", "l2", "--quadratic"]
    done = CliRunner().invoke(app, [*ASK, *ball, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "quadratic_0:" in out.read_text()
    assert "not known: HiGHS takes no quadratic row" in done.output
    refused = CliRunner().invoke(app, [*ASK, *ball, "--out", str(tmp_path / "check.mps")])
    assert refused.exit_code == 2
    assert "MPS files here are linear" in refused.output
