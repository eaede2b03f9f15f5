import sys
from pathlib import Path

import pytest

from milp_verix import InputError, explain_many, read_study
from milp_verix.study.table import COLUMNS
from tests.support.digits_example import images, network
from tests.support.studies import lines, record, written


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "study.jsonl"
    grid = {"order": ["influence", "bound"]}
    given = images()[[15, 0]]
    explain_many(network(), given, epsilon=0.1, grid=grid, journal=path, indices=[1, 0])
    explain_many(network(), given, epsilon=0.1, task="contrastive", time_limit=1e-9, journal=path)
    return path


def test_a_row_is_a_record(journal: Path) -> None:
    pytest.importorskip("pandas")
    table = read_study(journal)
    assert list(table.columns[: len(COLUMNS)]) == list(COLUMNS)
    records = sorted(lines(journal), key=lambda one: one["index"])
    assert table["index"].tolist() == [0, 0, 0, 1, 1, 1]
    for name in ("key", "status", "explanation", "prediction", "seconds"):
        assert table[name].tolist() == [one[name] for one in records]
    assert table["order"].tolist()[:2] == ["influence", "bound"]
    assert table["status"].value_counts().to_dict() == {"done": 4, "undecided": 2}


def test_a_table_goes_to_parquet_and_csv_and_back(journal: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = read_study(journal)
    table.to_parquet(journal.with_suffix(".parquet"))
    table.to_csv(journal.with_suffix(".csv"), index=False)
    stored = pd.read_parquet(journal.with_suffix(".parquet"))
    text = pd.read_csv(journal.with_suffix(".csv"))
    for name in ("key", "index", "epsilon", "status", "seconds"):
        assert stored[name].tolist() == table[name].tolist() == text[name].tolist()
    assert [None if one is None else list(one) for one in stored["explanation"]] == [
        one["explanation"] for one in sorted(lines(journal), key=lambda one: one["index"])
    ]


def test_torn_lines_are_told_and_an_empty_journal_is_an_empty_table(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    path = written(tmp_path / "study.jsonl", record(0))
    path.write_bytes(path.read_bytes() + b'{"key": "a')
    with pytest.warns(UserWarning, match="line 2 is torn"):
        assert len(read_study(path)) == 1
    path.write_bytes(b"")
    assert list(read_study(path).columns) == list(COLUMNS)


def test_a_folder_of_journals_is_one_table(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    (tmp_path / "study").mkdir()
    for name, status in (("a", "undecided"), ("b", "done"), ("c", "failed")):
        written(tmp_path / "study" / f"{name}.jsonl", record(0, status), record(ord(name)))
    table = read_study(tmp_path / "study")
    assert table["index"].tolist() == [0, 97, 98, 99]
    assert table["status"].tolist() == ["done"] * 4


def test_errors_are_clear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_study(tmp_path / "none.jsonl")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"needs pandas: pip install 'milp-verix\[pandas\]'"):
        read_study(written(tmp_path / "study.jsonl", record(0)))
