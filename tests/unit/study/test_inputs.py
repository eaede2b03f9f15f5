import csv
import struct
from pathlib import Path

import numpy as np
import pytest

from milp_verix import InputError
from milp_verix.inputs.input_files import read_input
from milp_verix.study.study_inputs import StudyInputs, indices_in, inputs_of

VALUES = np.arange(12, dtype=np.float32).reshape(4, 3)


def read(inputs: StudyInputs) -> list[list[float]]:
    return [inputs.read(i).tolist() for i in range(inputs.count)]


def table(path: Path, rows: list[list[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def test_arrays_in_memory_and_in_files_are_the_same_inputs(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VALUES)
    np.savez(tmp_path / "one.npz", VALUES)
    np.savez(tmp_path / "two.npz", images=VALUES, labels=np.zeros(4))
    rows = [["a", "b", "c"], *VALUES.tolist()]
    sources = [
        VALUES,
        list(VALUES),
        tmp_path / "a.npy",
        tmp_path / "one.npz",
        f"{tmp_path / 'two.npz'}:images",
        table(tmp_path / "with_header.csv", rows),
        table(tmp_path / "without.csv", rows[1:]),
    ]
    for source in sources:
        inputs = inputs_of(source, 3)
        assert read(inputs) == VALUES.tolist()
        assert inputs.name(0) is None
    assert inputs_of(tmp_path / "a.npy", 3).read(1).dtype == np.float32


def test_a_table_has_columns_by_name_and_an_empty_cell_fails_its_row(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", [["id", "b", "a"], ["x", 1, 2], [], ["y", "", 4]])
    inputs = inputs_of(path, 2, ["a", "b"])
    assert inputs.read(0).tolist() == [2.0, 1.0]
    with pytest.raises(InputError, match=r"t\.csv, line 4: b is missing, expected a number"):
        inputs.read(1)


def test_a_parquet_file_is_a_table(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"id": ["x", "y"], "b": [1, 2], "a": [0.5, None]})
    frame.to_parquet(tmp_path / "t.parquet")
    inputs = inputs_of(tmp_path / "t.parquet", 2, ["a", "b"])
    assert inputs.read(0).tolist() == [0.5, 1.0]
    with pytest.raises(InputError, match=r"t\.parquet, row 1: a is missing"):
        inputs.read(1)
    assert read(inputs_of(frame[["b"]], 1)) == [[1], [2]]
    with pytest.raises(InputError, match="expected a number"):
        inputs_of(tmp_path / "t.parquet", 1, ["id"])
    (tmp_path / "bad.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match="cannot read"):
        inputs_of(tmp_path / "bad.parquet", 1)


def test_truth_values_are_numbers_and_frames_are_read_by_their_columns(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": pd.array([0.5, None])})
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "headless.csv").write_text("1,True,0.5\n2,False,\n")
    places = {
        "t.csv, line 3": tmp_path / "t.csv",
        "headless.csv, line 2": tmp_path / "headless.csv",
    }
    for place, source in {**places, "the frame, row 1": frame}.items():
        inputs = inputs_of(source, 3)
        assert inputs.read(0).tolist() == [1.0, 1.0, 0.5]
        with pytest.raises(InputError, match=f"{place}: (c|column 3) is missing"):
            inputs.read(1)
    assert inputs_of(frame, 2, ["b", "a"]).read(1).tolist() == [0.0, 2.0]
    with pytest.raises(InputError, match="the frame, row 0: b is 'much', expected a number: words"):
        inputs_of(frame.assign(b="much"), 3)
    with pytest.raises(InputError, match="two columns named 'a'"):
        inputs_of(frame[["a", "a", "b"]], 3)


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([["a", "b"], [1, 2]], None, "the network takes 3 numbers, and 2 columns"),
        ([["a", "b", "c"], [1, "two", 3]], None, "line 2: b is 'two', expected a number"),
        ([["a", "b", "c"], [1, 2]], None, "line 2: 2 cells, expected 3"),
        ([["a", "b", "c"], [1, "1,234", 3]], None, "b is '1,234', .*separators of thousands"),
        ([["a", "b", "c"], [1, "2020-01-31", 3]], None, "b is '2020-01-31', .*dates into numbers"),
        ([["a;b;c"], ["1;2;3"]], None, "one cell, 'a;b;c': separate columns by commas"),
        ([["a", "b", "a"], [1, 2, 3]], ["a", "b", "a"], "two columns named 'a'"),
        ([["a", "b", "c"], [1, 2, 3]], ["a", "b", "d"], "no column 'd'"),
        ([[1, 2, 3]], ["a", "b", "c"], "has no header"),
        ([["a", "b", "c"]], None, "expected an entry for each input"),
        ([], None, r"t\.csv is empty"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(
    tmp_path: Path, rows: list[list[object]], columns: list[str] | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        inputs_of(table(tmp_path / "t.csv", rows), 3, columns)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (10000000000000000000000, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (True, 3)}",
        "(" * 500,
    ],
)
def test_an_array_with_a_damaged_header_is_refused_as_one_input_is(
    header: str, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.npy"
    size = struct.pack("<H", len(header) + 1)
    path.write_bytes(b"\x93NUMPY\x01\x00" + size + header.encode() + b"\n" + bytes(24))
    for read in (lambda: inputs_of(path, 3), lambda: read_input(f"{path}:[0]", (1, 3))):
        with pytest.raises(InputError, match=r"damaged\.npy"):
            read()


def test_other_inputs_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "damaged.npy").write_bytes(b"\x93NUMPY\x01")
    np.savez(tmp_path / "two.npz", a=VALUES, b=VALUES)
    cases = [
        (VALUES[0], "expected an entry for each input"),
        (VALUES[:0], "expected an entry for each input"),
        ([], "an array, a sequence of arrays or a file"),
        (7, "an array, a sequence of arrays or a file"),
        (tmp_path / "bytes.csv", "no CSV file in UTF-8"),
        (tmp_path / "damaged.npy", "no array of numbers"),
        (tmp_path / "none.npy", "cannot read"),
        (tmp_path / "none.csv", "cannot read"),
        (tmp_path / "two.npz", "holds a, b"),
        (tmp_path / "t.txt", "cannot tell what the inputs"),
    ]
    for source, message in cases:
        with pytest.raises(InputError, match=message):
            inputs_of(source, 3)
    with pytest.raises(InputError, match="columns belong to a table"):
        inputs_of(VALUES, 3, ["a"])
    np.save(tmp_path / "a.npy", VALUES)
    with pytest.raises(InputError, match="columns belong to a table"):
        inputs_of(tmp_path / "a.npy", 3, ["a"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0:3", [0, 1, 2]),
        (":2", [0, 1]),
        ("8:", [8, 9]),
        ("8:100", [8, 9]),
        ("0:10:4", [0, 4, 8]),
        ("3,7", [3, 7]),
        ("7,0:2", [7, 0, 1]),
    ],
)
def test_indices(text: str, expected: list[int]) -> None:
    assert indices_in(text, 10) == expected


@pytest.mark.parametrize("text", ["10", "-1", "a", "", "1:2:3:4", "0:3,2", "5:5", "::0", "1.5"])
def test_indices_that_name_nothing_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="indices"):
        indices_in(text, 10)
